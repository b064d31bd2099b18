"""``results/classes.json`` to ``classes.md`` and ``classes.png``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from benchmarks.corpora.shapes import GROWTH, PRESETS
from benchmarks.provenance import Results, machines, note
from benchmarks.report import NONE, table

PEER = "napkinxc"
INK, MUTED, GRID = "#22272e", "#6b7480", "#e3e7ec"
COLOURS = {"ww": "#0b6e99", "cs": "#c8553d", "ovr": "#3a3f45"}
FEW = 1_000  # classes, below which a fit is over before it has a pace

HEAD = """C = 1, no bias, single precision, made corpora. Peak: what the fit takes above its rows.
"s to 1e-2" is the wall time until the fit's own passes met that gap; every other figure is of the
whole fit and its certificate. napkinXC is its probabilistic label tree (PLT) of logistic
regressions at its own settings, without a certificate.
"""

Fits = dict[str, dict[str, Any]]

# Alber et al. (2017), table 3, log C = 0: error and density of the weights in percent, on the
# corpora whose sizes and shape the made ones have.
PUBLISHED = {
    "lshtc-small": {"ovr": (64.37, 38.20), "cs": (55.49, 11.76), "ww": (54.57, 5.74)},
    "lshtc-large": {"ovr": (63.11, 18.33), "cs": (53.61, 2.69), "ww": (53.98, 1.61)},
    "lshtc-2011": {"ovr": (63.11, 18.24), "cs": (55.58, 1.69), "ww": (56.94, 1.11)},
    "lshtc-2012": {"ovr": (47.33, 18.20), "cs": (42.67, 2.06), "ww": (44.01, 1.42)},
}


def write(results: Results) -> None:
    """The page, and the plot where there is anything to draw."""
    fits: Fits = results.content["fits"]
    growth = {key: fit for key, fit in fits.items() if key.startswith("growth-")}
    lines = ["# Very many classes", "", machines(results.content), "", HEAD]
    for preset in dict.fromkeys(key.split("/")[0] for key in fits if key not in growth):
        rows = [(key, record) for key, record in fits.items() if key.split("/")[0] == preset]
        shape = PRESETS[preset]
        title = f"{preset}: {shape.rows:,} x {shape.features:,}, {shape.classes:,} classes"
        lines += [f"## {title}", "", _table(rows), "", note(results.content, rows), ""]
    beside = _beside_published(fits)
    lines += ["## Beside table 3 of Alber et al. (2017)", "", _published(beside), ""]
    lines += [note(results.content, beside.items()), ""]
    if growth:
        _draw(growth, results.path.with_suffix(".png"))
        lines += ["## Growth with the number of classes", "", "![Growth](classes.png)", ""]
        lines += [_growth_table(growth), "", _exponents(growth), ""]
        lines += [note(results.content, growth.items()), ""]
    results.write_page("\n".join(lines))


def _table(rows: list[tuple[str, dict[str, Any]]]) -> str:
    head = ["machine", "weights", "tol", "threads", "CPU s", "wall s", "s to 1e-2", "peak MB",
            "gap", "passes", "density %", "duals a row", "error %", "error of 5 %",
            "macro-F1 %"]  # fmt: skip
    return table(head, [_row(key, record) for key, record in rows])


def _row(key: str, record: dict[str, Any]) -> list[str]:
    _, machine, weights, tol, threads = key.split("/")
    own = machine == PEER
    first = [machine, NONE if own else weights, NONE if own else tol, threads]
    if "failed" in record:
        return [*first, record["failed"], *[""] * 10]

    def show(name: str, pattern: str, factor: float = 1) -> str:
        value = record.get(name)
        return NONE if value is None else format(factor * value, pattern)

    return [
        *first,
        show("cpu", ".1f"),
        show("wall", ".1f"),
        show("wall_to_1e-2", ".1f"),
        show("peak", ",.0f", 1e-6),
        show("gap", ".1e"),
        show("passes", "d"),
        show("density", ".2f", 100),
        show("duals", ".1f"),
        show("error", ".1f", 100),
        show("error_of_5", ".1f", 100),
        show("macro_f1", ".1f", 100),
    ]


def _beside_published(fits: Fits) -> Fits:
    """For each line of the published table the first fit of its own."""
    found: Fits = {}
    for preset, machines_there in PUBLISHED.items():
        for machine in machines_there:
            kind = [preset, machine, "sparse"]
            own = (k for k, fit in fits.items() if k.split("/")[:3] == kind and "error" in fit)
            key = next(own, None)
            if key:
                found[key] = fits[key]
    return found


def _published(beside: Fits) -> str:
    rows = []
    for key, fit in beside.items():
        preset, machine = key.split("/")[:2]
        error, density = PUBLISHED[preset][machine]
        ours = [f"{100 * fit['error']:.1f}", f"{100 * fit['density']:.2f}"]
        rows.append([preset, machine, ours[0], f"{error:.1f}", ours[1], f"{density:.2f}"])
    told = (
        "At C = 1. Theirs are of the real corpora, ours of made ones of the same sizes: it is the\n"
        "order of the machines that can be compared. Their CS and OVR were LIBLINEAR's."
    )
    head = ["corpus", "machine", "error %", "theirs", "density %", "theirs"]
    return f"{told}\n\n{table(head, rows)}"


def _series(growth: Fits, field: str) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """{machine: (classes, field)}."""
    series = {}
    for machine in COLOURS:
        found = {
            int(key.split("/")[0].removeprefix("growth-")): fit[field]
            for key, fit in growth.items()
            if key.split("/")[1] == machine and field in fit
        }
        if found:
            ks = sorted(found)
            series[machine] = np.array(ks, float), np.array([found[k] for k in ks], float)
    return series


def _slope(ks: np.ndarray, values: np.ndarray) -> float:
    many = ks >= FEW
    return float(np.polyfit(np.log(ks[many]), np.log(values[many]), 1)[0])


def _growth_table(growth: Fits) -> str:
    rows = []
    for k in GROWTH:
        shape = PRESETS[f"growth-{k}"]
        for key, fit in growth.items():
            if key.split("/")[0] != f"growth-{k}" or "gap" not in fit:
                continue
            rows.append([f"{k:,}", f"{shape.rows:,}", f"{shape.features:,}", key.split("/")[1],
                         key.split("/")[3], f"{fit['cpu']:.2f}", f"{fit['peak'] / 1e6:,.0f}",
                         f"{fit['gap']:.1e}", f"{100 * fit['density']:.2f}"])  # fmt: skip
    head = ["classes", "rows", "features", "machine", "tol", "CPU s", "peak MB", "gap", "density %"]
    return table(head, rows)


def _exponents(growth: Fits) -> str:
    told = []
    for field, unit in (("cpu", "CPU seconds"), ("peak", "peak memory")):
        for machine, (ks, values) in _series(growth, field).items():
            if np.count_nonzero(ks >= FEW) > 1:
                told.append(f"{unit} of {machine} grow as k^{_slope(ks, values):.2f}")
    return (
        f"From {FEW:,} classes on: {', '.join(told)}. Weights in an array would be k^1.6."
        * bool(told)
    )


def _draw(growth: Fits, path: Path) -> None:
    figure = Figure(figsize=(8, 3.4), layout="constrained")
    axes = figure.subplots(1, 2)
    for ax, field, factor, title in (
        (axes[0], "cpu", 1, "CPU seconds"),
        (axes[1], "peak", 1e-6, "peak memory, MB"),
    ):
        for machine, (ks, values) in _series(growth, field).items():
            label = machine
            if np.count_nonzero(ks >= FEW) > 1:
                label += f", k^{_slope(ks, values):.2f}"
            ax.loglog(ks, factor * values, "o-", color=COLOURS[machine], label=label)
        ax.set_title(title, color=INK, loc="left")
        ax.set_xlabel("classes, ten rows each", color=INK)
        ax.grid(color=GRID)
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(frameon=False)
    figure.savefig(path, dpi=150)
