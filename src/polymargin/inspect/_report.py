"""One HTML file that shows all there is to see."""

import os
from collections.abc import Sequence
from typing import Any

from polymargin._atomic import replacing
from polymargin.errors import require
from polymargin.inspect._examined import Examined
from polymargin.inspect._patterns import Ranking
from polymargin.inspect._report_data import gather_findings
from polymargin.inspect._report_page import make_page
from polymargin.inspect._templates import render


def report(
    model: Any,
    X: Any,
    y: Any,
    path: str | os.PathLike[str],
    *,
    X_test: Any = None,
    y_test: Any = None,
    texts: Sequence[str] | None = None,
    image_shape: tuple[int, int] | None = None,
    feature_names: Sequence[str] | None = None,
    lines: Any = None,
    sample_weight: Any = None,
    by: Ranking | None = None,
    title: str | None = None,
    max_patterns: int = 200,
    n_features: int = 10,
) -> None:
    """Write one HTML file with all tables and figures.

    The file needs no network and loads nothing: it can be mailed, stored and opened anywhere. It
    holds rows of the training data, so it is as confidential as they are.

    Parameters
    ----------
    model : LinearSVM, KernelSVM or Pipeline that ends in one
        Fitted. Without dual variables there are no support patterns.
    X, y : the training data
        All rows, in the order of `fit`; X is what the model or the pipeline takes.
    path : str or path
        The file to write; one that exists is replaced.
    X_test, y_test : other rows and labels, default=None
        For accuracy, F1 and, with more than five classes, how often the label is among the five
        best, the confusion matrix and, of a model with probabilities, their reliability.
    texts : sequence of str of length n, default=None
        The text of each row; not needed where X itself is texts.
    image_shape : (int, int), default=None
        Rows and columns of pixels where the features are pixels.
    feature_names : sequence of str of length d, default=None
        Names of the features as the estimator sees them; None asks pipeline and model.
    lines : array-like of shape (n,), default=None
        The line of a file that each row is from, or the name of its file, shown in place of its
        number.
    sample_weight : array-like of shape (n,), default=None
        The weights given to `fit`.
    by : {"tau", "margin", "held-out"}, default=None
        Ranking of suspicious labels, see `suspicious_labels`.
    title : str, default=None
        Heading of the report.
    max_patterns : int, default=200
        Rows of the tables of suspicious labels, support patterns and pairs.
    n_features : int, default=10
        Features for and against each class.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import load_iris
    >>> from polymargin import LinearSVM
    >>> from polymargin.inspect import report
    >>> iris = load_iris()
    >>> model = LinearSVM("cs", random_state=0).fit(iris.data, iris.target)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "iris.html")
    ...     report(model, iris.data, iris.target, path, feature_names=iris.feature_names)
    ...     os.path.getsize(path) > 10_000
    True
    """
    write_report(
        Examined(model, X, y, sample_weight),
        path,
        X_test=X_test,
        y_test=y_test,
        texts=texts,
        image_shape=image_shape,
        feature_names=feature_names,
        lines=lines,
        by=by,
        title=title,
        max_patterns=max_patterns,
        n_features=n_features,
    )


def write_report(
    examined: Examined,
    path: str | os.PathLike[str],
    *,
    X_test: Any = None,
    y_test: Any = None,
    title: str | None = None,
    max_patterns: int = 200,
    n_features: int = 10,
    **shown: Any,
) -> None:
    for package in ("matplotlib", "jinja2", "PIL"):
        require(package, extra="inspect", purpose="reports")
    if max_patterns < 1:
        raise ValueError(f"max_patterns has to be at least 1, not {max_patterns}")
    if (X_test is None) != (y_test is None):
        raise ValueError("X_test and y_test go together; one of them is missing")
    data = gather_findings(
        examined,
        X_test=X_test,
        y_test=y_test,
        max_patterns=max_patterns,
        n_features=n_features,
        **shown,
    )
    page = render(make_page(title, data))
    with replacing(path, "wb") as file:
        file.write(page.encode("utf-8"))
