"""Which rows are held out together.

Equal rows of a class are one row with their weights added up, as everywhere in a fit: they are held
out together, or the model would have seen what it is judged by. Folds depend on the set of rows and
the seed alone, not on the order of the rows nor on how they are stored. Each class is dealt to all
folds in turn, so that the rows left to learn from have every class; a class that has but one row is
never held out.
"""

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from numpy.typing import NDArray

_FOLDS = 5
_ROWS = 1024  # of an array whose values are mixed at a time


@dataclass(frozen=True)
class FoldPlan:
    """Rows of numbered classes, ready to be dealt."""

    keys: "NDArray[np.uint64]"  # the same for equal rows
    labels: "NDArray[np.int32]"
    n_folds: int
    single: "NDArray[np.int64]"  # classes of one row
    n_held_out: int  # rows that differ, of all folds

    @classmethod
    def of(cls, X: Any, labels: "NDArray[np.int32]", name: str) -> "FoldPlan":
        """ValueError where no row can be held out; `name` is that of the calibration."""
        keys = row_keys(X)
        order, is_first = _group(labels, keys, keys)
        counts = np.bincount(labels[order[is_first]])
        if np.max(counts) < 2:
            raise ValueError(
                f"calibration={name!r} holds rows out, and no class has two rows that differ. Set "
                "calibration=None or fit more rows."
            )
        n_folds = min(_FOLDS, int(np.max(counts)))
        return cls(
            keys, labels, n_folds, np.flatnonzero(counts == 1), int(counts[counts > 1].sum())
        )

    def deal(self, seed: int) -> "NDArray[np.int64]":
        """The fold of each row; -1 where it is never held out."""
        order, is_first = _group(self.labels, self.keys, _mix(self.keys ^ np.uint64(seed)))
        is_dealt = ~np.isin(self.labels[order], self.single)
        fold = np.empty(len(order), np.int64)
        fold[order] = np.where(is_dealt, (np.cumsum(is_first & is_dealt) - 1) % self.n_folds, -1)
        return fold

    def warn(self, classes: "NDArray[Any]", by_class: bool) -> None:
        """Say what is not as it should be; `by_class` is whether each class learns from its own."""
        if self.n_folds < _FOLDS:
            warnings.warn(
                f"calibration: no class has {_FOLDS} rows that differ, so that the cross-fit has "
                f"{self.n_folds} folds. Probabilities learnt from so few rows are rough.",
                UserWarning,
                stacklevel=6,
            )
        if by_class and len(self.single):
            warnings.warn(
                f"calibration: {len(self.single)} class(es) have one row, which cannot be held out "
                f"(the first is {classes.tolist()[self.single[0]]!r}). Their probabilities are "
                "learnt from all classes together.",
                UserWarning,
                stacklevel=6,
            )


def _group(
    labels: "NDArray[np.int32]", keys: "NDArray[np.uint64]", rank: "NDArray[np.uint64]"
) -> "tuple[NDArray[np.int64], NDArray[np.bool_]]":
    """Rows by class, then rank, and which of them are the first of equals."""
    order = np.lexsort((rank, labels))
    is_first = np.ones(len(order), dtype=bool)
    of, key = labels[order], keys[order]
    is_first[1:] = (of[1:] != of[:-1]) | (key[1:] != key[:-1])
    return order, is_first


def row_keys(X: Any) -> "NDArray[np.uint64]":
    """A number for each row, the same for equal rows, dense or sparse."""
    factors = np.random.RandomState(0).randint(2**63, size=X.shape[1], dtype=np.uint64)
    factors = factors << np.uint64(1) | np.uint64(1)
    if sparse.issparse(X):
        rows = sparse.csr_array(X)
        if not rows.has_canonical_format:
            rows = rows.copy()
            rows.sum_duplicates()
        mixed = sparse.csr_array((_bits(rows.data), rows.indices, rows.indptr), shape=rows.shape)
        keys: NDArray[np.uint64] = mixed @ factors
        return keys
    parts = [_bits(X[first : first + _ROWS]) @ factors for first in range(0, X.shape[0], _ROWS)]
    return np.concatenate(parts)


def _bits(values: "NDArray[Any]") -> "NDArray[np.uint64]":
    """Those of each number, stirred; zero of either sign is 0."""
    return _mix((values.astype(np.float64) + 0.0).view(np.uint64))


def _mix(bits: "NDArray[np.uint64]") -> "NDArray[np.uint64]":
    """One to one, and each bit depends on all; 0 stays 0."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        bits = (bits ^ (bits >> np.uint64(shift))) * np.uint64(factor)
    return bits ^ (bits >> np.uint64(31))
