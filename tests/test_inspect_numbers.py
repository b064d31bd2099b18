"""Densities and the bound on the risk, against direct computations."""

import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from conftest import MACHINES, fit_linear
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from polymargin import KernelSVM, LinearSVM, load, save
from polymargin.inspect import Bound, Density, bound, density
from polymargin.kernel import IndefiniteKernelWarning


@pytest.fixture(scope="module")
def iris() -> tuple[np.ndarray, np.ndarray]:
    X, y = load_iris(return_X_y=True)
    return X[::3], y[::3]


def expected_risk(
    counts: np.ndarray, z: np.ndarray, BR: float, margin: float, delta: float, eta: float
) -> float:
    """Eq. (6), pair by pair; z[i][e] of own class c is in z[c, e]."""
    k, n = len(counts), counts.sum()
    total = 0.0
    for c, e in combinations(range(k), 2):
        m = counts[c] + counts[e]
        D = 2 * (math.sqrt((z[c, e] + z[e, c]) * 2 * BR) + eta) / margin
        fat = (16 * BR / margin) ** 2
        first = (fat + 64 * D * D) * math.log2(65 * m * (1 + D) ** 3)
        first *= math.log2(9 * math.e * m * (1 + D))
        last = math.log2(128 * m**1.5 * 2 * BR / (2 * delta / (k * (k - 1)) * eta))
        frequency = m / n + math.sqrt(math.log(k * (k - 1) / delta) / (2 * n))
        total += frequency * 2 / m * (first + last)
    return total


def check_bound(found: Bound, f: np.ndarray, y: np.ndarray, BR: float, **options: float) -> None:
    """All parts from scores, labels and the largest product of the norms."""
    settings = {"margin": 1.0, "delta": 0.05, "eta": 1.0} | options
    margin, k, n = settings["margin"], f.shape[1], len(y)
    z = np.zeros((k, k))
    for scores, own in zip(f, y, strict=True):
        for c in range(k):
            if c != own:
                z[own, c] += max(0.0, margin - scores[own] + scores[c])
    counts = np.bincount(y, minlength=k)
    assert found.counts.tolist() == counts.tolist()
    np.testing.assert_allclose(found.violations, z + z.T, rtol=1e-10, atol=1e-12)
    assert found.violation == pytest.approx(z.sum())
    assert found.norm * found.radius == pytest.approx(BR)
    assert found.fat == pytest.approx((16 * BR / margin) ** 2)
    assert found.order == pytest.approx((k * (k - 1) * found.fat + z.sum() / margin**2) / n)
    assert found.risk == pytest.approx(expected_risk(counts, z, BR, **settings))


def largest_difference(products: np.ndarray) -> float:
    """max ‖w_c − w_e‖ from the inner products of all w."""
    pairs = combinations(range(len(products)), 2)
    return math.sqrt(max(products[c, c] + products[e, e] - 2 * products[c, e] for c, e in pairs))


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("options", [{}, {"margin": 0.5, "delta": 0.01, "eta": 2.0}])
def test_bound_of_a_linear_machine(iris: Any, bias: bool, options: dict[str, float]) -> None:
    X, y = iris
    model = LinearSVM("ww", C=0.1, fit_intercept=bias, random_state=0).fit(X, y)
    W, points = model.coef_, X
    if bias:
        W = np.column_stack([W, model.intercept_])
        points = np.column_stack([X, np.ones(len(X))])
    BR = largest_difference(W @ W.T) * np.linalg.norm(points, axis=1).max()
    check_bound(bound(model, X, y, **options), points @ W.T, y, BR, **options)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("kernel", ["rbf", "poly", "function", "precomputed"])
def test_bound_of_a_kernel_machine(iris: Any, kernel: str, bias: bool) -> None:
    X, y = iris
    named: dict[str, Any] = {"gamma": 0.25, "degree": 2, "coef0": 1.0}
    K = rbf_kernel(X, gamma=0.25)
    if kernel == "poly":
        K = polynomial_kernel(X, gamma=0.25, degree=2, coef0=1.0)
    chosen: Any = (lambda A, B: rbf_kernel(A, B, gamma=0.25)) if kernel == "function" else kernel
    model = KernelSVM("ww", C=0.5, kernel=chosen, fit_intercept=bias, random_state=0, **named)
    given = K if kernel == "precomputed" else X
    model.fit(given, y)
    K = K + bias
    A = np.zeros((len(y), 3))
    A[model.support_] = model.dual_coef_.T
    BR = largest_difference(A.T @ K @ A) * math.sqrt(K.diagonal().max())
    check_bound(bound(model, given, y), K @ A, y, BR)


@pytest.mark.parametrize("machine", MACHINES)
def test_bound_is_that_of_the_linear_kernel(iris: Any, machine: str) -> None:
    X, y = iris
    fitted: dict[str, Any] = {"C": 0.5, "tol": 1e-9, "max_iter": 100_000, "random_state": 0}
    linear = bound(LinearSVM(machine, fit_intercept=False, **fitted).fit(X, y), X, y)
    kernel = bound(KernelSVM(machine, kernel="linear", **fitted).fit(X, y), X, y)
    for name in ("violation", "norm", "radius", "fat", "order", "risk"):
        assert getattr(kernel, name) == pytest.approx(getattr(linear, name), rel=1e-3)


def test_violation_is_the_loss_of_weston_watkins(iris: Any) -> None:
    X, y = iris
    model = LinearSVM("ww", C=0.1, random_state=0).fit(X, y)
    squares = (model.coef_**2).sum() + (model.intercept_**2).sum()
    loss = (model.primal_objective_ - squares / 2) / 0.1
    assert bound(model, X, y).violation == pytest.approx(loss)


def test_bound_through_sparse_rows_pipelines_and_files(iris: Any, tmp_path: Any) -> None:
    X, y = iris
    options: dict[str, Any] = {"C": 0.1, "random_state": 0}
    pipeline = make_pipeline(StandardScaler(), LinearSVM("cs", **options)).fit(X, y)
    Z = pipeline[:-1].transform(X)
    expected = bound(LinearSVM("cs", **options).fit(Z, y), Z, y).risk
    assert bound(pipeline, X, y).risk == pytest.approx(expected)
    model = LinearSVM("cs", weights="sparse", **options).fit(sparse.csr_array(Z), y)
    assert bound(model, sparse.csr_array(Z), y).risk == pytest.approx(expected, rel=1e-2)
    kernel = KernelSVM("cs", **options).fit(X, y)
    save(kernel, tmp_path / "kernel.safetensors", duals=False)
    again = load(tmp_path / "kernel.safetensors")
    assert bound(again, X, y).risk == pytest.approx(bound(kernel, X, y).risk)


def test_bound_of_named_columns(iris: Any) -> None:
    pandas = pytest.importorskip("pandas")
    X, y = iris
    frame = pandas.DataFrame(X, columns=list("abcd"))
    for model in (LinearSVM(random_state=0), KernelSVM(tol=1e-9, random_state=0)):
        expected = bound(model.fit(X, y), X, y).risk
        assert bound(model.fit(frame, y), frame, y).risk == pytest.approx(expected, rel=1e-6)


def test_bound_where_nothing_is_proved(iris: Any) -> None:
    X, y = iris
    small = LinearSVM("ww", C=1e-9, random_state=0).fit(X, y)
    assert math.isnan(bound(small, X, y).risk)
    model = LinearSVM("ww", C=1.0, random_state=0).fit(X, y)
    assert bound(model, X[y == 0], y[y == 0]).risk == math.inf


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"margin": 0.0}, "margin has to be positive"),
        ({"delta": 1.0}, "delta is a probability"),
        ({"eta": math.nan}, "eta has to be positive"),
    ],
)
def test_bound_refuses_what_has_no_meaning(
    iris: Any, options: dict[str, float], message: str
) -> None:
    X, y = iris
    model = LinearSVM("ww", random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=message):
        bound(model, X, y, **options)


def test_bound_names_rows_that_do_not_fit(iris: Any) -> None:
    X, y = iris
    model = LinearSVM("ww", random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="50 rows, y has 49 labels"):
        bound(model, X, y[1:])
    with pytest.raises(ValueError, match="label of row 0: 7"):
        bound(model, X, np.where(np.arange(50) == 0, 7, y))
    K = rbf_kernel(X)
    precomputed = KernelSVM(kernel="precomputed", random_state=0).fit(K, y)
    with pytest.raises(ValueError, match="all pairs of training rows"):
        bound(precomputed, K[:20], y[:20])


def count_variables(model: Any, y: np.ndarray) -> int:
    """Dual variables above zero: of other classes, and the own one where it is no sum of them."""
    a = model.duals_.toarray()
    own = np.eye(a.shape[1], dtype=bool)[y]
    relative = model.machine in ("ww", "cs")
    return np.count_nonzero(a[~own]) + (0 if relative else np.count_nonzero(a[own]))


@pytest.mark.parametrize("machine", MACHINES)
def test_density_counts_variables_of_every_machine(crowd: Any, machine: str) -> None:
    X, y = crowd
    model = fit_linear(X, y, machine, C=0.05)
    found = density(model)
    assert found.weights == np.count_nonzero(model.coef_) / model.coef_.size
    assert found.duals == count_variables(model, y) / (len(y) * 4)
    assert found.support == (model.duals_.toarray() != 0).any(axis=1).mean()


def test_density_of_weights_that_are_zero() -> None:
    X = np.zeros((6, 5))
    X[:, 0] = [1, 1, 2, 3, 3, 3]
    y = np.array([0, 0, 1, 1, 1, 1])
    options: dict[str, Any] = {"fit_intercept": False, "random_state": 0}
    for weights, rows in (("dense", X), ("sparse", sparse.csr_array(X))):
        model = LinearSVM("ww", weights=weights, **options).fit(rows, y)
        assert density(model).weights == pytest.approx(0.2)  # one feature of five


def test_density_of_a_kernel_machine(iris: Any) -> None:
    X, y = iris
    weight = np.where(np.arange(50) < 5, 0.0, 1.0)
    model = KernelSVM("cs", C=10.0, random_state=0).fit(X, y, sample_weight=weight)
    found = density(model)
    assert found.support == len(model.support_) / 45  # rows of weight zero are no examples
    assert found.weights == np.count_nonzero(model.dual_coef_) / model.dual_coef_.size
    assert found.duals == count_variables(model, y) / (45 * 3)


def test_density_without_dual_variables(iris: Any) -> None:
    X, y = iris
    stream = LinearSVM("ww").partial_fit(X, y, classes=[0, 1, 2])
    found = density(stream)
    assert found == Density(found.weights, None, None)
    assert found.weights > 0


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_an_indefinite_kernel_has_no_bound(iris: Any, sign: float) -> None:
    X, y = iris
    K = sign * (rbf_kernel(X) - 0.5 * rbf_kernel(X, gamma=5.0) - 0.4)
    with pytest.warns(IndefiniteKernelWarning):
        model = KernelSVM(kernel="precomputed", max_iter=50, random_state=0).fit(K, y)
    with pytest.warns(IndefiniteKernelWarning, match="no bound"):
        found = bound(model, K, y)
    assert np.isnan([found.norm, found.fat, found.order, found.risk]).all()
    assert found.violation >= 0
