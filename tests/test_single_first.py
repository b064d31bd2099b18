"""Fits in double to sparse rows, whose sweeps begin in single precision."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from polymargin import Checkpoint, LinearSVM, resume

N, D, K = 1500, 3000, 20  # more than 65,536 weights and dual variables


@pytest.fixture(scope="module")
def texts() -> tuple[sparse.csr_array, np.ndarray]:
    """Rows of unit length whose few words tell their class, some of them wrongly."""
    random = np.random.default_rng(0)
    y = np.arange(N) % K
    words = random.integers(D, size=(N, 40))
    topical = random.random((N, 40)) < 0.3
    words[topical] = words[topical] % 50 + 50 * np.repeat(y, 40).reshape(N, 40)[topical]
    values = np.full(words.size, 1 / np.sqrt(40))
    X = sparse.csr_array((values, words.ravel(), np.arange(0, words.size + 1, 40)), shape=(N, D))
    y[random.random(N) < 0.1] = 0
    return X, y


def test_everything_is_double(texts: tuple[Any, Any], machine: str) -> None:
    X, y = texts
    before = X.copy()
    model = LinearSVM(machine, random_state=0).fit(X, y)
    assert model.converged_
    assert model.dual_gap_ <= 1e-3
    assert {model.coef_.dtype, model.intercept_.dtype, model.duals_.dtype} == {np.dtype(float)}
    np.testing.assert_array_equal(X.data, before.data)
    epochs, seconds = model.history_["epoch"], model.history_["seconds"]
    assert np.all(np.diff(epochs) >= 0)
    assert np.all(np.diff(seconds) >= 0)
    assert model.n_iter_ == np.ceil(epochs[-1])
    assert model.history_["gap"][-1] == model.dual_gap_
    if machine == "cs":  # weights are exactly those of the dual variables
        np.testing.assert_allclose(model.coef_, (model.duals_.T @ X).toarray(), atol=1e-12)


def test_the_same_seed_gives_the_same_model(texts: tuple[Any, Any]) -> None:
    one, other = (LinearSVM("cs", random_state=3).fit(*texts) for _ in range(2))
    np.testing.assert_array_equal(one.coef_, other.coef_)


def test_the_objective_is_that_of_a_tighter_fit(texts: tuple[Any, Any], machine: str) -> None:
    """Which stays with double all the way."""
    loose = LinearSVM(machine, random_state=0).fit(*texts)
    tight = LinearSVM(machine, tol=5e-5, random_state=0).fit(*texts)
    assert loose.primal_objective_ == pytest.approx(tight.primal_objective_, rel=1.1e-3)
    assert loose.dual_objective_ <= tight.primal_objective_ * (1 + 1e-9)


def test_a_checkpoint_goes_on_in_double(texts: tuple[Any, Any], tmp_path: Path) -> None:
    file = tmp_path / "fit.ckpt"
    model = LinearSVM(
        "ww", C=1e4, max_iter=20, tol=5e-4, checkpoint=Checkpoint(file, every=1e-9), random_state=0
    )
    with pytest.warns(ConvergenceWarning):
        model.fit(*texts)
    with pytest.warns(ConvergenceWarning):
        resumed = resume(file, *texts)
    assert resumed.n_iter_ > model.n_iter_
    assert resumed.duals_.dtype == np.float64
    assert resumed.dual_objective_ >= model.dual_objective_ * (1 - 1e-6)


def test_weights_of_rows_and_a_warm_start(texts: tuple[Any, Any]) -> None:
    X, y = texts
    weight = 1.0 + (np.arange(N) % 3)
    model = LinearSVM("cs", warm_start=True, random_state=0).fit(X, y, sample_weight=weight)
    first = model.dual_objective_
    model.set_params(tol=2e-4).fit(X, y, sample_weight=weight)
    assert model.dual_gap_ <= 2e-4
    assert model.dual_objective_ >= first * (1 - 1e-6)
