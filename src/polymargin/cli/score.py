"""``polymargin score``."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from polymargin.cli import _options as o
from polymargin.cli._console import figures, grid, show, show_json, shown_warnings
from polymargin.cli._data import batches_alike, labelled
from polymargin.cli._models import open_model
from polymargin.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

EXAMPLES = """
[bold]Examples[/]

  polymargin score letter.safetensors letter.test.svm.xz

  polymargin score letter.safetensors letter.test.svm.xz --json
"""

_SHOWN = 60  # classes in the table


@dataclass
class Counts:
    """How often each label was given and predicted, and both at once."""

    given: Counter[Any] = field(default_factory=Counter)
    predicted: Counter[Any] = field(default_factory=Counter)
    correct: Counter[Any] = field(default_factory=Counter)

    def add(self, labels: "NDArray[Any]", predicted: "NDArray[Any]") -> None:
        labels, predicted = _comparable(labels, predicted)
        self.given.update(labels.tolist())
        self.predicted.update(predicted.tolist())
        self.correct.update(labels[labels == predicted].tolist())

    @property
    def n(self) -> int:
        return self.given.total()

    @property
    def accuracy(self) -> float:
        return self.correct.total() / self.n

    def of_class(self, label: Any) -> dict[str, Any]:
        """Precision and recall; NaN where the label was never predicted or given."""
        hits = self.correct[label]
        precision = hits / self.predicted[label] if self.predicted[label] else np.nan
        recall = hits / self.given[label] if self.given[label] else np.nan
        total = self.predicted[label] + self.given[label]
        return {
            "label": label,
            "n": self.given[label],
            "precision": precision,
            "recall": recall,
            "f1": 2 * hits / total if total else np.nan,
        }


def _comparable(
    labels: "NDArray[Any]", predicted: "NDArray[Any]"
) -> "tuple[NDArray[Any], NDArray[Any]]":
    """Both as text where one is: a file of numbers may be scored with a model of words."""
    if (labels.dtype.kind in "iufb") == (predicted.dtype.kind in "iufb"):
        return labels, predicted
    return labels.astype(str), predicted.astype(str)


def score(
    model: o.ModelFile,
    data: o.DataFile,
    file_format: o.FormatOption = None,
    jobs: o.JobsOption = 1,
    json: o.JsonOption = False,
) -> None:
    """Predict labelled rows and count what is right."""
    opened = open_model(model, jobs, file_format)
    counts = Counts()
    with shown_warnings():
        for table in batches_alike(data, opened.reading, jobs, has_labels=True):
            values = opened.scores(table.X)
            labels: Any = labelled(table, data).y
            counts.add(labels, opened.classes[values.argmax(axis=1)])
    if counts.n == 0:
        raise DataError("there are no rows", path=str(data))
    classes = [counts.of_class(label) for label in _in_order(counts)]
    summary = {
        "n": counts.n,
        "errors": counts.n - counts.correct.total(),
        "accuracy": counts.accuracy,
        "balanced_accuracy": _mean(row["recall"] for row in classes if row["n"]),
        "macro_f1": _mean(row["f1"] for row in classes),
    }
    if json:
        show_json({"model": str(model), "data": str(data), **summary, "classes": classes})
        return
    if len(classes) <= _SHOWN:
        show(_table(classes))
    error = np.sqrt(counts.accuracy * (1 - counts.accuracy) / counts.n)
    show(
        figures(
            "",
            {
                "accuracy": f"{counts.accuracy:.2%} ± {error:.2%}",
                "errors": f"{summary['errors']:,} of {counts.n:,}",
                "balanced accuracy": f"{summary['balanced_accuracy']:.2%}",
                "macro F1": f"{summary['macro_f1']:.4f}",
            },
        )
    )


def _in_order(counts: Counts) -> list[Any]:
    return sorted({*counts.given, *counts.predicted})


def _mean(values: Iterable[float]) -> float:
    finite = [value for value in values if value == value]
    return float(np.mean(finite)) if finite else np.nan


def _table(classes: list[dict[str, Any]]) -> Any:
    rows = [
        [str(row["label"]), f"{row['n']:,}"]
        + ["–" if row[name] != row[name] else f"{row[name]:.3f}" for name in _RATES]
        for row in classes
    ]
    return grid("", ["label", "rows", *_RATES], rows)


_RATES = ("precision", "recall", "f1")
