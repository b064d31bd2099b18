"""A fit by several processes, timed: ``measure`` starts them and returns what they tell.

All processes wait for each other before the fit; its wall time is that of the slowest. Their
weights stay apart. CPU seconds, of all together, count waiting as well, since processes of Open MPI
wait by asking again and again. Rows are in single precision, weights are arrays, and there is no
bias.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.corpora.shapes import PRESETS
from benchmarks.corpora.store import corpus
from benchmarks.datasets import ROOT, Matrix, Scaling, load
from benchmarks.timing import timed


@dataclass(frozen=True)
class Job:
    """What is fitted, and by how many."""

    data: str
    machine: str
    processes: int = 1
    threads: int = 1
    solver: str = "auto"
    options: dict[str, Any] = field(default_factory=dict)  # of the solver
    C: float = 1.0
    tol: float = 1e-2
    stopping: str = "gap"
    max_iter: int = 100_000
    scaling: Scaling | None = None  # None: that of the data set
    at_once: int = 1  # so many of it side by side

    @property
    def key(self) -> str:
        """Its name in files of results."""
        options = ", ".join(f"{name}={value}" for name, value in self.options.items())
        parts = [
            self.data if self.scaling is None else f"{self.data} {self.scaling}",
            self.machine,
            f"C={self.C:g}",
            f"{self.processes}x{self.threads}" + " twice" * (self.at_once > 1),
            f"{self.solver}({options})" if options else self.solver,
            f"{self.stopping} {self.tol:g}",
        ]
        return "/".join(parts)


def measure(job: Job, limit: float) -> dict[str, Any]:
    """The answer of a job; of the slowest where it runs several times at once."""
    started = [
        subprocess.Popen(
            _command(job),
            cwd=ROOT,
            env=_environment(job),
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for _ in range(job.at_once)
    ]
    answers = [_answer(process, limit) for process in started]
    return max(answers, key=lambda answer: answer.get("wall", float("inf")))


def _answer(process: subprocess.Popen[str], limit: float) -> dict[str, Any]:
    try:
        out, error = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        process.terminate()
        process.communicate()
        return {"failed": f"over {limit:g} s"}
    if process.returncode != 0:
        return {"failed": (error.strip().splitlines() or ["died"])[-1]}
    return json.loads(out.splitlines()[-1])


def _command(job: Job) -> list[str]:
    own = Path(sys.executable).parent
    launcher = shutil.which("mpiexec", path=f"{own}{os.pathsep}{os.environ.get('PATH', '')}")
    if launcher is None:
        raise SystemExit("there is no mpiexec: pip install '.[mpi]'")
    worker = [sys.executable, "-m", "benchmarks.ranks", json.dumps(asdict(job))]
    binding = ["--bind-to", "none", "--oversubscribe"]
    return [launcher, *binding, "-n", str(job.processes), *worker]


def _environment(job: Job) -> dict[str, str]:
    """One thread for libraries; processes that share cores let others go on while they wait."""
    here = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    if job.processes * job.threads > (os.cpu_count() or 1):
        here["OMPI_MCA_mpi_yield_when_idle"] = "1"
    for runtime in ("OMPI", "PRTE"):
        allow = f"{runtime}_ALLOW_RUN_AS_ROOT"
        here |= {allow: "1", f"{allow}_CONFIRM": "1"}
    return os.environ | here


# --- in each process


def rows_of(job: Job) -> tuple[Matrix, np.ndarray, Matrix, np.ndarray]:
    """Training and test part."""
    if job.data in PRESETS:
        (X, y), (X_test, y_test) = corpus(job.data), corpus(job.data, "test")
        X.data, X.indices, X.indptr = (np.array(part) for part in (X.data, X.indices, X.indptr))
        return X, np.array(y), X_test, np.array(y_test)
    data = load(job.data, job.scaling)
    return data.rows(np.float32), data.y, data.X_test.astype(np.float32), data.y_test


def fit(job: Job) -> dict[str, Any] | None:
    """What rank 0 tells of the fit; None on all others."""
    from mpi4py import MPI

    from polymargin.distributed import LinearSVM
    from polymargin.solvers import LINEAR_SOLVERS

    world = MPI.COMM_WORLD
    X, y, X_test, y_test = rows_of(job)
    solver = LINEAR_SOLVERS[job.solver](**job.options) if job.options else job.solver

    def make(max_iter: int) -> LinearSVM:
        return LinearSVM(
            job.machine,
            C=job.C,
            gather=False,
            fit_intercept=False,
            tol=job.tol,
            max_iter=max_iter,
            stopping=job.stopping,
            weights="dense",
            solver=solver,
            n_jobs=job.threads,
            random_state=0,
        )

    # For code to be loaded.
    few = np.sort(np.unique(y, return_index=True)[1])[: 8 * job.processes]
    make(2).fit(X[few], y[few])
    model = make(job.max_iter)
    world.Barrier()
    clock = timed(lambda: model.fit(X, y))
    wall, cpu = max(world.allgather(clock.wall)), sum(world.allgather(clock.cpu))
    not_zero = sum(world.allgather(int(np.count_nonzero(model.coef_))))
    size = sum(world.allgather(int(np.prod(model.coef_.shape))))
    error = 1 - model.score(X_test, y_test)
    if world.rank > 0:
        return None
    last = model.history_[-1]
    sent = model.sent_ if hasattr(model, "sent_") else None
    return {
        "shape": [*X.shape, len(model.classes_), int(X.nnz if sparse.issparse(X) else X.size)],
        "wall": wall,
        "cpu": cpu,
        "seconds": float(last["seconds"]),  # without what comes before the first pass
        "passes": float(last["epoch"]),
        "checks": len(model.history_),
        "gap": float(model.dual_gap_),
        "violation": float(last["violation"]),
        "converged": bool(model.converged_),
        "primal": float(model.primal_objective_),
        "dual": float(model.dual_objective_),
        "error": float(error),
        "density": not_zero / size,
        "sent": {} if sent is None else {kind: int(sent[kind][-1]) for kind in sent.dtype.names},
    }


if __name__ == "__main__":
    told = fit(Job(**json.loads(sys.argv[1])))
    if told is not None:
        print(json.dumps(told))
