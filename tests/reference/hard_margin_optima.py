"""Load the stored optima of small hard-margin problems. Kernel values come from scikit-learn."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .kernel_optima import KERNELS as ALL_KERNELS
from .kernel_optima import gram
from .optima import Floats, Ints

__all__ = ["HARD_MARGIN_OPTIMA", "KERNELS", "HardMarginProblem", "gram", "load_hard_margin_optima"]

HARD_MARGIN_OPTIMA = Path(__file__).with_name("hard_margin_optima.json")
KERNELS: dict[str, dict[str, Any]] = {name: ALL_KERNELS[name] for name in ("linear", "rbf")}


@dataclass(frozen=True, eq=False)
class HardMarginProblem:
    """A training problem with C = inf and its optimum. One row has a weight of zero."""

    dataset: str
    kernel: str
    machine: str
    fit_intercept: bool
    X: Floats  # (n, d)
    y: Ints  # (n,)
    sample_weight: Floats
    objective: float
    scores: Floats  # of the rows of positive weight

    @property
    def name(self) -> str:
        """A short, unique name, for test ids and messages."""
        bias = "-bias" if self.fit_intercept else ""
        return f"{self.machine}-{self.kernel}-{self.dataset}{bias}"


def load_hard_margin_optima() -> list[HardMarginProblem]:
    """Every stored problem, in the order of the file."""
    stored = json.loads(HARD_MARGIN_OPTIMA.read_text(encoding="utf-8"))
    return [
        HardMarginProblem(
            dataset=optimum["dataset"],
            kernel=optimum["kernel"],
            machine=optimum["machine"],
            fit_intercept=optimum["fit_intercept"],
            **{name: np.array(value) for name, value in data.items()},
            objective=optimum["objective"],
            scores=np.array(optimum["scores"]),
        )
        for optimum in stored["optima"]
        for data in (stored["datasets"][optimum["dataset"]],)
    ]
