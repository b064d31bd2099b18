"""Rounds of descent by processes that have all weights, and rows of their own.

Each process improves the dual variables of its rows against weights that the others change as
well (cpp/include/polymargin/linear/local_descent.hpp has the problem that it solves), then the
changes V of all are added up. That raises the dual objective where sigma is at least
|sum V|^2 / sum |V|^2, at most the number of processes: sigma follows what was measured last, until
a check finds that the objective fell, and is the number of processes from then on.

The certificate is that of the whole problem: losses and margins are sums over the rows of all
processes, the weights are the same everywhere.
"""

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from polymargin import core
from polymargin.distributed._ranks import Ranks
from polymargin.fit import (
    RECORD,
    Check,
    FitTask,
    Interrupts,
    LinearOutcome,
    Monitor,
    Problem,
    ProblemKeeper,
    held_interrupts,
    join_duals,
    open_display,
    restrict_duals,
)
from polymargin.solvers import Choice, LinearLoop, LocalDescent

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polymargin.core import Duals, LinearOptions

_MOST_PARTS = 4
_FEWEST_ROWS = 64  # of a process in a part
_EXCHANGE = 8  # visits that take as long as to exchange weights, for rows without zeros
_ENOUGH = 0.3  # part of the gap at which passes over active rows end
_PATIENCE = 10  # rounds without a check, and checks at the limit of the precision


def deal_rows(n: int, size: int, rank: int, seed: int) -> "NDArray[np.int64]":
    """The rows of one of `size` processes, ascending; they are drawn, so that order means nothing.

    Examples
    --------
    >>> from polymargin.distributed._local_descent import deal_rows
    >>> sorted(row for rank in range(3) for row in deal_rows(8, 3, rank, seed=0).tolist())
    [0, 1, 2, 3, 4, 5, 6, 7]
    """
    return np.sort(np.random.default_rng(seed).permutation(n)[rank::size])


def count_parts(problem: Problem, size: int) -> int:
    """How many parts of a pass pay, by the work in it and the weights to exchange after each.

    The oftener `size` processes meet, the less their changes get in each other's way.
    """
    X = problem.X
    entries = X.nnz if sparse.issparse(X) else X.size
    by_work = entries // (_EXCHANGE * size * (problem.rows.n_features + 1))
    by_rows = len(problem) // (_FEWEST_ROWS * size)
    return int(min(max(min(by_work, by_rows), 1), _MOST_PARTS))


@dataclass(frozen=True)
class LocalRounds:
    """Runs fits of linear machines in rounds."""

    ranks: Ranks

    def __call__(
        self,
        problem: Problem,
        choice: Choice[LinearLoop],
        options: "LinearOptions",
        warm: "Duals | None",
        task: FitTask,
        verbose: int,
        keeper: ProblemKeeper | None,
        title: str,
    ) -> tuple[LinearOutcome, bool]:
        """What the processes reached together, and whether a callback stopped them."""
        ranks = self.ranks
        with (
            open_display(verbose if ranks.rank == 0 else 0, title, options.tol) as display,
            held_interrupts() as interrupts,
        ):
            monitor = Monitor(display, task)
            fit = _Fit(ranks, problem, choice, options, warm, monitor, keeper, interrupts)
            return fit.run(), fit.is_stopped


class _Fit:
    """One fit, as far as it has come."""

    def __init__(
        self,
        ranks: Ranks,
        problem: Problem,
        choice: Choice[LinearLoop],
        options: "LinearOptions",
        warm: "Duals | None",
        monitor: Monitor,
        keeper: ProblemKeeper | None,  # of rank 0
        interrupts: Interrupts,
    ) -> None:
        assert isinstance(choice.solver, LocalDescent)
        self._ranks, self._problem, self._options = ranks, problem, options
        self._passes = choice.solver.passes
        self._monitor, self._keeper, self._interrupts = monitor, keeper, interrupts
        self._rows = deal_rows(len(problem), ranks.size, ranks.rank, options.seed)
        part = problem.part(self._rows)
        self._is_warm = warm is not None
        self._local = core.LocalDescent(
            part.rows,
            part.labels,
            part.upper,
            len(problem.classes),
            choice.machine.name,
            options,
            None if warm is None else restrict_duals(warm, self._rows),
        )
        self._weights = self._local.weights
        self._before = np.zeros_like(self._weights)
        self._change = np.empty_like(self._weights)
        self._set_sigma(float(ranks.size))
        self._is_safe = False  # whether it stays there
        self._parts = count_parts(problem, ranks.size)
        self._of_duals: NDArray[np.float64] | None = None  # weights in double, after a check

        self._start = time.monotonic()
        self._visits = 0.0
        self._history: list[Check] = []
        self._rounds = 0  # since the last check
        self._accept = 1.05  # part of the tolerance that rounds aim for
        self._best_gap, self._stalled = math.inf, 0  # checks at the limit of the precision
        self._exception: BaseException | None = None
        self.is_stopped = False  # by a callback

    def run(self) -> LinearOutcome:
        """Rounds until the stopping rule is met, or all passes are spent."""
        if self._is_warm:
            self._load_weights()
            self._check()
        while not (self._history and (self._is_reached or self._is_spent)):
            gap = self._round()
            if self._is_spent or self._is_due(gap):
                self._check()
        return self._outcome()

    # --- when to do what: by figures that are the same on all processes

    @property
    def _epoch(self) -> float:
        return self._visits / len(self._problem)

    @property
    def _by_gap(self) -> bool:
        return bool(self._options.stopping == "gap")

    @property
    def _is_reached(self) -> bool:
        """At the last check, which is the last of all where it says so."""
        last = self._history[-1]
        return (last.gap if self._by_gap else last.violation) <= self._options.tol

    @property
    def _is_spent(self) -> bool:
        is_ended = self._exception is not None or self.is_stopped
        has_no_pass_left = self._epoch > self._options.max_iter - 1
        return is_ended or self._stalled >= _PATIENCE or has_no_pass_left

    def _is_due(self, gap: float) -> bool:
        """Whether it is time for a check, by the gap that a round has met."""
        if not self._history or self._rounds >= _PATIENCE:
            return True
        last = self._history[-1]
        target = self._accept * self._options.tol * last.primal if self._by_gap else 0.0
        return gap <= max(target, 0.1 * (last.primal - last.dual))

    # --- what the processes do together

    def _load_weights(self) -> None:
        """Those of the dual variables to start from."""
        *_, of_duals = self._local.check()
        self._ranks.meet("a warm start", None)
        self._ranks.add_up(of_duals)
        k = len(self._problem.classes)
        self._weights[:, :k] = of_duals.reshape(len(self._weights), k)

    def _round(self) -> float:
        """A pass over all rows, and some over those that are active; the gap as it was met."""
        if self._of_duals is not None:  # they differ by rounding errors of many steps
            self._weights[:, : self._of_duals.shape[1]] = self._of_duals
            self._of_duals = None
        gap = self._sweep(all_rows=True)
        for _ in range(1, self._passes):
            if self._is_spent or self._sweep(all_rows=False) < _ENOUGH * gap:
                break
        self._rounds += 1
        return gap

    def _sweep(self, all_rows: bool) -> float:
        """One pass of all processes over rows of their own; the gap as it was met."""
        self._local.begin(all_rows)
        self._before[:] = self._weights
        gaps = []
        for part in range(self._parts):
            gap, visits, exception = self._local.descend(
                part, self._parts, self._negligible, self._interrupts.raise_pending
            )
            gaps.append(self._exchange(gap, visits, exception or self._interrupt()))
            if self._is_spent:
                break
        self._local.end()
        return math.fsum(gaps)

    def _interrupt(self) -> BaseException | None:
        """What an interrupt that came outside of the core raises."""
        try:
            self._interrupts.raise_pending()
        except BaseException as exception:
            return exception
        return None

    def _exchange(self, gap: float, visits: float, exception: BaseException | None) -> float:
        """Add up what all have changed; the gap that they have met."""
        np.subtract(self._weights, self._before, out=self._change)
        self._change /= self._sigma
        own = _squared_norm(self._change)
        told = self._ranks.meet("a round", (gap, visits, own, exception is not None))
        gaps, all_visits, norms, is_interrupted = zip(*told, strict=True)
        self._ranks.add_up(self._change)
        self._before += self._change
        self._weights[:] = self._before
        self._visits += math.fsum(all_visits)
        if any(is_interrupted):
            self._exception = exception or KeyboardInterrupt()
        self._adapt(_squared_norm(self._change), math.fsum(norms))
        return math.fsum(gaps)

    def _adapt(self, of_sum: float, sum_of_all: float) -> None:
        """Steps a little shorter than the last changes allow for, never shorter than is safe."""
        if self._is_safe or sum_of_all == 0:
            return
        wanted = max(1.1 * of_sum / sum_of_all, 0.95 * self._sigma)
        self._set_sigma(min(max(wanted, 1.0), self._ranks.size))

    def _set_sigma(self, sigma: float) -> None:
        self._sigma = sigma
        self._local.set_sigma(sigma)

    @property
    def _negligible(self) -> float:
        """A block whose own gap is a small part of its share of the tolerance can wait."""
        if not (self._history and self._by_gap and self._options.shrinking):
            return 0.0
        return 0.1 * self._options.tol * self._history[-1].primal / len(self._problem)

    def _check(self) -> None:
        """The certificate of the weights as they are."""
        self._ranks.copy_first(self._weights)
        loss, margins, violation, of_duals = self._local.check()
        k = len(self._problem.classes)
        told = self._ranks.meet(
            "a check",
            (
                loss,
                margins,
                violation,
                _squared_norm(self._weights[:, :k]),
                time.monotonic() - self._start,
                self._keeper is not None and self._keeper.is_due(),
            ),
        )
        losses, all_margins, violations, norms, seconds, is_due = zip(*told, strict=True)
        self._ranks.add_up(of_duals)
        self._of_duals = of_duals.reshape(len(self._weights), k)
        norm = self._ranks.value_of_first(_squared_norm(self._of_duals))
        primal = math.fsum([0.5 * norms[0], *losses])
        dual = math.fsum([*all_margins, -0.5 * norm])
        check = Check(
            epoch=self._epoch,
            seconds=seconds[0],
            primal=primal,
            dual=dual,
            gap=core.relative_gap(primal, dual),
            violation=max(violations),
            active=len(self._problem),
        )
        self._note(check)
        self.is_stopped = any(self._ranks.meet("callbacks", self._monitor(check)))
        if is_due[0]:
            duals = self._join_duals()
            if self._keeper is not None:
                self._keeper.keep(duals, self._records())

    def _note(self, check: Check) -> None:
        floor = 256 * float(np.finfo(self._weights.dtype).eps)
        best = max((earlier.dual for earlier in self._history), default=-math.inf)
        if check.dual < best - floor * check.primal:  # the steps were too long
            self._is_safe = True
            self._set_sigma(float(self._ranks.size))
        is_stalled = check.gap <= floor and check.gap >= 0.99 * self._best_gap
        self._stalled = self._stalled + 1 if is_stalled else 0
        self._best_gap = min(self._best_gap, check.gap)
        self._history.append(check)
        self._rounds = 0
        self._accept *= 0.9

    # --- what is left

    def _records(self) -> "NDArray[Any]":
        return np.array(self._history, RECORD)

    def _join_duals(self) -> "Duals":
        """Of all rows, on every process."""
        parts = self._ranks.gather((self._local.duals(), self._rows))
        return join_duals([duals for duals, _ in parts], [rows for _, rows in parts])

    def _outcome(self) -> LinearOutcome:
        last, k = self._history[-1], len(self._problem.classes)
        d = self._problem.rows.n_features
        intercept = np.zeros(k, self._weights.dtype)
        if self._options.fit_intercept:
            intercept[:] = self._weights[d, :k]
        return LinearOutcome(
            coef=self._weights[:d, :k].copy().T,
            intercept=intercept,
            duals=self._join_duals(),
            n_iter=math.ceil(self._epoch),
            primal_objective=last.primal,
            dual_objective=last.dual,
            dual_gap=last.gap,
            violation=last.violation,
            converged=self._is_reached,
            history=self._records(),
            exception=self._exception,
        )


def _squared_norm(matrix: "NDArray[Any]") -> float:
    return float(np.square(matrix, dtype=np.float64).sum())
