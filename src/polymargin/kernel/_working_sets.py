"""Two-level working sets: the default loop of kernel machines.

Each round picks the examples that violate the KKT conditions most, solves their problem with the
Gram matrix of those alone, and brings the scores of all examples up to date with the kernel
rows of those that moved. Everything heavy is a matrix product, done by a device (`_device.py`).
Examples that have long had nothing to gain are set aside where that pays (`_active.py`), and
brought back before the end.
"""

import math
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from polymargin.fit import RECORD, Check, Interrupts, scale_duals
from polymargin.kernel._goal import FitProgress, Goal
from polymargin.kernel._round import Rest, Selection
from polymargin.second_order import best_multiple

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polymargin.core import Duals
    from polymargin.fit import ProblemKeeper
    from polymargin.kernel._active import ActiveExamples
    from polymargin.second_order import Variables
    from polymargin.solvers import Blocks

_DOUBLED = 4  # rounds in which working sets grow to twice their size, where they do
_SLOW = 50  # passes after which the best primal point is kept, as it need not be the last one
_BETWEEN = 10  # passes between two looks for a multiple that is better
_NEAR = 2.0  # times the tolerance: the violation that a multiple of the scores may undo
_CLOSER = 0.8  # part of the violation at the last look, from which another one may say more


class WorkingSets:
    """Rounds until the goal is reached."""

    def __init__(
        self,
        examples: "ActiveExamples",
        goal: Goal,
        options: "Blocks",
        shape: tuple[int, int],
        is_positive: bool,
        precision: float,
        is_warm: bool,
        progress: FitProgress | None = None,
        variables: "Callable[[], Variables] | None" = None,
        by_pairs: bool = False,
    ) -> None:
        self._n, n_classes = shape
        self._variables = variables
        self._looked_at, self._looked_from = -np.inf, np.inf  # visits, and the violation then
        self._least = max(precision / 64, 1e-15)
        self._examples = examples
        self._goal = goal
        self._options = options
        self._by_pairs = by_pairs
        self._size, self._largest = options.sizes_for(n_classes, by_pairs)
        self._is_positive = is_positive
        self._is_warm = is_warm
        self._selection = self._new_selection(self._n)
        self._rest = Rest(self._n)
        self._is_shrunk = False
        self._grow_at = 0.0  # gap
        self.progress = progress or FitProgress()

    def run(
        self,
        interrupts: Interrupts,
        on_check: Callable[[Check], bool],
        keeper: "ProblemKeeper | None" = None,
    ) -> None:
        """An interrupt is raised between rounds, when scores and dual variables agree."""
        if self._is_warm:
            self._examples.refresh()
        start = time.perf_counter()
        try:
            self._rounds(start, interrupts, on_check, keeper)
        except KeyboardInterrupt:
            if self._is_shrunk and not interrupts.is_urgent:
                self._grow()
                self._check(start)
            raise

    def duals(self) -> "Duals":
        """The dual variables."""
        return self._examples.duals()

    def _rounds(
        self,
        start: float,
        interrupts: Interrupts,
        on_check: Callable[[Check], bool],
        keeper: "ProblemKeeper | None",
    ) -> None:
        progress, n = self.progress, self._n
        stall = _Stall(100 + 10 * n // self._size, self._least)
        stopped = False
        while True:
            gains = self._check(start)
            if keeper is not None and keeper.is_due():
                keeper.keep(self.duals(), np.array(progress.history, RECORD))
            stopped = on_check(progress.history[-1]) or stopped
            interrupts.raise_pending()
            left = self._goal.max_iter * n - progress.visits
            is_over = progress.converged or stopped or left <= 0 or stall(progress)
            is_over = is_over or not np.any(gains > 0)
            if self._is_shrunk and (is_over or progress.gap <= self._grow_at or self._is_near()):
                self._grow()
                continue
            if is_over:
                return
            gains = self._shrink(gains)
            self._selection.size = self._present_size()
            working = self._selection.next(gains)[:left]
            if not self._is_positive and progress.negative is None:
                progress.negative = self._find_negative(working)
            fraction, passes = self._effort(gains, working)
            passes = min(passes, left // len(working))
            progress.visits += self._examples.improve(working, fraction, passes)
            progress.rounds += 1

    def _new_selection(self, n: int) -> Selection:
        # A step costs by the examples around it, a visit to one at rest next to nothing.
        return Selection(n, self._size, takes_all=not self._by_pairs)

    def _present_size(self) -> int:
        """Of a working set: those of the end, where all that is left is precision, are larger."""
        if self.progress.rounds >= _DOUBLED * math.log2(self._largest / self._size):
            return self._largest
        return int(self._size * 2 ** (self.progress.rounds / _DOUBLED))

    def _check(self, start: float) -> "NDArray[np.float64]":
        """What all examples have to gain, by which they are chosen: violations, at times gaps.

        Gaps say less: a variable close to its bound can violate much at hardly any gap. But where
        rounding keeps some violations up, those examples alone would be chosen for ever.
        """
        progress = self.progress
        found = self._examples.check()
        progress.primal, progress.dual, progress.violation = found[2:]
        is_slow = progress.visits >= _SLOW * self._n
        if is_slow and not self._is_shrunk:
            progress.keep(progress.primal, self.duals)
        if (is_slow or self._is_near()) and not self._is_shrunk:
            self._lengthen()
        # What those set aside add to the gap is seen when they are back.
        progress.converged = self._goal.reached(progress, 0.9 if self._is_shrunk else 1.0)
        progress.history.append(
            Check(
                epoch=progress.visits / self._n,
                seconds=progress.seconds + time.perf_counter() - start,
                primal=progress.best_primal,
                dual=progress.dual,
                gap=progress.gap,
                violation=progress.violation,
                active=len(found.violations),
            )
        )
        by_gaps = self._goal.uses_gap(progress) and progress.rounds % 4 == 3
        return found.gaps if by_gaps else found.violations

    def _lengthen(self) -> None:
        """Keep the best multiple of the scores, where it is better than they are."""
        progress = self.progress
        if self._variables is None or not self._goal.uses_gap(progress):
            return
        if progress.visits - self._looked_at < _BETWEEN * self._n and not self._is_near():
            return
        self._looked_at, self._looked_from = progress.visits, progress.violation
        best = best_multiple(self._variables(), self._examples.scores(), progress.primal)
        if best.primal < progress.best_primal:
            progress.keep(best.primal, lambda: scale_duals(self.duals(), best.scale))

    def _is_near(self) -> bool:
        """Whether all that is left may be margins that are short by little."""
        progress = self.progress
        least = min(_NEAR * self._goal.tol, _CLOSER * self._looked_from)
        can_help = self._variables is not None and self._goal.uses_gap(progress)
        return can_help and progress.gap > self._goal.tol and progress.violation <= least

    def _shrink(self, gains: "NDArray[np.float64]") -> "NDArray[np.float64]":
        """Set examples at rest aside if that pays; what the others have to gain."""
        if self._is_shrunk:
            return gains
        active = self._rest.without(gains)
        if not 0 < len(active) < self._n or not self._examples.pays_to_shrink(len(active)):
            return gains
        self._examples.shrink(active)
        self._is_shrunk = True
        self._grow_at = 1e-3 * self.progress.gap
        self._selection = self._new_selection(len(active))
        return gains[active]

    def _grow(self) -> None:
        self._examples.grow()
        self._is_shrunk = False
        self._rest = Rest(self._n)
        self._selection = self._new_selection(self._n)

    def _effort(
        self, gains: "NDArray[np.float64]", working: "NDArray[np.int64]"
    ) -> tuple[float, int]:
        """Part of its gap at which the working set is left, and the passes that this may take.

        A working set that is the whole problem is worth more of them, and none is solved to much
        less than what the others leave.
        """
        fraction, passes = self._options.fraction, self._options.passes
        if len(working) == len(gains):
            distance = self._goal.distance(self.progress)
            enough = 0.3 * self._goal.tol / distance if distance > 0 else 0.0
            if not self._by_pairs:
                passes = max(passes, min(1000, 200_000 // len(working)))
            return min(fraction, enough), passes
        inside = float(gains[working].sum())
        others = float(gains.sum()) - inside
        if inside == 0:  # what max_iter has left of it has nothing to gain
            return fraction, passes
        return min(max(fraction, 0.1 * others / inside), 0.9), passes

    def _find_negative(self, working: "NDArray[np.int64]") -> float | None:
        """The smallest eigenvalue of part of a working set, if it cannot be due to rounding."""
        round_ = self.progress.rounds
        if round_ & (round_ - 1):  # in rounds 0, 1, 2, 4, 8 ...
            return None
        return self._examples.find_negative(working[:256])


class _Stall:
    """No progress for many rounds: the limit of the precision, or an indefinite kernel."""

    def __init__(self, patience: int, least: float) -> None:
        self._patience = patience
        self._least = least  # relative progress that counts
        self._best = np.inf
        self._since = 0

    def __call__(self, progress: FitProgress) -> bool:
        value = -progress.dual if progress.negative is None else progress.violation
        if self._best == np.inf or value < self._best - self._least * abs(self._best):
            self._best, self._since = value, 0
        else:
            self._since += 1
        return self._since >= self._patience
