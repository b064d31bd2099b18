"""The kernel estimator: agreement with others, model, warm starts."""

import pickle
import signal
import time
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest
from conftest import fit_at_once
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import LinearSVC

from polymargin import Blocks, KernelSVM, LinearSVM
from polymargin.kernel._goal import Goal
from polymargin.kernel._working_sets import WorkingSets

on_every_device = pytest.mark.usefixtures("device")

# Agreement


@on_every_device
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_linear_kernel_is_linear_svm(
    machine: str, fit_intercept: bool, blobs: tuple[Any, Any]
) -> None:
    X, y = blobs
    params = {"C": 0.3, "tol": 1e-9, "fit_intercept": fit_intercept, "random_state": 0}
    kernel = KernelSVM(machine, kernel="linear", **params).fit(X, y)
    linear = LinearSVM(machine, max_iter=100_000, **params).fit(X, y)
    assert kernel.primal_objective_ == pytest.approx(linear.primal_objective_, rel=1e-8)
    np.testing.assert_allclose(kernel.class_scores(X), linear.class_scores(X), atol=1e-3)


@on_every_device
def test_two_classes_are_the_binary_machine(blobs: tuple[Any, Any]) -> None:
    """With rows of a root of the Gram matrix a linear machine solves the same problem."""
    X, y = blobs[0], np.minimum(blobs[1], 1)
    K = rbf_kernel(X, gamma=0.3)
    values, vectors = np.linalg.eigh(K)
    root = vectors * np.sqrt(np.maximum(values, 0))
    ours = KernelSVM("ww", C=0.5, kernel="rbf", gamma=0.3, tol=1e-10).fit(X, y)
    theirs = LinearSVC(C=1.0, loss="hinge", fit_intercept=False, tol=1e-9, max_iter=1_000_000)
    np.testing.assert_allclose(
        ours.decision_function(X), theirs.fit(root, y).decision_function(root), atol=1e-4
    )


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "laplacian", "normalized-poly"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_is_dense(kernel: str, dtype: type, crowd: tuple[Any, Any]) -> None:
    X, y = (np.where(np.abs(crowd[0]) < 1, 0, crowd[0])).astype(dtype), crowd[1]
    assert np.count_nonzero(X) < 0.4 * X.size  # few enough to be read as they are
    params = {"kernel": kernel, "gamma": 0.2, "coef0": 1.0, "tol": 1e-5, "random_state": 0}
    dense = KernelSVM("ww", **params).fit(X, y)
    for layout in (sparse.csr_array, sparse.csc_matrix, sparse.coo_array):
        model = KernelSVM("ww", **params).fit(layout(X), y)
        assert model.dual_coef_.dtype == dtype
        assert sparse.issparse(model.support_vectors_)
        assert model.primal_objective_ == pytest.approx(dense.primal_objective_, rel=3e-5)
        scores = model.class_scores(layout(X))
        np.testing.assert_allclose(scores, dense.class_scores(X), atol=0.1)
        np.testing.assert_allclose(scores, model.class_scores(X), atol=1e-4)
    np.testing.assert_allclose(dense.class_scores(sparse.csr_array(X)), dense.class_scores(X))


def test_repeated_entries_of_a_sparse_row_add_up(crowd: tuple[Any, Any]) -> None:
    X, y = np.where(np.abs(crowd[0]) < 1, 0, crowd[0]), crowd[1]
    half = sparse.csr_array(X / 2)
    twice = sparse.csr_array(
        (np.repeat(half.data, 2), np.repeat(half.indices, 2), 2 * half.indptr), shape=X.shape
    )
    for kernel in ("rbf", "laplacian"):
        a = KernelSVM(kernel=kernel, tol=1e-6, gamma=0.3, random_state=0).fit(twice, y)
        b = KernelSVM(kernel=kernel, tol=1e-6, gamma=0.3, random_state=0).fit(X, y)
        assert a.primal_objective_ == pytest.approx(b.primal_objective_, rel=1e-5)


@on_every_device
def test_far_from_the_origin_single_precision_is_right(crowd: tuple[Any, Any]) -> None:
    """Distances survive features that are large beside their differences."""
    X = (crowd[0] + 1000).astype(np.float32)
    model = KernelSVM(gamma=0.2, tol=1e-4).fit(X, crowd[1])
    exact = KernelSVM(gamma=0.2, tol=1e-4).fit(X.astype(np.float64), crowd[1])
    assert model.primal_objective_ == pytest.approx(exact.primal_objective_, rel=1e-3)
    np.testing.assert_allclose(model.class_scores(X), exact.class_scores(X), atol=0.05)


def test_threads_agree_and_repeat(machine: str, crowd: tuple[Any, Any]) -> None:
    params = {"C": 1.0, "gamma": 0.3, "tol": 1e-4, "solver": Blocks(size=64), "random_state": 0}
    models = [KernelSVM(machine, n_jobs=n, **params).fit(*crowd) for n in (1, 1, 2, 2)]
    for first, again in (models[:2], models[2:]):
        np.testing.assert_array_equal(first.dual_coef_, again.dual_coef_)
    one, two = models[0].primal_objective_, models[2].primal_objective_
    assert two == pytest.approx(one, rel=2e-4)


# The model


@on_every_device
def test_model_holds_support_vectors_only(machine: str, crowd: tuple[Any, Any]) -> None:
    X, y = crowd
    model = KernelSVM(machine, C=0.5, gamma=0.3, tol=1e-5, random_state=0).fit(X, y)
    n_sv = len(model.support_)
    assert model.dual_coef_.shape == (4, n_sv)
    assert model.n_support_.sum() == n_sv
    np.testing.assert_array_equal(model.n_support_, np.bincount(y[model.support_], minlength=4))
    np.testing.assert_array_equal(model.support_vectors_, X[model.support_])
    # Scores, objective and dual variables say the same.
    K = rbf_kernel(X, gamma=0.3)
    A = model.duals_.toarray()
    if np.abs(model.dual_coef_.sum(axis=0)).max() < 1e-9:
        A = A - A.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(model.class_scores(X), K @ A, atol=1e-8)
    assert model.duals_.shape == (300, 4)


@on_every_device
def test_certificate_can_be_recomputed(crowd: tuple[Any, Any]) -> None:
    X, y = crowd
    model = KernelSVM("ww", C=2.0, gamma=0.3, tol=1e-4, random_state=0).fit(X, y)
    F = model.class_scores(X)
    own = F[np.arange(300), y][:, None]
    hinges = np.maximum(0, 1 - (own - F))
    hinges[np.arange(300), y] = 0
    norm = float((model.duals_.toarray() * F).sum())
    beta_sum = float(model.duals_.toarray()[np.arange(300), y].sum())
    assert model.primal_objective_ == pytest.approx(0.5 * norm + 2.0 * hinges.sum(), rel=1e-9)
    assert model.dual_objective_ == pytest.approx(beta_sum - 0.5 * norm, rel=1e-9)
    assert model.history_["gap"][-1] == model.dual_gap_
    assert np.all(np.diff(model.history_["dual"]) >= -1e-9)


@on_every_device
def test_rows_of_weight_zero_are_gone(crowd: tuple[Any, Any]) -> None:
    X, y = crowd
    weight = np.where(y == 3, 0.0, 1.0)
    part = KernelSVM("cs", gamma=0.3, tol=1e-6, random_state=0).fit(X, y, weight)
    alone = KernelSVM("cs", gamma=0.3, tol=1e-6, random_state=0).fit(X[y != 3], y[y != 3])
    np.testing.assert_array_equal(part.classes_, [0, 1, 2])
    assert not np.any(y[part.support_] == 3)
    np.testing.assert_allclose(part.class_scores(X), alone.class_scores(X), atol=1e-3)
    K = rbf_kernel(X, gamma=0.3)
    precomputed = KernelSVM("cs", kernel="precomputed", tol=1e-6, random_state=0).fit(K, y, weight)
    np.testing.assert_allclose(precomputed.class_scores(K), alone.class_scores(X), atol=1e-3)


def test_pickles_and_clones(crowd: tuple[Any, Any]) -> None:
    model = KernelSVM("llw", C=2.0, gamma=0.3, random_state=0).fit(*crowd)
    restored = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(restored.class_scores(crowd[0]), model.class_scores(crowd[0]))
    assert clone(model).get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        clone(model).predict(crowd[0])


def test_blocks_of_prediction_do_not_matter(
    crowd: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = KernelSVM(gamma=0.3, random_state=0).fit(*crowd)
    scores = model.class_scores(crowd[0])
    monkeypatch.setattr("polymargin.kernel._scores._BLOCK_BYTES", 1)
    np.testing.assert_allclose(model.class_scores(crowd[0]), scores, atol=1e-12)


# Warm starts, interrupts, limits


@on_every_device
def test_warm_start_over_C(machine: str, crowd: tuple[Any, Any]) -> None:
    warm = KernelSVM(machine, gamma=0.3, tol=1e-6, warm_start=True, random_state=0)
    for C in (0.1, 1.0, 0.5):
        warm.set_params(C=C).fit(*crowd)
        cold = KernelSVM(machine, C=C, gamma=0.3, tol=1e-6, random_state=0).fit(*crowd)
        assert warm.converged_
        assert warm.primal_objective_ == pytest.approx(cold.primal_objective_, rel=3e-6)
    passes = warm.n_iter_
    assert warm.fit(*crowd).n_iter_ < passes


@on_every_device
def test_max_iter_is_honoured_and_said(crowd: tuple[Any, Any]) -> None:
    model = KernelSVM(C=100.0, gamma=1.0, solver=Blocks(size=16), max_iter=3, random_state=0)
    with pytest.warns(ConvergenceWarning, match="3 passes at a relative duality gap of"):
        model.fit(*crowd)
    assert model.n_iter_ == 3
    assert not model.converged_


def test_fit_stopped_at_once_is_a_model(crowd: tuple[Any, Any]) -> None:
    """Without support vectors all scores are zero."""
    callbacks = pytest.importorskip("sklearn.callback")

    class Stop(callbacks.ProgressBar):  # type: ignore[misc, name-defined]
        def on_fit_task_end(self, *args: Any, **params: Any) -> bool:
            return True

    model = KernelSVM().set_callbacks(Stop())
    model.fit(*crowd)
    assert len(model.support_) == 0
    np.testing.assert_array_equal(model.class_scores(crowd[0]), 0.0)


def test_interrupt_leaves_a_model(seed: int, interrupt_after: Callable[[float], None]) -> None:
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(4000, 50)), rng.integers(0, 5, 4000)
    model = KernelSVM(C=1e4, kernel="linear", tol=1e-12, solver=Blocks(size=64), random_state=0)
    began = time.perf_counter()
    interrupt_after(1.0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert time.perf_counter() - began < 60  # not a matter of speed: it would run for minutes
    assert 0 < model.dual_gap_ < np.inf
    assert not model.converged_
    assert model.predict(X[:10]).shape == (10,)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_several_fits_at_once(crowd: tuple[Any, Any]) -> None:
    expected = KernelSVM(gamma=0.3, random_state=0).fit(*crowd).dual_coef_
    models = [KernelSVM(gamma=0.3, random_state=0) for _ in range(4)]
    fit_at_once(models, *crowd)
    for model in models:
        np.testing.assert_allclose(model.dual_coef_, expected, atol=1e-10)


def test_what_a_limit_leaves_of_a_working_set_may_have_nothing_to_gain() -> None:
    options = Blocks()
    loop = WorkingSets(
        cast(Any, None), Goal(1e-3, 10, True), options, (4, 3), True, 1e-16, is_warm=False
    )
    gains = np.array([0.0, 1.0, 1.0, 1.0])
    assert loop._effort(gains, np.array([0])) == (options.fraction, options.passes)
