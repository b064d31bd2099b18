"""Rows that are the same and have different labels."""

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from polymargin.fit._problem import Problem


def find_conflict(problem: "Problem") -> tuple[int, int] | None:
    """The first two of them, if any; sparse rows are compared as they are stored."""
    norms = problem.rows.squared_norms()
    _, groups, counts = np.unique(norms, return_inverse=True, return_counts=True)
    first: dict[bytes, int] = {}
    for i in np.flatnonzero(counts[groups] > 1).tolist():  # no others have an equal
        other = first.setdefault(_content(problem.X, i), i)
        if problem.labels[other] != problem.labels[i]:
            return other, i
    return None


def _content(X: Any, i: int) -> bytes:
    if not sparse.issparse(X):
        return bytes(X[i].tobytes())
    part = slice(X.indptr[i], X.indptr[i + 1])
    return bytes(X.indices[part].tobytes() + X.data[part].tobytes())
