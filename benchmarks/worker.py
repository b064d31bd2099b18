"""One fit in a fresh process: for its peak memory, or to be stopped at a time limit.

``measure`` starts ``python -m benchmarks.worker`` with a job as JSON and reads its answer. Peak
memory is the high-water mark of the resident set, reset just before the fit, less the resident
set at that moment: what the fit needs above its input, model included.
"""

from __future__ import annotations

import ctypes
import gc
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.datasets import ROOT, Dataset, load
from benchmarks.objective import Objective
from benchmarks.solvers.base import Solver
from benchmarks.solvers.liblinear import Liblinear
from benchmarks.solvers.polymargin import Polymargin
from benchmarks.solvers.sklearn import Sklearn
from benchmarks.timing import timed

SOLVERS: dict[str, Callable[[], Solver]] = {
    "polymargin-float32": lambda: Polymargin(np.float32),
    "polymargin-float64": lambda: Polymargin(np.float64),
    "liblinear": Liblinear,
    "sklearn": Sklearn,
}


def measure(
    solver: str, dataset: str, machine: str, tol: float, C: float = 1.0, limit: float | None = None
) -> dict[str, Any]:
    """Answer of a job in a fresh process; ``{"timeout": limit}`` when it took longer."""
    job = {"solver": solver, "dataset": dataset, "machine": machine, "tol": tol, "C": C}
    command = [sys.executable, "-m", "benchmarks.worker", json.dumps(job)]
    try:
        answer = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=limit
        )
    except subprocess.TimeoutExpired:
        return {"timeout": limit}
    if answer.returncode != 0:
        return {"error": (answer.stderr.strip().splitlines() or ["died"])[-1]}
    return json.loads(answer.stdout.splitlines()[-1])


def _fit(job: dict[str, Any]) -> dict[str, Any]:
    data, make = load(job["dataset"]), SOLVERS[job["solver"]]
    _rehearse(make(), data, job["machine"])
    solver = make()
    solver.prepare(data, job["machine"], job["C"])
    solver.setup(job["tol"], 0)
    before = reset_peak()
    clock = timed(solver.run)
    peak = peak_bytes()
    W = solver.coef()
    objective = Objective(data, job["machine"], job["C"])
    return {
        "cpu": clock.cpu,
        "wall": clock.wall,
        "peak_bytes": peak - before,
        "primal": objective.primal(W),
        "accuracy": objective.accuracy(W),
    }


def _rehearse(solver: Solver, data: Dataset, machine: str) -> None:
    """A fit on three rows of each of the first classes, to load code before memory counts."""
    rows = np.concatenate([np.flatnonzero(data.y == c)[:3] for c in range(3)])
    solver.prepare(replace(data, X=data.X[rows], y=data.y[rows], k=3), machine, 1.0)
    solver.setup(1e-2, 0)
    solver.run()


def reset_peak() -> int:
    """Hand freed memory back, set the high-water mark to the present; the resident bytes."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")
    return _status("VmRSS")


def peak_bytes() -> int:
    """The high-water mark since it was reset."""
    return _status("VmHWM")


def _status(field: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    raise LookupError(field)


if __name__ == "__main__":
    print(json.dumps(_fit(json.loads(sys.argv[1]))))
