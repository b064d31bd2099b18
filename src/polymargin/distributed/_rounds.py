"""Rounds of descent that processes make together, whatever of the problem is dealt to them."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

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
    open_display,
)
from polymargin.solvers import Choice, LinearLoop

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polymargin.core import Duals, LinearOptions

_ENOUGH = 0.3  # part of the gap at which passes over active rows end
_REST = 3  # looks at all rows after which variables are left out that have not moved
_HONEST = 2  # times the gap that was met; above, those that are left out matter
_PATIENCE = 10  # rounds without a check, and checks at the limit of the precision


class Dealt(Protocol):
    """The part of a problem that one process has, and how it fits with the parts of the others.

    All processes call the methods in the same order.
    """

    n: int  # rows of all processes
    parts: int  # of a pass, with an exchange after each
    passes: int  # before all rows are looked at again
    epochs: int | None  # so many passes without a look at the gap; None: until it is small enough
    visits: int  # of all processes in a pass

    def load(self) -> None:
        """Start from the weights of the dual variables."""
        ...

    def begin(self, all_rows: bool) -> None:
        """Begin a pass."""
        ...

    def descend(
        self, part: int, negligible: float, poll: Callable[[], None]
    ) -> tuple[float, float, BaseException | None]:
        """A part of a pass: the gap as it was met, visits, and what has ended it early.

        Blocks whose own gap is not above `negligible` stay as they are.
        """
        ...

    def end(self) -> None:
        """End a pass."""
        ...

    def change(self) -> Any:
        """What the others need to know, before `exchange`, of what has changed here."""
        ...

    def exchange(self, changes: list[Any]) -> None:
        """Bring the weights up to date, right after a meeting at which all told their change."""
        ...

    def measure(self) -> tuple[float, float, float]:
        """Objectives and largest violation of the whole problem, the same on all processes."""
        ...

    def take_back(self) -> None:
        """Dual variables that are left out, for they were at rest, are visited again."""
        ...

    def go_on(self, dual_fell: bool) -> None:
        """Prepare for a round after a check."""
        ...

    def collect_weights(self) -> "NDArray[Any]":
        """(d + 1, k), or without the last row where there is no bias."""
        ...

    def own_weights(self) -> "tuple[NDArray[np.int64], NDArray[Any]]":
        """Numbers of the classes that stay here, ascending, and columns of the weights."""
        ...

    def collect_duals(self) -> "Duals":
        """Of all rows and classes."""
        ...

    def own_duals(self) -> "Duals":
        """Those that are here."""
        ...


Deal = Callable[[Ranks, Problem, Choice[LinearLoop], "LinearOptions", "Duals | None"], Dealt]


@dataclass(frozen=True)
class Gathered:
    """What of a fit every process has in the end; of all else it has its part."""

    weights: bool
    duals: bool


@dataclass(frozen=True)
class RoundsRun:
    """Runs fits of linear machines in rounds, on what `deal` gives each process."""

    ranks: Ranks
    deal: Deal
    gathered: Gathered

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
            dealt = self.deal(ranks, problem, choice, options, warm)
            monitor = Monitor(display, task)
            rounds = _Rounds(ranks, dealt, problem, options, monitor, keeper, interrupts)
            rounds.run(is_warm=warm is not None)
            return rounds.outcome(self.gathered), rounds.is_stopped


class _Rounds:
    """One fit, as far as it has come. What happens next depends on figures that all share."""

    def __init__(
        self,
        ranks: Ranks,
        dealt: Dealt,
        problem: Problem,
        options: "LinearOptions",
        monitor: Monitor,
        keeper: ProblemKeeper | None,  # of rank 0
        interrupts: Interrupts,
    ) -> None:
        self._ranks, self._dealt, self._problem, self._options = ranks, dealt, problem, options
        self._monitor, self._keeper, self._interrupts = monitor, keeper, interrupts
        self._most_passes = dealt.epochs or options.max_iter
        self._start = time.monotonic()
        self._visits = 0.0  # of rows, by all processes
        self._history: list[Check] = []
        self._rounds = 0  # since the last check
        self._met = math.inf  # the gap of the round before the last check
        self._looks = 0  # at all rows, since variables at rest were taken back
        self._accept = 1.05  # part of the tolerance that rounds aim for
        self._best_gap, self._stalled = math.inf, 0  # checks at the limit of the precision
        self._exception: BaseException | None = None
        self.is_stopped = False  # by a callback

    def run(self, is_warm: bool) -> None:
        """Rounds until the stopping rule is met, or all passes are spent."""
        if is_warm:
            self._dealt.load()
            self._check()
        while not (self._history and (self._is_over or self._is_spent)):
            gap = self._round()
            if self._is_spent or self._is_due(gap):
                self._check()
                self._learn_from(gap)

    def _learn_from(self, met: float) -> None:
        """After a check, from the gap that the last round has met."""
        last = self._history[-1]
        gap = last.primal - last.dual
        self._met = met
        if self._looks <= _REST:  # nothing was left out
            if met <= self._target and not self._is_reached:
                # Rounds that meet less than there is have to meet less yet.
                self._accept *= min(0.9, max(0.5, met / gap if gap > 0 else 0.0))
        elif met <= self._target or not 0 < gap <= _HONEST * met:
            self._dealt.take_back()
            self._looks = 0

    @property
    def _epoch(self) -> float:
        return self._visits / self._dealt.visits

    @property
    def _by_gap(self) -> bool:
        return bool(self._options.stopping == "gap")

    @property
    def _is_reached(self) -> bool:
        """At the last check."""
        last = self._history[-1]
        return (last.gap if self._by_gap else last.violation) <= self._options.tol

    @property
    def _is_over(self) -> bool:
        return self._dealt.epochs is None and self._is_reached

    @property
    def _is_spent(self) -> bool:
        is_ended = self._exception is not None or self.is_stopped
        has_no_pass_left = self._epoch > self._most_passes - 1
        return is_ended or self._stalled >= _PATIENCE or has_no_pass_left

    @property
    def _target(self) -> float:
        """The gap, as a round meets it, at which a check is worth its time."""
        return self._accept * self._options.tol * self._history[-1].primal if self._by_gap else 0.0

    def _is_due(self, gap: float) -> bool:
        """Whether it is time for a check, by the gap that a round has met."""
        if self._dealt.epochs is not None:
            return False
        if not self._history or self._rounds >= _PATIENCE:
            return True
        return gap <= max(self._target, 0.1 * self._met)

    def _round(self) -> float:
        """A pass over all rows, and some over those that are active; the gap as it was met."""
        gap = self._sweep(all_rows=True)
        for _ in range(1, self._dealt.passes):
            if self._is_spent or self._sweep(all_rows=False) < _ENOUGH * gap:
                break
        self._rounds += 1
        return gap

    def _sweep(self, all_rows: bool) -> float:
        """One pass of all processes; the gap as it was met."""
        before = self._visits
        self._looks += all_rows
        self._dealt.begin(all_rows)
        gaps = []
        for part in range(self._dealt.parts):
            gap, visits, exception = self._dealt.descend(
                part, self._negligible, self._interrupts.raise_pending
            )
            gaps.append(self._exchange(gap, visits, exception or self._interrupt()))
            if self._exception is not None:
                break
        self._dealt.end()
        if self._dealt.epochs is not None and all_rows:  # whatever was left out
            self._visits = max(self._visits, before + self._dealt.visits)
        return math.fsum(gaps)

    def _interrupt(self) -> BaseException | None:
        """What an interrupt that came outside of the core raises."""
        try:
            self._interrupts.raise_pending()
        except BaseException as exception:
            return exception
        return None

    def _exchange(self, gap: float, visits: float, exception: BaseException | None) -> float:
        """Tell each other what has changed; the gap that all have met."""
        own = (gap, visits, exception is not None, self._dealt.change())
        told = self._ranks.meet("a part of a pass", own)
        gaps, all_visits, is_interrupted, changes = zip(*told, strict=True)
        self._dealt.exchange(list(changes))
        self._visits += math.fsum(all_visits)
        if any(is_interrupted):
            self._exception = exception or KeyboardInterrupt()
        return math.fsum(gaps)

    @property
    def _negligible(self) -> float:
        """A block whose own gap is a small part of its share of the tolerance can wait."""
        if not (self._history and self._by_gap and self._options.shrinking):
            return 0.0
        return 0.1 * self._options.tol * self._history[-1].primal / self._dealt.visits

    def _check(self) -> None:
        """The certificate of the weights as they are."""
        primal, dual, violation = self._dealt.measure()
        is_due = self._keeper is not None and self._keeper.is_due()
        own = (time.monotonic() - self._start, is_due, tuple(self._ranks.sent.values()))
        told = self._ranks.meet("a check", own)
        seconds, is_due, _ = told[0]
        self._ranks.log.append(tuple(map(sum, zip(*(sent for *_, sent in told), strict=True))))
        check = Check(
            epoch=self._epoch,
            seconds=seconds,
            primal=primal,
            dual=dual,
            gap=core.relative_gap(primal, dual),
            violation=violation,
            active=self._dealt.n,
        )
        self._note(check)
        self.is_stopped = any(self._ranks.meet("callbacks", self._monitor(check)))
        if is_due:
            duals = self._dealt.collect_duals()
            if self._keeper is not None:
                self._keeper.keep(duals, self._records())

    def _note(self, check: Check) -> None:
        floor = 256 * float(np.finfo(self._problem.rows.dtype).eps)
        best = max((earlier.dual for earlier in self._history), default=-math.inf)
        self._dealt.go_on(dual_fell=check.dual < best - floor * check.primal)
        is_stalled = check.gap <= floor and check.gap >= 0.99 * self._best_gap
        self._stalled = self._stalled + 1 if is_stalled else 0
        self._best_gap = min(self._best_gap, check.gap)
        self._history.append(check)
        self._rounds = 0

    def _records(self) -> "NDArray[Any]":
        return np.array(self._history, RECORD)

    def outcome(self, gathered: Gathered) -> LinearOutcome:
        """What was reached at the last check."""
        last, d, dealt = self._history[-1], self._problem.rows.n_features, self._dealt
        held, weights = (None, dealt.collect_weights()) if gathered.weights else dealt.own_weights()
        has_bias = self._options.fit_intercept
        intercept = weights[d].copy() if has_bias else np.zeros(weights.shape[1], weights.dtype)
        return LinearOutcome(
            coef=weights[:d].T,
            intercept=intercept,
            duals=dealt.collect_duals() if gathered.duals else dealt.own_duals(),
            n_iter=math.ceil(self._epoch),
            primal_objective=last.primal,
            dual_objective=last.dual,
            dual_gap=last.gap,
            violation=last.violation,
            converged=self._is_reached,
            history=self._records(),
            exception=self._exception,
            held=held,
        )
