"""A fit that is interrupted goes on from its checkpoint."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import MACHINES
from scipy import sparse

from polymargin import Bisection, KernelSVM, LinearSVM
from polymargin.errors import ModelFileError
from polymargin.files import (
    StoredFit,
    data_hash,
    load,
    read_checkpoint,
    read_info,
    save,
    write_checkpoint,
)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

TOL = 1e-3


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "fit.checkpoint"


def half_done(estimator: Any, X: Any, y: Any, weight: Any = None, **params: Any) -> Any:
    params = {"tol": TOL, "C": 1.0, "random_state": 0} | params
    model = estimator(**params, max_iter=1).fit(X, y, weight)
    assert not model.converged_
    return model


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("estimator", [LinearSVM, KernelSVM])
@pytest.mark.parametrize("machine", MACHINES)
def test_a_resumed_fit_ends_at_the_same_optimum(
    machine: str, estimator: Any, dtype: Any, crowd: tuple[Any, Any], file: Path
) -> None:
    X, y = crowd[0].astype(dtype), np.array(["a", "b", "c", "d"])[crowd[1]]
    weight = np.arange(len(y)) % 5.0
    whole = estimator(machine, tol=TOL, max_iter=100_000, random_state=0).fit(X, y, weight)
    model = estimator(machine, tol=TOL, max_iter=1, random_state=0).fit(X, y, weight)
    write_checkpoint(file, StoredFit.of(model, data_hash="x"))
    read = read_checkpoint(file)
    assert (read.estimator, read.machine, read.data_hash) == (estimator.__name__, machine, "x")
    assert read.parameters | {"checkpoint": None} == model.get_params()
    assert read.classes.tolist() == ["a", "b", "c", "d"]
    np.testing.assert_array_equal(read.history, model.history_)
    resumed = estimator(machine, tol=TOL, max_iter=100_000, random_state=0)
    assert read.resume_into(resumed) is resumed
    resumed.fit(X, y, weight)
    start = resumed.history_[len(model.history_)]
    assert start["dual"] == pytest.approx(model.dual_objective_, rel=1e-4)
    assert resumed.dual_objective_ <= whole.primal_objective_ * (1 + 1e-6)
    assert whole.dual_objective_ <= resumed.primal_objective_ * (1 + 1e-6)
    assert resumed.primal_objective_ == pytest.approx(whole.primal_objective_, rel=2 * TOL)


def test_many_classes_and_sparse_rows(seed: int, file: Path) -> None:
    rng = np.random.default_rng(seed)
    X = sparse.random_array((400, 50), density=0.1, rng=rng, format="csr")
    y = rng.integers(0, 40, 400)
    model = half_done(LinearSVM, X, y, machine="cs")
    write_checkpoint(file, StoredFit.of(model, seconds=12.5, epochs=3.0))
    read = read_checkpoint(file)
    assert (read.seconds, read.epochs) == (12.5, 3.0)
    resumed = read.make_estimator().set_params(max_iter=10_000).fit(X, y)
    assert resumed.converged_
    whole = LinearSVM("cs", tol=TOL, max_iter=10_000, random_state=0).fit(X, y)
    assert resumed.primal_objective_ == pytest.approx(whole.primal_objective_, rel=2 * TOL)


def test_defaults_are_those_of_the_last_check(crowd: tuple[Any, Any], file: Path) -> None:
    X, y = crowd
    model = half_done(LinearSVM, X, y, block_solver=Bisection(tol=1e-5))
    made = StoredFit.of(model, data_hash=data_hash(X, y))
    assert made.seconds == model.history_["seconds"][-1]
    assert made.epochs == model.history_["epoch"][-1]
    write_checkpoint(file, made)
    assert read_checkpoint(file).make_estimator().block_solver == Bisection(tol=1e-5)
    assert read_checkpoint(file).data_hash == data_hash(X, y)


@pytest.mark.parametrize(
    ("estimator", "params"), [(LinearSVM, {}), (KernelSVM, {}), (KernelSVM, {"solver": "smo"})]
)
def test_a_resumed_fit_carries_on_the_history(
    estimator: Any, params: dict[str, Any], crowd: tuple[Any, Any], file: Path
) -> None:
    model = half_done(estimator, *crowd, **params)
    write_checkpoint(file, StoredFit.of(model, seconds=12.5, epochs=1.25))
    resumed = read_checkpoint(file).make_estimator().set_params(max_iter=10_000).fit(*crowd)
    before, after = np.split(resumed.history_, [len(model.history_)])
    np.testing.assert_array_equal(before, model.history_)
    assert after["epoch"][0] == 1.25
    assert 12.5 <= after["seconds"][0] < after["seconds"][-1]
    assert resumed.n_iter_ == np.ceil(after["epoch"][-1])
    again = StoredFit.of(resumed)
    assert (again.seconds, again.epochs) == (after["seconds"][-1], after["epoch"][-1])
    # A warm start on one's own is a fit of its own.
    resumed.set_params(C=2.0, warm_start=True).fit(*crowd)
    assert resumed.history_["epoch"][0] == 0
    assert resumed.n_iter_ == np.ceil(resumed.history_["epoch"][-1])


def test_max_iter_bounds_the_passes_of_each_fit(crowd: tuple[Any, Any], file: Path) -> None:
    model = half_done(LinearSVM, *crowd, tol=1e-12)
    for n_fits in range(2, 5):
        write_checkpoint(file, StoredFit.of(model))
        model = read_checkpoint(file).make_estimator().fit(*crowd)
        assert model.n_iter_ == n_fits
        assert model.history_["epoch"][-1] == n_fits


def test_other_rows_start_cold(crowd: tuple[Any, Any], file: Path) -> None:
    X, y = crowd
    write_checkpoint(file, StoredFit.of(half_done(LinearSVM, X, y)))
    model = read_checkpoint(file).make_estimator()
    with pytest.warns(UserWarning, match="the shape of X differs from the last fit"):
        model.fit(X[:-1], y[:-1])
    assert model.n_iter_ == np.ceil(model.history_["epoch"][-1])
    assert np.all(np.diff(model.history_["epoch"]) >= 0)
    assert model.history_["epoch"][-1] <= model.max_iter


def test_what_does_not_fit_is_refused(crowd: tuple[Any, Any], file: Path) -> None:
    checkpoint = StoredFit.of(half_done(LinearSVM, *crowd))
    with pytest.raises(ValueError, match="cannot go on in a KernelSVM"):
        checkpoint.resume_into(KernelSVM())
    with pytest.raises(ValueError, match="machine 'ww'; it cannot go on in 'cs'"):
        checkpoint.resume_into(LinearSVM("cs"))
    with pytest.raises(ValueError, match="only fit leaves dual variables"):
        StoredFit.of(LinearSVM())


def test_models_and_checkpoints_are_told_apart(crowd: tuple[Any, Any], file: Path) -> None:
    model = half_done(LinearSVM, *crowd)
    write_checkpoint(file, StoredFit.of(model))
    for read in (load, read_info):
        with pytest.raises(ModelFileError, match="this is a checkpoint, not a model"):
            read(file)
    save(model, file)
    with pytest.raises(
        ModelFileError, match="this is a model, not a checkpoint; polymargin predict"
    ):
        read_checkpoint(file)


def test_a_fit_is_shown_without_its_arrays(crowd: tuple[Any, Any]) -> None:
    text = repr(StoredFit.of(half_done(LinearSVM, *crowd)))
    assert "estimator='LinearSVM'" in text
    for name in ("classes=", "state=", "history="):
        assert name not in text


def test_equal_checkpoints_have_equal_bytes(crowd: tuple[Any, Any], file: Path) -> None:
    write_checkpoint(file, StoredFit.of(half_done(KernelSVM, *crowd)))
    first = file.read_bytes()
    write_checkpoint(file, read_checkpoint(file))
    assert file.read_bytes() == first
