"""The look of all figures: quiet axes, colours that differ in lightness too."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from polymargin.errors import require
from polymargin.inspect._text import visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, MUTED, GRID = "#22272e", "#6b7480", "#e3e7ec"
ACCENT, WRONG = "#0b6e99", "#c8553d"
_LABEL_LENGTH = 28


def empty_figure(width: float, height: float) -> "Figure":
    """A figure that pyplot does not know."""
    module = require("matplotlib.figure", extra="inspect", purpose="figures")
    figure: Figure = module.Figure(figsize=(width, height), dpi=150, layout="constrained")
    return figure


def new_figure(width: float, height: float) -> "tuple[Figure, Axes]":
    """Such a figure with one pair of axes."""
    figure = empty_figure(width, height)
    return figure, figure.add_subplot()


def quiet(axes: "Axes", x: str, y: str, *, grid: bool = True) -> None:
    """Names of the axes, a light grid, no frame."""
    axes.set_xlabel(x, color=INK)
    axes.set_ylabel(y, color=INK)
    if grid:
        axes.grid(which="major", color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(which="both", colors=MUTED)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(MUTED)


def name_ticks(axis: Any, places: Any, names: Sequence[str]) -> None:
    """Names at the ticks, taken literally: a dollar sign starts no formula."""
    axis.set_ticks(places)
    axis.set_ticklabels(list(names), parse_math=False)


def show_label(label: Any) -> str:
    """A label in one line of limited length."""
    text = visible(label).replace("\n", " ")
    return text if len(text) <= _LABEL_LENGTH else text[: _LABEL_LENGTH - 1] + "…"


def show_picture(axes: "Axes", pixels: Any) -> None:
    """Dark ink on white, whatever the range of the values."""
    axes.imshow(pixels, cmap="Greys", interpolation="nearest")
    axes.set_axis_off()
