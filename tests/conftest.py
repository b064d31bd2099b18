"""Fixtures shared by all tests."""

import lzma
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy_device import NumpyDevice
from sklearn.datasets import load_svmlight_file, make_blobs

import polymargin
from polymargin import LinearSVM, core
from polymargin.kernel._processor import Processor

REPOSITORY = Path(__file__).resolve().parents[1]
DATA = REPOSITORY / os.environ.get("POLYMARGIN_DATA", "../shared/data")
BUNDLED = Path(polymargin.__file__).parent / "data"

# All machines; POLYMARGIN_MACHINES takes some of them, with commas.
MACHINES = os.environ.get(
    "POLYMARGIN_MACHINES", ",".join(info.name for info in core.machines())
).split(",")
DEVICES: dict[str, Any] = {"processor": Processor, "numpy": NumpyDevice}


def fit_linear(X: Any, y: Any, machine: str = "ww", **params: Any) -> LinearSVM:
    """A model near the optimum."""
    params = {"tol": 1e-8, "max_iter": 100_000, "random_state": 0} | params
    sample_weight = params.pop("sample_weight", None)
    model: LinearSVM = LinearSVM(machine, **params).fit(X, y, sample_weight)
    return model


def fit_at_once(models: list[Any], X: Any, y: Any) -> None:
    """Fit each in a thread of its own."""
    threads = [threading.Thread(target=model.fit, args=(X, y)) for model in models]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.fixture
def seed() -> int:
    """The seed of everything random in a test; POLYMARGIN_SEED tries another one."""
    return int(os.environ.get("POLYMARGIN_SEED", "0"))


@pytest.fixture(params=MACHINES)
def machine(request: pytest.FixtureRequest) -> str:
    """Each machine in turn."""
    name: str = request.param
    return name


@pytest.fixture(params=["dense", "sparse"])
def svm(request: pytest.FixtureRequest) -> Callable[..., LinearSVM]:
    """The linear estimator with weights in each store in turn."""
    return partial(LinearSVM, weights=request.param)


@pytest.fixture(params=DEVICES)
def device(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Each kind of device in turn; fits of kernel machines by working sets use it."""
    kind = DEVICES[request.param]
    monkeypatch.setattr("polymargin.kernel._fit.Processor", kind)
    return kind


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


def make_clusters(seed: int) -> tuple[Any, Any]:
    """Most rows are far from all other classes: they can be set aside."""
    X, y = make_blobs(500, 3, centers=4, cluster_std=1.6, random_state=seed)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


@pytest.fixture
def clusters(seed: int) -> tuple[Any, Any]:
    return make_clusters(seed)


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


_RESTORE = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"


@pytest.fixture
def run_and_interrupt() -> Callable[[str, float], tuple[str, str]]:
    """Runs code that prints "ready" and sends it SIGINT later; its further output and its errors.

    It is killed after five minutes, and Python's own handler is in place as with `interrupt_after`.
    """

    def run(code: str, seconds: float) -> tuple[str, str]:
        with subprocess.Popen(
            [sys.executable, "-c", _RESTORE + code],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as child:
            deadline = threading.Timer(300, child.kill)
            deadline.start()
            try:
                assert child.stdout is not None
                assert child.stderr is not None
                assert child.stdout.readline() == "ready\n", child.stderr.read()
                time.sleep(seconds)
                child.send_signal(signal.SIGINT)
                # Not communicate(): it would lose what readline() has buffered.
                return child.stdout.read(), child.stderr.read()
            finally:
                deadline.cancel()

    return run


def data_file(name: str) -> Path:
    """A file of the data sets, or the one that comes with the package.

    The test is skipped where there is neither.
    """
    for folder in (DATA, BUNDLED):
        if (folder / name).exists():
            return folder / name
    pytest.skip(f"{name} is not in {DATA}; set POLYMARGIN_DATA to its folder")


def load_data(name: str, n_features: int | None = None) -> tuple[Any, Any]:
    """Rows and labels of ``NAME.svm.xz``; the test is skipped where there is no such file."""
    with lzma.open(data_file(f"{name}.svm.xz"), "rb") as text:
        X, y = load_svmlight_file(text, n_features=n_features, zero_based=False)
    return X, y.astype(np.int64)


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model file, trained on satimage by the command line."""
    from cli_helpers import SATIMAGE, done

    path = tmp_path_factory.mktemp("model") / "sat.safetensors"
    done("train", SATIMAGE, "--scale", "minmax", "-C", 0.1, "-q", "-o", path)
    return path


@pytest.fixture(scope="session")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of few rows, with numbers as labels."""
    random = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("rows") / "rows.csv"
    lines = ["a,b,label"]
    for label in random.integers(3, size=90):
        a, b = random.normal([label, -label])
        lines.append(f"{a:.4f},{b:.4f},{label}")
    path.write_text("\n".join(lines) + "\n")
    return path
