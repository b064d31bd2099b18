"""The objective: the one place that scores what a solver returns.

    P(W) = ½ Σ_c ‖w_c‖² + C Σ_i L_{y_i}(W x_i),      target margin 1, no bias

computed in double precision from the weights alone. ``L`` joins hinges max(0, t_p − ν_pᵀf) by a
sum or a maximum; the table lists the hinges of each machine. Zero-sum machines are scored at the
centred weights, which are feasible, so that P is an upper bound of the optimum for all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from benchmarks.datasets import Dataset, Matrix

_CHUNK = 1 << 22  # scores held at a time


@dataclass(frozen=True)
class Machine:
    """Hinges of a machine: ``relative`` e_y − e_c or absolute −e_c, and e_y where ``own``."""

    relative: bool
    others: float  # weight of the hinges over c ≠ y
    own: float  # weight of the hinge of the own class
    join: Literal["sum", "max"]
    zero_sum: bool
    own_margin: Literal["1", "k-1"] = "1"


MACHINES: dict[str, Machine] = {
    "ww": Machine(True, 1.0, 0.0, "sum", False),
    "cs": Machine(True, 1.0, 0.0, "max", False),
    "llw": Machine(False, 1.0, 0.0, "sum", True),
    "adm": Machine(False, 1.0, 0.0, "max", True),
    "ats": Machine(False, 1.0, 1.0, "sum", True),
    "atm": Machine(False, 1.0, 1.0, "max", True),
    "mmr": Machine(False, 0.0, 1.0, "sum", True),
    "rm": Machine(False, 0.5, 0.5, "sum", True, "k-1"),
    "ovr": Machine(False, 1.0, 1.0, "sum", False),
}


@dataclass(frozen=True)
class Objective:
    """Scores weights of one machine at one C on one data set."""

    data: Dataset
    machine: str
    C: float = 1.0

    def primal(self, W: np.ndarray) -> float:
        """P(W) for W of shape (k, d), classes in the order of their labels."""
        W = self._checked(W)
        return 0.5 * float(np.vdot(W, W)) + self.C * self._loss(W)

    def accuracy(self, W: np.ndarray) -> float:
        """Share of the test rows that argmax_c w_cᵀx labels correctly."""
        W_T = np.ascontiguousarray(self._checked(W).T)
        X, y = self.data.X_test, self.data.y_test
        hits = sum(
            int((np.asarray(X[rows] @ W_T).argmax(axis=1) == y[rows]).sum())
            for rows in _chunks(X, self.data.k)
        )
        return hits / len(y)

    def _checked(self, W: np.ndarray) -> np.ndarray:
        W = np.asarray(W, dtype=np.float64)
        if W.shape != (self.data.k, self.data.d):
            raise ValueError(f"weights of shape {W.shape}, not {(self.data.k, self.data.d)}")
        return W - W.mean(axis=0) if MACHINES[self.machine].zero_sum else W

    def _loss(self, W: np.ndarray) -> float:
        W_T = np.ascontiguousarray(W.T)
        X, y = self.data.X, self.data.y
        return float(
            sum(self._losses(np.asarray(X[r] @ W_T), y[r]).sum() for r in _chunks(X, self.data.k))
        )

    def _losses(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        machine, rows = MACHINES[self.machine], np.arange(len(y))
        own = scores[rows, y]
        margin = 1.0 if machine.own_margin == "1" else self.data.k - 1.0
        shift = own[:, None] if machine.relative else 0.0
        hinges = machine.others * np.maximum(0.0, 1.0 + scores - shift)
        hinges[rows, y] = machine.own * np.maximum(0.0, margin - own)
        return hinges.sum(axis=1) if machine.join == "sum" else hinges.max(axis=1)


def suboptimality(primal: float, optimum: float) -> float:
    """(P − P*)/P*, the figure that must be within the tolerance of the race."""
    return (primal - optimum) / optimum


def _chunks(X: Matrix, k: int) -> list[slice]:
    step = max(1, _CHUNK // k)
    return [slice(start, start + step) for start in range(0, X.shape[0], step)]
