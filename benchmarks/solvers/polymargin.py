"""polymargin's LinearSVM; ``tol`` of a run is the relative duality gap.

A timed run is the whole of ``fit``: validation of the input, training and the certificate.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from benchmarks.datasets import Dataset

HISTORY = ("epoch", "seconds", "primal", "dual", "gap")


def available() -> bool:
    """Whether LinearSVM can be imported."""
    try:
        from polymargin import LinearSVM  # noqa: F401
    except ImportError:
        return False
    return True


class Polymargin:
    """LinearSVM in single or double precision, on one thread or several."""

    def __init__(self, dtype: type = np.float32, n_jobs: int = 1, max_iter: int = 100_000) -> None:
        self.name = f"polymargin-{np.dtype(dtype).name}"
        self._dtype, self._n_jobs, self._max_iter = dtype, n_jobs, max_iter

    def prepare(self, data: Dataset, machine: str, C: float) -> None:
        self._X, self._y = data.rows(self._dtype), data.y
        self._machine, self._C = machine, C
        self.model: Any = None

    def setup(self, tol: float, seed: int) -> None:
        from polymargin import LinearSVM

        self.model = LinearSVM(
            self._machine,
            C=self._C,
            fit_intercept=False,
            tol=tol,
            max_iter=self._max_iter,
            n_jobs=self._n_jobs,
            random_state=seed,
        )

    def run(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # not converged: the objective will say so
            self.model.fit(self._X, self._y)

    def coef(self) -> np.ndarray:
        return np.asarray(self.model.coef_)

    def certificate(self) -> dict[str, Any]:
        """What the fit says of itself, kept beside what the objective says."""
        model = self.model
        return {
            "gap": float(model.dual_gap_),
            "dual": float(model.dual_objective_),
            "iterations": int(model.n_iter_),
            "converged": bool(model.converged_),
        }

    def history(self) -> dict[str, list[float]]:
        """Columns of ``history_``, for the curves."""
        return {field: [float(v) for v in self.model.history_[field]] for field in HISTORY}
