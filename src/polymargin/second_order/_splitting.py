"""Alternating directions: all variables at once, free or not, by one inverse of the kernel matrix.

The dual problem max_beta t^T beta - beta^T Q beta / 2, Q = A A^T, is split into its quadratic part,
whose x may be anywhere, and the feasible set, in which z is. With the scaled multipliers u,

    x = (Q + rho I)^-1 (t + rho (z - u)),    z = Proj(x' + u),    u <- u + x' - z,

where x' = 1.6 x - 0.6 z (over-relaxation). Where margins are absolute, nu_ic = +-e_c, Q is the
kernel matrix for each class up to signs S and the mean over the classes: S (K (x) M) S with M = I,
or M = I - 1 1^T / k where the machine is zero-sum. So one n x n inverse serves all variables.

z is feasible and has the dual objective, the weights of x and multiples of them the primal one. A
small rho brings x closer to the optimum and z to x more slowly, so that it falls from stage to
stage. From a beta of descent the iteration starts with z = x = beta and u = (t - Q beta) / rho.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from scipy import linalg

from polymargin.second_order._multiple import best_multiple
from polymargin.second_order._projection import make_projection
from polymargin.second_order._proximal import Finish, Point, Weights
from polymargin.second_order._space import KernelSpace
from polymargin.second_order._variables import Variables

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_RHO = 0.01  # at first, in units of the mean kernel value of an example with itself
_STEEP = 0.1  # or at least, in units of 1 / C
_SAFE = 4.0  # times what single precision rounds off the kernel matrix: no rho is below
_FALL = 4.0  # of rho from stage to stage
_STAGES = 3
_RELAXED = 1.6
_BETWEEN = 25  # iterations from look to look
_LOOKS = 5  # in which the gap halves, or the stage is over
_MOST = 400  # iterations of a stage
_USUAL = 150  # iterations, as predicted
_SINGLE = 0.5  # operations in single precision for one in double


def can_split(variables: Variables) -> bool:
    """Whether one inverse serves this machine."""
    return not variables.machine.relative


def split_cost(shape: tuple[int, int]) -> float:
    """Operations, as predicted."""
    n, k = map(float, shape)
    return _SINGLE * (2 * n**3 + _USUAL * 2 * n * n * k)


def split(
    space: KernelSpace,
    variables: Variables,
    start: "Floats",
    tol: float,
    most: int,
    watch: Callable[[Finish], bool] = lambda _: False,
) -> Finish:
    """From a feasible start until the relative gap is below `tol`, at most so many iterations."""
    steps = _Splitting(space, variables, start, tol, most, watch)
    try:
        steps.run()
    except KeyboardInterrupt as interrupt:
        steps.reached.exception = interrupt
    return steps.reached


class _Splitting:
    def __init__(
        self,
        space: KernelSpace,
        variables: Variables,
        start: "Floats",
        tol: float,
        most: int,
        watch: Callable[[Finish], bool],
    ) -> None:
        self._space, self._variables = space, variables
        self._projection = make_projection(variables)
        self._tol, self._most, self._watch = tol, most, watch
        rho = _RHO * float(np.mean(np.diagonal(space.kernel)))
        rounding = float(np.finfo(np.float32).eps * np.linalg.norm(space.kernel))
        self._least = _SAFE * rounding
        self._rho = max(rho, _STEEP / float(np.max(variables.upper)), self._least)
        alphas = variables.alphas(start)
        scores = space.scores(alphas)
        margins = variables.margins(scores)
        first = self._point(start, alphas, scores, margins)
        self.reached = Finish(Weights(alphas, first.primal, start), first, 1 / self._rho)
        self._x = self._z = start
        self._u = (variables.targets - margins) / self._rho

    def run(self) -> None:
        for _ in range(_STAGES):
            if self._stage() or self._rho / _FALL < self._least:
                return
            self._rho /= _FALL
            self._u *= _FALL
            self.reached.sigma = 1 / self._rho

    def _stage(self) -> bool:
        """The iterations with one rho; whether all is over."""
        variables = self._variables
        solve = _Quadratic(self._space, variables, self._rho, self._x)
        gaps: list[float] = []
        for iteration in range(1, min(_MOST, self._most - self.reached.n_steps) + 1):
            self._x = solve(variables.targets + self._rho * (self._z - self._u))
            ahead = _RELAXED * self._x + (1 - _RELAXED) * self._z + self._u
            self._z = self._projection.nearest(ahead)
            self._u = ahead - self._z
            self.reached.n_steps += 1
            if iteration % _BETWEEN == 0:
                self._consider(solve)
                self.reached.converged = self.reached.gap <= self._tol
                if self.reached.converged or self._watch(self.reached):
                    return True
                gaps.append(self.reached.gap)
                if len(gaps) > _LOOKS and gaps[-1] > 0.5 * gaps[-1 - _LOOKS]:
                    break
        return self.reached.n_steps >= self._most

    def _consider(self, solve: "_Quadratic") -> None:
        variables, reached = self._variables, self.reached
        scores = solve.refine()
        weights = variables.alphas(self._x)
        norm = self._space.inner(weights, weights, scores) / 2
        primal = norm + variables.loss(variables.margins(scores))
        scale, primal = best_multiple(variables, scores, primal)
        if primal < reached.lowest.primal:
            reached.lowest = Weights(scale * weights, primal, scale * self._x)
        alphas = variables.alphas(self._z)
        scores = self._space.scores(alphas)
        point = self._point(self._z, alphas, scores, variables.margins(scores))
        if point.dual > reached.highest.dual:
            reached.highest = point

    def _point(
        self, beta: "Floats", alphas: "Floats", scores: "Floats", margins: "Floats"
    ) -> Point:
        norm = self._space.inner(alphas, alphas, scores) / 2
        dual = float(np.vdot(self._variables.targets, beta)) - norm
        return Point(beta, norm + self._variables.loss(margins), dual)


class _Quadratic:
    """v -> x = (Q + rho I)^-1 v, by changes from call to call.

    The inverse is one in single precision; what this leaves is a part of the change alone, and
    `refine` makes up for it.
    """

    def __init__(
        self, space: KernelSpace, variables: Variables, rho: float, start: "Floats"
    ) -> None:
        """`start` is the x that has been found already."""
        matrix = space.kernel.astype(np.float32)
        matrix.flat[:: len(matrix) + 1] += np.float32(rho)
        self._inverse = linalg.inv(matrix, overwrite_a=True, check_finite=False)
        self._space, self._variables, self._rho = space, variables, rho
        self._alphas = variables.alphas(start)
        self._right = space.scores(self._alphas) + rho * self._alphas

    def __call__(self, values: "Floats") -> "Floats":
        signed = self._variables.sign * values
        right = self._variables.centred(signed)
        self._alphas += self._times(right - self._right)
        self._right = right
        solution: Floats = self._variables.sign * (self._alphas + (signed - right) / self._rho)
        return solution

    def refine(self) -> "Floats":
        """The scores of x; from here on it is exact for the values of the last call."""
        scores = self._space.scores(self._alphas)
        self._alphas += self._times(self._right - scores - self._rho * self._alphas)
        return scores

    def _times(self, values: "Floats") -> "Floats":
        solved = self._inverse @ values.astype(np.float32)
        return self._variables.centred(solved.astype(np.float64))
