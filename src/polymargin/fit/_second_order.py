"""Second-order steps beside descent, on the problem of a linear machine."""

import math
import time
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from polymargin._threads import blas_threads
from polymargin.fit._descent import Descent, LinearOutcome
from polymargin.fit._handover import Handover
from polymargin.fit._interrupts import held_interrupts
from polymargin.fit._past import Past
from polymargin.fit._problem import Problem
from polymargin.fit._progress import RECORD, Check
from polymargin.fit._state import ProblemKeeper
from polymargin.second_order import (
    MOST_VARIABLES,
    Finish,
    RowSpace,
    Variables,
    aim_below,
    finish,
    first_sigma,
    guess_cost,
    predict_cost,
    to_array,
    to_duals,
)
from polymargin.solvers import Automatic, SecondOrder

if TYPE_CHECKING:
    from polymargin.core import Duals, LinearOptions, MachineInfo
    from polymargin.fit._linear import Monitor

_PASS = 4.0  # operations for an entry of a row and a class when descent visits it
_GOOD_START = 0.05  # gap from which the steps go on from the dual variables of descent
_TRIES = 16.0  # times its predicted cost that the finish may take
_START = 10.0  # of sigma, in units of the mean of 1 / |x|^2


def has_room(problem: Problem) -> bool:
    """Whether an array of all dual variables, and one of rows that are sparse, is small."""
    if len(problem) * len(problem.classes) > MOST_VARIABLES:
        return False
    return not sparse.issparse(problem.X) or math.prod(problem.X.shape) <= MOST_VARIABLES


@dataclass
class SecondOrderSteps:
    """What the steps need, made once they are likely to be taken."""

    problem: Problem
    machine: "MachineInfo"
    options: "LinearOptions"
    solver: SecondOrder
    monitor: "Monitor"
    keeper: ProblemKeeper | None

    @classmethod
    def plan(
        cls,
        problem: Problem,
        machine: "MachineInfo",
        options: "LinearOptions",
        solver: Any,
        monitor: "Monitor",
        keeper: ProblemKeeper | None,
    ) -> "SecondOrderSteps | None":
        """None where they are not wanted, or where their arrays would be too large."""
        if not isinstance(solver, Automatic | SecondOrder) or options.stopping != "gap":
            return None
        if not has_room(problem):
            return None
        wanted = solver if isinstance(solver, SecondOrder) else SecondOrder()
        return cls(problem, machine, options, wanted, monitor, keeper)

    @cached_property
    def variables(self) -> Variables:
        problem = self.problem
        return Variables(self.machine, problem.labels, problem.upper, len(problem.classes))

    @cached_property
    def space(self) -> RowSpace:
        """The rows as an array in double, with the constant feature: a copy."""
        X = self.problem.X
        rows = np.asarray(X.toarray() if sparse.issparse(X) else X, np.float64)
        if self.options.fit_intercept:
            rows = np.hstack([rows, np.ones((len(rows), 1))])
        return RowSpace(rows)

    def handover(self) -> Handover:
        """Judges descent by the sizes of the problem, without a copy of its rows."""
        n, k = len(self.problem), len(self.problem.classes)
        d = self.problem.rows.n_features + self.options.fit_intercept
        of_this_size = RowSpace(np.broadcast_to(np.float64(0), (n, d)))
        X = self.problem.X
        entries = X.nnz + n if sparse.issparse(X) else n * d
        pass_cost = _PASS * float(entries) * k
        cost = guess_cost(of_this_size, self.machine, (n, k), 1.0, self.solver.max_free)
        return Handover(pass_cost, cost, self.options.tol, self.options.max_iter)

    def run(self, start: "Duals | None", gap: float, past: Past) -> tuple[Finish, Past]:
        """From dual variables with this gap; what was reached, and what lies behind then."""
        begin = time.perf_counter()
        records: list[tuple[float, ...]] = []
        # An interrupt waits for the first step also while this is made ready.
        with held_interrupts() as interrupts, blas_threads(self.options.n_threads):
            variables = self.variables
            beta, sigma = np.zeros(variables.shape), self._first_sigma()
            budget = guess_cost(
                self.space, self.machine, variables.shape, variables.n_classes, self.solver.max_free
            )
            if start is not None and gap < _GOOD_START:
                beta = to_array(start)
                sigma = first_sigma(beta, variables)
                budget = predict_cost(self.space, variables, beta, self.solver.max_free)
            budget *= _TRIES

            def watch(reached: Finish) -> bool:
                interrupts.raise_pending()
                check = Check(
                    past.epochs + reached.n_steps,
                    past.seconds + time.perf_counter() - begin,
                    reached.lowest.primal, reached.highest.dual, reached.gap, np.nan, len(beta),
                )  # fmt: skip
                records.append(check)
                self._keep(reached.highest.beta, past, records)
                return self.monitor(check) or check.epoch >= self.options.max_iter

            reached = finish(
                self.space,
                variables,
                beta,
                sigma,
                aim_below(self.options.tol, self.problem.rows.dtype),
                budget,
                watch,
                self.solver.max_free,
            )
        return reached, Past(
            past.seconds + time.perf_counter() - begin,
            past.epochs + reached.n_steps,
            np.concatenate([past.history, np.array(records, RECORD)]),
        )

    def certified(self, descent: Descent, reached: Finish, past: Past) -> LinearOutcome:
        """Both ends of what the steps reached, in the precision of the rows."""
        dtype = self.problem.rows.dtype
        highest = descent.certify(to_duals(reached.highest.beta, dtype), past)
        weights = reached.lowest.weights.astype(dtype)
        n_features = self.problem.rows.n_features
        lowest = replace(
            highest,
            coef=np.ascontiguousarray(weights[:n_features].T),
            intercept=weights[n_features:].sum(axis=0),  # one row or none
            primal_objective=self._primal(weights.astype(np.float64)),
        )
        return highest.with_best_of(lowest, self.options.tol)

    def _primal(self, weights: Any) -> float:
        margins = self.variables.margins(self.space.scores(weights))
        return float(np.vdot(weights, weights)) / 2 + self.variables.loss(margins)

    def _first_sigma(self) -> float:
        """For a start from zero: a step of the dual variables that rows of this length call for."""
        rows, upper = self.space.rows, float(np.max(self.problem.upper))
        norm = float(np.mean(np.einsum("ij,ij->i", rows, rows)))
        return min(0.1 * upper, _START / norm) if norm > 0 else upper

    def _keep(self, beta: Any, past: Past, records: list[tuple[float, ...]]) -> None:
        if self.keeper is not None and self.keeper.is_due():
            duals = to_duals(beta, self.problem.rows.dtype)
            self.keeper.after(Past(0.0, 0.0, past.history)).keep(duals, np.array(records, RECORD))


def alternate(
    descent: Descent, second: SecondOrderSteps, warm: "Duals | None", *, is_forced: bool
) -> LinearOutcome:
    """Descent until it hands over, then second-order steps, then descent where those gave up."""
    past, start, gap, before = Past(), warm, np.inf, None
    if not is_forced or warm is not None:
        handover = second.handover()
        before = descent.run(warm, stop=(lambda _: True) if is_forced else handover)
        over = before.converged or before.exception is not None or second.monitor.stopped
        if over or not (handover.asked or is_forced):
            return before
        start, gap = before.duals, before.dual_gap
        past = Past.of(before.history)
    reached, past = second.run(start, gap, past)
    outcome = second.certified(descent, reached, past)
    if before is not None:
        outcome = outcome.with_best_of(before, descent.options.tol)
    if outcome.converged or reached.exception or second.monitor.stopped:
        outcome.exception = reached.exception
        return outcome
    last = descent.run(outcome.duals, Past.of(outcome.history))
    return last if last.converged else last.with_best_of(outcome, descent.options.tol)
