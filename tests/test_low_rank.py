"""Kernel matrices of low rank: the factors, what weights on them mean, fits that start there."""

from typing import Any

import numpy as np
import pytest
from conftest import MACHINES
from sklearn.metrics.pairwise import rbf_kernel

from polymargin import KernelSVM
from polymargin._machines import find_machine
from polymargin.second_order import LowRank, Variables, find_low_rank

ABSOLUTE = [name for name in MACHINES if not find_machine(name).relative]


def plane(seed: int = 0, n: int = 400) -> tuple[Any, Any]:
    """Three classes in the plane that overlap."""
    random = np.random.default_rng(seed)
    y = np.arange(n) % 3
    return random.normal(size=(n, 2)) + 1.5 * np.eye(3)[y][:, :2], y


def factorised(kernel: Any) -> LowRank | None:
    return find_low_rank(lambda i: kernel[i], np.diagonal(kernel))


def test_a_smooth_kernel_has_a_low_rank() -> None:
    kernel = rbf_kernel(plane()[0], gamma=0.1)
    found = factorised(kernel)
    assert found is not None
    rows = found.space.rows
    assert rows.shape[1] < 100
    np.testing.assert_allclose(rows @ rows.T, kernel, atol=1.1e-8)
    coarse = found.coarse.space.rows
    assert coarse.shape[1] < rows.shape[1]
    np.testing.assert_allclose(coarse @ coarse.T, kernel, atol=1.1e-6)


def test_a_narrow_kernel_does_not() -> None:
    asked = []
    kernel = rbf_kernel(plane()[0], gamma=100.0)
    assert find_low_rank(lambda i: asked.append(i) or kernel[i], np.ones(400)) is None
    assert len(asked) <= 50  # a quarter of half of the columns


@pytest.mark.parametrize("name", ABSOLUTE)
def test_weights_at_low_rank_are_weights_of_the_kernel_machine(name: str) -> None:
    X, y = plane()
    kernel = rbf_kernel(X, gamma=0.1)
    found = factorised(kernel)
    assert found is not None
    variables = Variables(find_machine(name), y.astype(np.int32), np.ones(len(y)), 3)
    weights = np.random.default_rng(0).normal(size=(found.space.n_features, 3))
    if variables.machine.zero_sum:
        weights -= weights.mean(axis=1, keepdims=True)
    alphas = variables.alphas(found.beta(variables, weights))
    scores = kernel @ alphas
    np.testing.assert_allclose(scores, found.space.rows @ weights, atol=1e-3)
    assert np.vdot(alphas, scores) == pytest.approx(np.vdot(weights, weights), rel=1e-4)


@pytest.mark.parametrize("name", ABSOLUTE)
def test_fits_start_at_low_rank(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = plane()
    model = KernelSVM(name, C=1e4, gamma=0.1, random_state=0)
    found = []

    def find_and_note(*arguments: Any) -> Any:
        found.append(find_low_rank(*arguments))
        return found[-1]

    monkeypatch.setattr("polymargin.kernel._second_order.find_low_rank", find_and_note)
    model.fit(X, y)
    dual, steps = model.dual_objective_, model.n_iter_
    assert model.converged_
    assert found[0] is not None
    monkeypatch.setattr("polymargin.kernel._second_order.find_low_rank", lambda *_: None)
    model.fit(X, y)
    assert model.n_iter_ != steps
    assert model.dual_objective_ == pytest.approx(dual, rel=2e-3)
