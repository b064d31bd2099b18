"""``polymargin score``."""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from statistics import fmean
from typing import TYPE_CHECKING, Any, cast

from polymargin._wording import counted
from polymargin.cli import _options as o
from polymargin.cli._alike import pairs_alike
from polymargin.cli._output.terminal import (
    grid,
    show,
    show_figures,
    show_json,
    shown_warnings,
    warn,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

EXAMPLES = """
[bold]Examples[/]

  polymargin score letter.safetensors letter.test.svm.xz

  polymargin score letter.safetensors letter.test.svm.xz --json
"""

_SHOWN = 60  # classes in the table
_TOP = 5  # classes of a row among which its label is looked for


@dataclass
class Counts:
    """How often each label was given and predicted, and both at once."""

    given: Counter[Any] = field(default_factory=Counter)
    predicted: Counter[Any] = field(default_factory=Counter)
    correct: Counter[Any] = field(default_factory=Counter)
    in_top: int = 0  # rows whose label is among the best of their classes

    def add(self, given: list[Any], best: list[list[Any]]) -> None:
        """Rows with these labels, and the best classes of each."""
        predicted = [labels[0] for labels in best]
        self.given.update(given)
        self.predicted.update(predicted)
        self.correct.update(a for a, b in zip(given, predicted, strict=True) if a == b)
        self.in_top += sum(a in labels for a, labels in zip(given, best, strict=True))

    @property
    def n(self) -> int:
        return self.given.total()

    @property
    def accuracy(self) -> float:
        return self.correct.total() / self.n

    def of_class(self, label: Any) -> dict[str, Any]:
        """Precision and recall; NaN where the label was never predicted or given."""
        hits = self.correct[label]
        precision = hits / self.predicted[label] if self.predicted[label] else math.nan
        recall = hits / self.given[label] if self.given[label] else math.nan
        total = self.predicted[label] + self.given[label]
        return {
            "label": label,
            "n": self.given[label],
            "precision": precision,
            "recall": recall,
            "f1": 2 * hits / total if total else math.nan,
        }


class _Labels:
    """The labels of a file as those of a model; what the model does not know stays text."""

    def __init__(self, classes: "NDArray[Any]") -> None:
        self._are_numbers = classes.dtype.kind in "iuf"
        self._known: dict[str, Any] = {}

    def of(self, texts: "NDArray[Any]") -> list[Any]:
        return [self._label(text) for text in texts.tolist()]

    def _label(self, text: str) -> Any:
        if not self._are_numbers:
            return text
        if text not in self._known:
            from polymargin.readers import parse_labels

            self._known[text] = parse_labels([text]).tolist()[0]
        return self._known[text]


def score(
    model: o.ModelFile,
    data: o.DataFile,
    labels: o.LabelsOption = None,
    file_format: o.FormatOption = None,
    encoding: o.EncodingOption = "utf-8",
    jobs: o.JobsOption = 1,
    json: o.JsonOption = False,
) -> None:
    """Predict labelled rows and count what is right.

    With more than five classes also the share of the rows whose label is among the five best.
    Of a model trained with --calibration also the log-loss and the Brier score of its
    probabilities, over the rows whose label it knows.
    """
    from polymargin.cli._data import labelled
    from polymargin.cli._losses import Losses
    from polymargin.cli._models import open_model
    from polymargin.estimators import best_classes

    opened = open_model(model, jobs, file_format, encoding)
    has_top = len(opened.classes) > _TOP
    counts, known = Counts(), _Labels(opened.classes)
    losses = Losses(opened.classes) if opened.has_probabilities else None
    with shown_warnings():
        # As text: there may be labels that no class has.
        given_as = {"has_labels": True, "label_kind": "string", "labels_path": labels}
        for table in opened.files.batches(data, jobs, **given_as):
            given = known.of(cast("Any", labelled(table, data).y))
            for part, scores in opened.score_blocks(table, data):
                best = best_classes(scores, _TOP if has_top else 1)
                counts.add(given[part], opened.classes[best].tolist())
                if losses is not None:
                    losses.add(given[part], opened.probabilities(scores))
    unknown = sorted(set(counts.given) - set(opened.classes.tolist()), key=_order)
    if unknown:
        n_unknown = sum(counts.given[label] for label in unknown)
        warn(
            f"counted as errors: {counted(n_unknown, 'row')} with labels that the model does not "
            f"know: {', '.join(map(str, unknown[:5]))}{', …' if len(unknown) > 5 else ''}"
            + _spelling_hint(unknown, opened.classes.tolist())
        )
    classes = [counts.of_class(label) for label in _in_order(counts)]
    summary = {
        "n": counts.n,
        "errors": counts.n - counts.correct.total(),
        "accuracy": counts.accuracy,
        "balanced_accuracy": _mean(row["recall"] for row in classes if row["n"]),
        **({"top_5_accuracy": counts.in_top / counts.n} if has_top else {}),
        "micro_f1": counts.accuracy,  # each row has one label and one prediction
        "macro_f1": _mean(row["f1"] for row in classes),
        **({} if losses is None else losses.means()),
    }
    if json:
        show_json({"model": str(model), "data": str(data), **summary, "classes": classes})
        return
    if len(classes) <= _SHOWN:
        show(_table(classes))
    error = math.sqrt(counts.accuracy * (1 - counts.accuracy) / counts.n)
    show_figures(
        "",
        {
            "accuracy": f"{counts.accuracy:.2%} ± {error:.2%}",
            "errors": f"{summary['errors']:,} of {counts.n:,}",
            **({"top-5 accuracy": f"{summary['top_5_accuracy']:.2%}"} if has_top else {}),
            "balanced accuracy": f"{summary['balanced_accuracy']:.2%}",
            "micro F1": f"{summary['micro_f1']:.4f}",
            "macro F1": f"{summary['macro_f1']:.4f}",
            **{
                name: f"{summary[key]:.4f}"
                for key, name in (("log_loss", "log-loss"), ("brier", "Brier score"))
                if summary.get(key) is not None
            },
        },
    )


def _spelling_hint(unknown: list[Any], classes: list[Any]) -> str:
    """What to do about labels that the model knows in another spelling."""
    texts = [[label for label in labels if isinstance(label, str)] for labels in (unknown, classes)]
    pairs = list(pairs_alike(*texts))
    if not pairs:
        return ""
    known, given = pairs[0]
    more = f", and {len(pairs) - 1} more" if len(pairs) > 1 else ""
    return (
        f"; {given[:40]!r} differs from {known[:40]!r} of the model in capitals or blanks alone"
        f"{more}: where they mean the same, write them alike"
    )


def _in_order(counts: Counts) -> list[Any]:
    return sorted({*counts.given, *counts.predicted}, key=_order)


def _order(label: Any) -> tuple[bool, Any]:
    """Numbers before text."""
    return isinstance(label, str), label


def _mean(values: Iterable[float]) -> float:
    finite = [value for value in values if value == value]
    return fmean(finite) if finite else math.nan


def _table(classes: list[dict[str, Any]]) -> Any:
    rows = [
        [str(row["label"]), f"{row['n']:,}"]
        + ["–" if row[name] != row[name] else f"{row[name]:.3f}" for name in _RATES]
        for row in classes
    ]
    return grid("", ["label", "rows", *_RATES], rows)


_RATES = ("precision", "recall", "f1")
