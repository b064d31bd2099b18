"""Measurements of very different size, as they came, in NPZ."""

from pathlib import Path
from typing import Any

import numpy as np

from brought._case import Brought, Files, Score
from brought._sources import numbers

_N_TRAIN = 8000


def make(folder: Path) -> Files:
    files = Files(folder / "shuttle.npz", folder / "new-shuttle.npz")
    for path, part in ((files.train, "train"), (files.test, "test")):
        X, y = numbers(f"shuttle.{part}", 9)
        rows = np.random.default_rng(0).permutation(len(y))[:_N_TRAIN]
        np.savez(path, X=X.toarray()[rows], y=y[rows])
    return files


def by_hand(train: Path) -> Score:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    def load(path: Path) -> Any:
        with np.load(path) as arrays:
            return arrays["X"], arrays["y"]

    model = make_pipeline(StandardScaler(), SVC()).fit(*load(train))
    return lambda test: float(model.score(*load(test)))


CASE = Brought(
    what="unscaled measurements, NPZ",
    source="shuttle, 8,000 rows of each part",
    make=make,
    options=("--scale", "standard", "--kernel", "rbf"),
    by_hand=by_hand,
)
