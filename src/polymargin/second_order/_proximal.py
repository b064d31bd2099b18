"""A second-order finish: the dual proximal point method with semismooth Newton.

The dual problem is max_beta t^T beta - |A^T beta|^2 / 2 over the feasible set, A^T beta = W. A
stage solves it with -|beta - b|^2 / (2 sigma) added, by Newton's method on the dual of that,

    phi(W) = |W|^2 / 2 + max_beta [(t - A W)^T beta - |beta - b|^2 / (2 sigma)],
    beta(W) = Proj(b + sigma (t - A W)),    grad phi = W - A^T beta(W) = g,

which is convex with a Jacobian that `_step` solves with. The next stage starts from b = beta with a
larger sigma, or with a smaller one where Newton's method took too many steps. A stage is left once
|g|^2 / 2 is a fraction of its proximal term.

Whatever happens on the way, each beta(W) is feasible, and its own W and objectives are computed:
what is returned is the one with the highest dual objective and the weights with the lowest primal
one. These may be W itself or a multiple of it: sigma enlarges what W lacks in beta(W), which is
good for the primal objective only at the end of a stage.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from polymargin import core
from polymargin.second_order._multiple import best_multiple
from polymargin.second_order._projection import make_projection
from polymargin.second_order._space import Space
from polymargin.second_order._step import Direction, find_direction, find_way
from polymargin.second_order._variables import Variables

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_GROWTH = 4.0  # of sigma from stage to stage
_LARGEST = 1e5  # sigma, in units of C
# Part of the tolerance: the core, which has the last word, rounds in other places.
_AIM = {4: 0.5, 8: 0.95}  # by the bytes of a number
_INEXACT = 0.2  # part of the proximal term at which a stage ends
_NEWTON_STEPS = 30  # of a stage
_STALLED = 8  # stages in which the gap does not fall by a tenth
_FLAT = 0.3  # part of the first slope that is small


@dataclass(frozen=True)
class Point:
    """A feasible beta with its objectives."""

    beta: "Floats"
    primal: float
    dual: float


@dataclass(frozen=True)
class Weights:
    """Any W with its primal objective."""

    weights: "Floats"
    primal: float
    beta: "Floats | None"  # W = A^T beta, seldom feasible; None where it is not known


@dataclass(frozen=True)
class Start:
    """Where steps begin."""

    center: "Floats"  # feasible
    beta: "Floats"  # of the first weights, seldom feasible
    sigma: float
    n_iterations: int


@dataclass
class Finish:
    """What was reached, and at what cost."""

    lowest: Weights  # primal objective
    highest: Point  # dual objective
    sigma: float  # of the last stage
    n_steps: int = 0
    operations: float = 0.0
    converged: bool = False
    exception: BaseException | None = None  # what interrupted it

    @property
    def gap(self) -> float:
        """Relative, between the best of both sides."""
        return core.relative_gap(self.lowest.primal, self.highest.dual)


def finish(
    space: Space,
    variables: Variables,
    start: "Floats",
    sigma: float,
    tol: float,
    budget: float,
    watch: Callable[[Finish], bool] = lambda _: False,
    max_free: int = 4000,
    ahead: "Floats | None" = None,
) -> Finish:
    """From a feasible start until the relative gap is below `tol`.

    At most `budget` operations, and no matrix of more than `max_free` rows. The first weights are
    those of `ahead` where they are better than those of the start.
    """
    steps = _Proximal(space, variables, start, sigma, tol, budget, watch, max_free, ahead)
    try:
        steps.run()
    except KeyboardInterrupt as interrupt:
        steps.reached.exception = interrupt
    return steps.reached


def aim_below(tol: float, dtype: "np.dtype[Any]") -> float:
    """The gap to reach in double for one of at most `tol` in this precision."""
    return _AIM[dtype.itemsize] * tol


def first_sigma(beta: "Floats", variables: Variables) -> float:
    """For a start from dual variables: as far as they are from zero."""
    moved = beta[beta > 0]
    largest = float(np.max(variables.upper))
    return min(float(np.mean(moved)), largest) if len(moved) else largest


class _Proximal:
    def __init__(
        self,
        space: Space,
        variables: Variables,
        start: "Floats",
        sigma: float,
        tol: float,
        budget: float,
        watch: Callable[[Finish], bool],
        max_free: int,
        ahead: "Floats | None",
    ) -> None:
        self._space, self._variables = space, variables
        self._projection = make_projection(variables)
        self._tol, self._budget, self._watch = tol, budget, watch
        self._max_free = max_free
        self._center, self._sigma = start, sigma
        self._is_solved = False  # the last stage
        self._largest = _LARGEST * float(np.max(variables.upper))
        weights = space.weights(variables.alphas(start))
        first = self._point(start, weights, space.scores(weights))
        self.reached = Finish(Weights(weights, first.primal, start), first, sigma)
        self._beta: Floats | None = start if ahead is None else ahead  # W = A^T beta
        self._weights = space.weights(variables.alphas(self._beta))
        self._scores = space.scores(self._weights)

    def run(self) -> None:
        reached, stalled, gap, dual = self.reached, 0, np.inf, 0.0
        while stalled < _STALLED and not self._stage():
            moves = reached.gap < 0.9 * gap or reached.highest.dual > 1.1 * dual
            stalled = 0 if moves else stalled + 1
            gap, dual = reached.gap, reached.highest.dual
            factor = _GROWTH if self._is_solved else 1 / _GROWTH
            reached.sigma = self._sigma = min(factor * self._sigma, self._largest)
            self._scores = self._space.scores(self._weights)

    def _stage(self) -> bool:
        """Newton's method for one b and sigma; whether all is over."""
        space, variables, reached = self._space, self._variables, self.reached
        self._is_solved = False
        product = space.product_cost(variables.n_classes)
        for _ in range(_NEWTON_STEPS):
            values = self._values(self._scores)
            at = self._projection.project(values)
            weights = space.weights(variables.alphas(at.beta))
            scores = space.scores(weights)
            self._consider(at.beta, weights, scores)
            if reached.gap > self._tol:
                self._consider_weights()
            if reached.gap <= self._tol:
                reached.converged = True
                return True
            residual, residual_scores = self._weights - weights, self._scores - scores
            proximal = float(np.sum((at.beta - self._center) ** 2)) / (2 * self._sigma)
            off = space.inner(residual, residual, residual_scores) / 2
            if off <= max(_INEXACT * proximal, 1e-15 * abs(reached.highest.dual)):
                self._is_solved = True
                break
            cost, way = find_way(
                space, variables.machine, variables.n_classes, at.moves, self._max_free
            )
            reached.operations += cost + 4 * product
            if reached.operations > self._budget or self._watch(reached):
                return True
            direction = find_direction(
                space, variables, at, self._sigma, residual, residual_scores, way
            )
            reached.n_steps += 1
            if direction.beta is not None:
                self._try(self._projection.nearest(direction.beta))
            if not self._move(direction, residual):
                self._is_solved = True  # as well as rounding lets it be
                break
        self._center = at.beta
        return False

    def _values(self, scores: "Floats") -> "Floats":
        """b + sigma (t - A W)."""
        gradient = self._variables.targets - self._variables.margins(scores)
        return self._center + self._sigma * gradient

    def _move(self, direction: Direction, residual: "Floats") -> bool:
        """To about the lowest phi along the direction, at most its whole length.

        The slope of phi is continuous and never falls, so that regula falsi finds where it is
        small; how far that is spans many orders of magnitude.
        """
        change = direction.weights
        moved = self._space.scores(change)
        turned = self._variables.margins(moved)
        along = self._space.inner(self._weights, change, moved)
        norm = self._space.inner(change, change, moved)

        def slope(length: float) -> float:
            beta = self._projection.nearest(self._values(self._scores + length * moved))
            return along + length * norm - float(np.vdot(turned, beta))

        start = self._space.inner(residual, change, moved)
        if start >= 0:
            return False
        length = _flat_place(slope, start)
        self._weights = self._weights + length * change
        self._scores = self._scores + length * moved
        if self._beta is None or direction.beta is None:
            self._beta = None
        else:
            self._beta = self._beta + length * (direction.beta - self._beta)
        return length > 0

    def _try(self, beta: "Floats") -> None:
        weights = self._space.weights(self._variables.alphas(beta))
        self._consider(beta, weights, self._space.scores(weights))

    def _consider(self, beta: "Floats", weights: "Floats", scores: "Floats") -> None:
        point = self._point(beta, weights, scores)
        if point.primal < self.reached.lowest.primal:
            self.reached.lowest = Weights(weights, point.primal, beta)
        if point.dual > self.reached.highest.dual:
            self.reached.highest = point

    def _consider_weights(self) -> None:
        """W itself, and longer ones."""
        norm = self._space.inner(self._weights, self._weights, self._scores) / 2
        loss = self._variables.loss(self._variables.margins(self._scores))
        scale, primal = best_multiple(self._variables, self._scores, norm + loss)
        if primal < self.reached.lowest.primal:
            beta = None if self._beta is None else scale * self._beta
            self.reached.lowest = Weights(scale * self._weights, primal, beta)

    def _point(self, beta: "Floats", weights: "Floats", scores: "Floats") -> Point:
        norm = self._space.inner(weights, weights, scores) / 2
        loss = self._variables.loss(self._variables.margins(scores))
        return Point(beta, norm + loss, float(np.vdot(self._variables.targets, beta)) - norm)


def _flat_place(slope: Callable[[float], float], start: float) -> float:
    """Where in (0, 1] a rising slope, negative at 0, is a small part of what it is there."""
    low, high = 0.0, 1.0
    at_low, at_high = start, slope(1.0)
    if at_high <= -_FLAT * start:
        return 1.0
    for _ in range(60):
        length = low + (high - low) * at_low / (at_low - at_high)
        length = min(max(length, low + 0.02 * (high - low)), high - 0.02 * (high - low))
        value = slope(length)
        if abs(value) <= -_FLAT * start:
            return length
        if value < 0:
            low, at_low = length, value
            at_high /= 2
        else:
            high, at_high = length, value
            at_low /= 2
    return low
