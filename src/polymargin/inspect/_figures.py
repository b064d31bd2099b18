"""Figures of the fit, of margins and of confusion."""

from typing import TYPE_CHECKING, Any

import numpy as np

from polymargin.inspect._confusion import count_confusion, pair_columns
from polymargin.inspect._drawing import (
    ACCENT,
    INK,
    MUTED,
    WRONG,
    name_ticks,
    new_figure,
    quiet,
    show_label,
)
from polymargin.inspect._examined import Examined
from polymargin.inspect._subject import Scored, find_subject, score_rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NAMED_CLASSES = 40  # axes with more classes have no names


def plot_convergence(model: Any) -> "Figure":
    """Relative duality gap over the seconds of the fit.

    Parameters
    ----------
    model : LinearSVM, KernelSVM or Pipeline that ends in one
        Fitted, and not by `partial_fit`.

    Returns
    -------
    figure : matplotlib.figure.Figure

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from polymargin import LinearSVM
    >>> from polymargin.inspect import plot_convergence
    >>> model = LinearSVM(random_state=0).fit(*load_iris(return_X_y=True))
    >>> plot_convergence(model).axes[0].get_ylabel()
    'relative duality gap'
    """
    subject = find_subject(model)
    history = getattr(subject.svm, "history_", None)
    if history is None:
        raise ValueError("the model has no history_: partial_fit records none")
    figure, axes = new_figure(6.4, 3.2)
    shown = history[(history["gap"] > 0) & (history["seconds"] > 0)]
    if len(shown):
        axes.plot(shown["seconds"], shown["gap"], color=ACCENT, marker="o", markersize=4)
        axes.set_yscale("log")
        if shown["seconds"].max() > 20 * shown["seconds"].min():
            axes.set_xscale("log")
    if subject.svm.stopping == "gap" and subject.svm.tol > 0:
        axes.axhline(subject.svm.tol, color=MUTED, linewidth=1, linestyle=(0, (4, 3)))
        place = (0, subject.svm.tol)
        axes.annotate(
            f"tolerance {subject.svm.tol:g}", place, xycoords=("axes fraction", "data"),
            xytext=(4, 4), textcoords="offset points", color=MUTED, fontsize=9,
        )  # fmt: skip
    quiet(axes, "seconds", "relative duality gap")
    return figure


def plot_margins(model: Any, X: Any, y: Any) -> "Figure":
    """Distribution of the margins; errors, those below zero, in another colour.

    Parameters
    ----------
    model : LinearSVM, KernelSVM or Pipeline that ends in one
        Fitted.
    X, y : rows and labels
        Any, also such as the model was not trained on.

    Returns
    -------
    figure : matplotlib.figure.Figure
    """
    subject = find_subject(model)
    return draw_margins(score_rows(subject, subject.rows(X), y))


def draw_margins(scored: Scored) -> "Figure":
    figure, axes = new_figure(6.4, 3.2)
    margin = scored.margin[np.isfinite(scored.margin)]
    if len(margin):
        low, high = np.quantile(margin, [0.001, 0.999])
        low, high = min(float(low), 0.0), max(float(high), 1.0)
        width = (high - low) / 60
        # A multiple of the width, so that no bar has margins of both signs.
        edges = width * np.arange(np.floor(low / width), np.ceil(high / width) + 1)
        counts, _ = np.histogram(np.clip(margin, edges[0], edges[-1]), edges)
        wrong = edges[:-1] < -width / 2
        for part, colour, what in ((wrong, WRONG, "error"), (~wrong, ACCENT, "right")):
            axes.bar(
                edges[:-1][part], counts[part], width, align="edge", color=colour, label=what,
                edgecolor="white", linewidth=0.4,
            )  # fmt: skip
        axes.axvline(1.0, color=MUTED, linewidth=1, linestyle=(0, (4, 3)))
        axes.legend(frameon=False, fontsize=9, labelcolor=INK)
    quiet(axes, "margin: score of the label less the largest other score", "rows")
    return figure


def plot_confusion(model: Any, X: Any, y: Any) -> "Figure":
    """Share of the rows of each label that is predicted as each class.

    Parameters
    ----------
    model : LinearSVM, KernelSVM or Pipeline that ends in one
        Fitted.
    X, y : rows and labels
        Any, also such as the model was not trained on.

    Returns
    -------
    figure : matplotlib.figure.Figure
    """
    subject = find_subject(model)
    scored = score_rows(subject, subject.rows(X), y)
    labels, counts = count_confusion(subject, scored, np.asarray(y))
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    size = float(np.clip(2.0 + 0.26 * len(labels), 4.0, 12.0))
    figure, axes = new_figure(size + 0.8, size)
    image = axes.imshow(share, cmap="Blues", vmin=0, vmax=1, aspect="auto", interpolation="nearest")
    bar = figure.colorbar(image, ax=axes, shrink=0.7, label="share of the label's rows")
    bar.outline.set_visible(False)
    quiet(axes, "predicted", "label", grid=False)
    for axis, names in ((axes.xaxis, subject.classes), (axes.yaxis, labels)):
        if len(names) <= _NAMED_CLASSES:
            name_ticks(axis, np.arange(len(names)), [show_label(name) for name in names])
    if len(names) <= _NAMED_CLASSES and any(len(str(name)) > 3 for name in subject.classes):
        axes.tick_params(axis="x", rotation=90)
    if len(labels) <= 15:
        for i, c in np.argwhere(counts > 0):
            axes.text(
                c, i, f"{counts[i, c]:,}", ha="center", va="center", fontsize=7,
                color="white" if share[i, c] > 0.55 else INK,
            )  # fmt: skip
    return figure


def plot_pairs(model: Any, X: Any, y: Any, *, n: int = 15, sample_weight: Any = None) -> "Figure":
    """The most confusable pairs, by the weight of eta (by errors where there is no eta).

    Parameters
    ----------
    model : LinearSVM, KernelSVM or Pipeline that ends in one
        Fitted.
    X, y : the training data
        All rows, in the order of `fit`.
    n : int, default=15
        How many pairs.
    sample_weight : array-like of shape (n,), default=None
        The weights given to `fit`.

    Returns
    -------
    figure : matplotlib.figure.Figure
    """
    examined = Examined(model, X, y, sample_weight)
    return draw_pairs(
        pair_columns(examined.subject, examined.scored, examined.taus_if_any, None, n)
    )


def draw_pairs(pairs: dict[str, Any]) -> "Figure":
    count = len(pairs["label"])
    figure, axes = new_figure(6.4, 1.0 + 0.28 * max(count, 3))
    value = "eta" if "eta" in pairs else "errors"
    place = np.arange(count)
    axes.barh(place, pairs[value], height=0.62, color=ACCENT, label="sum of η")
    if value == "eta":
        axes.plot(pairs["errors"], place, "o", color=WRONG, markersize=4, label="training errors")
        axes.legend(frameon=False, fontsize=9, labelcolor=INK, loc="lower right")
    quiet(axes, "sum of η" if value == "eta" else "training errors", "")
    both = zip(pairs["label"], pairs["confused_with"], strict=True)
    name_ticks(axes.yaxis, place, [f"{show_label(a)} → {show_label(b)}" for a, b in both])
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    return figure
