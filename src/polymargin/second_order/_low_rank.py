"""Kernel matrices of low rank: K is about Z Z^T, by a Cholesky factorisation with pivots.

A kernel machine on Z is a linear one of few features. Its weights W are weights of the kernel
machine, too, with the same scores and the same norm: Z = K_P L^-T with the columns P of the pivots
and L = Z[P], so that they are sum_p k(x_p, .) a_p with a = L^-T W. What Z Z^T lacks of K only makes
the dual objective too high.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import linalg

from polymargin.second_order._space import RowSpace
from polymargin.second_order._variables import Variables

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_RANK = 500  # at most
_PRECISION = 1e-8  # of K_ii, in units of their mean
_COARSE = 1e-6  # of what is enough to start with


@dataclass(frozen=True)
class LowRank:
    """Z and the examples whose columns of K it is made of."""

    space: RowSpace
    pivots: "NDArray[np.int64]"
    coarse_rank: int  # columns that are enough to start with

    @property
    def coarse(self) -> "LowRank":
        """The first columns alone."""
        rows = np.ascontiguousarray(self.space.rows[:, : self.coarse_rank])
        return LowRank(RowSpace(rows), self.pivots[: self.coarse_rank], self.coarse_rank)

    def beta(self, variables: Variables, weights: "Floats") -> "Floats":
        """Whose weights in the kernel's space are these of Z; margins have to be absolute."""
        alphas = np.zeros(variables.shape)
        alphas[self.pivots] = linalg.solve_triangular(
            self.space.rows[self.pivots], weights, lower=True, trans="T", check_finite=False
        )
        return variables.sign * alphas


def find_low_rank(
    column: Callable[[int], "Floats"], diagonal: "NDArray[np.floating]"
) -> LowRank | None:
    """None where the rank is too high; a quarter of the columns tells.

    The largest remainder has to fall by as many orders of magnitude with each quarter.
    """
    left = diagonal.astype(np.float64)
    mean, coarse_rank = float(np.mean(left)), 0
    most = min(_RANK, len(left) // 2)
    rows, pivots = np.zeros((len(left), most)), np.zeros(most, np.int64)
    for rank in range(most):
        pivot = int(np.argmax(left))
        if left[pivot] <= _PRECISION * mean:
            space = RowSpace(np.ascontiguousarray(rows[:, :rank]))
            return LowRank(space, pivots[:rank], coarse_rank)
        if left[pivot] > _COARSE * mean:
            coarse_rank = rank + 1
        if rank == most // 4 and left[pivot] > _PRECISION**0.25 * mean:
            return None
        pivots[rank] = pivot
        new = column(pivot) - rows[:, :rank] @ rows[pivot, :rank]
        new /= np.sqrt(left[pivot])
        new[pivots[:rank]] = 0.0  # but for rounding
        rows[:, rank] = new
        left -= new**2
        left[pivot] = 0.0
    return None
