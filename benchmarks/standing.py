"""Where polymargin stands beside its peers: ``python -m benchmarks.standing``.

Runs nothing: draws the stored results of the other benchmarks as one picture, peers' seconds over
ours, and writes the page of the documentation that shows it, wins and losses alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from benchmarks.datasets import ROOT
from benchmarks.plots import GRID, INK, STYLE
from benchmarks.provenance import RESULTS
from benchmarks.report import ratio, seconds, table, valid, walrus_seconds
from benchmarks.timing import read_json

PAGE = ROOT / "docs" / "reference" / "peers.md"
PICTURE = ROOT / "docs" / "_static" / "peers.svg"
COLOURS = {1.0: "#7fb8d1", 10.0: "#0b6e99", 100.0: "#e2a03f", 1000.0: "#c8553d", 1e4: "#7a2f22"}
OTHER = "#6b7480"


@dataclass(frozen=True)
class Standing:
    """One comparison; `at_least` where the peer did not get as far as we did."""

    panel: str
    row: str
    C: float | None
    ratio: float
    at_least: bool = False


LINEAR = "Linear Crammer–Singer, seconds of LIBLINEAR over ours"
WALRUS = "Linear Weston–Watkins, seconds of Walrus over ours (by proportion)"
KERNEL = "Radial kernel, seconds of SVC (one-vs-one) over ours (Weston–Watkins)"
SEARCH = "Grid search, seconds of GridSearchCV over ours"
TEXTS = "Texts hashed, seconds of HashingVectorizer over ours"


def collect(folder: Path = RESULTS) -> list[Standing]:
    """All comparisons that are stored, in the order of the page."""
    parts = (_dense_sets, _texts, _walrus, _kernels, _searches, _hashing)
    return [standing for part in parts for standing in part(folder)]


def _dense_sets(folder: Path) -> Iterator[Standing]:
    """C = 1 in double; texts are in another file."""
    results = read_json(folder / "linear.json")
    texts = {key.partition("/")[0] for key in read_json(folder / "hard_texts.json")["cells"]}
    for name in results["race"]:
        peer = seconds(results, name, "cs/liblinear")
        found = ratio(peer, seconds(results, name, "cs/polymargin-float64"))
        if name not in texts and found is not None:
            yield Standing(LINEAR, name, 1.0, found, not valid(results, name, "cs/liblinear"))


def _texts(folder: Path) -> Iterator[Standing]:
    """Several C, with and without a bias."""
    for key, cell in read_json(folder / "hard_texts.json")["cells"].items():
        name, _, bias, C = key.split("/")
        if peer := cell.get("liblinear"):
            row = f"{name}, bias" if bias == "1" else name
            found = peer["seconds"] / cell["seconds"]
            yield Standing(LINEAR, row, float(C), found, peer["off"] > 1e-3)


def _walrus(folder: Path) -> Iterator[Standing]:
    results = read_json(folder / "linear.json")
    for name in results["race"]:
        liblinear = seconds(results, name, "cs/liblinear")
        peer = None if liblinear is None else walrus_seconds(name, liblinear)
        found = ratio(peer, seconds(results, name, "ww/polymargin-float64"))
        if found is not None:
            yield Standing(WALRUS, name, 1.0, found)


def _kernels(folder: Path) -> Iterator[Standing]:
    """Several C; of sets that were run at one alone, that one."""
    results = read_json(folder / "kernel.json")
    values = results.get("values", {})
    several = {key.rpartition("/")[0] for key in values}
    single = {name: race for name, race in results.get("race", {}).items() if name not in several}
    for key, race in (values | single).items():
        name, _, C = key.rpartition("/")
        cpu = {entrant: _median(runs) for entrant, runs in race["runs"].items()}
        found = cpu["SVC"] / cpu["polymargin/ww"]
        yield Standing(KERNEL, name or key, float(C) if name else None, found)


def _searches(folder: Path) -> Iterator[Standing]:
    """With the race that is the default."""
    for name, search in read_json(folder / "model_selection.json")["searches"].items():
        taken = {entrant: float(np.median(runs)) for entrant, runs in search["seconds"].items()}
        yield Standing(SEARCH, name, None, taken["GridSearchCV"] / taken["0.001"])


def _hashing(folder: Path) -> Iterator[Standing]:
    for name, case in read_json(folder / "hashing.json")["cases"].items():
        taken = case["seconds"]["memory"]
        found = taken["scikit-learn"]["cpu"] / taken["polymargin"]["cpu"]
        yield Standing(TEXTS, name, None, found)


def _median(runs: list[dict[str, Any]]) -> float:
    return float(np.median([run["cpu"] for run in runs]))


def draw(standings: list[Standing], path: Path) -> None:
    """A panel for each kind of comparison, a line for each set, a dot for each C."""
    panels = list(dict.fromkeys(standing.panel for standing in standings))
    of = {panel: [s for s in standings if s.panel == panel] for panel in panels}
    ratios = [standing.ratio for standing in standings]
    limits = (min(0.5, 0.8 * min(ratios)), 1.25 * max(ratios))
    heights = [len({s.row for s in of[panel]}) + 1.5 for panel in panels]
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(
            len(panels), 1, figsize=(8, 0.26 * sum(heights) + 1), sharex=True,
            height_ratios=heights, squeeze=False,
        )  # fmt: skip
        for panel, ax in zip(panels, axes[:, 0], strict=True):
            _draw_panel(ax, panel, of[panel], limits)
        used = sorted({s.C for s in standings if s.C is not None})
        dots = [plt.Line2D([], [], marker="o", ls="", color=COLOURS.get(C, OTHER)) for C in used]
        figure.legend(
            dots, [f"C = {C:g}" for C in used], loc="upper center", ncols=len(used), frameon=False
        )
        figure.tight_layout(rect=(0, 0, 1, 1 - 0.5 / figure.get_figheight()))
        path.parent.mkdir(exist_ok=True)
        figure.savefig(path, metadata={"Date": None})
        plt.close(figure)


def _draw_panel(
    ax: Axes, title: str, standings: list[Standing], limits: tuple[float, float]
) -> None:
    rows = list(dict.fromkeys(s.row for s in standings))[::-1]
    for standing in standings:
        colour = OTHER if standing.C is None else COLOURS.get(standing.C, OTHER)
        ax.plot(
            standing.ratio, rows.index(standing.row), marker=">" if standing.at_least else "o",
            color=colour, ls="", ms=6,
        )  # fmt: skip
    ax.axvline(1, color=INK, lw=1)
    ax.axvspan(limits[0], 1, color="#f6e9e6", zorder=0)
    ax.set_xscale("log")
    ax.set_xlim(limits)
    ax.set_yticks(range(len(rows)), rows)
    ax.set_ylim(-0.6, len(rows) - 0.4)
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.grid(axis="x", color=GRID)
    ax.set_title(title, loc="left", fontsize=10)


def page(standings: list[Standing]) -> str:
    """The picture, what it is made of, and every ratio below 1."""
    behind = [s for s in standings if s.ratio < 1]
    lines = [
        "# Beside its peers",
        "",
        "Seconds of a peer over ours, at equal accuracy: to the right of 1 polymargin is",
        f"faster. That is so in {len(standings) - len(behind)} of {len(standings)} comparisons. A",
        "triangle marks a peer that ended further from the optimum than we did, in the time shown.",
        "",
        "![Seconds of peers over ours](../_static/peers.svg)",
        "",
        "CPU seconds on one thread, both in one run, on two-core machines in use: a factor of 1.3",
        "is not resolved. LIBLINEAR and Walrus solve the same problem as we do, LIBLINEAR to a",
        "primal objective within 1e-3 of the optimum; Walrus was measured once, beside LIBLINEAR,",
        "and is carried over by its seconds. SVC trains one-vs-one, at its default tolerance.",
        "Texts are tf-idf rows in double. Tables, commands and commits are in",
        "`benchmarks/results`: `linear.md`, `hard_texts.md`, `kernel.md`, `model_selection.md` and",
        "`hashing.md`;",
        "`python -m benchmarks.standing` draws this page.",
        "",
    ]
    if behind:
        rows = [
            [s.panel, s.row, "" if s.C is None else f"{s.C:g}", f"{s.ratio:.2f}"] for s in behind
        ]
        lines += ["## Where a peer is faster", "", table(["what", "data", "C", "ratio"], rows), ""]
    return "\n".join(lines)


def main() -> None:
    """Draw the picture, write the page."""
    standings = collect()
    draw(standings, PICTURE)
    PAGE.write_text(page(standings))
    print(f"{PAGE.relative_to(ROOT)}: {len(standings)} comparisons")


if __name__ == "__main__":
    main()
