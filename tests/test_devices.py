"""What every device does, on each kind of them."""

from typing import Any

import numpy as np
import pytest
from conftest import DEVICES
from kernel_helpers import make_problem, make_solver, open_examples
from numpy.typing import NDArray
from numpy_device import NumpyDevice

from polymargin import Blocks, core
from polymargin.core import WorkingSetSolver
from polymargin.fit import Interrupts
from polymargin.kernel._goal import Goal
from polymargin.kernel._problem import KernelProblem
from polymargin.kernel._working_sets import WorkingSets

DTYPES = (np.float32, np.float64)
# No row fits, some do, all do.
CACHES = (0, 1 << 17, 1 << 22)


@pytest.fixture(params=DTYPES)
def dtype(request: pytest.FixtureRequest) -> Any:
    return request.param


def full_kernel(problem: KernelProblem) -> NDArray[np.float64]:
    points, n = problem.points, len(problem)
    values = np.empty((n, n), points.dtype)
    problem.kernel.evaluate(points, points, values, 1)
    np.fill_diagonal(values, problem.diagonal)
    return values.astype(np.float64)


def alphas(problem: KernelProblem, beta: NDArray[Any]) -> NDArray[np.float64]:
    """a_i = sum_c beta_ic nu_c."""
    rows, y = np.arange(len(beta)), problem.labels
    a = -beta.astype(np.float64)
    a[rows, y] = beta.sum(axis=1) if problem.machine.relative else beta[rows, y]
    return a


def all_betas(solver: WorkingSetSolver, problem: KernelProblem) -> NDArray[Any]:
    return solver.betas(np.arange(len(problem)))


@pytest.fixture
def problem(machine: str, dtype: Any, crowd: tuple[Any, Any]) -> KernelProblem:
    return make_problem(machine, crowd[0].astype(dtype), crowd[1])


def work(examples: Any, n: int, rounds: int = 4, size: int = 50) -> None:
    random = np.random.default_rng(0)
    for _ in range(rounds):
        examples.improve(np.sort(random.permutation(n)[:size]), 0.1, 5)


def test_scores_are_0_at_first(device: Any, problem: KernelProblem) -> None:
    opened = device.open(problem, 1 << 20, 1)
    assert opened.scores().shape == (300, 4)
    assert opened.scores().dtype == np.float64
    assert not np.any(opened.scores())


@pytest.mark.parametrize("cache_bytes", CACHES)
def test_gram_matrices_are_those_of_the_examples(
    device: Any, dtype: Any, cache_bytes: int, crowd: tuple[Any, Any]
) -> None:
    problem = make_problem("ww", np.hstack([crowd[0].astype(dtype)] * 20), crowd[1])
    examples = open_examples(device, problem, cache_bytes)
    work(examples, 300)  # some rows may be in a cache
    chosen = np.arange(0, 300, 7)
    ordered, gram = examples._now.device.gram(chosen)
    np.testing.assert_array_equal(np.sort(ordered), chosen)
    assert gram.dtype == dtype
    assert gram.flags.c_contiguous
    exact = full_kernel(problem)[np.ix_(ordered, ordered)]
    np.testing.assert_allclose(gram, exact, rtol=1e-4 if dtype == np.float32 else 1e-10)
    np.testing.assert_array_equal(gram.diagonal(), problem.diagonal[ordered])


@pytest.mark.parametrize("cache_bytes", CACHES)
def test_scores_add_up(device: Any, problem: KernelProblem, cache_bytes: int) -> None:
    examples = open_examples(device, problem, cache_bytes)
    work(examples, 300)
    solver, opened = examples._now.solver, examples._now.device
    expected = full_kernel(problem) @ alphas(problem, all_betas(solver, problem))
    atol = 1e-4 if problem.points.dtype == np.float32 else 1e-9
    np.testing.assert_allclose(opened.scores(), expected, atol=atol)
    some = np.array([7, 3, 290])
    np.testing.assert_array_equal(opened.scores(some), opened.scores()[some])


def test_scores_of_some_are_a_copy(device: Any, problem: KernelProblem) -> None:
    examples = open_examples(device, problem)
    before = examples._now.device.scores(np.arange(300))
    work(examples, 300)
    assert not np.any(before)


def test_warm_scores_are_those_of_the_dual_variables(device: Any, problem: KernelProblem) -> None:
    examples = open_examples(device, problem)
    work(examples, 300)
    warm = open_examples(device, problem)
    warm._now.solver = make_solver(problem, examples.duals())
    warm.refresh()
    # Zero-sum machines: up to the mean, which no score depends on.
    centred = [f - f.mean(axis=1, keepdims=True) for f in (now(examples), now(warm))]
    atol = 1e-4 if problem.points.dtype == np.float32 else 1e-9
    np.testing.assert_allclose(centred[1], centred[0], atol=atol)


def now(examples: Any) -> NDArray[np.float64]:
    scores: NDArray[np.float64] = examples._now.device.scores()
    return scores


@pytest.mark.parametrize("rounds", [0, 1, 6])
def test_checks_agree(problem: KernelProblem, rounds: int) -> None:
    """Those of the core with the formulas of the machines, on the way and near the optimum."""
    examples = open_examples(DEVICES["processor"], problem)
    work(examples, 300, rounds, 300 if rounds == 6 else 50)
    ours = examples.check()
    copy = NumpyDevice(problem, full_kernel(problem), now(examples).copy())
    theirs = copy.check(examples._now.solver)
    np.testing.assert_allclose(ours.gaps, theirs.gaps, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(ours.violations, theirs.violations, rtol=1e-9, atol=1e-12)
    assert ours.violation == ours.violations.max()
    assert ours[2:] == pytest.approx(theirs[2:], rel=1e-9, abs=1e-12)
    assert ours.gaps.sum() == pytest.approx(ours.primal - ours.dual, rel=1e-6)


def test_parts_move_the_whole(device: Any, problem: KernelProblem) -> None:
    examples = open_examples(device, problem)
    work(examples, 300)
    before = examples.check().dual
    active = np.arange(1, 300, 5)
    at_first = now(examples)[active].copy()
    examples.shrink(active)
    found = examples.check()
    assert len(found.gaps) == len(found.violations) == 60
    assert found.dual == pytest.approx(before, rel=1e-12)
    assert found.primal == pytest.approx(found.dual + found.gaps.sum())
    np.testing.assert_array_equal(now(examples), at_first)
    work(examples, 60, size=30)
    risen = examples.check().dual
    assert risen > before
    duals = examples.duals()
    part = now(examples).copy()
    examples.grow()
    tol = 1e-4 if problem.points.dtype == np.float32 else 1e-10
    assert examples.check().dual == pytest.approx(risen, rel=tol)
    np.testing.assert_allclose(now(examples)[active], part, atol=10 * tol)
    for ours, theirs in zip(examples.duals().__getstate__(), duals.__getstate__(), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_a_part_of_the_cache_costs_what_it_takes(dtype: Any, crowd: tuple[Any, Any]) -> None:
    problem = make_problem("ww", crowd[0].astype(dtype), crowd[1])
    itemsize = problem.points.dtype.itemsize
    for cache_bytes, free in ((4 * 300 * 300 * itemsize, True), (0, False)):
        opened = DEVICES["processor"].open(problem, cache_bytes, 1)
        cost = problem.kernel.cost(problem.points)
        assert opened.recompute_cost(100) == (0 if free else cost)


# What is refused


def test_shapes_and_types_are_checked(crowd: tuple[Any, Any]) -> None:
    problem = make_problem("ww", *crowd)
    solver, some = make_solver(problem), np.arange(3)
    gram, scores = np.eye(3), np.zeros((3, 4))
    for wrong in (np.zeros((4, 3)), np.zeros((3, 5)), np.zeros((2, 4))):
        with pytest.raises(ValueError, match="scores need a row per example"):
            solver.solve(some, gram, wrong, 0.1, 1)
    with pytest.raises(ValueError, match="Gram matrix needs a row and a column"):
        solver.solve(some, np.eye(2), scores, 0.1, 1)
    with pytest.raises(TypeError):
        solver.solve(some, gram, scores.astype(np.float32), 0.1, 1)
    with pytest.raises(ValueError, match="index is out of range"):
        solver.betas(np.array([300]))
    with pytest.raises(ValueError, match="part belongs to other examples"):
        solver.absorb(solver.part(some), np.arange(4))


def test_changes_have_to_fit_the_scores(crowd: tuple[Any, Any]) -> None:
    solver, some = make_solver(make_problem("ww", *crowd)), np.arange(5)
    changes, visits = solver.solve(some, np.eye(5), np.zeros((5, 4)), 0.1, 1)
    assert visits == 5
    assert changes.examples.tolist() == some.tolist()
    scores, kernel = np.zeros((4, 6)), np.ones((5, 6))
    core.add_scores(scores, changes, some, kernel, some)
    np.testing.assert_allclose(scores.sum(axis=0), 0, atol=1e-12)
    with pytest.raises(ValueError, match="columns beyond the last example"):
        core.add_scores(scores, changes, some, kernel, some, 1)
    with pytest.raises(ValueError, match="one row is needed per change"):
        core.add_scores(scores, changes, some, kernel, some[:4])
    with pytest.raises(ValueError, match="more classes than the scores"):
        core.add_scores(scores[:2], changes, some, kernel, some)
    with pytest.raises(TypeError):
        core.add_scores(scores.T, changes, some, kernel, some)


# The loop


def solved(kind: Any, machine: str, rows: tuple[Any, Any], by_gap: bool = True) -> WorkingSets:
    problem = make_problem(machine, *rows)
    goal, options = Goal(1e-6, 10**6, by_gap), Blocks(size=32)
    shape = (len(problem), problem.n_classes)
    loop = WorkingSets(
        open_examples(kind, problem), goal, options, shape, True, 2.2e-16, is_warm=False
    )
    loop.run(Interrupts(), lambda check: False)
    return loop


def test_all_devices_reach_the_optimum(machine: str, clusters: tuple[Any, Any]) -> None:
    loops = [solved(kind, machine, clusters) for kind in DEVICES.values()]
    for loop in loops:
        assert loop.progress.converged
        assert loop.progress.gap <= 1e-6
        # Some were set aside on the way, all are back at the end.
        active = [check.active for check in loop.progress.history]
        assert min(active) < 500
        assert active[-1] == 500
    ours, theirs = (loop.progress for loop in loops)
    assert ours.primal == pytest.approx(theirs.primal, rel=1e-6)
    assert ours.dual == pytest.approx(theirs.dual, rel=1e-6)


@pytest.mark.parametrize("machine", ["ww", "cs", "llw"])
def test_violations_end_a_fit_on_every_device(
    device: Any, machine: str, clusters: tuple[Any, Any]
) -> None:
    loop = solved(device, machine, clusters, by_gap=False)
    assert loop.progress.converged
    assert loop.progress.violation <= 1e-6
