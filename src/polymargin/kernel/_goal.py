"""When a kernel fit ends, and how far it has come."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from polymargin import core
from polymargin.fit import Check

if TYPE_CHECKING:
    from polymargin.core import Duals


@dataclass(frozen=True)
class Goal:
    """When a fit ends."""

    tol: float
    max_iter: int  # passes over the data, counted by visits
    by_gap: bool  # else by the largest KKT violation

    def reached(self, progress: "FitProgress", share: float = 1.0) -> bool:
        """Whether the distance is at most this share of the tolerance."""
        return self.distance(progress) <= share * self.tol

    def distance(self, progress: "FitProgress") -> float:
        """What the tolerance bounds; without a gap that means anything, the violation."""
        return progress.gap if self.uses_gap(progress) else progress.violation

    def uses_gap(self, progress: "FitProgress") -> bool:
        """Whether the gap decides: not with an indefinite kernel."""
        return self.by_gap and progress.negative is None


@dataclass
class FitProgress:
    """How far a fit has come."""

    primal: float = np.inf  # of the last check
    dual: float = -np.inf
    lowest: "Lowest | None" = None  # primal objective that was kept
    violation: float = np.inf
    visits: int = 0
    seconds: float = 0.0  # behind the loop that counts them
    rounds: int = 0
    converged: bool = False
    negative: float | None = None  # eigenvalue that shows the kernel to be indefinite
    history: list[Check] = field(default_factory=list)

    @property
    def best_primal(self) -> float:
        """The lowest objective of a point that a fit can end with."""
        return self.primal if self.lowest is None else min(self.primal, self.lowest.primal)

    @property
    def gap(self) -> float:
        """Relative duality gap; NaN with an indefinite kernel, whose objectives bound nothing."""
        return core.relative_gap(self.best_primal, self.dual) if self.negative is None else np.nan

    def keep(self, primal: float, duals: "Callable[[], Duals]") -> None:
        """Dual variables whose scores are the best so far, apart from the last ones."""
        if self.negative is None and primal < (
            np.inf if self.lowest is None else self.lowest.primal
        ):
            self.lowest = Lowest(primal, duals())


@dataclass(frozen=True)
class Lowest:
    """A primal point, by the dual variables that give its scores."""

    primal: float
    duals: "Duals"
