"""CSV with an identifier, a constant, empty cells, and a class that occurs once."""

import csv
from pathlib import Path
from typing import Any

import numpy as np

from brought._case import Brought, Files, Score
from brought._sources import numbers

_SURFACES = ("brickface", "cement", "foliage", "grass", "path", "sky", "window")
_N_TRAIN = 1300


def make(folder: Path) -> Files:
    X, y = numbers("segment", 19)
    random = np.random.default_rng(0)
    shuffled = random.permutation(len(y))
    files = Files(folder / "regions.csv", folder / "new-regions.csv")
    X, names = X.toarray(), [_SURFACES[c - 1] for c in y]
    for path, rows in ((files.train, shuffled[:_N_TRAIN]), (files.test, shuffled[_N_TRAIN:])):
        _write(path, X[rows], [names[i] for i in rows], random)
    with files.train.open("a", encoding="utf-8") as file:
        file.write("region-lost,camera 1," + ",".join(["0"] * X.shape[1]) + ",unknown\n")
    return files


def _write(path: Path, X: Any, names: list[str], random: np.random.Generator) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["region", "camera", *(f"m{j}" for j in range(X.shape[1])), "surface"])
        for row, name in zip(X, names, strict=True):
            gaps = random.random(len(row))
            cells = [_cell(value, gap) for value, gap in zip(row, gaps, strict=True)]
            writer.writerow([f"region-{random.integers(10**9)}", "camera 1", *cells, name])


def _cell(value: float, chance: float) -> str:
    """Two of a hundred are missing, which is written in two ways."""
    return f"{value:g}" if chance > 0.02 else "" if chance > 0.01 else "n/a"


def by_hand(train: Path) -> Score:
    import pandas as pd
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    def load(path: Path) -> Any:
        table = pd.read_csv(path).drop(columns=["region", "camera"])
        return table, table.pop("surface")

    model = make_pipeline(SimpleImputer(), StandardScaler(), SVC()).fit(*load(train))
    return lambda test: float(model.score(*load(test)))


CASE = Brought(
    what="identifiers, constants, empty cells and a class of one row, CSV",
    source="segment; the first column, gaps and the single row made",
    make=make,
    options=("--missing", "mean", "--kernel", "rbf"),
    by_hand=by_hand,
)
