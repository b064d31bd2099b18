"""Working sets until they hand over, then second-order steps on the free variables of all."""

import math
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from polymargin._threads import blas_threads
from polymargin.fit import RECORD, Check, Handover, Interrupts, ProblemKeeper
from polymargin.kernel._goal import FitProgress, Goal
from polymargin.second_order import (
    MOST_VARIABLES,
    Finish,
    KernelSpace,
    LowRank,
    Start,
    Variables,
    aim_below,
    can_split,
    find_low_rank,
    finish,
    first_sigma,
    guess_cost,
    predict_cost,
    split,
    split_cost,
    to_array,
    to_duals,
)

if TYPE_CHECKING:
    from polymargin.core import Duals
    from polymargin.kernel._problem import KernelProblem
    from polymargin.kernel._working_sets import WorkingSets
    from polymargin.solvers import SecondOrder

_PASS = 0.5  # operations of a pass for each pair of examples and class
_FREE = 0.25  # share of the examples that is guessed to have a free variable
_TRIES = 4.0  # times its predicted cost that the finish may take
_AT_FIRST = 1.5  # times as many variables may be free in the first steps after a split
_LOOK = 50  # passes of working sets before a kernel matrix of low rank is looked for
_LOW_RANK_AIM = 0.8  # part of the tolerance, of which what the low rank lacks may take the rest
_GOOD_START = 0.05  # gap from which steps at low rank go on from the dual variables of working sets
_SIGMA = 10.0  # their first sigma otherwise, in units of the mean of 1 / K_ii
_WARM_UP = 50  # passes of working sets before second-order steps that are asked for

Maker = Callable[["Duals | None", FitProgress], "WorkingSets"]


def has_room(problem: "KernelProblem", cache_bytes: int) -> bool:
    """Whether the whole kernel matrix in double fits where kernel rows would be."""
    n = len(problem)
    return 8 * n * n <= cache_bytes and n * problem.n_classes <= MOST_VARIABLES


class SecondOrderLoop:
    """Working sets, second-order steps, and working sets again where those gave up."""

    def __init__(
        self,
        problem: "KernelProblem",
        goal: Goal,
        options: "SecondOrder",
        make: Maker,
        warm: "Duals | None",
        n_threads: int,
        is_forced: bool,
    ) -> None:
        self._problem, self._goal, self._options = problem, goal, options
        self._make, self._n_threads, self._is_forced = make, n_threads, is_forced
        self._loop = make(warm, FitProgress())
        # Where a mean joins the classes, steps are dear and descent slows down most.
        self._splits_first = problem.machine.zero_sum and can_split(problem.variables())
        self._has_split = False
        self._low_rank: LowRank | None = None
        self._has_looked = problem.machine.relative  # whose weights at low rank are still many

    @property
    def progress(self) -> FitProgress:
        return self._loop.progress

    def duals(self) -> "Duals":
        """The dual variables."""
        return self._loop.duals()

    def run(
        self,
        interrupts: Interrupts,
        on_check: Callable[[Check], bool],
        keeper: "ProblemKeeper | None" = None,
    ) -> None:
        """An interrupt is raised when scores and dual variables agree."""
        stopped = False

        def check_done(check: Check) -> bool:
            nonlocal stopped
            stopped = on_check(check) or stopped
            return stopped

        handover = self._handover()

        def ask(check: Check) -> bool:
            is_positive = self._loop.progress.negative is None
            if check.epoch >= _LOOK and is_positive and not self._has_looked:
                self._look(handover)
            asked = handover(check) or (self._is_forced and check.epoch >= _WARM_UP)
            return asked or check_done(check)

        while True:
            self._loop.run(interrupts, ask, keeper)
            progress = self._loop.progress
            asked = self._is_forced or handover.asked
            if progress.converged or stopped or not asked or progress.negative is not None:
                return
            self._finish(interrupts, check_done, keeper)
            if stopped:
                return
            handover.refuse()
            self._is_forced = False

    def _handover(self) -> Handover:
        n, k = len(self._problem), self._problem.n_classes
        size, machine = self._space_of_this_size(), self._problem.machine
        cost = guess_cost(size, machine, (n, k), _FREE, self._options.max_free)
        if self._splits_first:
            cost = min(cost, split_cost((n, k)))
        pass_cost, goal = _PASS * n * n * k, self._goal
        return Handover(pass_cost, cost, goal.tol, goal.max_iter, slows=self._splits_first)

    def _look(self, handover: Handover) -> None:
        """Where the kernel matrix has a low rank, steps are cheap."""
        problem = self._problem
        n, k, self._has_looked = len(problem), problem.n_classes, True
        row = np.empty((1, n), problem.points.dtype)

        def column(i: int) -> "np.ndarray":
            problem.kernel.evaluate(problem.points[i : i + 1], problem.points, row, 1)
            row[0, i] = problem.diagonal[i]
            return np.array(row[0], np.float64)

        with blas_threads(self._n_threads):
            self._low_rank = find_low_rank(column, problem.diagonal)
        if self._low_rank is not None:
            max_free = self._options.max_free
            coarse = self._low_rank.coarse.space
            cost = guess_cost(coarse, problem.machine, (n, k), 1.0, max_free)
            handover.finish_cost = min(handover.finish_cost, cost)

    def _finish(
        self,
        interrupts: Interrupts,
        on_check: Callable[[Check], bool],
        keeper: "ProblemKeeper | None",
    ) -> None:
        """Take the steps; then working sets start from the best dual variables."""
        variables, before = self._problem.variables(), self._loop.progress
        duals = self._loop.duals()
        behind = before.history[-1].seconds
        after = replace(before, seconds=behind)
        begin, n = time.perf_counter(), len(self._problem)
        with blas_threads(self._n_threads):
            history, passed, stopped = before.history, before.visits / n, False

            def watch(reached: Finish) -> bool:
                nonlocal stopped
                history.append(
                    Check(
                        passed + reached.n_steps,
                        behind + time.perf_counter() - begin,
                        reached.lowest.primal, reached.highest.dual, reached.gap, np.nan, n,
                    )
                )  # fmt: skip
                if keeper is not None and keeper.is_due():
                    keeper.keep(self._as_duals(reached.highest.beta), np.array(history, RECORD))
                interrupts.raise_pending()
                stopped = on_check(history[-1]) or history[-1].epoch >= self._goal.max_iter
                return stopped

            tol = aim_below(self._goal.tol, self._problem.points.dtype)
            max_free, space = self._options.max_free, self._space()
            beta = to_array(duals)
            reached: Finish | None = None
            start = self._start(variables, beta, interrupts)
            if can_split(variables) and self._wants_split(start):
                self._has_split = True  # it would find the same again
                most = self._goal.max_iter - math.ceil(passed)
                reached = split(space, variables, beta, tol, most, watch)
                passed += reached.n_steps
                start = self._start_after(reached, variables)
                max_free = int(_AT_FIRST * max_free)
                stopped = stopped or reached.converged or reached.exception is not None
            if start is not None and not stopped:
                passed += start.n_iterations
                reached = finish(
                    space,
                    variables,
                    start.center,
                    start.sigma,
                    tol,
                    _TRIES * predict_cost(space, variables, start.center, max_free),
                    watch,
                    max_free,
                    ahead=start.beta,
                )
                passed += reached.n_steps
        if reached is None:
            self._loop = self._make(duals, after)
            return
        lowest, highest = reached.lowest, reached.highest
        after.keep(before.primal, self._loop.duals)
        if lowest.beta is not None:
            after.keep(lowest.primal, partial(self._as_duals, lowest.beta))
        if highest.dual > before.dual:
            duals = self._as_duals(highest.beta)
            after.primal, after.dual = highest.primal, highest.dual
        after.visits = round(passed * n)
        after.seconds += time.perf_counter() - begin
        self._loop = self._make(duals, after)
        if reached.exception is not None:
            raise reached.exception

    def _start(
        self, variables: Variables, beta: "np.ndarray", interrupts: Interrupts
    ) -> Start | None:
        """Those of low rank, or else these where few enough of them are free."""
        if self._low_rank is not None:
            low_rank, self._low_rank = self._low_rank, None
            return self._start_at_low_rank(low_rank, variables, beta, interrupts)
        max_free = self._options.max_free
        cost = predict_cost(self._space_of_this_size(), variables, beta, max_free)
        if not math.isfinite(cost):
            return None
        return Start(beta, beta, first_sigma(beta, variables), 0)

    def _wants_split(self, start: Start | None) -> bool:
        """Whether alternating directions come first, or in place of steps that have no start."""
        comes_first = self._splits_first and not self._is_forced
        is_needed = start is None or (comes_first and start.n_iterations == 0)
        return is_needed and not self._has_split

    def _start_after(self, reached: Finish, variables: Variables) -> Start | None:
        """What alternating directions have reached, where few enough variables are free in it."""
        lowest, highest = reached.lowest, reached.highest
        max_free = int(_AT_FIRST * self._options.max_free)
        cost = predict_cost(self._space_of_this_size(), variables, highest.beta, max_free)
        if lowest.beta is None or not math.isfinite(cost):
            return None
        sigma = min(reached.sigma, float(np.max(variables.upper)))
        return Start(highest.beta, lowest.beta, sigma, 0)

    def _start_at_low_rank(
        self, low_rank: LowRank, variables: Variables, beta: "np.ndarray", interrupts: Interrupts
    ) -> Start:
        """The optimum on Z, which most often is one of the kernel machine."""
        sigma = _SIGMA / max(float(np.mean(self._problem.diagonal)), 1e-300)
        sigma = min(sigma, 0.1 * float(np.max(variables.upper)))
        begin = self._loop.progress
        if begin.gap < _GOOD_START:
            sigma = first_sigma(beta, variables)
        else:
            beta = np.zeros(variables.shape)
        start = Start(beta, beta, sigma, 0)
        passes = self._goal.max_iter - begin.visits // len(beta)
        for near in (low_rank.coarse, low_rank):
            start = self._at_rank(near, variables, start, passes, interrupts)
        return start

    def _at_rank(
        self,
        low_rank: LowRank,
        variables: Variables,
        start: Start,
        passes: int,
        interrupts: Interrupts,
    ) -> Start:
        space, max_free, tol = low_rank.space, self._options.max_free, self._goal.tol

        def watch(reached: Finish) -> bool:
            interrupts.raise_pending()
            return start.n_iterations + reached.n_steps >= passes

        reached = finish(
            space,
            variables,
            start.center,
            start.sigma,
            min(_LOW_RANK_AIM * tol, aim_below(tol, self._problem.points.dtype)),
            _TRIES * guess_cost(space, variables.machine, variables.shape, 1.0, max_free),
            watch,
            max_free,
            ahead=start.beta,
        )
        if reached.exception is not None:
            raise reached.exception
        ahead = low_rank.beta(variables, reached.lowest.weights)
        passed = start.n_iterations + reached.n_steps
        return Start(reached.highest.beta, ahead, reached.sigma, passed)

    def _space(self) -> KernelSpace:
        """The whole kernel matrix, in double."""
        problem = self._problem
        values = np.empty((len(problem), len(problem)), problem.points.dtype)
        problem.kernel.evaluate(problem.points, problem.points, values, self._n_threads)
        np.fill_diagonal(values, problem.diagonal)
        return KernelSpace(values.astype(np.float64, copy=False))

    def _space_of_this_size(self) -> KernelSpace:
        n = len(self._problem)
        return KernelSpace(np.broadcast_to(np.float64(0), (n, n)))

    def _as_duals(self, beta: "np.ndarray") -> "Duals":
        return to_duals(beta, self._problem.points.dtype)
