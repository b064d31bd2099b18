"""svmlight text whose rows are sorted by class."""

from pathlib import Path

import numpy as np

from brought._case import Brought, Files, Score
from brought._sources import numbers


def make(folder: Path) -> Files:
    from sklearn.datasets import dump_svmlight_file

    files = Files(folder / "letters.svm", folder / "new-letters.svm")
    for path, part in ((files.train, "train"), (files.test, "test")):
        X, y = numbers(f"letter.{part}", 16)
        order = np.argsort(y, kind="stable")
        dump_svmlight_file(X[order], y[order], str(path), zero_based=False)
    return files


def by_hand(train: Path) -> Score:
    from sklearn.datasets import load_svmlight_file
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MaxAbsScaler
    from sklearn.svm import LinearSVC

    X, y = load_svmlight_file(str(train))
    model = make_pipeline(MaxAbsScaler(), LinearSVC(random_state=0)).fit(X, y)
    return lambda test: float(model.score(*load_svmlight_file(str(test), n_features=X.shape[1])))


CASE = Brought(
    what="rows sorted by class, svmlight",
    source="letter",
    make=make,
    options=("--scale", "maxabs"),
    by_hand=by_hand,
)
