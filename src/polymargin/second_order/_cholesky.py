"""Cholesky factorisations that always succeed."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import linalg

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Factor:
    """L of a matrix L L^T, below the diagonal."""

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

    def inverse(self) -> "Floats":
        """Of the matrix, both triangles."""
        if len(self.lower) == 0:
            return self.lower
        below, _ = linalg.lapack.dpotri(self.lower, lower=1)
        below = np.tril(below)
        inverse: Floats = below + np.tril(below, -1).T
        return inverse


def factorise(matrix: "Floats") -> Factor:
    """Where rounding has made the matrix indefinite, with a little more on its diagonal."""
    size = len(matrix)
    if size == 0:
        return Factor(matrix)
    ridge = 1e-14 * float(np.trace(matrix)) / size
    while True:
        try:
            lower, _ = linalg.cho_factor(matrix, lower=True, check_finite=False)
        except linalg.LinAlgError:
            matrix.flat[:: size + 1] += ridge
            ridge *= 100
        else:
            return Factor(lower)
