"""How small the gap gets: 1e-6 in double and 1e-4 in single precision, at C = 1.

``python -m benchmarks.gaps [NAME ...]`` writes ``results/gaps.json`` and ``results/gaps.md``, one
fit per data set, machine and precision. Data sets that are not named keep their stored figures.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from benchmarks.datasets import load
from benchmarks.provenance import add_options, machines, note, open_results
from benchmarks.report import table
from benchmarks.solvers.polymargin import Polymargin
from benchmarks.timing import timed

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


def report(content: dict[str, Any]) -> str:
    """The stored fits as a page."""
    rows = []
    for key, r in content["fits"].items():
        reached = "yes" if r["gap"] <= r["tol"] else "no"
        figures = [f"{r['gap']:.1e}", reached, f"{r['passes']:,}", f"{r['seconds']:.1f}"]
        rows.append([*key.split("/"), *figures])
    head = ["data", "machine", "precision", "gap", "reached", "passes", "CPU s"]
    return "\n".join(
        [
            "# How small the gap gets",
            "",
            machines(content),
            "",
            f"Relative duality gap at C = 1 without bias, at most {PASSES:,} passes; asked for are",
            "1e-6 in double and 1e-4 in single precision.",
            "",
            table(head, rows),
            "",
            note(content, ((key.partition("/")[0], r) for key, r in content["fits"].items())),
            "",
        ]
    )


def main() -> None:
    """Fit, store after each data set, write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gaps", description=__doc__)
    parser.add_argument("datasets", nargs="*", metavar="NAME", help=", ".join(DATASETS))
    add_options(parser)
    options = parser.parse_args()
    results = open_results("gaps", options)
    fits = results.content.setdefault("fits", {})
    for dataset in () if options.report else options.datasets or DATASETS:
        for machine in MACHINES:
            for precision in TOLERANCES:
                key = f"{dataset}/{machine}/{precision}"
                fits[key] = results.sign(fit(dataset, machine, precision))
                print(key, fits[key], flush=True)
        results.write()
    results.write_page(report(results.content))


if __name__ == "__main__":
    main()
