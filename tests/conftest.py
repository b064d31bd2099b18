"""Fixtures shared by all tests."""

import lzma
import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_svmlight_file, make_blobs

from polymargin._simd import core

REPOSITORY = Path(__file__).resolve().parents[1]
DATA = REPOSITORY / os.environ.get("POLYMARGIN_DATA", "../shared/data")

MACHINES = [info.name for info in core.machines()]


@pytest.fixture
def seed() -> int:
    """The seed of everything random in a test; POLYMARGIN_SEED tries another one."""
    return int(os.environ.get("POLYMARGIN_SEED", "0"))


@pytest.fixture(params=MACHINES)
def machine(request: pytest.FixtureRequest) -> str:
    """Each machine in turn."""
    name: str = request.param
    return name


@pytest.fixture
def blobs(seed: int) -> tuple[Any, Any]:
    """A small problem of three overlapping classes in four dimensions."""
    X, y = make_blobs(60, 4, centers=3, cluster_std=3.0, random_state=seed)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


@pytest.fixture
def crowd(seed: int) -> tuple[Any, Any]:
    """More rows than a small working set holds."""
    X, y = make_blobs(300, 5, centers=4, cluster_std=4.0, random_state=seed)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


@pytest.fixture
def interrupt_after() -> Iterator[Callable[[float], None]]:
    """Sends SIGINT to this process some seconds after the call, unless the test is over by then.

    Python's own handler is in place, also where the tests were started with the signal ignored.
    """
    timers: list[threading.Timer] = []

    def start(seconds: float) -> None:
        timers.append(threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT)))
        timers[-1].start()

    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield start
    finally:
        for timer in timers:
            timer.cancel()
            timer.join()
        signal.signal(signal.SIGINT, previous)


@pytest.fixture
def load_data() -> Callable[[str, int], tuple[Any, Any]]:
    """Reader of ``NAME.svm.xz``; the test is skipped where there is no such file."""

    def load(name: str, n_features: int) -> tuple[Any, Any]:
        file = DATA / f"{name}.svm.xz"
        if not file.exists():
            pytest.skip(f"data set {name} is not in {DATA}; set POLYMARGIN_DATA to its folder")
        with lzma.open(file, "rb") as text:
            X, y = load_svmlight_file(text, n_features=n_features)
        return X, y.astype(np.int64)

    return load
