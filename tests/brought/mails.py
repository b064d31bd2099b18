"""A folder of mails, one folder a class."""

from collections import Counter
from pathlib import Path
from typing import Any

from brought._case import Brought, Files, Score
from brought._sources import texts

_GROUPS = ("misc.forsale", "rec.autos", "rec.motorcycles", "sci.crypt", "sci.med", "sci.space")


def make(folder: Path) -> Files:
    files = Files(folder / "mails", folder / "new-mails")
    for path, part in ((files.train, "train"), (files.test, "test")):
        count: Counter[str] = Counter()
        for mail, group in zip(*texts(f"news20.{part}"), strict=True):
            if group in _GROUPS:
                count[group] += 1
                (path / group).mkdir(parents=True, exist_ok=True)
                (path / group / f"{count[group]}.txt").write_text(mail, encoding="utf-8")
    return files


def by_hand(train: Path) -> Score:
    from sklearn.datasets import load_files
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC

    def load(folder: Path) -> Any:
        mails = load_files(folder, encoding="utf-8", shuffle=False)
        return mails.data, mails.target

    model = make_pipeline(TfidfVectorizer(sublinear_tf=True), LinearSVC()).fit(*load(train))
    return lambda test: float(model.score(*load(test)))


CASE = Brought(
    what="folder of mails, one folder a class",
    source="news20, six groups",
    make=make,
    options=(),
    by_hand=by_hand,
)
