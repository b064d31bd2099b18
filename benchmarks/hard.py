"""Every machine at any C: gap and CPU seconds at default settings, ``python -m benchmarks.hard``.

All nine machines, linear and with the radial kernel of gamma = 1, C from 1e-6 to 1e6, on features
as they are and scaled to [-1, 1]. One fit a cell, on one thread. Cells that are stored already are
left as they are, so that a command that was interrupted goes on; ``--again`` makes them anew, and
``--floors`` fits those above the tolerance once more with ten times as many passes.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.preprocessing import MinMaxScaler

from benchmarks.datasets import ROOT
from benchmarks.provenance import add_options, describe, machines, note, open_results
from benchmarks.report import table
from benchmarks.timing import timed
from polymargin import KernelSVM, LinearSVM
from polymargin.readers import read

FILES = {
    "glass": "glass",
    "vehicle": "vehicle",
    "segment": "segment",
    "satimage": "satimage.train",
    "shuttle": "shuttle.train",
    "letter": "letter.train",
    "dna": "dna.train",
    "usps": "usps.train",
}
ROWS = 5000  # of letter and shuttle
FEATURES = ("scaled", "raw")
KINDS = ("linear", "rbf")
MACHINES = ("ww", "cs", "llw", "adm", "ats", "atm", "mmr", "rm", "ovr")
CS = tuple(10.0**e for e in range(-6, 7, 2))
TOL = 1e-3
SECONDS = {"linear": 2.0, "rbf": 5.0}
_MORE = 10  # times as many passes for what a cell above the tolerance could reach
SLOW_SETS = ("usps", "letter")  # which may take 10 s


def rows_of(name: str, features: str) -> tuple[Any, Any]:
    """Dense rows in double and labels."""
    found = read(ROOT.parent / "shared" / "data" / f"{FILES[name]}.svm.xz")
    X, y = np.asarray(found.X.toarray(), np.float64)[:ROWS], np.asarray(found.y)[:ROWS]
    return (MinMaxScaler((-1, 1)).fit_transform(X) if features == "scaled" else X), y


def fit(X: Any, y: Any, kind: str, machine: str, C: float, factor: int = 1) -> dict[str, Any]:
    """One fit at default settings, but for a factor of `max_iter`."""
    model: Any = LinearSVM(machine, C=C, random_state=0)
    if kind == "rbf":
        model = KernelSVM(machine, C=C, gamma=1.0, random_state=0)
    model.set_params(max_iter=factor * model.max_iter)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        clock = timed(lambda: model.fit(X, y))
    cell = {
        "gap": float(model.dual_gap_),
        "passes": int(model.n_iter_),
        "seconds": clock.cpu,
    }
    return cell if model.converged_ else cell | {"told": " ".join(str(w.message) for w in told)}


def limit(name: str, kind: str) -> float:
    return 10.0 if name in SLOW_SETS else SECONDS[kind]


def report(content: dict[str, Any]) -> str:
    """A table for each set, kind and features: the gap, and the seconds where they are many."""
    cells = content["cells"]
    missed = [key for key, cell in cells.items() if cell["gap"] > TOL]
    slow = [key for key, cell in cells.items() if cell["seconds"] > _limit_of(key)]
    lines = [
        "# Every machine at any C",
        "",
        machines(content),
        "",
        f"Relative duality gap and CPU seconds at default settings (tol = {TOL:g}) on one thread;",
        f"the first {ROWS:,} rows. The radial kernel has gamma = 1. Of {len(cells):,} cells",
        f"{len(missed)} are above the tolerance (in bold) and {len(slow)} take longer than 2 s",
        "(linear), 5 s (kernel) or 10 s (usps, letter);",
        f"{_n_cells() - len(cells):,} more are not measured.",
        "",
        *_exceptions("Above the tolerance", missed, cells),
        *_exceptions(
            "Too slow, but within the tolerance",
            [key for key in slow if key not in missed],
            cells,
        ),
    ]
    for group in dict.fromkeys(key.rsplit("/", 2)[0] for key in cells):
        lines += [f"## {group.replace('/', ', ')}", "", _table_of(group, cells), ""]
        lines += [note(content, _by_origin(group, content)), ""]
    return "\n".join(lines)


def _n_cells() -> int:
    return len(FILES) * len(FEATURES) * len(KINDS) * len(MACHINES) * len(CS)


def _exceptions(title: str, keys: list[str], cells: dict[str, Any]) -> list[str]:
    """What the cells reach, what more passes would, and what the warning said."""
    lines = [f"{title}:", ""] if keys else []
    for key in keys:
        cell = cells[key]
        lines.append(
            f"- {key.replace('/', ', ')}: gap {cell['gap']:.1e} in {cell['seconds']:.2g} s"
        )
        if floor := cell.get("floor"):
            after = f"{floor['passes']:,} passes, {floor['seconds']:.2g} s"
            lines[-1] += f"; {floor['gap']:.1e} after {after}"
        if told := cell.get("told"):
            lines[-1] += f". {told}"
    return [*lines, ""] if keys else []


def _limit_of(key: str) -> float:
    name, _, kind, *_ = key.split("/")
    return limit(name, kind)


def _table_of(group: str, cells: dict[str, Any]) -> str:
    rows = []
    for machine in MACHINES:
        row = [machine]
        for C in CS:
            cell = cells.get(f"{group}/{machine}/{C:g}")
            row.append("" if cell is None else _show(cell))
        if any(row[1:]):
            rows.append(row)
    return table(["machine", *(f"C = {C:g}" for C in CS)], rows)


def _by_origin(group: str, content: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """A record for each machine of a table, named with its C where those differ in origin."""
    for machine in MACHINES:
        found: dict[str, dict[float, dict[str, Any]]] = {}
        for C in CS:
            if cell := content["cells"].get(f"{group}/{machine}/{C:g}"):
                found.setdefault(describe(content, cell), {})[C] = cell
        for of_run in found.values():
            Cs = " at C = " + " and ".join(f"{C:g}" for C in of_run) if len(found) > 1 else ""
            yield machine + Cs, next(iter(of_run.values()))


def _show(cell: dict[str, Any]) -> str:
    gap = f"{cell['gap']:.0e}" if cell["gap"] <= TOL else f"**{cell['gap']:.0e}**"
    return f"{gap}, {cell['seconds']:.2g} s"


def _cells(options: argparse.Namespace) -> Iterator[tuple[str, str, str, str, float]]:
    for name in options.datasets or FILES:
        for features in options.features:
            for kind in options.kinds:
                for machine in options.machines:
                    for C in options.Cs:
                        yield name, features, kind, machine, C


def _is_due(key: str, cell: dict[str, Any] | None, options: argparse.Namespace) -> bool:
    """Whether this run has to fit it."""
    if options.floors:
        return cell is not None and cell["gap"] > TOL and "floor" not in cell
    if cell is None or options.again:
        return True
    return bool(options.slow and (cell["gap"] > TOL or cell["seconds"] > _limit_of(key)))


def main() -> None:
    """Fit what is not stored yet, store from time to time, write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hard", description=__doc__)
    parser.add_argument("datasets", nargs="*", metavar="NAME", help=", ".join(FILES))
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--machines", nargs="+", choices=MACHINES, default=list(MACHINES))
    parser.add_argument("--Cs", nargs="+", type=float, choices=CS, default=list(CS))
    parser.add_argument("--features", nargs="+", choices=FEATURES, default=list(FEATURES))
    parser.add_argument("--again", action="store_true", help="also cells that are stored")
    parser.add_argument("--slow", action="store_true", help="also stored cells above a limit")
    parser.add_argument("--floors", action="store_true", help="what more passes would reach")
    add_options(parser)
    options = parser.parse_args()
    results = open_results("hard", options)
    stored = results.content.setdefault("cells", {})
    loaded: tuple[Any, Any] = (None, None)
    unwritten = 0
    for name, features, kind, machine, C in () if options.report else _cells(options):
        key = f"{name}/{features}/{kind}/{machine}/{C:g}"
        if not _is_due(key, stored.get(key), options):
            continue
        if loaded[0] != (name, features):
            loaded = (name, features), rows_of(name, features)
        if options.floors:
            stored[key]["floor"] = results.sign(fit(*loaded[1], kind, machine, C, _MORE))
        else:
            stored[key] = results.sign(fit(*loaded[1], kind, machine, C))
        print(key, stored[key]["gap"], f"{stored[key]['seconds']:.2f} s", flush=True)
        unwritten += 1
        if unwritten % 10 == 0 or stored[key]["seconds"] > 10:
            results.write()
    results.write()
    results.write_page(report(results.content))


if __name__ == "__main__":
    main()
