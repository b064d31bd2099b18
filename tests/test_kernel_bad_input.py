"""What kernel machines refuse, and what they say."""

import signal
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from conftest import MACHINES
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.metrics.pairwise import rbf_kernel

from polymargin import KernelSVM

SOLVERS = ["blocks", "smo", "s2do", "crammer-singer"]


@pytest.mark.usefixtures("device")
def test_indefinite_kernel_is_said_once(crowd: tuple[Any, Any]) -> None:
    X, y = crowd
    model = KernelSVM(kernel="sigmoid", gamma=0.5, coef0=-1.0, C=10.0, max_iter=2000)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    texts = [str(w.message) for w in caught]
    assert sum("not positive semi-definite" in text for text in texts) == 1
    assert "eigenvalue of -" in next(t for t in texts if "not positive" in t)
    assert np.isnan(model.dual_gap_)
    assert model.predict(X).shape == y.shape


@pytest.mark.usefixtures("device")
def test_negative_diagonal_ends(crowd: tuple[Any, Any]) -> None:
    K = -rbf_kernel(crowd[0], gamma=0.3)
    with pytest.warns(UserWarning, match="not positive semi-definite"):
        model = KernelSVM(kernel="precomputed", max_iter=500).fit(K, crowd[1])
    assert np.all(np.isfinite(model.dual_coef_))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"gamma": 0.0}, "gamma"),
        ({"gamma": -1.0}, "gamma"),
        ({"kernel": "cubic"}, "kernel"),
        ({"solver": "magic"}, "unknown solver 'magic'; known are auto, blocks"),
        ({"cache_size": 0}, "cache_size"),
        ({"degree": -1}, "degree"),
    ],
)
def test_parameters_are_checked(
    params: dict[str, Any], message: str, blobs: tuple[Any, Any]
) -> None:
    with pytest.raises(ValueError, match=message):
        KernelSVM(**params).fit(*blobs)


def test_kernel_functions_are_checked(blobs: tuple[Any, Any]) -> None:
    with pytest.raises(ValueError, match=r"returned an array of shape \(3,\)"):
        KernelSVM(kernel=lambda A, B: np.ones(3)).fit(*blobs)
    with pytest.raises(ValueError, match="returned NaN, infinity"):
        KernelSVM(kernel=lambda A, B: np.full((len(A), len(B)), np.nan)).fit(*blobs)


def test_precomputed_matrices_are_checked(blobs: tuple[Any, Any]) -> None:
    X, y = blobs
    with pytest.raises(ValueError, match="has to be square"):
        KernelSVM(kernel="precomputed").fit(X, y)
    K = rbf_kernel(X)
    K[3, 5] += 0.5
    with pytest.raises(ValueError, match="not symmetric"):
        KernelSVM(kernel="precomputed").fit(K, y)
    K[3, 5] = np.nan
    with pytest.raises(ValueError, match="NaN in row 3, column 5"):
        KernelSVM(kernel="precomputed").fit(K, y)
    model = KernelSVM(kernel="precomputed").fit(rbf_kernel(X), y)
    with pytest.raises(ValueError, match="features"):
        model.predict(X)


def test_zero_diagonal_and_duplicate_rows_close_the_gap(machine: str) -> None:
    X = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    y = np.array([0, 1, 2, 2, 1])
    model = KernelSVM(machine, C=3.0, kernel="linear", tol=1e-8, random_state=0).fit(X, y)
    assert model.dual_gap_ <= 1e-8


@pytest.mark.parametrize("machine_name", MACHINES)
def test_few_rows(machine_name: str) -> None:
    model = KernelSVM(machine_name, tol=1e-8).fit([[0.0], [1.0]], ["a", "b"])
    assert model.predict([[0.1], [0.9]]).tolist() == ["a", "b"]


# At the limits of the precision


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(
    "params",
    [
        {"kernel": "poly", "degree": 1000, "gamma": 100.0},
        {"kernel": "poly", "coef0": 1e200},
        {"kernel": lambda A, B: np.full((len(A), len(B)), 1e300)},
    ],
)
def test_values_too_large_are_refused(
    solver: str, params: dict[str, Any], blobs: tuple[Any, Any]
) -> None:
    with pytest.raises(ValueError, match=r"kernel value K\(x, x\).* too large for float64"):
        KernelSVM("cs", solver=solver, **params).fit(*blobs)


def test_message_names_what_can_be_changed(blobs: tuple[Any, Any]) -> None:
    X, y = blobs
    with pytest.raises(ValueError, match="lower gamma, coef0 or degree or pass float64"):
        KernelSVM(kernel="poly", degree=40, gamma=100.0).fit(X.astype(np.float32), y)
    with pytest.raises(ValueError, match="Rescale the matrix"):
        KernelSVM(kernel="precomputed").fit(1e290 * rbf_kernel(X), y)
    with pytest.raises(ValueError, match=r"gamma=1e\+300 is beyond the range of float32"):
        KernelSVM(gamma=1e300).fit(X.astype(np.float32), y)


def test_equal_rows_have_no_distance(blobs: tuple[Any, Any]) -> None:
    X, y = np.repeat(blobs[0], 2, axis=0).astype(np.float32), np.repeat(blobs[1], 2)
    fits = [KernelSVM("cs", gamma=1e6, solver=solver).fit(X, y) for solver in SOLVERS]
    for model in fits:
        # Each pair is alone: two blocks of the identity.
        assert model.dual_objective_ == pytest.approx(20.0, rel=2e-3)


def test_normalized_polynomial_does_not_depend_on_the_scale(blobs: tuple[Any, Any]) -> None:
    X, y = blobs[0].astype(np.float32), blobs[1]
    model = KernelSVM(kernel="normalized-poly", gamma=1.0, C=10.0)
    scores = [model.fit(scale * X, y).class_scores(scale * X) for scale in (1.0, 1e12)]
    np.testing.assert_allclose(*scores, atol=0.05)


def test_sparse_rows_that_are_full_are_read_as_arrays(seed: int) -> None:
    """Far from the origin single precision needs them centred."""
    X, y = make_blobs(200, 3, centers=3, random_state=seed)
    X = (X + 1000).astype(np.float32)
    dense, full = (
        KernelSVM(tol=1e-6, random_state=0).fit(rows, y) for rows in (X, sparse.csr_array(X))
    )
    np.testing.assert_allclose(dense.class_scores(X), full.class_scores(X), atol=3e-4)
    np.testing.assert_array_equal(full.class_scores(X), full.class_scores(sparse.csr_array(X)))
    assert sparse.issparse(full.support_vectors_)


def test_one_negative_value_on_the_diagonal_is_seen(seed: int) -> None:
    X, y = make_blobs(1500, 3, centers=3, random_state=seed)
    K = rbf_kernel(X)
    K[1000, 1000] = -5.0
    for solver in SOLVERS:
        with pytest.warns(UserWarning, match="eigenvalue of -1 times"):
            model = KernelSVM("cs", kernel="precomputed", solver=solver, max_iter=20).fit(K, y)
        assert np.isnan(model.dual_gap_)


# What goes wrong leaves no half of a model


def test_refused_fit_leaves_the_last_one(blobs: tuple[Any, Any]) -> None:
    X, y = blobs
    model = KernelSVM("cs", gamma=0.5, random_state=0).fit(X, y)
    scores = model.class_scores(X)
    with pytest.raises(ValueError, match="walrus"):
        model.set_params(gamma=50.0, block_solver="walrus").fit(X, y)
    with pytest.raises(ValueError, match="NaN"):
        model.set_params(
            kernel=lambda A, B: np.full((len(A), len(B)), np.nan), block_solver="auto"
        ).fit(X, y)
    np.testing.assert_array_equal(model.class_scores(X), scores)
    assert model.gamma_ == 0.5


def test_slow_kernel_function_ends_at_the_second_interrupt(
    blobs: tuple[Any, Any], interrupt_after: Callable[[float], None]
) -> None:
    n_calls = 0

    def slow(A: Any, B: Any) -> Any:
        nonlocal n_calls
        n_calls += 1
        if n_calls == 3:  # after the diagonal and a Gram matrix
            interrupt_after(0.0)
            interrupt_after(1.2)
            time.sleep(30)
        return rbf_kernel(A, B)

    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        KernelSVM(kernel=slow, tol=1e-9).fit(*blobs)
    assert time.monotonic() - start < 20
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
