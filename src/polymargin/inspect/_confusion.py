"""Which labels are taken for which."""

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from polymargin.errors import require
from polymargin.inspect._examined import Examined
from polymargin.inspect._subject import Scored, Subject, find_subject, score_rows
from polymargin.inspect._taus import Taus

if TYPE_CHECKING:
    from numpy.typing import NDArray


def margins(model: Any, X: Any, y: Any) -> Any:
    """Margin of each row: the score of its label less the largest other score.

    Parameters
    ----------
    model : LinearSVM, KernelSVM or Pipeline that ends in one
        Fitted; dual variables are not needed.
    X, y : rows and labels
        Any, also such as the model was not trained on.

    Returns
    -------
    margins : pandas.DataFrame
        ``row`` (from 0), ``label``, ``predicted``, ``rival`` (the label of the largest other
        score), ``margin`` (NaN where the model does not know the label) and ``error``, in the
        order of X.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from polymargin import LinearSVM
    >>> from polymargin.inspect import margins
    >>> X, y = load_iris(return_X_y=True)
    >>> table = margins(LinearSVM("cs", random_state=0).fit(X, y), X, y)
    >>> bool(((table["margin"] < 0) == table["error"]).all())
    True
    """
    pandas = require("pandas", extra="inspect", purpose="tables")
    subject = find_subject(model)
    scored = score_rows(subject, subject.rows(X), y)
    return pandas.DataFrame(
        {
            "row": np.arange(len(scored.own)),
            "label": np.asarray(y),
            "predicted": subject.classes[scored.predicted],
            "rival": subject.classes[scored.rival],
            "margin": scored.margin,
            "error": scored.error,
        }
    )


def confusion(model: Any, X: Any, y: Any) -> Any:
    """How many rows of each label are predicted as each class.

    Parameters
    ----------
    model : LinearSVM, KernelSVM or Pipeline that ends in one
        Fitted; dual variables are not needed.
    X, y : rows and labels
        Any, also such as the model was not trained on.

    Returns
    -------
    counts : pandas.DataFrame
        A row for each label, a column for each class of the model. Labels that the model does
        not know come last.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from polymargin import LinearSVM
    >>> from polymargin.inspect import confusion
    >>> X, y = load_iris(return_X_y=True)
    >>> confusion(LinearSVM("cs", random_state=0).fit(X, y), X, y).loc[0].tolist()
    [50, 0, 0]
    """
    pandas = require("pandas", extra="inspect", purpose="tables")
    subject = find_subject(model)
    scored = score_rows(subject, subject.rows(X), y)
    labels, counts = count_confusion(subject, scored, np.asarray(y))
    return pandas.DataFrame(
        counts,
        index=pandas.Index(labels, name="label"),
        columns=pandas.Index(subject.classes, name="predicted"),
    )


def count_confusion(
    subject: Subject, scored: Scored, y: "NDArray[Any]"
) -> "tuple[NDArray[Any], NDArray[np.int64]]":
    """Labels and the (labels, k) counts; labels that are not classes come last."""
    k = len(subject.classes)
    foreign, position = np.unique(y[scored.own < 0], return_inverse=True)
    own = scored.own.copy()
    own[own < 0] = k + position
    n_labels = k + len(foreign)
    counts = np.bincount(own * k + scored.predicted, minlength=n_labels * k)
    labels = np.concatenate([subject.classes, foreign]) if len(foreign) else subject.classes
    return labels, counts.reshape(n_labels, k).astype(np.int64)


def confusable_pairs(
    model: Any,
    X: Any,
    y: Any,
    *,
    X_test: Any = None,
    y_test: Any = None,
    sample_weight: Any = None,
    max_rows: int | None = None,
) -> Any:
    """Pairs of a label and another one it is confused with, the most confusable first.

    Parameters
    ----------
    model : LinearSVM, KernelSVM or Pipeline that ends in one
        Fitted. Without dual variables, and for MMR, errors alone are counted.
    X, y : the training data
        All rows, in the order of `fit`; X is what the model or the pipeline takes.
    X_test, y_test : other rows and labels, default=None
        Their errors are counted as well.
    sample_weight : array-like of shape (n,), default=None
        The weights given to `fit`.
    max_rows : int, default=None
        How many pairs to return; None is all.

    Returns
    -------
    pairs : pandas.DataFrame
        ``label``, ``confused_with``, ``eta`` (the sum of the weights that the support patterns
        of the label give to the other one), ``patterns`` (how many give any), ``errors`` (rows
        of the label predicted as the other one) and, with test data, ``test_errors``. Ordered by
        eta, then errors.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from polymargin import LinearSVM
    >>> from polymargin.inspect import confusable_pairs
    >>> X, y = load_iris(return_X_y=True)
    >>> pairs = confusable_pairs(LinearSVM("cs", random_state=0).fit(X, y), X, y)
    >>> sorted(pairs.loc[:1, "label"].tolist())
    [1, 2]
    """
    examined = Examined(model, X, y, sample_weight)
    tested = None
    if X_test is not None:
        tested = score_rows(examined.subject, examined.subject.rows(X_test), y_test)
    return pair_table(examined, tested, max_rows)


def pair_table(examined: Examined, tested: Scored | None, max_rows: int | None) -> Any:
    pandas = require("pandas", extra="inspect", purpose="tables")
    return pandas.DataFrame(
        pair_columns(examined.subject, examined.scored, examined.taus_if_any, tested, max_rows)
    )


def pair_columns(
    subject: Subject,
    scored: Scored,
    taus: Taus | None,
    tested: Scored | None,
    max_rows: int | None,
) -> dict[str, Any]:
    k = len(subject.classes)
    counts = {"errors": _count_errors(scored, k)}
    if taus is not None and taus.has_eta:
        known = np.flatnonzero(taus.own >= 0)
        one = np.ones(len(known))
        members = sparse.csr_array((one, (taus.own[known], known)), shape=(k, len(taus.own)))
        counts = {"eta": members @ taus.eta, "patterns": members @ (taus.eta > 0)} | counts
    if tested is not None:
        counts["test_errors"] = _count_errors(tested, k)
    codes = np.unique(np.concatenate([_codes(matrix) for matrix in counts.values()]))
    label, other = codes // k, codes % k
    columns = {name: _values(matrix, label, other) for name, matrix in counts.items()}
    for name in columns.keys() - {"eta"}:
        columns[name] = np.rint(columns[name]).astype(np.int64)
    by_errors = columns["errors"]
    keys = (other, label, -by_errors, -np.round(columns.get("eta", by_errors * 0.0), 9))
    order = np.lexsort(keys)[:max_rows]
    named = {"label": subject.classes[label], "confused_with": subject.classes[other]}
    return {name: values[order] for name, values in (named | columns).items()}


def _count_errors(scored: Scored, k: int) -> sparse.csr_array:
    """(k, k) counts of label and wrong prediction, of the labels that the model knows."""
    wrong = scored.error & (scored.own >= 0)
    place = (scored.own[wrong], scored.predicted[wrong])
    return sparse.csr_array((np.ones(int(wrong.sum())), place), shape=(k, k))


def _codes(matrix: sparse.csr_array) -> "NDArray[np.int64]":
    """k i + j of each entry, sorted."""
    entries = matrix.tocoo()
    i, j = (np.asarray(index, np.int64) for index in entries.coords)
    return np.unique((i * matrix.shape[1] + j)[entries.data > 0])


def _values(
    matrix: sparse.csr_array, i: "NDArray[np.int64]", j: "NDArray[np.int64]"
) -> "NDArray[Any]":
    """Entries of the matrix; in one go, for a sparse matrix is slow at single ones."""
    k = matrix.shape[1]
    entries = matrix.tocoo()
    codes = np.asarray(entries.coords[0], np.int64) * k + entries.coords[1]
    order = np.argsort(codes)
    place = np.searchsorted(codes[order], i * k + j)
    found = np.zeros(len(i))
    if len(codes):
        place = np.minimum(place, len(codes) - 1)
        hit = codes[order][place] == i * k + j
        found[hit] = entries.data[order][place[hit]]
    return found
