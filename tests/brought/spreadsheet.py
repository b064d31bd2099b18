"""A German spreadsheet saved as CSV: semicolons, decimal commas, points in thousands, dates."""

import csv
from pathlib import Path
from typing import Any

import numpy as np

from brought._case import Brought, Files, Score
from brought._sources import numbers

_SOILS = ("roter Boden", "Baumwolle", "grauer Boden", "feuchter Boden", "Stoppeln", "Nässe")
_AREAS = ("Nord", "Süd", "Ost", "West")
_FACTOR = 17.31  # so that values have fractions, and most of them thousands


def make(folder: Path) -> Files:
    files = Files(folder / "bodenproben.csv", folder / "neue-proben.csv")
    for path, part in ((files.train, "train"), (files.test, "test")):
        X, y = numbers(f"satimage.{part}", 36)
        _write(path, X.toarray(), y, np.random.default_rng(len(y)))
    return files


def _write(path: Path, X: Any, y: Any, random: np.random.Generator) -> None:
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.writer(file, delimiter=";")
        channels = [f"Kanal {pixel}.{band}" for pixel in range(1, 10) for band in range(1, 5)]
        writer.writerow(["Nr.", "Datum", "Gebiet", "Bodenart", *channels])
        for number, (row, soil) in enumerate(zip(X, y, strict=True), start=1):
            day, month = random.integers(1, 29), 1 + (2 * soil + random.integers(6)) % 12
            area = _AREAS[random.integers(len(_AREAS))]
            cells = [_german(_FACTOR * value) for value in row]
            date = f"{day:02d}.{month:02d}.2024"
            writer.writerow([number, date, area, _SOILS[soil - 1], *cells])


def _german(value: float) -> str:
    return f"{value:,.2f}".translate(str.maketrans(",.", ".,"))


def by_hand(train: Path) -> Score:
    import pandas as pd
    from sklearn.compose import make_column_transformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler
    from sklearn.svm import SVC

    def load(path: Path) -> Any:
        table = pd.read_csv(
            path, sep=";", decimal=",", thousands=".", dtype={"Datum": str}, index_col="Nr."
        )
        dates = pd.to_datetime(table.pop("Datum"), format="%d.%m.%Y")
        table["Monat"] = dates.dt.month
        return table, table.pop("Bodenart")

    X, y = load(train)
    words = ["Gebiet", "Monat"]
    columns = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), words), remainder=StandardScaler()
    )
    model = make_pipeline(columns, SVC()).fit(X, y)
    return lambda test: float(model.score(*load(test)))


CASE = Brought(
    what="German spreadsheet, CSV with `;` and `1.234,56`",
    source="satimage; dates and areas made",
    make=make,
    options=("--label", "Bodenart", "--kernel", "rbf"),
    by_hand=by_hand,
)
