"""Rows so large that scores leave the range of the type are named, in fit and in prediction."""

import re
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from polymargin import KernelSVM, LinearSVM

X = np.random.default_rng(0).normal(size=(30, 3))
Y = np.arange(30) % 3
LAYOUTS = [np.asarray, sparse.csr_array]
METHODS = ["class_scores", "decision_function", "predict"]


def with_large(value: float, dtype: Any = np.float64) -> Any:
    rows = X[:6].astype(dtype)
    rows[4] = [value, -value, value]
    return rows


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("method", METHODS)
def test_linear_scores(layout: Any, method: str) -> None:
    model = LinearSVM(random_state=0).fit(X, Y)
    model.coef_ = 10 * model.coef_ / np.abs(model.coef_).max()
    for weights in (model, model.sparsify()):
        with pytest.raises(ValueError, match=r"row 4 .*1\.7e\+308.*[Ss]cale"):
            getattr(weights, method)(layout(with_large(1.7e308)))
    getattr(model, method)(layout(with_large(1e200)))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "laplacian", "sigmoid"])
@pytest.mark.parametrize(
    ("value", "dtype"), [(1.7e308, np.float64), (1e200, np.float64), (1e30, np.float32)]
)
def test_kernel_scores(kernel: str, value: float, dtype: Any, layout: Any) -> None:
    model = KernelSVM(kernel=kernel, gamma=0.1, random_state=0).fit(layout(X.astype(dtype)), Y)
    for method in METHODS:
        with pytest.raises(ValueError, match=r"row 4 .*[Ss]cale"):
            getattr(model, method)(layout(with_large(value, dtype)))


def test_polynomials_overflow_sooner() -> None:
    model = KernelSVM(kernel="poly", degree=9, gamma=1.0, random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match=r"row 4 .*float64"):
        model.predict(with_large(1e100))


def test_differences_of_two_scores() -> None:
    model = LinearSVM(random_state=0, fit_intercept=False).fit(X[:, :1], Y > 0)
    model.coef_ = np.array([[-1.0], [1.0]])
    assert np.isfinite(model.class_scores([[1e308]])).all()
    with pytest.raises(ValueError, match="row 0"):
        model.decision_function([[1e308]])


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("cls", [LinearSVM, KernelSVM])
def test_fit_names_the_row(cls: Any, layout: Any) -> None:
    rows = X.copy()
    rows[17, 1] = 1.7e308
    with pytest.raises(ValueError, match=r"row 17.*too large for float64.*[Rr]escale"):
        cls().fit(layout(rows), Y)
    weight = np.ones(30)
    weight[:5] = 0
    with pytest.raises(ValueError, match="row 17"):
        cls().fit(layout(rows), Y, weight)
    weight[17] = 0
    cls().fit(layout(rows), Y, weight)


def test_partial_fit_names_the_row() -> None:
    rows = X.copy()
    rows[2] = 1e200
    with pytest.raises(ValueError, match=re.escape("row 2")):
        LinearSVM().partial_fit(rows, Y, classes=[0, 1, 2])
