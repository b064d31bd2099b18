"""Very many classes: seconds, peak memory, error and density, ``python -m benchmarks.classes``.

Each fit runs in a process of its own, on a corpus that ``benchmarks.corpora`` makes, at C = 1
without a bias and in single precision. Peak memory is that of the process less what it had before
the fit: weights, dual variables and what the fit needs, not the rows. Fits that are stored already
are left as they are; ``--again`` makes them anew. ``--machines napkinxc`` is the peer, which has
neither tolerance nor weights to choose.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from benchmarks.classes_report import PEER, write
from benchmarks.corpora.shapes import PRESETS
from benchmarks.corpora.store import corpus
from benchmarks.datasets import ROOT
from benchmarks.provenance import add_options, open_results
from benchmarks.timing import timed
from benchmarks.worker import peak_bytes, reset_peak
from polymargin import LinearSVM, metrics

MACHINES = ("ww", "cs", "ovr", PEER)
ROWS_AT_ONCE = 2_000


def fit(preset: str, machine: str, weights: str, tol: float, threads: int) -> dict[str, Any]:
    """One fit, and how good its predictions are."""
    X, y = corpus(preset)
    X.data, X.indices, X.indptr = (np.array(part) for part in (X.data, X.indices, X.indptr))
    y = np.array(y)
    if machine == PEER:
        return fit_tree(preset, X, y, threads)
    model = LinearSVM(
        machine, fit_intercept=False, tol=tol, weights=weights, n_jobs=threads, random_state=0
    )
    before = reset_peak()
    clock = timed(lambda: model.fit(X, y))
    peak = peak_bytes() - before
    stored = model.coef_.nnz if weights == "sparse" else np.count_nonzero(model.coef_)
    return {
        "cpu": clock.cpu,
        "wall": clock.wall,
        "wall_to_1e-2": next(
            (float(at["seconds"]) for at in model.history_ if at["gap"] <= 1e-2), None
        ),
        "peak": peak,
        "gap": float(model.dual_gap_),
        "passes": int(model.n_iter_),
        "primal": float(model.primal_objective_),
        "density": stored / np.prod(model.coef_.shape),
        "duals": model.duals_.nnz / len(y),
        **judge(preset, lambda X: model.predict_topk(X, 5)),
    }


def fit_tree(preset: str, X: csr_matrix, y: np.ndarray, threads: int) -> dict[str, Any]:
    """napkinXC's probabilistic label tree at its own settings; it writes its model to a folder."""
    from napkinxc.models import PLT

    with tempfile.TemporaryDirectory() as folder:
        tree = PLT(folder, threads=threads, seed=0, verbose=0)
        before = reset_peak()
        clock = timed(lambda: tree.fit(X, y.tolist()))
        peak = peak_bytes() - before
        size = sum(file.stat().st_size for file in Path(folder).iterdir())
        scores = judge(preset, lambda X: _padded(tree.predict(X, top_k=5)))
    return {"cpu": clock.cpu, "wall": clock.wall, "peak": peak, "file": size, **scores}


def _padded(best: list[list[int]]) -> np.ndarray:
    return np.array([(row + [-1] * 5)[:5] for row in best])


def judge(preset: str, predict: Callable[[csr_matrix], np.ndarray]) -> dict[str, float]:
    """Errors and F1 on the test part, by the best five classes that ``predict`` gives."""
    X, y = corpus(preset, "test")
    starts = range(0, X.shape[0], ROWS_AT_ONCE)
    best = np.concatenate([predict(X[at : at + ROWS_AT_ONCE]) for at in starts])
    y = np.asarray(y)
    return {
        "error": float(np.mean(best[:, 0] != y)),
        "error_of_5": float(np.mean(~(best == y[:, None]).any(axis=1))),
        "micro_f1": float(metrics.f1_score(y, best[:, 0], average="micro")),
        "macro_f1": float(metrics.f1_score(y, best[:, 0], average="macro")),
    }


def in_own_process(job: list[Any]) -> dict[str, Any]:
    """The answer of ``fit``."""
    command = [sys.executable, "-m", "benchmarks.classes", "--job", json.dumps(job)]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        return {"failed": (answer.stderr.strip().splitlines() or ["died"])[-1]}
    return json.loads(answer.stdout.splitlines()[-1])


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
    write(results)


if __name__ == "__main__":
    main()
