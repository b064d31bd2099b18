"""Starting the processes of a test, and what they have told."""

import functools
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

SECONDS = 600  # of a job, all scenarios together, on a busy machine
LAUNCHER = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}{os.pathsep}{os.defpath}")
MISSING = (
    "mpi4py is not installed"
    if importlib.util.find_spec("mpi4py") is None
    else "there is no mpiexec"
    if LAUNCHER is None
    else ""
)
needs_mpi = pytest.mark.skipif(bool(MISSING), reason=MISSING)


def environment() -> dict[str, str]:
    """Root may start processes, more of them than there are cores."""
    here = {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(Path(__file__).parent)}
    here["OMPI_MCA_mpi_yield_when_idle"] = "1"
    for runtime in ("OMPI", "PRTE"):
        allow = f"{runtime}_ALLOW_RUN_AS_ROOT"
        here |= {allow: "1", f"{allow}_CONFIRM": "1"}
    return os.environ | here


def start(n_ranks: int, *command: str, cwd: Path) -> "subprocess.CompletedProcess[str]":
    """Run a command on several processes."""
    launch = [str(LAUNCHER), "--oversubscribe", "-n", str(n_ranks), *command]
    return subprocess.run(
        launch, capture_output=True, text=True, timeout=SECONDS, env=environment(), cwd=cwd
    )


def run_job(
    module: str, n_ranks: int, out: Path, *scenarios: str
) -> "subprocess.CompletedProcess[str]":
    """Start processes with scenarios of a module, and wait for their end."""
    command = [sys.executable, "-m", module, str(out), *scenarios]
    return start(n_ranks, *command, cwd=out.parent)


@functools.cache
def _job(module: str, n_ranks: int, *scenarios: str) -> dict[str, list[Any]]:
    """What each process has returned, by scenario."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "told.json"
        done = run_job(module, n_ranks, out, *scenarios)
        assert done.returncode == 0, done.stderr
        told: dict[str, list[Any]] = json.loads(out.read_text())
    return told


def told_by(
    module: str, jobs: Mapping[int, tuple[str, ...]], n_ranks: int, scenario: str
) -> list[Any]:
    """What the processes have returned; fails with the traceback of one that has not.

    All scenarios that `jobs` names for this number of processes are run in one start of them.
    """
    told = _job(module, n_ranks, *jobs[n_ranks])[scenario]
    errors = [rank["error"] for rank in told if "error" in rank]
    assert not errors, errors[0]
    return [rank["value"] for rank in told]


def check_same_optimum(figures: dict[str, Any], tol: float = 1e-4) -> None:
    """Two certified bounds each, on one optimum."""
    assert figures["converged"]
    assert figures["gap"] <= tol
    slack = 1e-9 * figures["primal"]
    assert figures["dual"] <= figures["alone"] + slack
    assert figures["alone_dual"] <= figures["primal"] + slack
    assert figures["primal"] - figures["alone"] <= tol * figures["primal"] + slack
