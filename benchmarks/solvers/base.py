"""What the race asks of a solver: prepare and set up (untimed), run (timed), give weights."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from benchmarks.datasets import Dataset


class Solver(Protocol):
    """A solver never scores itself: ``coef`` goes to the objective."""

    name: str

    def prepare(self, data: Dataset, machine: str, C: float) -> None:
        """Bring the rows into the solver's own form; not timed."""

    def setup(self, tol: float, seed: int) -> None:
        """Settings of the next run, ``tol`` being the solver's own; not timed."""

    def run(self) -> None:
        """Train; this call alone is timed."""

    def coef(self) -> np.ndarray:
        """Weights (k, d) of the last run, classes in the order of their labels."""
