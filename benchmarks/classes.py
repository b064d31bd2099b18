"""Very many classes: seconds, peak memory, error and density, ``python -m benchmarks.classes``.

Each fit runs in a process of its own, on a corpus that ``benchmarks.corpora`` makes, at C = 1
without a bias and in single precision. Peak memory is that of the process less what it had before
the fit: weights, dual variables and what the fit needs, not the rows. Fits that are stored already
are left as they are; ``--again`` makes them anew.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from typing import Any

import numpy as np

from benchmarks.corpora.shapes import PRESETS
from benchmarks.corpora.store import corpus
from benchmarks.datasets import ROOT
from benchmarks.provenance import add_options, machines, note, open_results
from benchmarks.report import table
from benchmarks.timing import timed
from benchmarks.worker import peak_bytes, reset_peak
from polymargin import LinearSVM, metrics

MACHINES = ("ww", "cs", "ovr")
ROWS_AT_ONCE = 2_000


def fit(preset: str, machine: str, weights: str, tol: float, threads: int) -> dict[str, Any]:
    """One fit, and how good its predictions are."""
    X, y = corpus(preset)
    X.data, X.indices, X.indptr = (np.array(part) for part in (X.data, X.indices, X.indptr))
    y = np.array(y)
    model = LinearSVM(
        machine, fit_intercept=False, tol=tol, weights=weights, n_jobs=threads, random_state=0
    )
    before = reset_peak()
    clock = timed(lambda: model.fit(X, y))
    peak = peak_bytes() - before
    X_test, y_test = corpus(preset, "test")
    best = np.concatenate(
        [
            model.predict_topk(X_test[at : at + ROWS_AT_ONCE], 5)
            for at in range(0, X_test.shape[0], ROWS_AT_ONCE)
        ]
    )
    stored = model.coef_.nnz if weights == "sparse" else np.count_nonzero(model.coef_)
    return {
        "cpu": clock.cpu,
        "wall": clock.wall,
        "peak": peak,
        "gap": float(model.dual_gap_),
        "passes": int(model.n_iter_),
        "primal": float(model.primal_objective_),
        "density": stored / np.prod(model.coef_.shape),
        "duals": model.duals_.nnz / len(y),
        "error": float(np.mean(best[:, 0] != y_test)),
        "error_of_5": float(np.mean(~(best == np.asarray(y_test)[:, None]).any(axis=1))),
        "macro_f1": float(metrics.f1_score(y_test, best[:, 0], average="macro")),
    }


def in_own_process(job: list[Any]) -> dict[str, Any]:
    """The answer of ``fit``."""
    command = [sys.executable, "-m", "benchmarks.classes", "--job", json.dumps(job)]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        return {"failed": (answer.stderr.strip().splitlines() or ["died"])[-1]}
    return json.loads(answer.stdout.splitlines()[-1])


def report(content: dict[str, Any]) -> str:
    """A table for each corpus."""
    fits = content["fits"]
    lines = ["# Very many classes", "", machines(content), ""]
    lines += [
        "C = 1, no bias, single precision, made corpora. Peak: what the fit takes above its rows.",
        "",
    ]
    for preset in dict.fromkeys(key.split("/")[0] for key in fits):
        rows = [(key, record) for key, record in fits.items() if key.split("/")[0] == preset]
        shape = PRESETS[preset]
        lines += [
            f"## {preset}: {shape.rows:,} x {shape.features:,}, {shape.classes:,} classes",
            "",
            table(
                ["machine", "weights", "tol", "threads", "CPU s", "wall s", "peak MB", "gap",
                 "passes", "density %", "duals a row", "error %", "error of 5 %", "macro-F1 %"],
                [_row(key, record) for key, record in rows],
            ),
            "",
            note(content, rows),
            "",
        ]  # fmt: skip
    return "\n".join(lines)


def _row(key: str, record: dict[str, Any]) -> list[str]:
    _, machine, weights, tol, threads = key.split("/")
    first = [machine, weights, tol, threads]
    if "failed" in record:
        return [*first, record["failed"], *[""] * 9]
    return [
        *first,
        f"{record['cpu']:.1f}",
        f"{record['wall']:.1f}",
        f"{record['peak'] / 1e6:,.0f}",
        f"{record['gap']:.1e}",
        f"{record['passes']}",
        f"{100 * record['density']:.2f}",
        f"{record['duals']:.1f}",
        f"{100 * record['error']:.1f}",
        f"{100 * record['error_of_5']:.1f}",
        f"{100 * record['macro_f1']:.1f}",
    ]


def main() -> None:
    """Fit what is not stored yet, write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.classes", description=__doc__)
    parser.add_argument("presets", nargs="*", metavar="PRESET", help=", ".join(PRESETS))
    parser.add_argument("--machines", nargs="+", choices=MACHINES, default=["ww", "cs"])
    parser.add_argument("--weights", nargs="+", default=["sparse"])
    parser.add_argument("--tol", nargs="+", type=float, default=[1e-3])
    parser.add_argument("--threads", nargs="+", type=int, default=[2])
    parser.add_argument("--again", action="store_true", help="also fits that are stored")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    add_options(parser)
    options = parser.parse_args()
    if options.job:
        print(json.dumps(fit(*json.loads(options.job))))
        return
    results = open_results("classes", options)
    stored = results.content.setdefault("fits", {})
    jobs = [
        [preset, machine, weights, tol, threads]
        for preset in options.presets
        for machine in options.machines
        for weights in options.weights
        for tol in options.tol
        for threads in options.threads
    ]
    for job in () if options.report else jobs:
        key = "/".join(f"{part:g}" if isinstance(part, float) else str(part) for part in job)
        if key not in stored or options.again:
            stored[key] = results.sign(in_own_process(job))
            print(key, stored[key], flush=True)
            results.write()
    results.write()
    results.write_page(report(results.content))


if __name__ == "__main__":
    main()
