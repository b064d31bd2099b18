"""scikit-learn's LinearSVC: Crammer–Singer as users call it, and a hinge reference for OVR."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.svm import LinearSVC

from benchmarks.datasets import Dataset

DEFAULT_TOL = 1e-4


class Sklearn:
    """LinearSVC without a bias; ``tol`` of a run is its ``tol``."""

    name = "sklearn"

    def __init__(self, max_iter: int = 1000) -> None:
        self._max_iter = max_iter

    def prepare(self, data: Dataset, machine: str, C: float) -> None:
        self._X, self._y = data.rows(np.float64), data.y
        self._C = C
        options: dict[str, dict[str, Any]] = {
            "cs": {"multi_class": "crammer_singer"},
            "ovr": {"multi_class": "ovr", "loss": "hinge", "dual": True},
        }
        self._options = options[machine]

    def setup(self, tol: float, seed: int) -> None:
        self._model = LinearSVC(
            C=self._C,
            fit_intercept=False,
            tol=tol,
            max_iter=self._max_iter,
            random_state=seed,
            **self._options,
        )

    def run(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._model.fit(self._X, self._y)

    def coef(self) -> np.ndarray:
        return self._model.coef_
