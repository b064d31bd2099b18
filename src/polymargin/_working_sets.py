"""Two-level working sets: the default loop of kernel machines.

Each round picks the examples with the largest part of the duality gap, solves their problem with
the Gram matrix of those alone, and brings the scores of all examples up to date with the kernel
rows of those that moved. Everything heavy is a matrix product, done by a device.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from polymargin._interrupts import Interrupts
from polymargin._processor import Device
from polymargin._progress import Check

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polymargin._core import Duals
    from polymargin._solvers import Blocks


@dataclass(frozen=True)
class Goal:
    """When a fit ends."""

    tol: float
    max_iter: int  # passes over the data, counted by visits
    by_gap: bool  # else by the largest KKT violation


@dataclass
class Progress:
    """How far a fit has come."""

    primal: float = np.inf
    dual: float = -np.inf
    violation: float = np.inf
    visits: int = 0
    rounds: int = 0
    converged: bool = False
    negative: float | None = None  # eigenvalue that shows the kernel to be indefinite
    history: list[Check] = field(default_factory=list)

    @property
    def gap(self) -> float:
        """Relative duality gap; a difference that rounding has made negative is 0.

        Both objectives bound nothing where the kernel is indefinite.
        """
        if self.negative is not None:
            return np.nan
        return max(self.primal - self.dual, 0.0) / self.primal if self.primal > 0 else 0.0


class WorkingSets:
    """Rounds on a device until the goal is reached."""

    def __init__(
        self,
        device: Device,
        goal: Goal,
        options: "Blocks",
        shape: tuple[int, int],
        is_positive: bool,
        precision: float,
        is_warm: bool,
    ) -> None:
        self._n, n_classes = shape
        self._least = max(precision / 64, 1e-15)
        self._device = device
        self._goal = goal
        self._options = options
        self._size = options.size_for(n_classes)
        self._is_positive = is_positive
        self._is_warm = is_warm
        self.progress = Progress()

    def run(self, interrupts: Interrupts, on_check: Callable[[Check], bool]) -> None:
        """An interrupt is raised between rounds, when scores and dual variables agree."""
        if self._is_warm:
            self._device.refresh()
        start, progress = time.perf_counter(), self.progress
        working = np.empty(0, np.int64)
        stall = _Stall(100 + 10 * self._n // self._size, self._least)
        while True:
            gaps, progress.primal, progress.dual, progress.violation = self._device.check()
            check = Check(
                epoch=progress.visits / len(gaps),
                seconds=time.perf_counter() - start,
                primal=progress.primal,
                dual=progress.dual,
                gap=progress.gap,
                violation=progress.violation,
                active=len(gaps),
            )
            progress.history.append(check)
            progress.converged = self._reached()
            stopped = on_check(check)
            interrupts.raise_pending()
            left = self._goal.max_iter * len(gaps) - progress.visits
            if progress.converged or stopped or left <= 0:
                return
            if stall(progress):
                return
            working = choose(gaps, working, self._size)[:left]
            if not self._is_positive and progress.negative is None:
                progress.negative = self._find_negative(working)
            fraction, passes = self._effort(gaps, working)
            passes = min(passes, left // len(working))
            progress.visits += self._device.improve(working, fraction, passes)
            progress.rounds += 1

    def duals(self) -> "Duals":
        """The dual variables."""
        return self._device.duals()

    def _effort(
        self, gaps: "NDArray[np.float64]", working: "NDArray[np.int64]"
    ) -> tuple[float, int]:
        """Part of its gap at which the working set is left, and the passes that this may take.

        A working set that is the whole problem is worth more of them.
        """
        fraction, passes = self._options.fraction, self._options.passes
        if len(working) == len(gaps):
            total = float(gaps.sum())
            enough = 0.3 * self._goal.tol * self.progress.primal / total if total > 0 else 0.0
            return min(fraction, enough), max(passes, min(1000, 200_000 // len(gaps)))
        return fraction, passes

    def _reached(self) -> bool:
        if self._goal.by_gap and self.progress.negative is None:
            return self.progress.gap <= self._goal.tol
        return self.progress.violation <= self._goal.tol

    def _find_negative(self, working: "NDArray[np.int64]") -> float | None:
        """The smallest eigenvalue of part of a working set, if it cannot be due to rounding."""
        round_ = self.progress.rounds
        if round_ & (round_ - 1):  # in rounds 0, 1, 2, 4, 8 ...
            return None
        return self._device.find_negative(working[:256])


class _Stall:
    """No progress for many rounds: the limit of the precision, or an indefinite kernel."""

    def __init__(self, patience: int, least: float) -> None:
        self._patience = patience
        self._least = least  # relative progress that counts
        self._best = np.inf
        self._since = 0

    def __call__(self, progress: Progress) -> bool:
        value = -progress.dual if progress.negative is None else progress.violation
        if self._best == np.inf or value < self._best - self._least * abs(self._best):
            self._best, self._since = value, 0
        else:
            self._since += 1
        return self._since >= self._patience


def choose(
    gaps: "NDArray[np.float64]", last: "NDArray[np.int64]", size: int
) -> "NDArray[np.int64]":
    """At most `size` examples with the largest gaps, half of them from the last working set.

    Without those that stay, examples that pull at each other would take turns.
    """
    if len(gaps) <= size:
        return np.arange(len(gaps))
    kept = _largest(gaps, last, size // 2)
    others = np.ones(len(gaps), bool)
    others[kept] = False
    new = _largest(gaps, np.flatnonzero(others & (gaps > 0)), size - len(kept))
    return np.sort(np.concatenate([kept, new]))


def _largest(
    gaps: "NDArray[np.float64]", among: "NDArray[np.int64]", count: int
) -> "NDArray[np.int64]":
    among = among[gaps[among] > 0]
    if len(among) <= count:
        return among
    return among[np.argpartition(-gaps[among], count - 1)[:count]]
