"""Visits that go further than is best for an example by itself."""

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits

from polymargin import BlockDescent, LinearSVM


@pytest.mark.parametrize("relaxation", [1.0, 1.5, 1.95])
def test_the_dual_objective_never_falls(
    machine: str, relaxation: float, blobs: tuple[Any, Any]
) -> None:
    solver = BlockDescent(
        shrinking=False,
        class_lists=False,
        second_order=False,
        relaxation=relaxation,
        history="passes",
    )
    model = LinearSVM(machine, C=0.5, solver=solver, tol=1e-5, max_iter=5000, random_state=0)
    model.fit(*blobs)
    assert model.converged_
    dual = model.history_["dual"]
    assert np.all(np.diff(dual) >= -1e-12 * dual[-1])


@pytest.mark.parametrize("relaxation", [1.25, 1.9])
def test_the_optimum_is_the_same(machine: str, relaxation: float, blobs: tuple[Any, Any]) -> None:
    params = {"C": 0.5, "tol": 1e-7, "max_iter": 20_000, "random_state": 0}
    plain = LinearSVM(machine, solver=BlockDescent(relaxation=1.0), **params).fit(*blobs)
    further = LinearSVM(machine, solver=BlockDescent(relaxation=relaxation), **params).fit(*blobs)
    np.testing.assert_allclose(further.coef_, plain.coef_, atol=2e-3 * np.abs(plain.coef_).max())


def test_fewer_passes_where_examples_answer_each_other() -> None:
    X, y = load_digits(return_X_y=True)

    def passes(relaxation: float) -> int:
        solver = BlockDescent(second_order=False, relaxation=relaxation)
        return LinearSVM(C=10, solver=solver, random_state=0).fit(X / 16, y).n_iter_

    assert passes(1.5) < 0.9 * passes(1.0)
