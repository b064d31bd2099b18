"""From a table to features and an estimator: what `train`, `select` and `path` share."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import typer
from scipy import sparse
from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer
from sklearn.pipeline import Pipeline

from polymargin._sklearn import validate_parameters
from polymargin.cli import _options as o
from polymargin.cli._console import note
from polymargin.cli._data import check_missing, concerning
from polymargin.estimators import KernelSVM, LinearSVM
from polymargin.preprocessing import ColumnEncoder, Scaler
from polymargin.readers import Columns, Table
from polymargin.solvers import choose

if TYPE_CHECKING:
    from numpy.typing import NDArray

SVM = LinearSVM | KernelSVM
_DENSE = 0.5  # part of the entries from which sparse rows are made an array
_SHOWN_COLUMNS = 8
_FAR = 1000  # binary logarithms beyond this are no numbers
_SPARSE = 0.25  # part of the weights below which they are stored sparse


@dataclass(frozen=True)
class Features:
    """Options: how rows become numbers."""

    scale: o.ScaleOption = "none"
    precision: o.PrecisionOption = "float64"
    missing: o.MissingOption = "error"
    text_features: o.TextOption = "tfidf"
    analyzer: o.AnalyzerOption = "word"
    ngrams: o.NgramsOption = "1"
    hash_bits: o.HashBitsOption = 18

    def __post_init__(self) -> None:
        parse_ngrams(self.ngrams)

    def steps(self, X: Any) -> list[tuple[str, Any]]:
        """The transformers for what a file holds."""
        steps: list[tuple[str, Any]] = []
        if isinstance(X, Columns):
            steps.append(("columns", ColumnEncoder(missing=self.missing)))
        elif isinstance(X, list):
            steps.append((self.text_features, self.vectorizer()))
        if self.scale != "none":
            steps.append(("scaler", Scaler(self.scale)))
        return steps

    def vectorizer(self) -> Any:
        """Of texts."""
        shared = {
            "analyzer": self.analyzer,
            "ngram_range": parse_ngrams(self.ngrams),
            "dtype": np.dtype(self.precision).type,
        }
        if self.text_features == "hashing":
            return HashingVectorizer(n_features=2**self.hash_bits, alternate_sign=False, **shared)
        return TfidfVectorizer(sublinear_tf=True, **shared)

    def fit(self, table: Table, path: Path) -> "tuple[list[tuple[str, Any]], Any]":
        """The fitted transformers, and the rows they make of a file."""
        if self.missing == "error":
            check_missing(table, path, "fill it in, or put the mean with --missing mean")
        X, steps = table.X, self.steps(table.X)
        for _, step in steps:
            with concerning(path):
                X = step.fit_transform(X)
        if sparse.issparse(X) and X.nnz > _DENSE * X.shape[0] * X.shape[1]:
            X = X.toarray()
        return steps, X.astype(np.dtype(self.precision), copy=False)


def parse_ngrams(text: str) -> tuple[int, int]:
    """``1-4`` or ``2``."""
    low, _, high = text.partition("-")
    try:
        pair = int(low), int(high or low)
    except ValueError:
        raise typer.BadParameter(
            f"{text!r} is not LOW-HIGH, as in 1-4", param_hint="--ngrams"
        ) from None
    if not 1 <= pair[0] <= pair[1]:
        raise typer.BadParameter(f"{text!r}: 1 <= LOW <= HIGH is needed", param_hint="--ngrams")
    return pair


def parse_range(text: str, option: str) -> tuple[float, float, float]:
    """``FIRST:LAST:STEP``, of binary logarithms."""
    try:
        first, last, step = map(float, text.split(":"))
    except ValueError:
        first = last = step = np.nan
    if not (-_FAR <= first <= last <= _FAR and 0 < step < np.inf):
        raise typer.BadParameter(
            f"{text!r} is not FIRST:LAST:STEP, as in -6:6:2", param_hint=option
        )
    return first, last, step


def parse_gamma(text: str) -> float | str:
    """A number, "scale" or "auto"."""
    if text in ("scale", "auto"):
        return text
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(
            f"{text!r} is neither a number nor scale nor auto", param_hint="--gamma"
        ) from None


def transform(steps: "list[tuple[str, Any]]", X: Any, precision: "np.dtype[Any]") -> Any:
    """Rows through fitted transformers."""
    for _, step in steps:
        X = step.transform(X)
    return X.astype(precision, copy=False) if hasattr(X, "astype") else X


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


@dataclass(frozen=True)
class FitOptions:
    """Options: how a machine is fitted, linear or not."""

    intercept: o.InterceptOption = None
    balanced: o.ClassWeightOption = False
    tol: o.TolOption = 1e-3
    max_iter: o.MaxIterOption = None
    block_solver: o.BlockSolverOption = "auto"
    seed: o.SeedOption = 0

    @property
    def parameters(self) -> dict[str, Any]:
        """Of an estimator; those that are None are left to its defaults."""
        chosen = {
            "fit_intercept": self.intercept,
            "class_weight": "balanced" if self.balanced else None,
            "tol": self.tol,
            "max_iter": self.max_iter,
            "block_solver": self.block_solver,
            "random_state": self.seed,
        }
        return {name: value for name, value in chosen.items() if value is not None}


@dataclass(frozen=True)
class KernelOptions:
    """Options: the kernel, if any, and what solves machines of either kind."""

    kernel: o.KernelOption = None
    gamma: o.GammaOption = "scale"
    degree: o.DegreeOption = 3
    coef0: o.Coef0Option = 0.0
    cache_size: o.CacheOption = 1024
    solver: o.SolverOption = "auto"

    def estimator(self, **parameters: Any) -> SVM:
        """A linear machine without a kernel."""
        if self.kernel is None:
            return LinearSVM(solver=self.solver, **parameters)
        return KernelSVM(
            kernel=self.kernel,
            gamma=parse_gamma(self.gamma),
            degree=self.degree,
            coef0=self.coef0,
            cache_size=self.cache_size,
            solver=self.solver,
            **parameters,
        )


def check_parameters(svm: SVM) -> None:
    """Refuse what does not fit together before any file is read."""
    validate_parameters(svm)
    choose(svm)


def describe_rows(X: Any, y: "NDArray[Any]") -> str:
    """One line on what was read."""
    n, d = X.shape
    filled = f", {X.nnz / max(1, n * d):.2%} stored" if sparse.issparse(X) else ""
    return f"{n:,} rows, {d:,} features, {len(np.unique(y))} classes{filled}"


def describe_columns(columns: Columns) -> str:
    """What was taken for numbers and what for words: a slip in one cell shows here."""
    words = [
        f"{name} ({len({value for value in values if value is not None})})"
        for name, values in zip(columns.names, columns.values, strict=True)
        if values.dtype == object
    ]
    n_numbers = len(columns.names) - len(words)
    if not words:
        return f"columns: {n_numbers} of numbers"
    shown = ", ".join(words[:_SHOWN_COLUMNS]) + (", …" if len(words) > _SHOWN_COLUMNS else "")
    return f"columns: {n_numbers} of numbers, {len(words)} of words: {shown}"


def announce(table: Table, X: Any) -> None:
    """Say what was read and made of it."""
    assert table.y is not None
    note(describe_rows(X, table.y))
    if isinstance(table.X, Columns):
        note(describe_columns(table.X))
