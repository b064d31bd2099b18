"""Reviews, a JSON object a line."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from brought._case import Brought, Files, Score
from brought._sources import texts


def make(folder: Path) -> Files:
    files = Files(folder / "reviews.jsonl", folder / "new-reviews.jsonl")
    for path, part in ((files.train, "train"), (files.test, "test")):
        abstracts, fields = texts(f"ohsumed23.{part}")
        random = np.random.default_rng(len(fields))
        with path.open("w", encoding="utf-8") as file:
            for i in random.permutation(len(fields)):
                title, _, body = abstracts[i].partition("\n")
                review: dict[str, Any] = {
                    "id": f"{part}-{i}",
                    "title": title,
                    "review": body.strip() or None,
                    "stars": int(random.integers(1, 6)),
                    "field": fields[i],
                }
                file.write(json.dumps(review, ensure_ascii=False) + "\n")
    return files


def by_hand(train: Path) -> Score:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC

    def load(path: Path) -> Any:
        with path.open(encoding="utf-8") as file:
            rows = [json.loads(line) for line in file]
        return [f"{r['title']} {r['review'] or ''}" for r in rows], [r["field"] for r in rows]

    model = make_pipeline(TfidfVectorizer(sublinear_tf=True), LinearSVC()).fit(*load(train))
    return lambda test: float(model.score(*load(test)))


CASE = Brought(
    what="reviews, JSON lines",
    source="ohsumed23; stars made",
    make=make,
    options=("--label", "field"),
    by_hand=by_hand,
)
