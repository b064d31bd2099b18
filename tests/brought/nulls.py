"""Measurements and a category in Parquet, some of them null."""

from pathlib import Path
from typing import Any

import numpy as np

from brought._case import Brought, Files, Score
from brought._sources import numbers

_MEASURES = ("length", "diameter", "height", "weight", "flesh", "viscera", "shell")
_N_TRAIN = 2900


def make(folder: Path) -> Files:
    import pyarrow as pa
    import pyarrow.parquet as pq

    X, rings = numbers("abalone", 10)
    X = X.toarray()
    random = np.random.default_rng(0)
    is_null = random.random((len(X), 8)) < 0.04
    sex = np.array(["M", "F", "I"])[X[:, :3].argmax(axis=1)]
    columns: dict[str, Any] = {"sex": pa.array(sex, mask=is_null[:, 0]).dictionary_encode()}
    for j, name in enumerate(_MEASURES, start=1):
        columns[name] = pa.array(X[:, j + 2], mask=is_null[:, j])
    columns["age"] = pa.array(np.array(["young", "grown", "old"])[np.digitize(rings, [9, 11])])
    table = pa.table(columns).take(random.permutation(len(X)))
    files = Files(folder / "shells.parquet", folder / "new-shells.parquet")
    pq.write_table(table.slice(0, _N_TRAIN), files.train)
    pq.write_table(table.slice(_N_TRAIN), files.test)
    return files


def by_hand(train: Path) -> Score:
    import pandas as pd
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler
    from sklearn.svm import LinearSVC

    def load(path: Path) -> Any:
        table = pd.read_parquet(path)
        table["sex"] = table["sex"].astype(object).fillna("unknown")
        return table, table.pop("age")

    X, y = load(train)
    columns = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["sex"]),
        remainder=make_pipeline(SimpleImputer(), StandardScaler()),
    )
    model = make_pipeline(columns, LinearSVC()).fit(X, y)
    return lambda test: float(model.score(*load(test)))


CASE = Brought(
    what="measurements with nulls, Parquet",
    source="abalone, three groups of ages; nulls made",
    make=make,
    options=("--missing", "mean"),
    by_hand=by_hand,
)
