"""Clocks, the machine's description, and JSON files that survive an interrupted run."""

from __future__ import annotations

import gc
import importlib.metadata
import json
import os
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PACKAGES = ("polymargin", "liblinear-official", "scikit-learn", "numpy", "scipy")


@dataclass(frozen=True)
class Clock:
    """CPU seconds of the process, all threads, and wall seconds of one call."""

    cpu: float
    wall: float


def timed(call: Callable[[], Any]) -> Clock:
    """Time a call with the garbage collector at rest."""
    gc.collect()
    gc.disable()
    try:
        wall, cpu = time.perf_counter(), time.process_time()
        call()
        return Clock(time.process_time() - cpu, time.perf_counter() - wall)
    finally:
        gc.enable()


def environment() -> dict[str, Any]:
    """Processor, system and versions: what a figure depends on."""
    return {
        "cpu": _cpu_name(),
        "cores": os.cpu_count(),
        "simd": [flag for flag in ("avx2", "fma", "avx512f") if flag in _cpu_field("flags")],
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "versions": {package: _version(package) for package in PACKAGES},
    }


def read_json(path: Path) -> dict[str, Any]:
    """The file's content, empty when there is none."""
    return json.loads(path.read_text()) if path.exists() else {}


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write beside the file and rename, so that a reader never meets half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(content, indent=1) + "\n")
    partial.replace(path)


def now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def _cpu_field(name: str) -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return ""
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(name)), "")


def _cpu_name() -> str:
    return _cpu_field("model name") or platform.processor() or platform.machine()


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
