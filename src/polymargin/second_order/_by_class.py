"""Newton's direction of a kernel machine with absolute margins, a class at a time.

The free variables F of all examples solve

    (I / sigma + Q_FF) s = r,    T s = 0,    Q = S (K (x) M) S,                           (1)

with M = I, or I - 1 1^T / k where the machine is zero-sum; T adds up the free variables of each
example whose sum is at its bound. So Q_FF is K_c = K[F_c, F_c] for each class c, less what the mean
takes, E^T K E / k, where E adds up the signed variables of each example. With D = diag_c(K_c +
I / sigma) and multipliers v = K E s / k of the mean and mu of T,

    s = D^-1 (r + E^T v + T^T mu),    (k K^-1 - E D^-1 E^T) v - E D^-1 T^T mu = E D^-1 r,
                                            T D^-1 E^T v + T D^-1 T^T mu = -T D^-1 r.

There are k matrices of the size of F_c and one of the size of the examples that move, instead of
one for all F. K may be singular; K + I / (2 sigma) takes its place, and conjugate gradients with
this as their preconditioner, whose condition number is at most 2, solve (1) itself.
"""

from typing import TYPE_CHECKING

import numpy as np

from polymargin.second_order._cholesky import Factor, Inverse, factorise
from polymargin.second_order._conjugate import System, solve
from polymargin.second_order._projection import Projected
from polymargin.second_order._space import Space
from polymargin.second_order._variables import Variables

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


def solve_by_class(
    space: Space, variables: Variables, at: Projected, sigma: float, right: "Floats"
) -> "Floats":
    """s of (1), (n, k), 0 where a variable is not free; `right` is r, (n, k)."""
    counts = at.is_free.sum(axis=1)
    moving = np.flatnonzero(counts > at.is_tied)
    step = np.zeros(variables.shape)
    if len(moving):
        system = _System(space.gram(moving), variables, at, moving, sigma)
        step[moving] = solve(system, system.level(right[moving] * system.free))
    return step


class _System(System):
    """(1), for examples that move; all arrays of variables are (m, k)."""

    def __init__(
        self,
        kernel: "Floats",
        variables: Variables,
        at: Projected,
        moving: "NDArray[np.int64]",
        sigma: float,
    ) -> None:
        self._kernel, self._sigma = kernel, sigma
        self.free = at.is_free[moving]
        self._sign = variables.sign[moving]
        self._n_classes = variables.n_classes
        self._is_zero_sum = variables.machine.zero_sum
        self._tied = np.flatnonzero(at.is_tied[moving])
        self._places = [np.flatnonzero(of_class) for of_class in self.free.T]
        self._inverses = [self._inverse(places) for places in self._places]
        if self._is_zero_sum:
            self._join()

    def level(self, values: "Floats") -> "Floats":
        """Less the mean of each tied example: mu's, whose rounding would outlast the rest."""
        free, tied = self.free[self._tied], values[self._tied]
        means = tied.sum(axis=1, keepdims=True) / free.sum(axis=1, keepdims=True)
        values[self._tied] -= free * means
        return values

    def multiply(self, values: "Floats") -> "Floats":
        """(I / sigma + Q_FF) s, up to a multiple of T^T."""
        alphas = self._sign * values
        if self._is_zero_sum:
            alphas -= alphas.mean(axis=1, keepdims=True)
        forces = values / self._sigma + self._sign * (self._kernel @ alphas)
        return self.level(self.free * forces)

    def precondition(self, right: "Floats") -> "Floats":
        """About the s of (1), with T s = 0."""
        alphas = self._divide(self._sign * right)
        if not self._is_zero_sum:
            return self._sign * alphas
        of_mean = alphas.sum(axis=1)
        if len(self._tied):
            of_sums = (self._sign * alphas).sum(axis=1)[self._tied]
            of_mean = of_mean - self._mixed @ self._sums.solve(of_sums)
        v = self._means.solve(of_mean)
        forces = np.repeat(v[:, None], self._n_classes, axis=1)
        if len(self._tied):
            mu = self._sums.solve(of_sums + self._mixed.T @ v)
            forces[self._tied] -= self._sign[self._tied] * mu[:, None]
        return self._sign * (alphas + self._divide(forces))

    def _divide(self, values: "Floats") -> "Floats":
        """D^-1."""
        divided = np.zeros_like(values)
        for c, (places, inverse) in enumerate(zip(self._places, self._inverses, strict=True)):
            divided[places, c] = inverse.times(values[places, c])
        return divided

    def _inverse(self, places: "NDArray[np.int64]") -> Inverse:
        matrix = self._kernel[np.ix_(places, places)].T  # symmetric, and by columns
        matrix.flat[:: len(matrix) + 1] += 1 / self._sigma
        return factorise(matrix).inverse()

    def _join(self) -> None:
        """Factorise what multipliers are solved for: first mu, then v."""
        m = len(self._kernel)
        by_columns = np.zeros((m, m)).T
        by_columns += self._kernel
        by_columns.flat[:: m + 1] += 0.5 / self._sigma
        matrix = factorise(by_columns).inverse().lower
        matrix *= self._n_classes
        for places, inverse in zip(self._places, self._inverses, strict=True):
            matrix.T[np.ix_(places, places)] -= inverse.lower.T
        if len(self._tied):
            self._tie()
            half = self._sums.halve(self._mixed.T)
            matrix += half.T @ half
        self._means: Factor = factorise(matrix)

    def _tie(self) -> None:
        """E D^-1 T^T and T D^-1 T^T."""
        m = len(self._kernel)
        mixed, sums = np.zeros((m, m)), np.zeros((m, m))  # as if all were tied
        for c, (places, inverse) in enumerate(zip(self._places, self._inverses, strict=True)):
            block, sign = np.ix_(places, places), self._sign[places, c]
            signed = inverse.full() * sign
            mixed[block] += signed
            sums[block] += sign[:, None] * signed
        self._mixed = mixed[:, self._tied]
        self._sums = factorise(sums[np.ix_(self._tied, self._tied)])
