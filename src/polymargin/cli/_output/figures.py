"""Pictures: which can be drawn, and files of them."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from polymargin._atomic import replacing
from polymargin.cli._output.files import check_target, writing
from polymargin.errors import require

if TYPE_CHECKING:
    from polymargin.model_selection import GridSearch


def check_plot(path: Path | None, *inputs: Path | None, name: str = "--plot") -> None:
    """Refuse a picture that cannot be drawn, before any work is done for it.

    `name` is the option or argument that asks for it.
    """
    if path is None:
        return
    check_target(path, *inputs)
    base = require("matplotlib.backend_bases", extra="plot", purpose="Plots").FigureCanvasBase
    formats = sorted(base.get_supported_filetypes())
    if path.suffix[1:].lower() not in formats:
        raise typer.BadParameter(
            f"a picture has a name that ends in one of {', '.join(formats)}, unlike {path.name!r}",
            param_hint=name,
        )


def plot_search(search: "GridSearch", path: Path) -> None:
    """The accuracy of each machine over the grid."""
    figure = require("matplotlib.figure", extra="plot", purpose="Plots").Figure(
        figsize=(5.2 * len(search.machines), 4.4), dpi=160, layout="constrained"
    )
    rows = figure.subplots(1, len(search.machines), squeeze=False)
    for machine, axes in zip(search.machines, rows[0], strict=True):
        search.heat_map(machine, axes)
    save_figure(figure, path)


def plot_path(records: list[dict[str, Any]], machine: str, path: Path) -> None:
    """Accuracy over C."""
    from polymargin.inspect import ACCENT, INK, MUTED, new_figure, quiet

    figure, axes = new_figure(7.2, 4.4)
    Cs = [record["C"] for record in records if math.isfinite(record["C"])]
    shown = {
        "training_accuracy": ("training", MUTED, "o"),
        "accuracy": ("test", ACCENT, "s"),
    }
    for name, (label, colour, marker) in shown.items():
        if records[0][name] is not None:
            values = {record["C"]: 100 * record[name] for record in records}
            finite = [values[C] for C in Cs]
            axes.plot(Cs, finite, color=colour, marker=marker, markersize=5, label=label)
            if math.inf in values:
                axes.axhline(
                    values[math.inf], color=colour, linestyle=":", label=f"{label}, C = inf"
                )
    axes.set_xscale("log", base=2)
    quiet(axes, "C", "accuracy, %")
    axes.set_title(f"Regularisation path, {machine}", loc="left", color=INK, fontweight="bold")
    axes.legend(frameon=False, labelcolor=INK)
    save_figure(figure, path)


def save_figure(figure: Any, path: Path) -> None:
    """A file that is complete or absent."""
    with writing(path), replacing(path, "wb") as file:
        figure.savefig(file, format=path.suffix[1:].lower())
