"""Newton's direction of a linear machine with absolute margins, a class at a time.

With the rows X_c of the examples whose variable of class c is free, the equation for the change V
of the weights is, for each class,

    H_c v_c = -g_c - lambda + sigma Y_c theta,    H_c = I + sigma X_c^T X_c,                (1)

where lambda keeps sum_c v_c = 0 if the machine is zero-sum, and theta_i, for examples whose sum of
free variables F_i is at its bound, is the mean change of their free margins; the columns of Y_c are
their rows with the sign of the margin, or 0:

    |F_i| theta_i = sum_c y_ic^T v_c.

Eliminating v, then theta, leaves d x d matrices for each class and for lambda, and one of the size
of theta, instead of a matrix of all d k weights.
"""

from typing import TYPE_CHECKING

import numpy as np

from polymargin.second_order._cholesky import Factor, Inverse, factorise
from polymargin.second_order._conjugate import System, solve
from polymargin.second_order._projection import Projected
from polymargin.second_order._space import RowSpace
from polymargin.second_order._variables import Variables

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


def solve_rows_by_class(
    space: RowSpace, variables: Variables, at: Projected, sigma: float, residual: "Floats"
) -> "Floats":
    """The change of the weights, (d, k), for the residual g."""
    return -solve(_Weights(space, variables, at, sigma), residual)


class _Weights(System):
    """I + sigma A^T J A for weights (d, k), of sum zero where the machine says so."""

    def __init__(self, space: RowSpace, variables: Variables, at: Projected, sigma: float) -> None:
        counts = at.is_free.sum(axis=1)
        moving = np.flatnonzero(counts > at.is_tied)
        self._rows, self._sigma = np.asarray(space.rows[moving]), sigma
        self._free, self._sign = at.is_free[moving], variables.sign[moving]
        self._is_zero_sum = variables.machine.zero_sum
        self._tied = np.flatnonzero(at.is_tied[moving])
        self._counts = counts[moving][self._tied].astype(np.float64)
        self._inverses = [self._inverse(places) for places in self._free.T]
        self._has_ties = len(self._tied) > 0
        if self._has_ties:
            self._tie()
        if self._is_zero_sum:
            self._join()

    def multiply(self, values: "Floats") -> "Floats":
        moves = self._sign * self._free * (self._rows @ values)
        if self._has_ties:
            means = moves[self._tied].sum(axis=1) / self._counts
            moves[self._tied] -= self._free[self._tied] * means[:, None]
        product = values + self._sigma * (self._rows.T @ (self._sign * moves))
        return self._centred(product)

    def precondition(self, right: "Floats") -> "Floats":
        """-V of (1) for g = `right`."""
        solved = self._divide(right)
        theta = np.zeros(len(self._tied))
        if self._has_ties:
            theta = self._ties.solve(self._mean_moves(solved))
        if self._is_zero_sum:
            short = solved.sum(axis=1)
            if self._has_ties:
                short += self._sigma * (self._sums @ theta)
            multiplier = -self._means.solve(short)
            solved += self._divide(np.repeat(multiplier[:, None], right.shape[1], axis=1))
            if self._has_ties:
                theta += self._ties.solve(self._sums.T @ multiplier)
        if self._has_ties:
            signed = self._sign[self._tied] * self._free[self._tied] * theta[:, None]
            solved += self._sigma * self._divide(self._rows[self._tied].T @ signed)
        return self._centred(solved)

    def _mean_moves(self, values: "Floats") -> "Floats":
        """sum_c y_ic^T v_c of each tied example."""
        tied = self._tied
        moves = self._sign[tied] * self._free[tied] * (self._rows[tied] @ values)
        return np.asarray(moves.sum(axis=1))

    def _divide(self, values: "Floats") -> "Floats":
        """H_c^-1 for each class."""
        columns = [inverse.times(values[:, c]) for c, inverse in enumerate(self._inverses)]
        return np.stack(columns, axis=1)

    def _centred(self, values: "Floats") -> "Floats":
        if not self._is_zero_sum:
            return values
        centred: Floats = values - values.mean(axis=1, keepdims=True)
        return centred

    def _inverse(self, places: "NDArray[np.bool_]") -> Inverse:
        rows = self._rows[places]
        matrix = self._sigma * (rows.T @ rows)
        matrix.flat[:: len(matrix) + 1] += 1.0
        return factorise(matrix).inverse()

    def _tie(self) -> None:
        """Factorise |F| - sigma Y^T H^-1 Y; sum_c H_c^-1 Y_c."""
        matrix = np.diag(self._counts)
        self._sums = np.zeros((self._rows.shape[1], len(self._tied)))
        for c, inverse in enumerate(self._inverses):
            places = np.flatnonzero(self._free[self._tied, c])
            examples = self._tied[places]
            signed = self._rows[examples].T * self._sign[examples, c]
            solved = inverse.times(signed)
            self._sums[:, places] += solved
            matrix[np.ix_(places, places)] -= self._sigma * (signed.T @ solved)
        self._ties: Factor = factorise(matrix)

    def _join(self) -> None:
        """Factorise what lambda is solved for."""
        matrix = np.sum([inverse.lower for inverse in self._inverses], axis=0)
        if self._has_ties:
            matrix += self._sigma * (self._sums @ self._ties.solve(self._sums.T))
        self._means: Factor = factorise(matrix)
