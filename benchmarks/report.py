"""Tables of the race: ``results/linear.json`` to ``results/linear.md``."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import provenance
from benchmarks.peers import MEASURED, memory_bound, target, walrus_seconds

OURS = ("polymargin-float32", "polymargin-float64")
NONE = "—"
Results = dict[str, Any]


def write(stored: provenance.Results) -> None:
    """Write ``linear.md`` beside ``linear.json``."""
    results = stored.content
    sections = [
        _head(results),
        _against(results, "cs", "Crammer–Singer against LIBLINEAR -s 4"),
        _weston_watkins(results),
        _lee_lin_wahba(results),
        _against(results, "ovr", "One-vs-rest against LIBLINEAR -s 3"),
        _threads(results),
        _memory(results),
        _sklearn(results),
        _plots(results, stored.path.parent),
    ]
    stored.write_page("\n\n".join(filter(None, sections)) + "\n")


def seconds(results: Results, dataset: str, key: str, field: str = "cpu") -> float | None:
    """Median seconds of an entrant of the race, None where it has not run."""
    entrant = results.get("race", {}).get(dataset, {}).get(key)
    return float(np.median([run[field] for run in entrant["runs"]])) if entrant else None


def worst(results: Results, dataset: str, key: str) -> float | None:
    """Largest suboptimality over the runs of an entrant."""
    entrant = results.get("race", {}).get(dataset, {}).get(key)
    return max(run["suboptimality"] for run in entrant["runs"]) if entrant else None


def valid(results: Results, dataset: str, key: str) -> bool:
    """Whether the entrant's median run is within the tolerance of the race."""
    entrant = results.get("race", {}).get(dataset, {}).get(key)
    if entrant is None:
        return False
    return float(np.median([run["suboptimality"] for run in entrant["runs"]])) <= results["tol"]


def ratio(numerator: float | None, denominator: float | None) -> float | None:
    return None if numerator is None or not denominator else numerator / denominator


def table(head: list[str], rows: Iterable[list[str]]) -> str:
    """A Markdown table; all columns but the first are aligned right."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def figure(value: float | None, digits: int = 3) -> str:
    """A number to ``digits`` significant digits, or a dash."""
    if value is None:
        return NONE
    return f"{value:.{digits}g}" if abs(value) < 10**digits else f"{value:.0f}"


def verdict(
    value: float | None, target: float | None, ceiling: bool = False, good: bool = True
) -> list[str]:
    """Target and whether it is reached; a run outside the tolerance (not ``good``) never does."""
    if target is None:
        return [NONE, NONE]
    sign = "≤" if ceiling else "≥"
    if not good:
        return [f"{sign} {target:g}", "no: outside tol"]
    if value is None:
        return [f"{sign} {target:g}", NONE]
    return [
        f"{sign} {target:g}",
        "yes" if (value <= target) == ceiling or value == target else "no",
    ]


def _head(results: Results) -> str:
    text = (
        f"CPU seconds of training alone, one thread, C = {results['C']:g}, no bias, margin 1;"
        f" median of interleaved runs. polymargin stops at a relative duality gap of"
        f" {results['tol']:g}; LIBLINEAR runs at the loosest -e of a fixed grid whose primal is"
        f" within {results['tol']:g} of the optimum. The objective is computed from the weights"
        " in double precision, for both. A ratio is the peer's seconds over polymargin's: above 1"
        " polymargin is faster; in brackets where one of the two is outside the tolerance."
    )
    return f"# Linear machines\n\n{provenance.machines(results)}\n\n{text}"


def _noted(results: Results, part: str, machines: tuple[str, ...], title: str, body: str) -> str:
    """A section, and below it the origins of its records."""
    rows = (
        (dataset, record)
        for dataset in _names(results, part)
        for key, record in results[part][dataset].items()
        if key.partition("/")[0] in machines
    )
    return f"## {title}\n\n{body}\n\n{provenance.note(results, rows)}"


def _names(results: Results, part: str) -> list[str]:
    return [name for name in results["datasets"] if name in results.get(part, {})]


def _shape(results: Results, name: str) -> str:
    s = results["datasets"][name]
    return f"{name} ({s['n']:,} × {s['d']:,}, {s['k']})"


def _against(results: Results, machine: str, title: str) -> str:
    peer = f"{machine}/liblinear"
    rows = []
    for name in _names(results, "race"):
        if (theirs := seconds(results, name, peer)) is None:
            continue
        keys = [f"{machine}/{solver}" for solver in OURS]
        ours = [seconds(results, name, key) for key in keys]
        ratios = [ratio(theirs, value) for value in ours]
        good = valid(results, name, keys[0])
        eps = results["race"][name][peer]["setting"]
        reached = valid(results, name, peer)
        comparable = reached and good
        rows.append(
            [
                _shape(results, name),
                f"{eps:.2g}" + ("" if reached else " (not within tol)"),
                figure(theirs),
                *map(figure, ours),
                *(figure(r) if comparable or r is None else f"({figure(r)})" for r in ratios),
                *verdict(ratios[0], target(machine, name), good=good or ours[0] is None),
                figure(worst(results, name, peer), 2),
                figure(worst(results, name, keys[0]), 2),
            ]
        )
    if not rows:
        return ""
    head = ["data (n × d, k)", "-e", "LIBLINEAR s", "float32 s", "float64 s", "ratio float32"]
    head += ["ratio float64", "target", "reached", "subopt. LIBLINEAR", "subopt. float32"]
    return _noted(results, "race", (machine,), title, table(head, rows))


def _weston_watkins(results: Results) -> str:
    rows = []
    for name in _names(results, "race"):
        ours = [seconds(results, name, f"ww/{solver}") for solver in OURS]
        if ours[0] is None:
            continue
        peer = seconds(results, name, "cs/liblinear")
        walrus = None if peer is None else walrus_seconds(name, peer)
        lead = ratio(walrus, ours[0])
        good = valid(results, name, "ww/polymargin-float32")
        note = MEASURED[name].note if name in MEASURED else ""
        rows.append(
            [
                _shape(results, name),
                *map(figure, ours),
                figure(walrus) if walrus is not None or not note else f"not reached: {note}",
                figure(lead),
                *verdict(lead, target("ww", name), good=good),
                figure(worst(results, name, "ww/polymargin-float32"), 2),
            ]
        )
    if not rows:
        return ""
    head = ["data (n × d, k)", "float32 s", "float64 s", "Walrus s, by proportion", "ratio"]
    head += ["target", "reached", "subopt. float32"]
    text = (
        "Walrus is not run by this command: its seconds over LIBLINEAR's, both measured once for"
        " this project on one machine, times LIBLINEAR's seconds above; `benchmarks/peers.py` has"
        " them. The load of that machine moved seconds by up to 1.8 times."
    )
    body = f"{text}\n\n{table(head, rows)}"
    return _noted(results, "race", ("ww",), "Weston–Watkins against Walrus", body)


def _lee_lin_wahba(results: Results) -> str:
    rows = []
    for name in _names(results, "race"):
        llw, ww = (seconds(results, name, f"{m}/polymargin-float32") for m in ("llw", "ww"))
        if llw is None:
            continue
        good = valid(results, name, "llw/polymargin-float32")
        times = ratio(llw, ww)
        rows.append(
            [
                _shape(results, name),
                figure(llw),
                figure(seconds(results, name, "llw/polymargin-float64")),
                figure(times),
                *verdict(times, target("llw", name), ceiling=True, good=good),
                figure(worst(results, name, "llw/polymargin-float32"), 2),
            ]
        )
    if not rows:
        return ""
    head = ["data (n × d, k)", "float32 s", "float64 s", "LLW / WW", "target", "reached"]
    body = table([*head, "subopt. float32"], rows)
    return _noted(results, "race", ("llw", "ww"), "Lee–Lin–Wahba", body)


def _threads(results: Results) -> str:
    rows = []
    for name in _names(results, "threads"):
        for machine, record in results["threads"][name].items():
            wall = {
                jobs: float(np.median([run["wall"] for run in runs]))
                for jobs, runs in record["runs"].items()
            }
            gain = wall["1"] / wall["2"]
            rows.append(
                [
                    f"{name}, {machine.upper()}",
                    figure(wall["1"]),
                    figure(wall["2"]),
                    figure(gain),
                    *verdict(gain, target("threads", name)),
                    figure(max(run["suboptimality"] for run in record["runs"]["2"]), 2),
                ]
            )
    if not rows:
        return ""
    head = ["data, machine", "one thread s", "two threads s", "ratio", "target", "reached"]
    body = table([*head, "subopt. two threads"], rows)
    return _noted(results, "threads", ("cs", "ww"), "Two threads (wall seconds)", body)


def _memory(results: Results) -> str:
    rows = []
    for name in _names(results, "memory"):
        shape, records = results["datasets"][name], results["memory"][name]
        bytes_of = {key: record.get("peak_bytes") for key, record in records.items()}
        bound = memory_bound(**shape, itemsize=4)
        own = bytes_of.get("cs/polymargin-float32")
        cells = [bytes_of.get(f"{m}/polymargin-float{b}") for m in ("cs", "ww") for b in (32, 64)]
        rows.append(
            [
                _shape(results, name),
                *(figure(ratio(cell, 2**20)) for cell in cells),
                figure(bound / 2**20),
                figure(ratio(own, bound)),
                *verdict(ratio(own, bound), target("memory", name), ceiling=True),
                figure(ratio(bytes_of.get("cs/liblinear"), 2**20)),
            ]
        )
    if not rows:
        return ""
    head = ["data (n × d, k)", "CS float32", "CS float64", "WW float32", "WW float64"]
    head += ["bound", "CS float32 / bound", "target", "reached", "LIBLINEAR -s 4"]
    text = "Each fit in a fresh process: high-water mark of the resident set during the fit, less"
    text += " the resident set before it. The bound is 1.2 (dk + nk) items of four bytes; pages"
    text += " and fixed buffers decide where it is below a few MiB."
    body = f"{text}\n\n{table(head, rows)}"
    return _noted(results, "memory", ("cs", "ww"), "Peak memory above the input (MiB)", body)


def _sklearn(results: Results) -> str:
    rows = []
    for name in _names(results, "sklearn"):
        record = results["sklearn"][name]["cs"]
        ours = seconds(results, name, "cs/polymargin-float32")
        peer = seconds(results, name, "cs/liblinear")
        limit = record.get("timeout")
        spent = f"> {limit:g}" if limit else figure(record.get("cpu"))
        lead = ratio(limit or record.get("cpu"), ours)
        rows.append(
            [
                _shape(results, name),
                spent,
                ("> " if limit and lead else "") + figure(lead),
                figure(ratio(limit or record.get("cpu"), peer)),
                figure(record.get("suboptimality"), 2),
            ]
        )
    if not rows:
        return ""
    head = ["data (n × d, k)", "LinearSVC s", "over polymargin float32", "over LIBLINEAR above"]
    text = '`LinearSVC(multi_class="crammer_singer")` at its default tolerance, one run.'
    body = f"{text}\n\n{table([*head, 'subopt.'], rows)}"
    return _noted(results, "sklearn", ("cs",), "scikit-learn", body)


def _plots(results: Results, folder: Path) -> str:
    """Ratios of the tables above, and the curves with their own origins."""
    names = [name for name in ("ratios.png", "curves.png") if (folder / name).exists()]
    images = "\n\n".join(f"![{name[:-4]}]({name})" for name in names)
    return _noted(results, "curves", ("cs",), "Ratios and curves", images) if images else ""
