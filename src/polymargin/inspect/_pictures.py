"""Figures of weights and of single rows."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from polymargin._wording import counted
from polymargin.inspect._drawing import (
    ACCENT,
    INK,
    WRONG,
    empty_figure,
    name_ticks,
    quiet,
    show_label,
    show_picture,
)
from polymargin.inspect._examined import Examined
from polymargin.inspect._features import check_linear, find_names, largest_weights, weights_of
from polymargin.inspect._patterns import rank
from polymargin.inspect._subject import Subject, find_subject, take_row
from polymargin.inspect._taus import eta_texts
from polymargin.inspect._text import visible

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray


def plot_weights(
    model: Any,
    *,
    image_shape: tuple[int, int] | None = None,
    n: int = 8,
    names: Sequence[str] | None = None,
    texts: Any = None,
    max_classes: int = 20,
) -> "Figure":
    """The weights of each class: pictures, or bars of the largest ones.

    Parameters
    ----------
    model : LinearSVM or Pipeline that ends in one
        Fitted.
    image_shape : (int, int), default=None
        Rows and columns of pixels where the features are pixels. Blue speaks for the class,
        orange against it.
    n, names, texts
        See `top_features`.
    max_classes : int, default=20
        Only so many classes are drawn, the first ones.

    Returns
    -------
    figure : matplotlib.figure.Figure
    """
    subject = find_subject(model)
    check_linear(subject)
    classes = subject.classes[:max_classes]
    columns = min(5 if image_shape is not None else 3, len(classes))
    lines = -(-len(classes) // columns)
    height = 1.7 if image_shape is not None else 0.6 + 0.34 * n
    figure = empty_figure(columns * (1.5 if image_shape is not None else 3.2), lines * height)
    if image_shape is None:
        known = find_names(subject, names, texts)
        label, feature, weight = largest_weights(subject, n, known)
        listed = known.of(feature)
    for c, name in enumerate(classes):
        axes = figure.add_subplot(lines, columns, c + 1)
        if image_shape is not None:
            picture = weight_picture(subject, c, image_shape)
            largest = float(np.abs(picture).max()) or 1.0
            axes.imshow(picture, cmap="PuOr", vmin=-largest, vmax=largest)
            axes.set_axis_off()
        else:
            chosen = np.flatnonzero(label == c)
            chosen = chosen[np.argsort(-weight[chosen], kind="stable")]
            place, colours = np.arange(len(chosen)), np.where(weight[chosen] > 0, ACCENT, WRONG)
            axes.barh(place, weight[chosen], height=0.7, color=colours)
            quiet(axes, "", "")
            name_ticks(axes.yaxis, place, [show_label(listed[j]) for j in chosen])
            axes.tick_params(labelsize=7)
            axes.invert_yaxis()
        axes.set_title(show_label(name), fontsize=9, color=INK, parse_math=False)
    return figure


def weight_picture(subject: Subject, c: int, image_shape: tuple[int, int]) -> "NDArray[np.float64]":
    """The weights of a class as pixels."""
    d = subject.svm.n_features_in_
    check_image_shape(image_shape, d)
    pixels = np.zeros(d)
    features, weights = weights_of(subject, c)
    pixels[features] = weights
    return pixels.reshape(image_shape)


def check_image_shape(image_shape: tuple[int, int], d: int) -> None:
    if len(image_shape) != 2 or image_shape[0] * image_shape[1] != d:
        raise ValueError(
            f"image_shape={tuple(image_shape)} does not fit rows of {counted(d, 'feature')}: it "
            "has to be (height, width) with height * width features"
        )


def plot_patterns(
    model: Any,
    X: Any,
    y: Any,
    *,
    image_shape: tuple[int, int],
    n: int = 20,
    sample_weight: Any = None,
) -> "Figure":
    """Pictures of the support patterns with the largest ‖tau‖, with label and eta.

    An E marks a training error, as in the figures of Crammer and Singer (2001).

    Parameters
    ----------
    model : LinearSVM, KernelSVM or Pipeline that ends in one
        Fitted.
    X, y : the training data
        All rows, in the order of `fit`; the features that the estimator sees are pixels.
    image_shape : (int, int)
        Rows and columns of pixels.
    n : int, default=20
        How many.
    sample_weight : array-like of shape (n,), default=None
        The weights given to `fit`.

    Returns
    -------
    figure : matplotlib.figure.Figure
    """
    examined = Examined(model, X, y, sample_weight)
    subject, rows = examined.subject, examined.rows
    check_image_shape(image_shape, rows.shape[1])
    scored, taus = examined.scored, examined.taus
    order = rank(taus.norm, scored)
    order = order[taus.is_support[order]][:n]
    columns = min(5, max(len(order), 1))
    lines = max(1, -(-len(order) // columns))
    figure = empty_figure(columns * 1.6, lines * 1.9)
    etas = eta_texts(taus, subject.classes, order)
    for place, (i, eta) in enumerate(zip(order, etas, strict=True)):
        axes = figure.add_subplot(lines, columns, place + 1)
        show_picture(axes, take_row(rows, int(i)).reshape(image_shape))
        label = show_label(subject.classes[scored.own[i]])
        mark = "  E" if scored.error[i] else ""
        text = f"{label}  ({visible(eta)}){mark}" if eta else f"{label}{mark}"
        axes.set_title(text, fontsize=7, color=INK, parse_math=False)
    return figure
