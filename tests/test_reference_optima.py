"""Linear fits reach the optima that a general convex solver found, for every machine."""

from __future__ import annotations

import numpy as np
import pytest
from reference.optima import (
    MACHINES,
    ZERO_SUM,
    ReferenceProblem,
    load_linear_optima,
    primal_objective,
)

from polymargin import LinearSVM

TOL = 1e-9
SLOW = {"ovr-k5-C20"}  # converge slowly: more passes
PROBLEMS = load_linear_optima()


def fit(problem: ReferenceProblem) -> LinearSVM:
    """Fit the problem to a relative duality gap of `TOL`."""
    model = LinearSVM(
        machine=problem.machine,
        C=problem.C,
        fit_intercept=problem.fit_intercept,
        tol=TOL,
        max_iter=1_000_000 if problem.name in SLOW else 100_000,
        class_weight=problem.class_weight,
        random_state=0,
    )
    return model.fit(problem.X, problem.y, sample_weight=problem.sample_weight)


def test_every_combination_is_stored() -> None:
    """All machines meet all numbers of classes, with and without weights and bias."""
    assert len({problem.name for problem in PROBLEMS}) == len(PROBLEMS)
    met = {
        (p.machine, p.k, p.sample_weight is not None, p.fit_intercept)
        for p in PROBLEMS
        if p.class_weight is None
    }
    assert len(met) == len(MACHINES) * 4 * 2 * 2
    assert {p.machine for p in PROBLEMS if p.class_weight is not None} == set(MACHINES)


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.name)
def test_stored_weights_attain_stored_objective(problem: ReferenceProblem) -> None:
    """The stored weights are feasible and have the stored objective."""
    value = primal_objective(problem, problem.coef, problem.intercept)
    assert value == pytest.approx(problem.objective, rel=1e-7)
    if problem.machine in ZERO_SUM:
        np.testing.assert_allclose(problem.coef.sum(axis=0), 0.0, atol=1e-8)
        assert problem.intercept.sum() == pytest.approx(0.0, abs=1e-8)


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.name)
def test_fit_reaches_optimum(problem: ReferenceProblem) -> None:
    """Objectives bracket the optimum, the certificate is true and the weights agree."""
    model = fit(problem)
    primal, dual = model.primal_objective_, model.dual_objective_

    assert model.converged_
    assert model.dual_gap_ <= TOL
    assert model.dual_gap_ == pytest.approx((primal - dual) / primal, abs=1e-12)
    assert primal == pytest.approx(problem.objective, rel=1e-6)
    assert dual == pytest.approx(problem.objective, rel=1e-6)
    # The stored objective is itself known to about 1e-12.
    assert dual <= problem.objective * (1.0 + 1e-10)
    assert primal >= problem.objective * (1.0 - 1e-10)

    assert model.coef_.shape == problem.coef.shape
    assert model.intercept_.shape == problem.intercept.shape
    recomputed = primal_objective(problem, model.coef_, model.intercept_)
    assert recomputed == pytest.approx(primal, rel=1e-12)
    if problem.machine in ZERO_SUM:
        np.testing.assert_allclose(model.coef_.sum(axis=0), 0.0, atol=1e-10)
        assert model.intercept_.sum() == pytest.approx(0.0, abs=1e-10)
    if not problem.fit_intercept:
        np.testing.assert_array_equal(model.intercept_, 0.0)

    # The objective is 1-strongly convex: half the squared distance is at most P(W) - P*.
    difference = np.column_stack([model.coef_, model.intercept_]) - np.column_stack(
        [problem.coef, problem.intercept]
    )
    assert np.linalg.norm(difference) <= np.sqrt(2.0 * TOL * primal) + 1e-6
