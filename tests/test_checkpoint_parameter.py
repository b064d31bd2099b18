"""The parameter `checkpoint`: fits that are interrupted or killed go on."""

import dataclasses
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from itertools import chain, repeat
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from polymargin import Checkpoint, KernelSVM, LinearSVM, load, path, read_info, resume, save
from polymargin.datasets import load_satimage
from polymargin.errors import ModelFileError
from polymargin.estimators import _base
from polymargin.files import _stored_fit, read_checkpoint, write_checkpoint
from polymargin.model_selection import nested_grid_search
from polymargin.storage import _checkpoint_writer, build, data_hash
from polymargin.streams import fit_stream

TOL = 1e-4
ENDLESS: dict[str, Any] = {"tol": 1e-15, "max_iter": 10**9, "random_state": 0}
ESTIMATORS = {
    "linear": LinearSVM("cs", C=1.0, **ENDLESS),
    "kernel": KernelSVM("ww", C=8.0, gamma=4.0, **ENDLESS),
    "s2do": KernelSVM("ww", C=8.0, gamma=4.0, solver="s2do", **ENDLESS),
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "fit.ckpt"


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """Python's own handler of SIGINT."""
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, previous)


def interrupt_when_written(file: Path) -> threading.Thread:
    """Send SIGINT to this process once the file is there."""

    def wait() -> None:
        deadline = time.monotonic() + 60
        while not file.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=wait)
    thread.start()
    return thread


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_an_interrupted_fit_goes_on(kind: str, file: Path, ctrl_c: None) -> None:
    X, y = load_satimage()[:2]
    X, y = X[::4], y[::4]
    whole = clone(ESTIMATORS[kind]).set_params(tol=TOL).fit(X, y)
    model = clone(ESTIMATORS[kind]).set_params(checkpoint=Checkpoint(file, every=0.0))
    watcher = interrupt_when_written(file)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    watcher.join()
    # The file holds what the model does.
    stored = read_checkpoint(file)
    np.testing.assert_array_equal(stored.history, model.history_)
    np.testing.assert_array_equal(stored.state.csr.toarray(), model.duals_.toarray())
    assert stored.data_hash == data_hash(X, y)
    # With a tolerance that can be met, as who resumes would have it.
    write_parameters(file, tol=TOL)
    resumed = resume(file, X, y)
    assert resumed.converged_
    assert resumed.get_params() == model.get_params() | {"tol": TOL, "checkpoint": file}
    assert resumed.primal_objective_ == pytest.approx(whole.primal_objective_, rel=2 * TOL)
    assert resumed.dual_objective_ <= whole.primal_objective_
    before, after = np.split(resumed.history_, [len(model.history_)])
    np.testing.assert_array_equal(before, model.history_)
    assert np.all(np.diff(resumed.history_["epoch"]) >= 0)
    assert np.all(np.diff(resumed.history_["seconds"]) >= 0)
    assert after["dual"][0] == pytest.approx(model.dual_objective_, rel=1e-6)
    assert np.mean(resumed.predict(X) == whole.predict(X)) > 0.99


def write_parameters(file: Path, **params: Any) -> None:
    """Change what a checkpoint has stored."""
    stored = read_checkpoint(file)
    write_checkpoint(file, dataclasses.replace(stored, parameters=stored.parameters | params))


KILLED = """
import sys
from polymargin import Checkpoint, KernelSVM
from polymargin.datasets import load_satimage
X, y = load_satimage()[:2]
KernelSVM("ww", C=8.0, gamma=4.0, tol=1e-15, max_iter=10**9, random_state=0,
          checkpoint=Checkpoint(sys.argv[1], every=0.0)).fit(X, y)
"""


def test_a_killed_fit_goes_on(file: Path) -> None:
    child = subprocess.Popen([sys.executable, "-c", KILLED, str(file)])
    deadline = time.monotonic() + 120
    while not file.exists() and child.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(0.2)
    child.kill()
    assert child.wait() == -signal.SIGKILL
    stored = read_checkpoint(file)
    assert stored.epochs == stored.history["epoch"][-1]
    write_parameters(file, tol=1e-3)
    resumed = resume(Checkpoint(file, every=60.0), *load_satimage()[:2])
    assert resumed.converged_
    assert resumed.checkpoint == Checkpoint(file, every=60.0)
    np.testing.assert_array_equal(resumed.history_[: len(stored.history)], stored.history)


@pytest.mark.parametrize("estimator", [LinearSVM, KernelSVM])
def test_a_finished_fit_leaves_its_file(estimator: Any, crowd: tuple[Any, Any], file: Path) -> None:
    model = estimator(checkpoint=file, random_state=0).fit(*crowd)
    stored = read_checkpoint(file)
    np.testing.assert_array_equal(stored.history, model.history_)
    again = resume(str(file), *crowd)
    assert again.converged_
    assert not again.warm_start
    assert again.n_iter_ <= model.n_iter_ + 3
    assert len(read_checkpoint(file).history) == len(again.history_)
    # A further fit of the same object is one of its own.
    again.fit(*crowd)
    np.testing.assert_array_equal(again.history_["epoch"], model.history_["epoch"])


def test_it_changes_nothing(crowd: tuple[Any, Any], file: Path) -> None:
    for estimator in (LinearSVM, KernelSVM):
        plain = estimator(random_state=0).fit(*crowd)
        kept = estimator(random_state=0, checkpoint=Checkpoint(file, 0.0)).fit(*crowd)
        np.testing.assert_array_equal(plain.class_scores(crowd[0]), kept.class_scores(crowd[0]))
        assert len(plain.history_) == len(kept.history_)


def test_how_often_it_is_written(
    crowd: tuple[Any, Any], file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[int] = []
    monkeypatch.setattr(
        _checkpoint_writer, "write_fit", lambda path, **parts: written.append(len(parts["history"]))
    )
    model = KernelSVM(C=10.0, tol=1e-6, random_state=0)
    model.set_params(checkpoint=Checkpoint(file, every=0.0)).fit(*crowd)
    n_checks = len(model.history_)
    assert n_checks > 1
    assert written == [*range(1, n_checks + 1), n_checks]
    written.clear()
    model.set_params(checkpoint=file).fit(*crowd)
    assert written == [n_checks]


def test_it_keeps_the_seconds_of_the_fit(
    crowd: tuple[Any, Any], file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = chain([100.0], repeat(250.0))
    monkeypatch.setattr(_checkpoint_writer, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    LinearSVM(checkpoint=file, random_state=0).fit(*crowd)
    assert read_checkpoint(file).seconds == 150.0


def test_it_is_no_part_of_files(crowd: tuple[Any, Any], file: Path, tmp_path: Path) -> None:
    model = LinearSVM(checkpoint=file, random_state=0).fit(*crowd)
    saved = tmp_path / "model.safetensors"
    save(model, saved)
    assert "checkpoint" not in read_info(saved).parameters
    assert load(saved).checkpoint is None
    assert "checkpoint" not in read_checkpoint(file).parameters
    plain = tmp_path / "plain.safetensors"
    save(LinearSVM(random_state=0).fit(*crowd), plain)
    assert read_info(plain).parameters == read_info(saved).parameters


@pytest.mark.parametrize("name", ["checkpoint", "device"])
def test_a_file_does_not_say_where_others_are_written(name: str) -> None:
    with pytest.raises(ModelFileError, match=f"the parameter {name} belongs in no file"):
        build(LinearSVM, {name: "/etc/passwd"})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, y: (X + 1, y, None), "X is not that of the checkpoint"),
        (lambda X, y: (X[:-1], y[:-1], None), "the shape of X"),
        (lambda X, y: (X, y[::-1], None), "y is not"),
        (lambda X, y: (X.astype(np.float32), y, None), "the dtype of X"),
        (lambda X, y: (X, y, np.arange(len(y)) % 2), "rows of positive weight"),
    ],
)
def test_other_rows_are_refused(
    change: Any, message: str, crowd: tuple[Any, Any], file: Path
) -> None:
    LinearSVM(checkpoint=file, random_state=0).fit(*crowd)
    before = file.read_bytes()
    with pytest.raises(ModelFileError, match=message):
        resume(file, *change(*crowd))
    assert file.read_bytes() == before


def test_rows_in_another_layout_are_the_same(crowd: tuple[Any, Any], file: Path) -> None:
    X, y = crowd
    weight = np.arange(len(y)) % 3.0
    model = LinearSVM(checkpoint=file, random_state=0).fit(X, y, weight)
    again = resume(file, sparse.csr_array(X), y.tolist(), weight)
    assert again.primal_objective_ == pytest.approx(model.primal_objective_, rel=1e-3)


def test_precomputed_kernels_go_on(crowd: tuple[Any, Any], file: Path) -> None:
    K = crowd[0] @ crowd[0].T
    model = KernelSVM(kernel="precomputed", checkpoint=file, random_state=0).fit(K, crowd[1])
    assert resume(file, K, crowd[1]).dual_gap_ <= model.tol


# Options


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((3,), "Checkpoint: path must be a path"),
        (("x", -1.0), "Checkpoint: every must be a number"),
        (("x", float("inf")), "Checkpoint: every must be a number"),
        (("x", True), "Checkpoint: every must be a number"),
        (("x", "often"), "Checkpoint: every must be a number"),
    ],
)
def test_bad_options_are_named(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Checkpoint(*arguments)


@pytest.mark.parametrize("estimator", [LinearSVM, KernelSVM])
def test_parameter_checks_and_clones(estimator: Any, crowd: tuple[Any, Any], file: Path) -> None:
    with pytest.raises(ValueError, match="'checkpoint' parameter"):
        estimator(checkpoint=3).fit(*crowd)
    options = Checkpoint(file, every=5.0)
    with pytest.raises(dataclasses.FrozenInstanceError):
        options.every = 1.0  # type: ignore[misc]
    assert clone(estimator(checkpoint=options)).checkpoint == options
    assert clone(estimator(checkpoint="fit.ckpt")).checkpoint == "fit.ckpt"


def test_what_cannot_be_written_is_refused_before_any_work(
    crowd: tuple[Any, Any], tmp_path: Path
) -> None:
    for place in (tmp_path, tmp_path / "nowhere" / "fit.ckpt"):
        with pytest.raises(ValueError, match="is no place for a file"):
            LinearSVM(checkpoint=place).fit(*crowd)
    with pytest.raises(ValueError, match="parameter kernel is the function"):
        KernelSVM(kernel=np.inner, checkpoint=tmp_path / "fit.ckpt").fit(*crowd)
    with pytest.raises(ValueError, match="labels of type float cannot be saved"):
        LinearSVM(checkpoint=tmp_path / "fit.ckpt").fit(crowd[0], crowd[1].astype(np.float16))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a full disk")
def test_a_full_disk_does_not_end_a_fit(crowd: tuple[Any, Any]) -> None:
    for estimator in (LinearSVM, KernelSVM):
        with pytest.warns(RuntimeWarning, match="no checkpoint was written to /dev/full: No space"):
            model = estimator(checkpoint="/dev/full", random_state=0).fit(*crowd)
        assert model.converged_


@pytest.mark.filterwarnings("error")
def test_a_resume_reads_all_rows_for_their_digest_once(
    crowd: tuple[Any, Any], file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digests: list[str] = []

    def counting(X: Any, y: Any = None) -> str:
        digests.append(data_hash(X, y))
        return digests[-1]

    monkeypatch.setattr(_base, "data_hash", counting)
    monkeypatch.setattr(_stored_fit, "data_hash", counting)
    LinearSVM(checkpoint=file, random_state=0).fit(*crowd)
    assert len(digests) == 1
    resume(file, *crowd)
    assert len(digests) == 2
    assert read_checkpoint(file).data_hash == digests[0] == digests[1]
    # Who goes on without a comparison has the digest of what is fitted, not of what was.
    X, y = crowd
    read_checkpoint(file).make_estimator().set_params(checkpoint=file).fit(X + 1, y)
    assert read_checkpoint(file).data_hash == data_hash(X + 1, y)


@pytest.mark.filterwarnings("error")
def test_searches_write_the_last_fit_alone(
    crowd: tuple[Any, Any], file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[Any] = []
    monkeypatch.setattr(
        _checkpoint_writer,
        "write_fit",
        lambda path, **parts: written.append(parts["parameters"]["C"]),
    )
    estimator = KernelSVM(checkpoint=file, random_state=0, max_iter=10**6)
    search = nested_grid_search(estimator, *crowd, log2_C=(0, 0, 1), log2_gamma=(-2, -2, 1), cv=2)
    assert written == [search.best.C]


def test_streams_and_paths_have_none(crowd: tuple[Any, Any], file: Path) -> None:
    X, y = crowd
    with pytest.raises(ValueError, match="a stream has no checkpoints"):
        LinearSVM(checkpoint=file).partial_fit(X, y, classes=np.unique(y))
    with pytest.raises(ValueError, match="a stream has no checkpoints"):
        fit_stream(LinearSVM(checkpoint=file), lambda: [(X, y)], np.unique(y))
    with pytest.raises(TypeError, match="has no checkpoint"):
        path(X, y, [1.0], checkpoint=file)
    assert not file.exists()


def test_a_fit_that_did_not_converge_goes_on(crowd: tuple[Any, Any], file: Path) -> None:
    with pytest.warns(ConvergenceWarning):
        LinearSVM(C=10.0, max_iter=1, tol=1e-6, checkpoint=file, random_state=0).fit(*crowd)
    gaps = []
    for passes in range(2, 5):
        with pytest.warns(ConvergenceWarning):
            model = resume(file, *crowd)
        assert model.n_iter_ == passes
        gaps.append(model.dual_gap_)
    assert gaps == sorted(gaps, reverse=True)
