"""Scores of rows by the weights of a linear machine, dense or sparse."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from polymargin import core
from polymargin.fit._validation import as_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray


def by_feature(coef: sparse.csr_array, X: Any) -> Any:
    """coef.T in the form in which products with the rows of `X` read it.

    SciPy multiplies sparse rows with CSR alone, and would convert the weights for each product.
    """
    return coef.T.tocsr() if sparse.issparse(X) else coef.T


def score_with(
    coef: Any, intercept: "NDArray[Any]", X: Any, n_threads: int
) -> "Callable[[Any], NDArray[Any]]":
    """What scores rows like those of `X` by dense or sparse weights."""
    if not sparse.issparse(coef):
        return lambda rows: core.scores(as_rows(rows), coef, intercept, n_threads)
    weights = by_feature(coef, X)

    def score(rows: Any) -> "NDArray[Any]":
        with np.errstate(over="ignore", invalid="ignore"):
            return sparse_scores(rows, weights, intercept)

    return score


def sparse_scores(X: Any, weights: Any, intercept: "NDArray[Any]") -> "NDArray[Any]":
    """(n, k) = X @ weights + intercept with weights of `by_feature` and dense or sparse rows."""
    scores = X @ weights
    if sparse.issparse(scores):
        scores = scores.toarray()
    shifted: NDArray[Any] = scores + intercept
    return shifted
