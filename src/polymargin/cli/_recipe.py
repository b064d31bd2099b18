"""From a table to features and an estimator: what `train`, `select` and `path` share."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.pipeline import Pipeline

from polymargin._sklearn import validate_parameters
from polymargin.cli._data import check_missing, concerning
from polymargin.cli._hints import first_no_count
from polymargin.cli._option_sets import Features, KernelOptions
from polymargin.cli._parsing import parse_gamma, parse_ngrams
from polymargin.errors import DataError
from polymargin.estimators import KernelSVM, LinearSVM
from polymargin.preprocessing import ColumnEncoder, HashingVectorizer, Scaler
from polymargin.readers import Columns, Table
from polymargin.solvers import choose

SVM = LinearSVM | KernelSVM
_DENSE = 0.5  # part of the entries from which sparse rows are made an array
_SPARSE = 0.25  # part of the weights below which they are stored sparse


def make_steps(features: Features, X: Any) -> "list[tuple[str, Any]]":
    """The transformers for what a file holds."""
    if features.scale == "tfidf":
        return [("tfidf", _weighting(X))]
    if isinstance(X, Columns):
        return [("columns", _encoder(features))]
    steps: list[tuple[str, Any]] = []
    if isinstance(X, list):
        steps.append((features.text_features, _vectorizer(features)))
    if features.scale not in ("none", "auto"):
        steps.append(("scaler", Scaler(features.scale)))
    return steps


def _weighting(X: Any) -> TfidfTransformer:
    """Of counts of words."""
    if isinstance(X, Columns | list):
        raise DataError(
            "--scale tfidf is for counts of words in svmlight and NPZ files; texts become tf-idf "
            "features without it"
        )
    wrong = first_no_count(X)
    if wrong is not None:
        raise DataError(f"--scale tfidf is for counts, and there is a value {wrong:g}")
    return TfidfTransformer(sublinear_tf=True)


def for_format(features: Features, form: str | None) -> Features:
    """What "auto" scales by in a file of this format: pixels reach up to 255, all in the same."""
    if features.scale == "auto" and form == "idx":
        return replace(features, scale="maxabs")
    return features


def _encoder(features: Features) -> ColumnEncoder:
    """Of a table, whose columns may be of very different size."""
    return ColumnEncoder(
        missing=features.missing,
        scale="standard" if features.scale == "auto" else features.scale,
        text_features=features.text_features,
        analyzer=features.analyzer,
        ngram_range=parse_ngrams(features.ngrams),
        hash_bits=features.hash_bits,
    )


def _vectorizer(features: Features) -> Any:
    """Of texts."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    shared: dict[str, Any] = {
        "analyzer": features.analyzer,
        "ngram_range": parse_ngrams(features.ngrams),
        "dtype": np.dtype(features.precision).type,
    }
    if features.text_features == "hashing":
        return HashingVectorizer(n_features=2**features.hash_bits, alternate_sign=False, **shared)
    return TfidfVectorizer(sublinear_tf=True, **shared)


def use_jobs(steps: "list[tuple[str, Any]]", jobs: int) -> None:
    """Let transformers that can work on several threads do so."""
    for _, step in steps:
        if isinstance(step, HashingVectorizer | ColumnEncoder):
            step.set_params(n_jobs=jobs)


def fit_features(
    features: Features, table: Table, path: Path, jobs: int
) -> "tuple[list[tuple[str, Any]], Any]":
    """The fitted transformers, and the rows they make of a file."""
    if features.missing == "error":
        check_missing(table, path, "fill it in, or put the mean with --missing mean")
    X: Any = table.X
    with concerning(path):
        steps = make_steps(for_format(features, table.reading["format"]), X)
    use_jobs(steps, jobs)
    for _, step in steps:
        with concerning(path), _with_vocabulary():
            X = step.fit_transform(_for_step(step, X))
    if sparse.issparse(X) and X.nnz > _DENSE * X.shape[0] * X.shape[1]:
        X = X.toarray()
    return steps, X.astype(np.dtype(features.precision), copy=False)


@contextmanager
def _with_vocabulary() -> Iterator[None]:
    """Texts without a single feature are told of in words of options."""
    try:
        yield
    except ValueError as error:
        if "empty vocabulary" not in str(error):
            raise
        raise DataError(
            "no text holds a single feature; shorten --ngrams, or take another --analyzer"
        ) from error


def transform(steps: "list[tuple[str, Any]]", X: Any, precision: "np.dtype[Any]") -> Any:
    """Rows through fitted transformers."""
    for _, step in steps:
        X = step.transform(_for_step(step, X))
    return X.astype(precision, copy=False) if hasattr(X, "astype") else X


def _for_step(step: Any, X: Any) -> Any:
    """Rows whose logarithms exist, where a step takes them of all that is stored."""
    if not (isinstance(step, TfidfTransformer) and step.sublinear_tf):
        return X
    rows = sparse.csr_array(X)
    if rows.nnz and rows.data.min() < 0:
        raise DataError(f"tf-idf is for counts, and there is a value {rows.data.min():g}")
    if not rows.data.all():
        rows = rows.copy()
        rows.eliminate_zeros()
    return rows


def assemble(steps: "list[tuple[str, Any]]", svm: SVM) -> Any:
    """The model: a pipeline where there is something before the machine."""
    return Pipeline([*steps, ("svm", svm)]) if steps else svm


def make_compact(svm: SVM) -> None:
    """Weights that are mostly zero are stored so."""
    if not isinstance(svm, LinearSVM) or sparse.issparse(svm.coef_):
        return
    if np.count_nonzero(svm.coef_) < _SPARSE * svm.coef_.size:
        svm.sparsify()


def take_apart(model: Any) -> "tuple[list[tuple[str, Any]], SVM]":
    """The transformers of a model, and its machine."""
    if isinstance(model, Pipeline):
        return model.steps[:-1], model.steps[-1][1]
    return [], model


def make_estimator(
    kernel: KernelOptions, linear: Callable[..., LinearSVM] = LinearSVM, **parameters: Any
) -> SVM:
    """A linear machine without a kernel, of the class given."""
    if kernel.kernel is None:
        svm: LinearSVM = linear(solver=kernel.solver, **parameters)
        return svm
    return KernelSVM(
        kernel=kernel.kernel,
        gamma=parse_gamma(kernel.gamma),
        degree=kernel.degree,
        coef0=kernel.coef0,
        cache_size=kernel.cache_size,
        solver=kernel.solver,
        **parameters,
    )


def check_parameters(svm: SVM) -> None:
    """Refuse what does not fit together before any file is read."""
    validate_parameters(svm)
    choose(svm)
