"""C = inf: the hard-margin problem, in which no example may violate its margins.

    minimise  |W|^2 / 2    subject to    m_ic(W) = nu_ic^T f(x_i) >= t_ic    for all i and c

Its dual is that of a finite C without the upper bounds. So dual variables of any finite C are
feasible, and so are their weights, divided by their smallest margin m = min m_ic / t_ic, where that
is positive. Every multiple of beta is as good as beta itself, which leaves the two bounds

    (t^T beta)^2 / (2 |W|^2)  <=  optimum  <=  |W|^2 / (2 m^2),    W = A^T beta,

the left one being the best dual objective among the multiples. Fits at C, 100 C, 10,000 C ..., each
from the dual variables of the last one, bring them together: from some C on no upper bound binds.

Where the classes cannot be separated the left one grows without bound instead. At any time it says
that no weights of norm 1 have a smallest margin of more than |W| / t^T beta.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from polymargin import core
from polymargin.fit._not_separable import not_separable, refuse_at_sight
from polymargin.fit._outcome import Outcome
from polymargin.fit._past import Past
from polymargin.fit._problem import Problem
from polymargin.fit._progress import RECORD, Check
from polymargin.fit._state import ProblemKeeper, restrict_duals
from polymargin.second_order import Variables, to_array

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polymargin.core import Duals, MachineInfo

    Floats = NDArray[np.float64]
    Scores = Iterator[tuple[slice, Floats]]  # rows and their scores

_GROWTH = 100.0  # of C from stage to stage
_ROUGH = 1e-2  # gap of a stage as long as no weights separate the classes
_SHARE = 0.25  # of `tol` is the gap of a stage after that: the slack that is left adds to it
_INDEFINITE = "C=inf needs a positive semi-definite kernel, as any margin does: set a finite C"


class Scalable(Outcome, Protocol):
    """What a fit of any machine reached."""

    def scaled(self, factor: float) -> Any:
        """The same with weights and dual variables times a factor."""
        ...


@dataclass(frozen=True)
class Stage:
    """A fit at a finite C on the way."""

    problem: Problem
    C: float
    tol: float
    warm: "Duals | None"
    keeper: ProblemKeeper | None


@dataclass(frozen=True)
class HardMargin:
    """A hard-margin problem, and how fits at finite C are made and scored."""

    problem: Problem
    machine: "MachineInfo"
    diagonal: "NDArray[Any]"  # K_ii
    tol: float
    by_gap: bool  # else by the largest KKT violation
    max_iter: int  # of each fit at a finite C
    solve: Callable[[Stage], tuple[Any, bool]]
    score: Callable[[Any], "Scores"]  # by the weights of the dual variables of an outcome
    score_best: Callable[[Any], "Scores"]  # by the weights that its fit ended with

    def run(self, warm: "Duals | None", keeper: ProblemKeeper | None) -> tuple[Any, bool]:
        """The outcome, and whether a callback stopped the fit; NotSeparableError."""
        if np.any(self.diagonal < 0):
            raise ValueError(_INDEFINITE)
        refuse_at_sight(self.problem, self.diagonal)
        C, tol, past = self._first_C(warm), max(_ROUGH, self._finest), Past()
        while True:
            problem = replace(self.problem, upper=np.full(len(self.problem), C))
            after = None if keeper is None else keeper.after(past)
            outcome, stopped = self.solve(Stage(problem, C, tol, warm, after))
            if math.isnan(outcome.dual_gap):
                raise ValueError(_INDEFINITE)
            ray = self._ray(outcome)
            past = past.and_then(Past.of(outcome.history))
            reached = self._conclude(outcome, ray, past)
            if reached.converged or reached.exception is not None or stopped:
                return reached, stopped
            is_slow = not outcome.converged and outcome.n_iter >= self.max_iter
            is_last = is_slow or self._largest_C < _GROWTH * C
            if ray.margin <= 0 and (is_last or ray.is_hopeless):
                raise not_separable(
                    self.problem,
                    self._find_least(outcome),
                    ray.bound,
                    ray.is_hopeless,
                    C,
                    self.max_iter if is_slow else None,
                )
            if is_last:
                return reached, False
            warm = outcome.duals
            if ray.margin > 0 and tol > self._finest:
                tol = self._finest
            else:
                C *= _GROWTH

    @property
    def _finest(self) -> float:
        return _SHARE * self.tol

    @property
    def _radius(self) -> float:
        """The length of the longest row."""
        return math.sqrt(float(np.max(self.diagonal)))

    @property
    def _least_margin(self) -> float:
        """What rounding leaves of a margin beside the longest row."""
        return math.sqrt(float(np.finfo(self.problem.rows.dtype).eps)) * self._radius

    @property
    def _largest_C(self) -> float:
        """What the dual variables sum up to at that margin: a larger C changes nothing."""
        return 1 / self._least_margin**2

    def _first_C(self, warm: "Duals | None") -> float:
        """Such that the bounds cut none of the dual variables of a warm start."""
        values = np.zeros(0) if warm is None else warm.__getstate__()[3]
        largest = len(self.problem.classes) * float(np.max(values, initial=0.0))
        return max(_GROWTH / self._radius**2, 2.0 * largest)

    def _variables(self, part: slice) -> Variables:
        labels, upper = self.problem.labels[part], self.problem.upper[part]
        return Variables(self.machine, labels, upper, len(self.problem.classes))

    def _find_least(self, outcome: Scalable) -> "Floats":
        """Of each example the smallest margin, in units of its target, by the best weights."""
        least = []
        for part, scores in self.score_best(outcome):
            variables = self._variables(part)
            least.append(_least(variables, variables.margins(scores)))
        return np.concatenate(least)

    def _ray(self, outcome: Scalable) -> "Ray":
        beta, margins, targets, least = [], [], [], []
        for part, scores in self.score(outcome):
            variables = self._variables(part)
            found = variables.margins(scores)
            numbers = np.arange(part.start, part.stop)
            values = to_array(restrict_duals(outcome.duals, numbers))
            used = values > 0
            beta.append(values[used])
            margins.append(found[used])
            targets.append(variables.targets[used])
            least.append(_least(variables, found))
        return Ray(
            np.concatenate(beta),
            np.concatenate(margins),
            np.concatenate(targets),
            np.concatenate(least),
            self._least_margin,
        )

    def _conclude(self, outcome: Scalable, ray: "Ray", past: Past) -> Any:
        """The multiple of what was reached that has a smallest margin of 1, where one has."""
        gap = core.relative_gap(ray.primal, ray.dual)
        violation = ray.violation
        distance = gap if self.by_gap else violation
        last = Check(
            past.epochs, past.seconds, ray.primal, ray.dual, gap, violation, len(self.problem)
        )
        reached = outcome.scaled(ray.factor)
        reached.n_iter = math.ceil(past.epochs)
        reached.primal_objective, reached.dual_objective = ray.primal, ray.dual
        reached.dual_gap, reached.violation = gap, violation
        reached.converged = bool(distance <= self.tol)
        reached.history = np.concatenate([past.history, np.array([last], RECORD)])
        return reached


def _least(variables: Variables, margins: "Floats") -> "Floats":
    relative = np.full(margins.shape, np.inf)
    np.divide(margins, variables.targets, out=relative, where=variables.is_there)
    smallest: Floats = relative.min(axis=1)
    return smallest


@dataclass(frozen=True)
class Ray:
    """Dual variables and the weights that they give, of which any multiple will do."""

    beta: "Floats"  # those that are positive
    margins: "Floats"  # of each
    targets: "Floats"
    least: "Floats"  # margin of each example, in units of its target
    least_bound: float  # what is below cannot be told from 0

    @property
    def margin(self) -> float:
        return float(np.min(self.least))

    @property
    def factor(self) -> float:
        """What gives the weights a smallest margin of 1; 1 where nothing does."""
        return 1 / self.margin if self.margin > 0 else 1.0

    @property
    def dual(self) -> float:
        return 1 / (2 * self.bound**2)

    @property
    def primal(self) -> float:
        return self._squared_norm * self.factor**2 / 2 if self.margin > 0 else math.inf

    @property
    def bound(self) -> float:
        """On the smallest margin of any weights of norm 1."""
        total = float(self.beta @ self.targets)
        norm = math.sqrt(self._squared_norm)
        return max(norm / total, self.least_bound) if total > 0 else math.inf

    @property
    def is_hopeless(self) -> bool:
        """Whether the bound is as low as can be told."""
        return self.bound <= self.least_bound

    @property
    def violation(self) -> float:
        """The largest of the KKT conditions: margins of positive variables are their targets."""
        if self.margin <= 0:
            return math.inf
        return float(np.max(np.abs(self.factor * self.margins - self.targets), initial=0.0))

    @property
    def _squared_norm(self) -> float:
        return max(float(self.beta @ self.margins), 0.0)
