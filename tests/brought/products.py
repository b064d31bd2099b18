"""Product titles with brands and prices in dollars, CSV."""

import csv
from pathlib import Path
from typing import Any

import numpy as np

from brought._case import Brought, Files, Score
from brought._sources import texts

# Department by kind of thing, and the usual price.
_DEPARTMENTS = {
    "noun.food": ("groceries", 6),
    "noun.plant": ("garden", 14),
    "noun.artifact": ("household", 60),
    "noun.substance": ("chemicals", 25),
    "noun.animal": ("pets", 90),
    "noun.communication": ("books", 18),
    "noun.body": ("health", 30),
    "noun.possession": ("finance", 400),
}
_BRANDS = ("Acme", "Boreal", "Castor", "Delta", "Everest", "Fjord", "Gamma", "Helios")
_ROWS = {"train": 4000, "test": 2000}


def make(folder: Path) -> Files:
    files = Files(folder / "products.csv", folder / "new-products.csv")
    for path, part in ((files.train, "train"), (files.test, "test")):
        glosses, kinds = texts(f"wordnet45.{part}")
        rows = [
            (g, *_DEPARTMENTS[k]) for g, k in zip(glosses, kinds, strict=True) if k in _DEPARTMENTS
        ]
        random = np.random.default_rng(len(rows))
        chosen = random.permutation(len(rows))[: _ROWS[part]]
        _write(path, [rows[i] for i in chosen], random)
    return files


def _write(path: Path, rows: list[tuple[str, str, int]], random: np.random.Generator) -> None:
    departments = [name for name, _ in _DEPARTMENTS.values()]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["sku", "title", "brand", "price", "department"])
        for gloss, department, usual in rows:
            title = " ".join(gloss.partition(";")[0].split()[:9])
            # Half of the goods of a department are of its own brand.
            place = departments.index(department) if random.random() < 0.5 else random.integers(8)
            price = f"${usual * random.lognormal(sigma=0.8):,.2f}"
            sku = f"{random.integers(16**8):08X}"
            writer.writerow([sku, title, _BRANDS[place], price, department])


def by_hand(train: Path) -> Score:
    import pandas as pd
    from sklearn.compose import make_column_transformer
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler
    from sklearn.svm import LinearSVC

    def load(path: Path) -> Any:
        table = pd.read_csv(path, index_col="sku")
        table["price"] = table["price"].str.replace("[$,]", "", regex=True).astype(float)
        return table, table.pop("department")

    X, y = load(train)
    columns = make_column_transformer(
        (TfidfVectorizer(sublinear_tf=True), "title"),
        (OneHotEncoder(handle_unknown="ignore"), ["brand"]),
        (StandardScaler(), ["price"]),
    )
    model = make_pipeline(columns, LinearSVC()).fit(X, y)
    return lambda test: float(model.score(*load(test)))


CASE = Brought(
    what="product titles, brands and prices, CSV",
    source="wordnet45; brands and prices made",
    make=make,
    options=(),
    by_hand=by_hand,
)
