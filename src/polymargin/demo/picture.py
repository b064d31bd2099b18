"""The picture: how the gap of our linear machines falls, and accuracy over seconds for everyone."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.ticker import FixedLocator, NullLocator

from polymargin.demo._entrants import KERNEL, LINEAR, PEERS
from polymargin.demo._labels import place_labels
from polymargin.demo._outcomes import Outcome
from polymargin.inspect import INK, MUTED, empty_figure, quiet

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours, which colour-blind people tell apart, less the yellow, which nobody
# sees on white; a marker as well, so that the curves can be told apart without colour.
_CURVES = {
    "WW": ("#0072b2", "o"),
    "CS": ("#d55e00", "s"),
    "LLW": ("#009e73", "^"),
    "ADM": ("#cc79a7", "v"),
    "ATS": ("#56b4e9", "D"),
    "ATM": ("#e69f00", "P"),
    "MMR": ("#8c8c8c", "X"),
    "RM": ("#6a3d9a", "<"),
    "OVR": ("#000000", ">"),
}
_GROUPS = {LINEAR: ("#56b4e9", "o"), KERNEL: ("#0072b2", "s"), PEERS: ("#d55e00", "D")}
_ACCURACIES = (0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.92, 0.95)


def draw(outcomes: Sequence[Outcome], tol: float) -> "Figure":
    """Both panels."""
    figure = empty_figure(13.5, 6)
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.15))
    _draw_gaps(left, [outcome for outcome in outcomes if outcome.entrant.group == LINEAR], tol)
    _draw_accuracies(right, outcomes)
    place_labels(
        figure,
        right,
        [(outcome.seconds, 1 - outcome.accuracy, outcome.entrant.name) for outcome in outcomes],
    )
    return figure


def _draw_gaps(axes: "Axes", outcomes: Sequence[Outcome], tol: float) -> None:
    for outcome in outcomes:
        history = outcome.model.history_
        shown = history[(history["gap"] > 0) & (history["seconds"] > 0)]
        colour, marker = _CURVES[outcome.entrant.name]
        axes.plot(
            shown["seconds"],
            np.minimum.accumulate(shown["gap"]),
            color=colour,
            linewidth=1.8,
            marker=marker,
            markersize=6.5,
            markeredgecolor="white",
            markeredgewidth=0.6,
            label=outcome.entrant.name,
        )
    axes.axhline(
        tol, color=MUTED, linewidth=1, linestyle=(0, (4, 3)), zorder=1, label=f"tolerance {tol:g}"
    )
    axes.set_xscale("log")
    axes.set_yscale("log")
    quiet(axes, "seconds of training by the wall clock", "certified relative duality gap")
    _title(axes, "How fast nine linear machines prove their optimum")
    _legend_below(axes, 5)


def _draw_accuracies(axes: "Axes", outcomes: Sequence[Outcome]) -> None:
    for group, (colour, marker) in _GROUPS.items():
        members = [outcome for outcome in outcomes if outcome.entrant.group == group]
        axes.scatter(
            [outcome.seconds for outcome in members],
            [1 - outcome.accuracy for outcome in members],
            s=60,
            color=colour,
            marker=marker,
            edgecolors="white",
            linewidths=0.6,
            label=group,
            zorder=3,
        )
    axes.set_xscale("log")
    axes.set_yscale("log")  # of the errors: where accuracies are high, small steps count
    axes.invert_yaxis()
    axes.margins(x=0.12, y=0.12)
    axes.yaxis.set_major_locator(FixedLocator([1 - accuracy for accuracy in _ACCURACIES]))
    axes.yaxis.set_major_formatter(lambda error, _: f"{1 - error:.0%}")
    axes.yaxis.set_minor_locator(NullLocator())
    quiet(axes, "CPU seconds of training, one thread", "accuracy on the test part")
    _title(axes, "What the seconds buy on satimage")
    _legend_below(axes, 3)


def _title(axes: "Axes", text: str) -> None:
    axes.set_title(text, loc="left", color=INK, fontweight="bold")


def _legend_below(axes: "Axes", columns: int) -> None:
    axes.legend(
        ncols=columns,
        frameon=False,
        fontsize=9,
        labelcolor=INK,
        loc="upper center",
        bbox_to_anchor=(0.5, -0.1),
    )
