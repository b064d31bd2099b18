"""Support tickets, lines of label, tab and text below a header."""

from pathlib import Path
from typing import Any

from brought._case import Brought, Files, Score
from brought._sources import texts


def make(folder: Path) -> Files:
    files = Files(folder / "tickets.tsv", folder / "new-tickets.tsv")
    for path, part in ((files.train, "train"), (files.test, "test")):
        lines = (f"{queue}\t{text}" for text, queue in zip(*texts(f"clinc150.{part}"), strict=True))
        path.write_text("\n".join(["label\ttext", *lines, ""]), encoding="utf-8")
    return files


def by_hand(train: Path) -> Score:
    import csv

    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC

    def load(path: Path) -> Any:
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
        return [row["text"] for row in rows], [row["label"] for row in rows]

    model = make_pipeline(TfidfVectorizer(sublinear_tf=True), LinearSVC()).fit(*load(train))
    return lambda test: float(model.score(*load(test)))


CASE = Brought(
    what="support tickets, TSV with a header",
    source="clinc150",
    make=make,
    options=(),
    by_hand=by_hand,
)
