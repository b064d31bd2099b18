"""Whether probabilities are what they say: reliability diagrams."""

from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from polymargin.inspect._drawing import ACCENT, GRID, INK, MUTED, new_figure, quiet, show_label
from polymargin.inspect._subject import Subject, find_subject, label_indices, score_rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Stated:
    """Probabilities that were given to events, and which of these came true."""

    p: "NDArray[np.float64]"
    came_true: "NDArray[np.bool_]"
    what: str  # the event

    def in_parts(self, n_parts: int) -> "Parts":
        """By parts of equal width of [0, 1]."""
        part = np.minimum((self.p * n_parts).astype(np.int64), n_parts - 1)
        counts = np.bincount(part, minlength=n_parts)
        filled = np.flatnonzero(counts)
        sums = np.bincount(part, self.p, n_parts)[filled]
        hits = np.bincount(part, self.came_true, n_parts)[filled]
        return Parts(counts, sums / counts[filled], hits / counts[filled])


@dataclass(frozen=True)
class Parts:
    """Rows of each part, and of those that have any the mean probability and the frequency."""

    counts: "NDArray[np.int64]"
    mean: "NDArray[np.float64]"
    frequency: "NDArray[np.float64]"

    @property
    def expected_error(self) -> float:
        """Mean distance of probability and frequency."""
        weight = self.counts[self.counts > 0]
        return float(np.average(np.abs(self.mean - self.frequency), weights=weight))


def plot_reliability(
    model: Any, X: Any, y: Any, *, label: Any = None, n_parts: int = 10
) -> "Figure":
    """Reliability diagram: how often what has some probability is true.

    Rows are put together by their probability. Points on the diagonal are as true as they say,
    points below it claim too much. Bars show how many rows there are.

    Parameters
    ----------
    model : LinearSVM, KernelSVM or Pipeline that ends in one
        Fitted with `calibration`.
    X, y : rows and labels
        Such as the model was not trained on. Labels that it does not know count as errors.
    label : label out of `classes_`, default=None
        The probability of this class, against that the row is of it; None is the probability of
        the predicted class, against that it is right.
    n_parts : int, default=10
        Parts of equal width that [0, 1] is cut into.

    Returns
    -------
    figure : matplotlib.figure.Figure

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from polymargin import LinearSVM
    >>> from polymargin.inspect import plot_reliability
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearSVM(calibration="sigmoid", random_state=0).fit(X[::2], y[::2])
    >>> plot_reliability(model, X[1::2], y[1::2]).axes[0].get_ylabel()
    'share that is right'
    """
    if not isinstance(n_parts, Integral) or not 1 <= n_parts <= 1000:
        raise ValueError(f"n_parts has to be an integer from 1 to 1000, got {n_parts!r}")
    subject = find_subject(model)
    collector = Collector(subject, y, label)
    score_rows(subject, subject.rows(X), y, collector.add)
    return draw_reliability(collector.stated(), int(n_parts))


class Collector:
    """Takes the scores of rows, some at a time, and keeps what the model says of them."""

    def __init__(self, subject: Subject, y: Any, label: Any = None) -> None:
        """Of the predicted class, or of one label; ValueError where there are no probabilities."""
        if subject.svm.calibration is None:
            raise ValueError(
                "the model gives no probabilities: fit it with calibration='temperature', "
                "'sigmoid' or 'isotonic'"
            )
        self._calibrator = subject.svm._find_calibrator()
        self._own = label_indices(subject.classes, y)
        self._wanted = None if label is None else int(label_indices(subject.classes, [label])[0])
        if self._wanted == -1:
            raise ValueError(f"label={label!r} is not among the classes of the model")
        self._p = np.empty(len(self._own))
        self._came_true = np.empty(len(self._own), dtype=bool)
        self._what = "the predicted class" if label is None else show_label(label)

    def add(self, part: slice, scores: "NDArray[Any]") -> None:
        """Consecutive rows."""
        chosen = self._wanted
        best = scores.argmax(axis=1) if chosen is None else np.full(len(scores), chosen)
        self._p[part] = self._calibrator.probabilities(scores)[np.arange(len(scores)), best]
        self._came_true[part] = self._own[part] == best

    def stated(self) -> Stated:
        return Stated(self._p, self._came_true, self._what)


def draw_reliability(stated: Stated, n_parts: int = 10) -> "Figure":
    if len(stated.p) == 0:
        raise ValueError("there are no rows to compare probabilities with")
    parts = stated.in_parts(n_parts)
    figure, axes = new_figure(4.8, 4.4)
    behind = axes.twinx()
    share = parts.counts / parts.counts.sum()
    left = np.arange(n_parts) / n_parts
    behind.bar(left, share, 1 / n_parts, align="edge", color=GRID, edgecolor="white", linewidth=0.6)
    behind.set_ylim(0, max(1.0, float(np.max(share))))
    behind.set_axis_off()
    axes.set_zorder(behind.get_zorder() + 1)
    axes.patch.set_visible(False)
    axes.plot([0, 1], [0, 1], color=MUTED, linewidth=1, linestyle=(0, (4, 3)))
    axes.plot(parts.mean, parts.frequency, color=ACCENT, marker="o", markersize=5)
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    axes.annotate(
        f"expected error {parts.expected_error:.3f}", (0.03, 0.95), xycoords="axes fraction",
        color=INK, fontsize=9,
    )  # fmt: skip
    # The name of a class is taken literally: a dollar sign in it starts no formula.
    quiet(axes, "", "share that is right", grid=False)
    axes.set_xlabel(f"probability of {stated.what}", parse_math=False)
    return figure
