"""Sparse matrices on their way into the core and out of it."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from polymargin import core

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polymargin.core import Duals, Floats, Rows

_FLOATS = (np.float32, np.float64)
_INDICES = (np.int32, np.int64)
_LARGE = 1 << 18  # values
_MOSTLY_ZERO = 0.25


def guard_conversion(X: Any) -> None:
    """Refuse corrupt indices before SciPy converts `X`: its routines do not check them.

    CSR of a type the core reads is not converted, and the core checks it.
    """
    if X.ndim != 2:
        raise ValueError(f"Sparse X: expected 2 dimensions, got {X.ndim}. Reshape your data.")
    if X.format == "csr" and X.dtype in _FLOATS:
        return
    if X.format in ("csr", "csc", "bsr"):
        blocks = X.blocksize if X.format == "bsr" else (1, 1)
        n_major, n_minor = (size // block for size, block in zip(X.shape, blocks, strict=True))
        if X.format == "csc":
            n_major, n_minor = n_minor, n_major
        _check_compressed(X.indptr, X.indices, len(X.data), n_major, n_minor)
    elif X.format == "coo":
        for index, size in zip((X.row, X.col), X.shape, strict=True):
            if len(index) != len(X.data):
                raise ValueError("Sparse X: data and indices are not of the same length")
            _check_range(index, size)


def _check_compressed(
    indptr: "NDArray[Any]", indices: "NDArray[Any]", n_stored: int, n_major: int, n_minor: int
) -> None:
    well_formed = (
        len(indptr) == n_major + 1
        and indptr[0] == 0
        and not np.any(indptr[1:] < indptr[:-1])
        and indptr[-1] <= min(len(indices), n_stored)
    )
    if not well_formed:
        raise ValueError("Sparse X: indptr is not monotone from 0 to the number of entries")
    _check_range(indices[: indptr[-1]], n_minor)


def _check_range(index: "NDArray[Any]", size: int) -> None:
    if len(index) and (index.min() < 0 or index.max() >= size):
        raise ValueError(f"Sparse X: an index is outside [0, {size})")


def csr_rows(X: Any) -> "Rows":
    """The rows of a CSR array or matrix, without a copy; ValueError where it is corrupt."""
    if len(X.indptr) != X.shape[0] + 1:
        raise ValueError(f"Sparse X: indptr has {len(X.indptr)} entries for {X.shape[0]} rows")
    indices, indptr = X.indices, X.indptr
    if indices.dtype != indptr.dtype or indices.dtype not in _INDICES:
        indices, indptr = indices.astype(np.int64), indptr.astype(np.int64)
    n_stored = max(int(indptr[-1]), 0)  # SciPy allows arrays longer than what is in use
    return core.sparse_rows(
        np.ascontiguousarray(X.data[:n_stored]),
        np.ascontiguousarray(indices[:n_stored]),
        np.ascontiguousarray(indptr),
        X.shape[1],
    )


def without_zeros(X: Any) -> "Rows | None":
    """The rows of a large array as CSR where at most a quarter of its values is not zero.

    A visit then costs what these cost, and they take less than half of the memory of the array.
    """
    if sparse.issparse(X) or X.size < _LARGE:
        return None
    widths = [np.count_nonzero(X[rows]) for rows in _parts(X)]
    if sum(widths) > _MOSTLY_ZERO * X.size:
        return None
    parts = [sparse.csr_array(X[rows]) for rows in _parts(X)]
    return csr_rows(sparse.vstack(parts, format="csr"))


def _parts(X: "NDArray[Any]") -> "Iterator[slice]":
    width = max(1, _LARGE // X.shape[1])
    return (slice(first, first + width) for first in range(0, len(X), width))


def as_coef(coef: Any, k: int, d: int) -> "Floats | sparse.csr_array":
    """The weights that the core gives: an array, or CSR of its data, indices and indptr."""
    return sparse.csr_array(coef, shape=(k, d)) if isinstance(coef, tuple) else coef


def duals_to_csr(
    duals: "Duals",
    machine: str,
    labels: "NDArray[np.int32]",
    kept: "NDArray[np.int64] | None",
    n_rows: int,
) -> sparse.csr_array:
    """The vectors a_i as rows of an (n_rows, k) array; rows that are not `kept` are zero."""
    indptr, indices, data = duals.alphas(machine, labels)
    if kept is not None:
        counts = np.zeros(n_rows, dtype=np.int64)
        counts[kept] = np.diff(indptr)
        indptr = np.concatenate([[0], np.cumsum(counts)])
    return sparse.csr_array((data, indices, indptr), shape=(n_rows, duals.shape[1]))


def take_rows(X: Any, part: slice) -> Any:
    """Consecutive rows; all of them without a copy, which SciPy would make."""
    return X if (part.start, part.stop) == (0, X.shape[0]) else X[part]
