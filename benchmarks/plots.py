"""Plots of the race: ratios as bars, and objective and gap over CPU seconds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from benchmarks.objective import suboptimality
from benchmarks.report import ratio, seconds, valid, walrus_seconds
from benchmarks.timing import read_json

INK, MUTED, GRID = "#22272e", "#6b7480", "#e3e7ec"
SERIES = {  # the order of the legend; two hues that differ in lightness too
    "polymargin-float32": ("#0b6e99", "polymargin, float32"),
    "polymargin-float64": ("#7fb8d1", "polymargin, float64"),
    "liblinear": ("#c8553d", "LIBLINEAR"),
}
STYLE: dict[Any, Any] = {
    "font.size": 10,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "text.color": INK,
    "figure.dpi": 150,
    "savefig.bbox": "tight",
}


def write(folder: Path) -> None:
    """Draw what ``linear.json`` holds; a plot without data is left out."""
    results = read_json(folder / "linear.json")
    with plt.rc_context(STYLE):
        _ratios(results, folder / "ratios.png")
        _curves(results, folder / "curves.png")


def _leads(results: dict[str, Any]) -> list[tuple[str, dict[str, dict[str, float]]]]:
    """(title, {data set: {precision: ratio}}) of the three comparisons."""
    panels = []
    for machine, title in (
        ("cs", "Crammer–Singer vs LIBLINEAR -s 4"),
        ("ww", "Weston–Watkins vs Walrus (by proportion)"),
        ("ovr", "One-vs-rest vs LIBLINEAR -s 3"),
    ):
        leads: dict[str, dict[str, float]] = {}
        for name in results.get("race", {}):
            peer_key = f"{'cs' if machine == 'ww' else machine}/liblinear"
            peer = seconds(results, name, peer_key)
            if machine == "ww" and peer is not None:
                peer = walrus_seconds(name, peer)
            for solver in ("polymargin-float32", "polymargin-float64"):
                lead = ratio(peer, seconds(results, name, f"{machine}/{solver}"))
                if lead is not None:
                    good = all(
                        valid(results, name, key) for key in (f"{machine}/{solver}", peer_key)
                    )
                    leads.setdefault(name, {})[solver] = lead if good else np.nan
        if leads:
            panels.append((title, leads))
    return panels


def _ratios(results: dict[str, Any], path: Path) -> None:
    panels = _leads(results)
    if not panels:
        return
    heights = [len(leads) + 1.2 for _, leads in panels]
    figure, axes = plt.subplots(
        len(panels), 1, figsize=(7.5, 0.42 * sum(heights) + 0.8), height_ratios=heights, sharex=True
    )
    for ax, (title, leads) in zip(np.atleast_1d(axes), panels, strict=True):
        _bars(ax, title, leads)
    values = [v for _, leads in panels for lead in leads.values() for v in lead.values()]
    low, high = np.nanmin([*values, 0.9]) / 1.5, np.nanmax([*values, 4.0]) * 1.4
    ticks = [t for t in (0.05, 0.1, 0.2, 0.5, 1, 2, 3, 5, 10, 20, 50, 100) if low <= t <= high]
    np.atleast_1d(axes)[0].set_xlim(low, high)
    np.atleast_1d(axes)[0].set_xticks(ticks, [f"{tick:g}×" for tick in ticks])
    last = np.atleast_1d(axes)[0]
    np.atleast_1d(axes)[-1].set_xlabel("peer's CPU seconds / polymargin's — right of 1 is faster")
    handles, labels = last.get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="lower center", ncols=2, frameon=False, bbox_to_anchor=(0.5, 1.0)
    )
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)


def _bars(ax: Axes, title: str, leads: dict[str, dict[str, float]]) -> None:
    names = sorted(leads, key=lambda name: -np.nan_to_num(max(leads[name].values())))
    rows = np.arange(len(names))
    for offset, solver in ((-0.19, "polymargin-float32"), (0.19, "polymargin-float64")):
        values = [leads[name].get(solver, np.nan) for name in names]
        color, label = SERIES[solver]
        bars = np.array(values) - 1.0  # bars start at 1, where both take the same time
        ax.barh(rows + offset, bars, 0.34, left=1.0, color=color, label=label)
        for row, value in zip(rows, values, strict=True):
            if np.isfinite(value):
                side = "left" if value >= 1 else "right"
                text = f" {value:.1f}× " if value >= 1 else f" {value:.2f}× "
                ax.text(value, row + offset, text, va="center", ha=side, fontsize=7.5, color=MUTED)
            else:
                ax.text(1, row + offset, " outside tol", va="center", fontsize=7.5, color=MUTED)
    ax.set_yticks(rows, names, color=INK)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.axvline(1.0, color=INK, linewidth=1)
    ax.set_xscale("log")
    ax.minorticks_off()
    ax.set_title(title, loc="left", fontsize=10.5, color=INK)
    ax.tick_params(length=0)
    ax.grid(axis="x", color=GRID, linewidth=0.8)
    ax.set_axisbelow(True)


def _curves(results: dict[str, Any], path: Path) -> None:
    curves = {name: records["cs"] for name, records in results.get("curves", {}).items()}
    if not curves:
        return
    columns = min(4, len(curves))
    rows = -(-len(curves) // columns)
    size = (3.1 * columns, 2.5 * rows + 0.5)
    figure, axes = plt.subplots(rows, columns, figsize=size, squeeze=False)
    for ax in axes.flat[len(curves) :]:
        ax.set_visible(False)
    for ax, (name, record) in zip(axes.flat, curves.items(), strict=False):
        _curve(ax, name, record, results["tol"])
    for ax in axes[:, 0]:
        ax.set_ylabel("relative to the optimum")
    for column in range(columns):
        shown = [ax for ax in axes[:, column] if ax.get_visible()]
        shown[-1].set_xlabel("CPU seconds")
    handles, labels = axes.flat[0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="lower center", ncols=3, frameon=False, bbox_to_anchor=(0.5, 1.0)
    )
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)


def _curve(ax: Axes, name: str, record: dict[str, Any], tol: float) -> None:
    for solver, (color, label) in SERIES.items():
        if solver not in record:
            continue
        if solver == "liblinear":
            points = sorted(record[solver], key=lambda point: point["cpu"])
            seconds_, primal, gap = (
                np.array([point[field] for point in points]) for field in ("cpu", "primal", "gap")
            )
            marker = "o"
        else:
            seconds_, primal, gap = (
                np.array(record[solver][f]) for f in ("seconds", "primal", "gap")
            )
            marker = None
        above = np.maximum([suboptimality(value, record["optimum"]) for value in primal], 1e-9)
        ax.plot(
            seconds_,
            above,
            color=color,
            linewidth=1.7,
            marker=marker,
            markersize=3.5,
            label=f"{label}: primal",
        )
        ax.plot(
            seconds_,
            np.maximum(gap, 1e-9),
            color=color,
            linewidth=1,
            linestyle=(0, (3, 2)),
            label=f"{label}: gap",
        )
    ax.axhline(tol, color=MUTED, linewidth=0.8, linestyle=":")
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_ylim(1e-6, 2)
    ax.set_title(name, loc="left", fontsize=10)
    ax.grid(color=GRID, linewidth=0.6)
    ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 3.0)))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.1g}"))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_minor_locator(NullLocator())
