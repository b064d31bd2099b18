"""What the warning of a fit that did not converge says to do, by why it ended."""

import warnings
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from polymargin import Bisection, BlockDescent, KernelSVM, LinearSVM, SecondOrder
from polymargin.datasets import load_satimage

Data = tuple[Any, Any]


@pytest.fixture(scope="module")
def data() -> Data:
    X, y, _, _ = load_satimage()
    return X[:800], y[:800]


def advice(model: Any, X: Any, y: Any) -> str:
    """The warning after what was reached."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.set_params(random_state=0).fit(X, y)
    assert not model.converged_
    assert [item.category for item in caught] == [ConvergenceWarning]
    reached, _, rest = str(caught[0].message).partition(f"above tol={model.tol:g}. ")
    assert reached.startswith("The fit stopped after")
    return rest


def widened(X: Any) -> sparse.csr_array:
    """The rows with so many empty columns that nobody would make an array of them."""
    n, d = X.shape
    return sparse.hstack([sparse.csr_array(X), sparse.csr_array((n, 20_000 - d))], format="csr")


def passes_in(text: str) -> int:
    """The number that is advised."""
    words = text.split()
    return int(words[words.index("about") + 1].replace(",", ""))


def test_steady_fall_tells_the_passes(data: Data) -> None:
    text = advice(LinearSVM(C=0.1, max_iter=6), *data)
    assert text.startswith("Raise max_iter: at the rate of late, tol takes about ")
    enough = LinearSVM(C=0.1, random_state=0, solver="block-descent").fit(*data)
    assert 6 < passes_in(text) <= 60
    assert enough.n_iter_ / 5 < passes_in(text) < 5 * enough.n_iter_


def test_slow_fall_without_second_order_steps(data: Data) -> None:
    text = advice(LinearSVM(C=100.0, tol=1e-10, max_iter=20), widened(data[0]), data[1])
    assert text.startswith("Lower C or loosen tol: at the rate of late, tol takes about ")
    assert passes_in(text) > 200


def test_steady_fall_of_the_violation(data: Data) -> None:
    text = advice(LinearSVM(C=0.01, max_iter=8, stopping="kkt"), *data)
    assert "tol takes about" in text


def test_kernels_tell_the_passes_too(data: Data) -> None:
    text = advice(KernelSVM("cs", max_iter=6, tol=1e-6, solver="blocks"), *data)
    assert passes_in(text) > 6


@pytest.mark.parametrize("solver", ["blocks", "smo"])
def test_kernel_solver_without_second_order(solver: str, data: Data) -> None:
    text = advice(KernelSVM("llw", C=1e4, gamma=0.1, max_iter=10, solver=solver), *data)
    assert text == (
        f"solver='auto' would go on with second-order steps; solver={solver!r} has none."
    )


def test_linear_solver_without_second_order(data: Data) -> None:
    hard = {"C": 1e6, "max_iter": 100}
    text = advice(LinearSVM(solver=BlockDescent(second_order=False), **hard), *data)
    assert text.startswith("solver='auto' would go on with second-order steps")
    assert LinearSVM(random_state=0, **hard).fit(*data).converged_


def test_sparse_rows_of_many_features_without_second_order(data: Data) -> None:
    X, y = data
    hard = LinearSVM(C=1e4, max_iter=25)
    assert "second-order" not in advice(hard, widened(X), y)
    assert LinearSVM(C=1e4, random_state=0).fit(sparse.csr_array(X), y).converged_


def test_stopping_without_second_order(data: Data) -> None:
    text = advice(LinearSVM(C=1e4, tol=1e-6, max_iter=25, stopping="kkt"), *data)
    assert text.startswith("stopping='gap' would go on with second-order steps")


def test_cache_too_small_for_second_order(data: Data) -> None:
    hard = KernelSVM("cs", C=1e6, gamma=0.1, max_iter=100, cache_size=1.0)
    assert advice(hard, *data).startswith("Raise cache_size to 5: second-order steps")
    assert hard.set_params(cache_size=5).fit(*data).converged_


def test_too_many_free_variables(data: Data) -> None:
    hard = KernelSVM("llw", C=1e4, gamma=0.1, max_iter=100, solver=SecondOrder(max_free=10))
    text = advice(hard, *data)
    n_free = int(text.partition("max_free=")[2].partition(")")[0])
    assert text == (
        f"Lower C: second-order steps would factorise matrices of {n_free:,} rows, and 10 are the "
        f"most; in Python solver=SecondOrder(max_free={n_free}) takes larger ones."
    )
    assert n_free > 10


def test_floor_of_single_precision(data: Data) -> None:
    X, y = data
    model = LinearSVM(tol=1e-10, max_iter=100_000)
    text = advice(model, X.astype(np.float32), y)
    assert text == (
        f"float32 gets no further than {model.dual_gap_:.2g}: loosen tol or pass float64."
    )
    assert model.n_iter_ < 100_000
    assert LinearSVM(tol=1e-10, max_iter=100_000, random_state=0).fit(X, y).converged_


def test_floor_of_a_block_solver(data: Data) -> None:
    model = LinearSVM("cs", block_solver=Bisection(tol=0.1), tol=1e-12, max_iter=100_000)
    model.set_params(solver="block-descent")
    assert advice(model, *data).startswith("block_solver='bisection' in float64 gets no further")


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_columns_of_very_different_size(container: Any, data: Data) -> None:
    X, y = data
    uneven = container(X * np.geomspace(1, 1e6, X.shape[1]))
    text = advice(LinearSVM(max_iter=10), uneven, y)
    assert text.startswith("Scale the features: values of one are ")
    ratio = float(text.partition("values of one are ")[2].partition(" times")[0])
    sizes = np.sqrt((uneven**2).sum(axis=0) / (uneven != 0).sum(axis=0))
    assert ratio == pytest.approx(sizes.max() / sizes.min(), rel=0.1)
    assert "Scale" not in advice(LinearSVM(max_iter=10), container(X), y)


def test_frequent_and_rare_words_are_no_reason_to_scale() -> None:
    rng = np.random.default_rng(0)
    frequency = np.geomspace(0.9, 0.002, 300)
    X = sparse.csr_array((rng.random((1000, 300)) < frequency).astype(float))
    assert "Scale" not in advice(LinearSVM(C=100.0, max_iter=2), X, rng.integers(0, 3, 1000))


def test_nothing_known_names_all_there_is(data: Data) -> None:
    text = advice(LinearSVM(tol=0.0, max_iter=3), *data)
    assert text == "Raise max_iter, lower C or loosen tol."
