"""Kernel fits reach the optima that a general convex solver found, for every machine and kernel."""

from typing import Any

import numpy as np
import pytest
from reference.kernel_optima import KERNELS, KernelProblem, gram, load_kernel_optima

from polymargin import Blocks, KernelSVM

pytestmark = pytest.mark.usefixtures("device")

TOL = 1e-9
PROBLEMS = load_kernel_optima()


def fit(problem: KernelProblem, X: Any, **params: Any) -> KernelSVM:
    params = {"tol": TOL, "random_state": 0} | params
    model = KernelSVM(problem.machine, problem.C, fit_intercept=problem.fit_intercept, **params)
    return model.fit(X, problem.y, problem.sample_weight)


def assert_optimal(model: KernelSVM, problem: KernelProblem, X: Any) -> None:
    assert model.converged_
    assert model.dual_gap_ <= model.tol
    assert model.primal_objective_ == pytest.approx(problem.objective, rel=1e-6)
    assert model.dual_objective_ == pytest.approx(problem.objective, rel=1e-6)
    assert model.dual_objective_ <= problem.objective * (1 + 1e-10)
    # 1-strong convexity bounds the distance of the functions, sqrt(K_ii) that of their values.
    largest = np.sqrt(gram(problem.kernel, problem.X).diagonal().max() + problem.fit_intercept)
    room = largest * np.sqrt(2 * model.tol * problem.objective) + 1e-6
    np.testing.assert_allclose(model.class_scores(X), problem.scores, atol=room)


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.name)
def test_fit_reaches_optimum(problem: KernelProblem) -> None:
    model = fit(problem, problem.X, kernel=problem.kernel, **KERNELS[problem.kernel])
    assert_optimal(model, problem, problem.X)


@pytest.mark.parametrize("problem", PROBLEMS[::7], ids=lambda problem: problem.name)
def test_precomputed_and_callable_kernels_reach_it_too(problem: KernelProblem) -> None:
    K = gram(problem.kernel, problem.X)
    assert_optimal(fit(problem, K, kernel="precomputed"), problem, K)

    def function(A: Any, B: Any) -> Any:
        rows = [np.flatnonzero((a == problem.X).all(axis=1))[0] for a in A]
        columns = [np.flatnonzero((b == problem.X).all(axis=1))[0] for b in B]
        return K[np.ix_(rows, columns)]

    assert_optimal(fit(problem, problem.X, kernel=function), problem, problem.X)


@pytest.mark.parametrize("problem", PROBLEMS[::5], ids=lambda problem: problem.name)
@pytest.mark.parametrize("size", [2, 5])
def test_small_working_sets_reach_it_too(problem: KernelProblem, size: int) -> None:
    # The gap of a few is not computed better than this where C is large.
    params = KERNELS[problem.kernel] | {"solver": Blocks(size=size), "tol": 1e-7}
    model = fit(problem, problem.X, kernel=problem.kernel, **params)
    assert_optimal(model, problem, problem.X)


@pytest.mark.parametrize("cache_size", [1e-6, 1e-3, 1.0])
def test_size_of_the_cache_does_not_matter(cache_size: float) -> None:
    problem = PROBLEMS[-1]
    params = KERNELS[problem.kernel] | {"solver": Blocks(size=4), "cache_size": cache_size}
    model = fit(problem, problem.X, kernel=problem.kernel, **params)
    assert_optimal(model, problem, problem.X)
