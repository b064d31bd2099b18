"""How small the gap gets: 1e-6 in double and 1e-4 in single precision, at C = 1.

``python -m benchmarks.gaps [NAME ...]`` writes ``results/gaps.json`` and ``results/gaps.md``, one
fit per data set, machine and precision. Data sets that are not named keep their stored figures.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from benchmarks.datasets import ROOT, load
from benchmarks.report import table
from benchmarks.solvers.polymargin import Polymargin
from benchmarks.timing import environment, read_json, timed, write_json

RESULTS = ROOT / "benchmarks" / "results"
DATASETS = ("dna", "satimage", "letter", "clinc150", "news20", "usps")
MACHINES = ("ww", "cs", "llw")
TOLERANCES = {"float64": 1e-6, "float32": 1e-4}
PASSES = 20_000


def fit(dataset: str, machine: str, precision: str) -> dict[str, Any]:
    """One fit and what it reached."""
    solver = Polymargin(np.dtype(precision).type, max_iter=PASSES)
    solver.prepare(load(dataset), machine, C=1.0)
    solver.setup(TOLERANCES[precision], seed=0)
    clock = timed(solver.run)
    reached = solver.certificate()
    return {
        "gap": reached["gap"],
        "passes": reached["iterations"],
        "seconds": clock.cpu,
        "tol": TOLERANCES[precision],
    }


def report(results: dict[str, Any]) -> str:
    """The stored fits as a page."""
    rows = []
    for key, r in results["fits"].items():
        reached = "yes" if r["gap"] <= r["tol"] else "no"
        figures = [f"{r['gap']:.1e}", reached, f"{r['passes']:,}", f"{r['seconds']:.1f}"]
        rows.append([*key.split("/"), *figures])
    head = ["data", "machine", "precision", "gap", "reached", "passes", "CPU s"]
    machine = results["environment"]
    return "\n".join(
        [
            "# How small the gap gets",
            "",
            f"`python -m benchmarks.gaps`: {machine['cpu']}, commit {machine['commit']}. Relative",
            f"duality gap at C = 1 without bias, at most {PASSES:,} passes; asked for are 1e-6 in",
            "double and 1e-4 in single precision.",
            "",
            table(head, rows),
            "",
        ]
    )


def main() -> None:
    """Fit, store after each data set, write the page."""
    path = RESULTS / "gaps.json"
    results = {"fits": {}, **read_json(path), "environment": environment()}
    for dataset in sys.argv[1:] or DATASETS:
        for machine in MACHINES:
            for precision in TOLERANCES:
                key = f"{dataset}/{machine}/{precision}"
                results["fits"][key] = fit(dataset, machine, precision)
                print(key, results["fits"][key], flush=True)
        write_json(path, results)
        (RESULTS / "gaps.md").write_text(report(results))


if __name__ == "__main__":
    main()
