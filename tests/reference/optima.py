"""Load the stored optima of small linear problems and evaluate their primal objective in NumPy.

Nothing here uses polymargin: the losses are written out once more from their definitions, so that
they can check what the library reports.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MACHINES = ("ww", "cs", "llw", "adm", "ats", "atm", "mmr", "rm", "ovr")
ZERO_SUM = frozenset({"llw", "adm", "ats", "atm", "mmr", "rm"})
LINEAR_OPTIMA = Path(__file__).with_name("linear_optima.json")


@dataclass(frozen=True, eq=False)
class Problem:
    """One training problem. Classes are 0, ..., k - 1 and all occur in `y`."""

    dataset: str
    machine: str
    C: float
    fit_intercept: bool
    X: Floats  # (n, d)
    y: Ints  # (n,)
    sample_weight: Floats | None  # (n,)
    class_weight: dict[int, float] | None

    @property
    def name(self) -> str:
        """A short, unique name, for test ids and messages."""
        weights = "".join(
            f"-{word}"
            for word, value in (("sample", self.sample_weight), ("class", self.class_weight))
            if value is not None
        )
        bias = "-bias" if self.fit_intercept else ""
        return f"{self.machine}-{self.dataset}-C{self.C:g}{weights}{bias}"

    @property
    def k(self) -> int:
        """Number of classes."""
        return int(self.y.max()) + 1

    @property
    def penalties(self) -> Floats:
        """C_i = C * sample weight * class weight."""
        C_i = np.full(len(self.y), self.C)
        if self.sample_weight is not None:
            C_i *= self.sample_weight
        if self.class_weight is not None:
            C_i *= np.array([self.class_weight[int(c)] for c in self.y])
        return C_i

    @property
    def features(self) -> Floats:
        """X, with the constant feature 1 appended when there is a bias."""
        if not self.fit_intercept:
            return self.X
        return np.hstack([self.X, np.ones((len(self.X), 1))])


@dataclass(frozen=True, eq=False)
class ReferenceProblem(Problem):
    """A training problem with its optimal objective and its optimal weights, which are unique."""

    objective: float
    coef: Floats  # (k, d)
    intercept: Floats  # (k,), zero without a bias


def loss(machine: str, f: Floats, y: int) -> float:
    """Loss of one example with scores `f` (k,) and label `y`."""
    others = np.delete(f, y)
    own = float(f[y])
    relative = np.maximum(0.0, 1.0 - (own - others))
    absolute = np.maximum(0.0, 1.0 + others)
    own_hinge = max(0.0, 1.0 - own)
    match machine:
        case "ww":
            return float(relative.sum())
        case "cs":
            return float(relative.max())
        case "llw":
            return float(absolute.sum())
        case "adm":
            return float(absolute.max())
        case "ats" | "ovr":
            return float(absolute.sum()) + own_hinge
        case "atm":
            return max(float(absolute.max()), own_hinge)
        case "mmr":
            return own_hinge
        case "rm":
            return 0.5 * float(absolute.sum()) + 0.5 * max(0.0, len(f) - 1.0 - own)
    raise ValueError(f"unknown machine {machine!r}")


def primal_objective(problem: Problem, coef: Floats, intercept: Floats) -> float:
    """Half the squared norm of the weights, bias included, plus the penalised losses."""
    scores = problem.X @ coef.T + intercept
    losses = [loss(problem.machine, f, int(c)) for f, c in zip(scores, problem.y, strict=True)]
    norm = float((coef**2).sum() + (intercept**2).sum())
    return 0.5 * norm + float(problem.penalties @ np.array(losses))


def load_linear_optima(path: Path = LINEAR_OPTIMA) -> list[ReferenceProblem]:
    """Read every stored problem with its optimum, in the order of the file."""
    stored = json.loads(path.read_text(encoding="utf-8"))
    return [_problem(stored["datasets"], optimum) for optimum in stored["optima"]]


def _problem(datasets: dict[str, Any], optimum: dict[str, Any]) -> ReferenceProblem:
    data = datasets[optimum["dataset"]]
    coef = np.array(optimum["coef"], dtype=np.float64)
    weights = data["sample_weight"] if "sample" in optimum["weights"] else None
    factors = data["class_weight"] if "class" in optimum["weights"] else None
    return ReferenceProblem(
        dataset=optimum["dataset"],
        machine=optimum["machine"],
        C=float(optimum["C"]),
        fit_intercept=optimum["fit_intercept"],
        X=np.array(data["X"], dtype=np.float64),
        y=np.array(data["y"], dtype=np.int64),
        sample_weight=None if weights is None else np.array(weights, dtype=np.float64),
        class_weight=None if factors is None else {c: float(w) for c, w in enumerate(factors)},
        objective=float(optimum["objective"]),
        coef=coef,
        intercept=np.array(optimum.get("intercept", np.zeros(len(coef))), dtype=np.float64),
    )
