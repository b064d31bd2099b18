"""Warm starts and paths."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polymargin
from polymargin import LinearSVM


def test_warm_start_goes_on_from_the_last_fit(machine: str, blobs: tuple[Any, Any]) -> None:
    model = LinearSVM(machine, C=0.1, warm_start=True, tol=1e-6, max_iter=10_000, random_state=0)
    cold = model.fit(*blobs).history_["gap"][0]
    assert model.fit(*blobs).history_["gap"][0] < max(cold, 2e-6)
    np.testing.assert_array_less(model.dual_gap_, 1.001e-6)


def test_warm_start_at_another_C_is_the_same_problem(machine: str, blobs: tuple[Any, Any]) -> None:
    params: dict[str, Any] = {"tol": 1e-6, "max_iter": 10_000, "random_state": 0}
    model = LinearSVM(machine, C=1.0, warm_start=True, **params).fit(*blobs)
    for C in (0.1, 0.3):
        warm = model.set_params(C=C).fit(*blobs)
        cold = LinearSVM(machine, C=C, **params).fit(*blobs)
        assert warm.primal_objective_ == pytest.approx(cold.primal_objective_, rel=2e-6)


@pytest.mark.parametrize(
    ("what", "change"),
    [
        ("the shape of X", lambda X, y: (X[:-1], y[:-1], {})),
        ("the shape of X", lambda X, y: (X[:, :-1], y, {})),
        ("the set of classes", lambda X, y: (X, y + 1, {})),
        ("y", lambda X, y: (X, y[::-1], {})),
        ("the machine", lambda X, y: (X, y, {"machine": "cs"})),
        ("the set of rows of positive weight", lambda X, y: (X, y, {"class_weight": {2: 0.0}})),
        ("the dtype of X", lambda X, y: (X.astype(np.float32), y, {})),
    ],
)
def test_warm_start_of_another_problem_is_cold(
    what: str, change: Callable[..., Any], blobs: tuple[Any, Any]
) -> None:
    model = LinearSVM(C=0.1, warm_start=True, random_state=0).fit(*blobs)
    X, y, params = change(*blobs)
    with pytest.warns(UserWarning, match=f"warm_start: {what} differs from the last fit"):
        warm = model.set_params(**params).fit(X, y)
    cold = LinearSVM(C=0.1, random_state=0).set_params(**params).fit(X, y)
    np.testing.assert_array_equal(warm.coef_, cold.coef_)


def test_path_keeps_the_order_given(machine: str, blobs: tuple[Any, Any]) -> None:
    X, y = blobs
    fitted = polymargin.path(X, y, [0.1, 0.001, 0.01], machine=machine, tol=1e-5, random_state=0)
    assert len(fitted) == 3
    assert [model.C for model in fitted.models] == fitted.Cs.tolist() == [0.1, 0.001, 0.01]
    assert np.all(fitted.gaps <= 1e-5)
    for C, model in fitted:
        alone = LinearSVM(machine, C=C, tol=1e-5, random_state=0).fit(X, y)
        assert model.primal_objective_ == pytest.approx(alone.primal_objective_, rel=2e-5)
        assert model.C == C


def test_part_of_a_path_is_a_path(blobs: tuple[Any, Any]) -> None:
    fitted = polymargin.path(*blobs, (C for C in (0.01, 0.1, 1.0)), random_state=0)
    part = fitted[1:]
    assert part.Cs.tolist() == [0.1, 1.0]
    assert part[0][1] is fitted.models[1]


def test_models_of_a_path_are_independent(blobs: tuple[Any, Any]) -> None:
    fitted = polymargin.path(*blobs, [0.01, 0.1], random_state=0)
    first, second = fitted.models
    duals = second.duals_.toarray()
    first.set_params(C=5.0, max_iter=1, tol=1.0).fit(*blobs)
    np.testing.assert_array_equal(second.duals_.toarray(), duals)
    assert not second.warm_start


def test_path_refuses_nonsense(blobs: tuple[Any, Any]) -> None:
    with pytest.raises(ValueError, match="Cs must be a non-empty sequence"):
        polymargin.path(*blobs, [])
    with pytest.raises(ValueError, match="The 'C' parameter"):
        polymargin.path(*blobs, [1.0, -1.0])
    with pytest.raises(TypeError, match="path\\(\\) sets warm_start itself"):
        polymargin.path(*blobs, [1.0], warm_start=True)
