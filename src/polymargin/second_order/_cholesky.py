"""Cholesky factorisations that always succeed."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import linalg

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Inverse:
    """Of a symmetric matrix: its values on and below the diagonal; those above mean nothing."""

    lower: "Floats"

    def times(self, values: "Floats") -> "Floats":
        if values.size == 0:
            return values
        if values.ndim == 1:
            return np.asarray(linalg.blas.dsymv(1.0, self.lower, values, lower=1))
        return np.asarray(linalg.blas.dsymm(1.0, self.lower, values, lower=1))

    def full(self) -> "Floats":
        below = np.tril(self.lower)
        full: Floats = below + np.tril(below, -1).T
        return full


@dataclass(frozen=True)
class Factor:
    """L of a matrix L L^T; what is above its diagonal means nothing."""

    lower: "Floats"

    def solve(self, right: "Floats") -> "Floats":
        if len(right) == 0:
            return right
        return np.asarray(linalg.cho_solve((self.lower, True), right, check_finite=False))

    def halve(self, right: "Floats") -> "Floats":
        """L^-1 times this."""
        return np.asarray(
            linalg.solve_triangular(self.lower, right, lower=True, check_finite=False)
        )

    def inverse(self) -> Inverse:
        """Of the matrix; takes the place of L."""
        if len(self.lower) == 0:
            return Inverse(self.lower)
        lower, _ = linalg.lapack.dpotri(self.lower, lower=1, overwrite_c=1)
        return Inverse(lower)


def factorise(matrix: "Floats") -> Factor:
    """Of a matrix of which only the triangle below the diagonal counts.

    Where rounding has made it indefinite, with a little more on its diagonal.
    """
    size = len(matrix)
    if size == 0:
        return Factor(matrix)
    ridge = 0.0
    while True:
        lower, failed = linalg.lapack.dpotrf(matrix, lower=1, clean=0)
        if not failed:
            return Factor(lower)
        more = 99 * ridge if ridge else 1e-14 * float(np.trace(matrix)) / size
        matrix.flat[:: size + 1] += more
        ridge += more
