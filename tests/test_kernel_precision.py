"""Rows far from the origin, or in clusters far from each other, in single and double precision."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import polymargin
from polymargin import KernelSVM
from polymargin.kernel import NAMED_KERNELS, LostDigitsWarning, make_kernel
from polymargin.model_selection._gram import Pairs

ESTIMATOR = {"C": 10.0, "gamma": 0.05, "random_state": 0}


def make_rows(offset: float, n_zeros: int = 15, seed: int = 0) -> tuple[Any, Any]:
    """Ten features around `offset` with a spread of 1, beside columns of zeros; float32."""
    random = np.random.default_rng(seed)
    y = np.arange(400) % 3
    X = random.normal(size=(3, 10))[y] * 2 + random.normal(size=(400, 10)) + offset
    return np.hstack([X, np.zeros((400, n_zeros))]).astype(np.float32), y


def double_scores(model: KernelSVM, X: Any, power: int) -> Any:
    """exp(-gamma sum_j |x_j - z_j|^power) by the definition."""
    Z = np.asarray(model.support_vectors_.toarray(), np.float64)
    distances = (np.abs(X.astype(np.float64)[:, None] - Z) ** power).sum(axis=2)
    return np.exp(-model.gamma_ * distances) @ model.dual_coef_.T.astype(np.float64)


@pytest.mark.parametrize(("kernel", "offset"), [("rbf", 1e3), ("rbf", 1e4), ("laplacian", 1e6)])
def test_sparse_rows_far_from_the_origin(kernel: str, offset: float, device: Any) -> None:
    X, y = make_rows(offset)
    with warnings.catch_warnings():
        warnings.simplefilter("error", LostDigitsWarning)
        model = KernelSVM(kernel=kernel, **ESTIMATOR).fit(sparse.csr_array(X), y)
        dense = KernelSVM(kernel=kernel, **ESTIMATOR).fit(X, y)
    scores = model.class_scores(sparse.csr_array(X))
    assert scores.dtype == model.dual_coef_.dtype == np.float32
    np.testing.assert_allclose(
        scores, double_scores(model, X, 2 - (kernel == "laplacian")), atol=1e-4
    )
    assert model.score(sparse.csr_array(X), y) >= dense.score(X, y) - 0.005
    assert model.primal_objective_ == pytest.approx(dense.primal_objective_, rel=2e-3)


@pytest.mark.parametrize("solver", ["smo", "s2do"])
def test_other_solvers_read_them_too(solver: str) -> None:
    X, y = make_rows(1e4)
    model = KernelSVM(solver=solver, **ESTIMATOR).fit(sparse.csr_array(X), y)
    assert model.score(sparse.csr_array(X), y) > 0.98


def test_clusters_far_apart_in_single_precision() -> None:
    """No centre is near all of them."""
    random = np.random.default_rng(0)
    y = np.arange(300) % 2
    X = random.normal(size=(300, 4)) + np.where(y[:, None] == 0, 1.5, -1.5)
    X = (X + np.where(random.random(300) < 0.5, -3000, 3000)[:, None]).astype(np.float32)
    model = KernelSVM(gamma=0.2, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.98
    exact = KernelSVM(gamma=0.2, random_state=0).fit(X.astype(np.float64), y)
    np.testing.assert_allclose(model.class_scores(X), exact.class_scores(X), atol=0.05)


def test_ordinary_rows_are_read_as_they_are() -> None:
    """Products in double would cost time."""
    X = sparse.random_array((200, 50), density=0.1, dtype=np.float32, rng=0).tocsr()
    for name in ("rbf", "laplacian"):
        for gamma in (1e-2, 1.0, 30.0):
            kernel = make_kernel(
                name, X, np.ones(200), gamma=gamma, degree=3, coef0=0.0, bias=False
            )
            assert kernel.prepare(X).X.dtype == np.float32


@pytest.mark.parametrize("name", ["linear", "poly", "normalized-poly", "sigmoid"])
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
def test_products_that_hold_no_differences_are_told(name: str, layout: Any) -> None:
    X, y = make_rows(3e3)
    model = KernelSVM(kernel=name, gamma=1e-9, max_iter=2)
    with pytest.warns(LostDigitsWarning, match=r"far from the origin.*float64"):
        model.fit(layout(X), y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", LostDigitsWarning)
        model.fit(layout(X - X.mean(axis=0)), y)
        model.fit(layout(X).astype(np.float64), y)


@pytest.mark.parametrize("name", ["rbf", "laplacian"])
def test_double_rows_too_far_are_told(name: str) -> None:
    X, y = make_rows(0.0)
    far = sparse.csr_array(np.where(X == 0, 0, X.astype(np.float64) + 1e13))
    with pytest.warns(LostDigitsWarning, match="Subtract"):
        KernelSVM(kernel=name, gamma=0.05, max_iter=2).fit(far, y)


def test_values_that_single_precision_cannot_tell_apart_are_told() -> None:
    X, y = make_rows(0.0)
    with pytest.warns(LostDigitsWarning, match="Raise gamma"):
        KernelSVM(gamma=1e-9, max_iter=2).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", LostDigitsWarning)
        KernelSVM(gamma=1e-9, max_iter=2).fit(X.astype(np.float64), y)


@pytest.mark.parametrize("name", NAMED_KERNELS)
def test_rows_all_alike_lose_nothing(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", LostDigitsWarning)
        KernelSVM(kernel=name, gamma=1e-3, max_iter=2).fit(np.full((4, 2), 1e3), [0, 1, 0, 1])


@pytest.mark.parametrize(("kernel", "offset"), [("rbf", 1e4), ("laplacian", 1e6)])
def test_files_keep_the_precision(kernel: str, offset: float, tmp_path: Path) -> None:
    X, y = make_rows(offset)
    model = KernelSVM(kernel=kernel, **ESTIMATOR).fit(sparse.csr_array(X), y)
    polymargin.save(model, tmp_path / "model.safetensors")
    again = polymargin.load(tmp_path / "model.safetensors")
    rows = sparse.csr_array(X)
    np.testing.assert_array_equal(again.class_scores(rows), model.class_scores(rows))


def test_onnx_keeps_the_precision(tmp_path: Path) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    from polymargin.files import save_onnx

    X, y = make_rows(1e4)
    model = KernelSVM(**ESTIMATOR).fit(sparse.csr_array(X), y)
    save_onnx(model, tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(str(tmp_path / "model.onnx"))
    _, scores = session.run(None, {"X": X})
    np.testing.assert_allclose(scores, model.class_scores(sparse.csr_array(X)), atol=1e-3)


@pytest.mark.parametrize(("kernel", "offset"), [("rbf", 1e4), ("laplacian", 1e6)])
def test_a_search_shares_exact_distances(kernel: str, offset: float) -> None:
    X, _ = make_rows(offset)
    pairs = Pairs.of(KernelSVM(kernel=kernel), sparse.csr_array(X), 1)
    expected = {"rbf": 2, "laplacian": 1}[kernel]
    wide = X.astype(np.float64)
    distances = (np.abs(wide[:, None] - wide) ** expected).sum(axis=2)
    for gamma in (0.01, 0.1):
        np.testing.assert_allclose(pairs.gram(gamma).matrix, np.exp(-gamma * distances), atol=1e-5)


@pytest.mark.parametrize(("dtype", "most"), [(np.float32, 1e-6), (np.float64, 1e-11)])
def test_the_primal_objective_is_that_of_the_coefficients(dtype: Any, most: float) -> None:
    """Up to rounding, which grows with C."""
    X, y = make_rows(0.0)
    X = X.astype(dtype)
    model = KernelSVM("ww", gamma=0.05, tol=1e-4, random_state=0).fit(X, y)
    wide = model.support_vectors_.astype(np.float64)
    distances = np.square(X.astype(np.float64)[:, None] - wide).sum(axis=2)
    coef = model.dual_coef_.astype(np.float64)
    scores = np.exp(-model.gamma_ * distances) @ coef.T
    norm = float((coef.T * scores[model.support_]).sum())
    margins = 1 - scores[np.arange(len(y)), y][:, None] + scores
    loss = float(np.maximum(margins, 0).sum()) - len(y)  # without the own class
    assert norm / 2 + loss == pytest.approx(model.primal_objective_, rel=most)
