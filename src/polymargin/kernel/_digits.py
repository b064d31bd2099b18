"""How many digits the values of a kernel keep, as rows may be far away for their spread.

What differs between two rows is lost where it is small against rounding errors of what they share:
|x - z|^2 = |x|^2 + |z|^2 - 2 x^T z has an error of about eps |x|^2, whatever it is itself.
"""

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from polymargin.fit import as_rows
from polymargin.kernel._functions import as_array, tidy

if TYPE_CHECKING:
    from numpy.typing import NDArray

LOST = 1e-3  # error, as a part of what it is an error of, from which on digits count as lost
_WIDTH = 1024  # rows at a time


class LostDigitsWarning(UserWarning):
    """Kernel values are so inexact that a fit cannot tell rows apart as it should."""


@dataclass(frozen=True)
class Extent:
    """How far rows are from where a kernel measures from, and from each other."""

    largest: float  # |x - c|^2
    mean: float  # |x - c|^2
    spread: float  # mean of |x - z|^2

    @classmethod
    def of(cls, X: Any, from_mean: bool) -> "Extent":
        """Of validated rows; c is their mean or 0. Sums are in double and in little memory."""
        if sparse.issparse(X) and not from_mean:
            spread = _sparse_spread(tidy(X))
        else:
            squares = _squared_deviations(X)
            spread = 2 * float(squares.mean())
            if from_mean:
                return cls(float(np.max(squares)), spread / 2, spread)
        norms = as_rows(X).squared_norms()
        return cls(float(np.max(norms)), float(norms.mean()), spread)


def _squared_deviations(X: Any) -> "NDArray[np.float64]":
    """|x - mean|^2 of each row."""
    n = X.shape[0]
    mean = np.asarray(X.mean(axis=0, dtype=np.float64)).ravel()
    squares = np.empty(n)
    for first in range(0, n, _WIDTH):
        part = slice(first, first + _WIDTH)
        difference = as_array(X[part]) - mean
        np.einsum("ij,ij->i", difference, difference, out=squares[part])
    return squares


def _sparse_spread(X: Any) -> float:
    """Mean of |x - z|^2 over pairs of rows, entry by entry."""
    n, d = X.shape
    n_stored = int(X.indptr[-1])
    values, columns = X.data[:n_stored].astype(np.float64), X.indices[:n_stored]
    mean = np.bincount(columns, values, minlength=d) / n
    values -= mean[columns]
    n_zeros = n - np.bincount(columns, minlength=d)
    total = values @ values + n_zeros @ mean**2
    return 2 * float(total) / float(n)


def epsilon(dtype: Any) -> float:
    """Rounding error of a number of this type, relative to it."""
    return float(np.finfo(dtype).eps)


def or_wider(dtype: "np.dtype[Any]") -> str:
    """The end of a remedy."""
    return " or pass float64" if dtype == np.float32 else ""


def warn_lost(what: str, remedy: str, stacklevel: int) -> None:
    """Say what happens to the digits, and what to do."""
    warnings.warn(f"{what} {remedy}", LostDigitsWarning, stacklevel=stacklevel + 1)
