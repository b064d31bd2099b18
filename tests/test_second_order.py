"""Second-order steps: projections and directions by themselves, then whole fits at any C."""

from typing import Any

import numpy as np
import pytest
from conftest import MACHINES, fit_linear, load_data
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_classification
from sklearn.metrics.pairwise import rbf_kernel

from polymargin import KernelSVM, LinearSVM, core
from polymargin._machines import find_machine
from polymargin.fit import Check, Handover
from polymargin.fit._handover import passes_to_go
from polymargin.second_order import (
    KernelSpace,
    RowSpace,
    Variables,
    finish,
    predict_cost,
    split,
    to_array,
    to_duals,
)
from polymargin.second_order._cholesky import factorise
from polymargin.second_order._projection import Moves, make_projection
from polymargin.second_order._splitting import _Quadratic
from polymargin.second_order._step import Way, find_direction, find_way
from polymargin.solvers import SecondOrder

N, D, K = 30, 4, 3


def random_variables(machine: str, seed: int, C: float = 1.0) -> Variables:
    random = np.random.default_rng(seed)
    labels = random.permutation(np.arange(N) % K).astype(np.int32)
    upper = C * random.uniform(0.5, 2.0, N)
    return Variables(find_machine(machine), labels, upper, K)


def is_feasible(beta: Any, variables: Variables) -> bool:
    if np.any(beta < 0) or np.any(beta[~variables.is_there]):
        return False
    if variables.machine.simplex:
        return bool(np.all(beta.sum(axis=1) <= variables.upper * (1 + 1e-12)))
    return bool(np.all(beta <= variables.bounds))


@pytest.fixture
def hard() -> tuple[Any, Any]:
    """Overlapping classes, features of very different size."""
    X, y = make_classification(
        200, 8, n_informative=5, n_redundant=2, n_classes=4, class_sep=0.7, random_state=0
    )
    return X * np.logspace(-1, 1, 8), y


@settings(deadline=None, max_examples=200)
@given(
    machine=st.sampled_from(MACHINES),
    seed=st.integers(0, 10**6),
    scale=st.sampled_from([1e-3, 1.0, 1e3]),
)
def test_a_projection_is_feasible_and_nearest(machine: str, seed: int, scale: float) -> None:
    variables = random_variables(machine, seed)
    projection = make_projection(variables)
    random = np.random.default_rng(seed)
    values = scale * random.normal(size=variables.shape) * variables.is_there
    beta = projection.project(values).beta
    assert is_feasible(beta, variables)
    np.testing.assert_array_equal(beta, projection.nearest(values))
    others = projection.nearest(random.normal(size=variables.shape))
    # The angle to every other feasible point is obtuse.
    products = np.sum((values - beta) * (others - beta), axis=1)
    assert np.all(products <= 1e-9 * max(scale, 1.0) ** 2)


def test_the_jacobian_is_the_derivative_of_the_projection(machine: str, seed: int) -> None:
    variables = random_variables(machine, seed)
    projection = make_projection(variables)
    random = np.random.default_rng(seed)
    values = random.normal(size=variables.shape) * variables.is_there
    at, step = projection.project(values), 1e-7 * random.normal(size=variables.shape)
    step *= variables.is_there
    found = projection.nearest(values + step) - at.beta
    expected = np.where(at.is_free, step, 0.0)
    counts = at.is_free.sum(axis=1)
    mean = expected.sum(axis=1) / np.maximum(counts, 1)
    expected -= at.is_free * np.where(at.is_tied, mean, 0.0)[:, None]
    np.testing.assert_allclose(found, expected, atol=1e-13)


@settings(deadline=None, max_examples=100)
@given(
    machine=st.sampled_from(MACHINES),
    seed=st.integers(0, 10**6),
    sigma=st.sampled_from([1e-2, 3.0, 1e3]),
    shift=st.sampled_from([-0.5, 0.0, 1.0]),
)
@example(machine="adm", seed=108, sigma=3.0, shift=1.0)  # sums of many ties
def test_all_ways_give_one_direction(machine: str, seed: int, sigma: float, shift: float) -> None:
    """Of rows and of their Gram matrix, some of them equal; all or few variables free or tied."""
    variables = random_variables(machine, seed)
    random = np.random.default_rng(seed)
    rows = random.normal(size=(N, D))
    rows[-5:] = rows[:5]
    values = (random.normal(size=variables.shape) + shift) * variables.is_there
    at = make_projection(variables).project(values)
    alphas = variables.alphas(random.normal(size=variables.shape))
    ways = {Way.VARIABLES, Way.WEIGHTS}
    if not variables.machine.relative:
        ways |= {Way.VARIABLES_BY_CLASS, Way.WEIGHTS_BY_CLASS}
    found = []
    for way in ways:
        space: Any = RowSpace(rows)
        if way is Way.VARIABLES_BY_CLASS:
            space = KernelSpace(rows @ rows.T)
        residual = space.weights(alphas)
        scores = space.scores(residual)
        direction = find_direction(space, variables, at, sigma, residual, scores, way)
        found.append(space.scores(direction.weights))
    size = np.abs(scores).max()
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], atol=1e-6 * size)


@pytest.mark.parametrize("name", ["llw", "atm"])
def test_a_class_at_a_time_is_the_cheapest_way_with_many_weights(name: str) -> None:
    few, many = Moves(5000, 3000, 0), Moves(5000, 3000, 2900)
    space = RowSpace(np.broadcast_to(np.float64(0), (7000, 257)))
    machine = find_machine(name)
    assert find_way(space, machine, 10, few, 4000)[1] is Way.WEIGHTS_BY_CLASS
    assert find_way(space, machine, 10, many, 4000)[1] is Way.WEIGHTS
    assert find_way(space, machine, 10, few, 200) == (np.inf, Way.VARIABLES)


def test_matrices_that_are_not_positive_are_factorised_with_a_ridge() -> None:
    vector = np.arange(1.0, 6.0)
    matrix = np.outer(vector, vector)
    solution = factorise(matrix - 1e-13 * np.eye(5)).solve(vector)
    np.testing.assert_allclose(matrix @ solution, vector, rtol=1e-6)


def test_rows_and_their_gram_matrix_give_one_optimum(machine: str, seed: int) -> None:
    variables = random_variables(machine, seed, C=10.0)
    rows = np.random.default_rng(seed).normal(size=(N, D))
    start = np.zeros(variables.shape)
    linear = finish(RowSpace(rows), variables, start, 1.0, 1e-8, 1e12)
    kernel = finish(KernelSpace(rows @ rows.T), variables, start, 1.0, 1e-8, 1e12)
    assert linear.converged
    assert kernel.converged
    assert linear.highest.dual == pytest.approx(kernel.highest.dual, rel=1e-7)
    assert is_feasible(linear.highest.beta, variables)


@pytest.mark.parametrize("steps", [0, 1, 2, 5])
def test_the_best_weights_have_the_objective_that_is_told(
    machine: str, steps: int, seed: int
) -> None:
    """Also on the way, where they are seldom those of feasible dual variables."""
    variables = random_variables(machine, seed, C=1e3)
    rows = np.random.default_rng(seed).normal(size=(N, D))
    space, start = KernelSpace(rows @ rows.T), np.zeros(variables.shape)
    reached = finish(space, variables, start, 1.0, 1e-8, 1e12, lambda found: found.n_steps >= steps)
    lowest = reached.lowest
    assert lowest.beta is not None
    np.testing.assert_allclose(variables.alphas(lowest.beta), lowest.weights, atol=1e-6)
    scores = space.scores(lowest.weights)
    norm = space.inner(lowest.weights, lowest.weights, scores) / 2
    primal = norm + variables.loss(variables.margins(scores))
    assert lowest.primal == pytest.approx(primal, rel=1e-6)
    assert lowest.primal <= reached.highest.primal


ABSOLUTE = [name for name in MACHINES if not find_machine(name).relative]


@pytest.mark.parametrize("name", ABSOLUTE)
def test_one_inverse_solves_for_all_variables(name: str, seed: int) -> None:
    variables, rho = random_variables(name, seed), 0.3
    random = np.random.default_rng(seed)
    rows = random.normal(size=(N, D))
    kernel = rows @ rows.T
    solve = _Quadratic(KernelSpace(kernel), variables, rho, random.random(variables.shape))
    values = random.normal(size=variables.shape)
    for atol in (2e-3, 1e-6):  # the inverse is one in single precision
        solution = solve(values)
        back = variables.margins(kernel @ variables.alphas(solution)) + rho * solution
        np.testing.assert_allclose(back, values, atol=atol)
        scores = solve.refine()
        np.testing.assert_allclose(scores, kernel @ variables.alphas(solution), atol=1e-9)


@pytest.mark.parametrize("C", [1e-3, 10.0, 1e6])
@pytest.mark.parametrize("name", ABSOLUTE)
def test_alternating_directions_reach_the_optimum(name: str, C: float, seed: int) -> None:
    variables = random_variables(name, seed, C)
    points = np.random.default_rng(seed).normal(size=(N, 5))
    space, looks = KernelSpace(rbf_kernel(points)), []
    zero = np.zeros(variables.shape)
    reached = split(space, variables, zero, 1e-4, 2000, lambda found: looks.append(found.gap))
    assert is_feasible(reached.highest.beta, variables)
    assert looks == sorted(looks, reverse=True)
    exact = finish(space, variables, zero, 1.0, 1e-6, 1e12)
    assert reached.converged or name == "mmr"  # which comes to 2e-3
    assert reached.highest.dual <= exact.lowest.primal * (1 + 1e-12)
    assert exact.highest.dual <= reached.lowest.primal * (1 + 1e-12)
    assert reached.highest.dual == pytest.approx(exact.highest.dual, rel=3e-3)
    again = split(space, variables, reached.highest.beta, 1e-4, 2000)
    assert again.n_steps <= reached.n_steps


def test_alternating_directions_end_when_they_are_told_to(seed: int) -> None:
    variables = random_variables("llw", seed, C=10.0)
    rows = np.random.default_rng(seed).normal(size=(N, 20))
    zero = np.zeros(variables.shape)
    space = KernelSpace(rows @ rows.T)
    told, bounded = (
        split(space, variables, zero, 0.0, 60, lambda _, f=f: f) for f in (True, False)
    )
    assert not told.converged
    assert (told.n_steps, bounded.n_steps) == (25, 60)


def test_interrupted_alternating_directions_keep_what_they_have(seed: int) -> None:
    def interrupt(_: Any) -> bool:
        raise KeyboardInterrupt

    variables = random_variables("llw", seed, C=10.0)
    rows = np.random.default_rng(seed).normal(size=(N, 20))
    zero = np.zeros(variables.shape)
    reached = split(KernelSpace(rows @ rows.T), variables, zero, 1e-9, 100, interrupt)
    assert isinstance(reached.exception, KeyboardInterrupt)
    assert is_feasible(reached.highest.beta, variables)
    assert reached.highest.dual <= reached.lowest.primal


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("C", [1e4, 1e6])
@pytest.mark.parametrize("name", ABSOLUTE)
def test_fits_of_weights_that_sum_to_zero_take_alternating_directions_first(
    name: str, C: float, dtype: Any, hard: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = (hard[0] / hard[0].std(axis=0)).astype(dtype), hard[1]
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    starts = []

    def split_and_note(*args: Any) -> Any:
        starts.append(args[2])
        return split(*args)

    monkeypatch.setattr("polymargin.kernel._second_order.split", split_and_note)
    model = KernelSVM(name, C=C, gamma=0.1, random_state=0).fit(X, y, weights)
    assert model.converged_
    assert len(starts) <= 1
    if name not in ("mmr", "ovr"):  # where descent is fast, classes are not joined
        assert np.any(starts[0] > 0)
    exact = KernelSVM(name, C=C, gamma=0.1, tol=1e-5, solver="second-order", random_state=0)
    exact.fit(X.astype(np.float64), y, weights)
    rounding = 1e-5 if dtype == np.float64 else 3e-4  # of kernel values
    assert model.dual_objective_ <= exact.primal_objective_ * (1 + rounding)
    assert exact.dual_objective_ <= model.primal_objective_ * (1 + rounding)


def test_a_gap_that_falls_like_a_power_of_the_passes_has_longer_to_go() -> None:
    epochs = [float(epoch) for epoch in range(1, 101)]
    gaps = [epoch**-1.5 for epoch in epochs]
    assert passes_to_go(epochs, gaps, 1e-4, slows=True) == pytest.approx(1e4 ** (2 / 3) - 100)
    assert passes_to_go(epochs, gaps, 1e-4) < 150


@pytest.mark.parametrize("name", ABSOLUTE)
def test_kernel_fits_with_too_many_free_variables_are_split(
    name: str, hard: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = hard[0] / hard[0].std(axis=0), hard[1]
    model = KernelSVM(name, C=1e4, gamma=0.1, random_state=0)
    plain = model.fit(X, y).dual_objective_
    made = []

    def split_and_note(*args: Any) -> Any:
        made.append(split(*args))
        return made[-1]

    monkeypatch.setattr("polymargin.kernel._second_order.split", split_and_note)
    model.set_params(solver=SecondOrder(max_free=100)).fit(X, y)
    assert model.converged_
    assert model.dual_objective_ == pytest.approx(plain, rel=2e-3)
    assert made or name == "mmr"  # which has one variable for an example


@pytest.mark.parametrize("kernel", [False, True])
def test_models_at_large_C_have_the_objective_that_is_told(
    machine: str, kernel: bool, hard: tuple[Any, Any]
) -> None:
    X, y = hard
    C = 1e4
    if kernel:
        model: Any = KernelSVM(machine, C=C, gamma=0.1, random_state=0).fit(X, y)
        gram = rbf_kernel(X[model.support_], gamma=0.1)
        norm = float(np.sum(model.dual_coef_ * (model.dual_coef_ @ gram)))
    else:
        model = LinearSVM(machine, C=C, random_state=0).fit(X, y)
        norm = float(np.sum(model.coef_**2) + np.sum(model.intercept_**2))
    labels = np.searchsorted(model.classes_, y).astype(np.int32)
    variables = Variables(find_machine(machine), labels, np.full(len(y), C), len(model.classes_))
    loss = variables.loss(variables.margins(model.class_scores(X)))
    assert model.primal_objective_ == pytest.approx(norm / 2 + loss, rel=1e-6)


def test_duals_go_into_the_core_and_back(seed: int) -> None:
    beta = np.random.default_rng(seed).normal(size=(7, 4)).clip(0)
    beta[3] = 0
    np.testing.assert_array_equal(to_array(to_duals(beta, np.dtype(np.float64))), beta)


@pytest.mark.parametrize("C", [1e-4, 1.0, 1e4])
def test_second_order_steps_reach_the_optimum_of_descent(
    machine: str, C: float, hard: tuple[Any, Any]
) -> None:
    X, y = hard
    model = LinearSVM(machine, C=C, tol=1e-6, solver="second-order", random_state=0).fit(X, y)
    assert model.converged_
    assert model.dual_gap_ <= 1e-6
    if C <= 1:
        near = fit_linear(X, y, machine, C=C, tol=1e-7, solver="block-descent")
        # Descent may crawl here; the two brackets have to overlap whatever it reaches.
        assert near.dual_objective_ <= model.primal_objective_ * (1 + 1e-12)
        assert model.dual_objective_ <= near.primal_objective_ * (1 + 1e-12)
        if near.converged_:
            assert model.dual_objective_ == pytest.approx(near.dual_objective_, rel=2e-6)


@pytest.mark.parametrize("C", [1e-6, 1e-2, 1e2, 1e4, 1e6])
def test_default_fits_converge_at_any_C(machine: str, C: float, hard: tuple[Any, Any]) -> None:
    X, y = hard
    model = LinearSVM(machine, C=C, random_state=0).fit(X, y)
    assert model.converged_
    again = LinearSVM(machine, C=C, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.coef_, again.coef_)


@pytest.mark.parametrize("C", [1e2, 1e4, 1e6])
@pytest.mark.parametrize("machine", ["ww", "cs", "llw", "atm"])
def test_default_kernel_fits_converge_at_any_C(
    machine: str, C: float, hard: tuple[Any, Any]
) -> None:
    X, y = hard
    model = KernelSVM(machine, C=C, random_state=0).fit(X / X.std(axis=0), y)
    assert model.converged_
    assert np.all(np.diff(model.history_["epoch"]) >= 0)
    assert np.all(np.diff(model.history_["seconds"]) >= 0)


def test_kernel_machines_by_second_order_steps_alone(device: Any, hard: tuple[Any, Any]) -> None:
    X, y = hard
    models = [
        KernelSVM(C=100.0, tol=1e-6, solver=solver, random_state=0).fit(X, y)
        for solver in ("second-order", "blocks")
    ]
    assert models[0].converged_
    assert models[0].dual_objective_ == pytest.approx(models[1].dual_objective_, rel=2e-6)


def test_descent_alone_does_not_hand_over(hard: tuple[Any, Any]) -> None:
    X, y = hard
    with pytest.warns(match="gap"):
        model = LinearSVM(C=1e6, solver="block-descent", random_state=0).fit(X, y)
    assert not model.converged_


def test_what_is_too_large_goes_on_with_descent(hard: tuple[Any, Any]) -> None:
    X, y = hard
    few = SecondOrder(max_free=1)
    model = KernelSVM(C=10.0, solver=few, random_state=0).fit(X / X.std(axis=0), y)
    assert model.converged_


def test_n_less_than_d_at_large_C(seed: int) -> None:
    random = np.random.default_rng(seed)
    X = random.normal(size=(40, 300))
    y = np.arange(40) % 4
    assert LinearSVM(C=1e5, random_state=0).fit(X, y).converged_


def test_single_precision_keeps_its_type(hard: tuple[Any, Any]) -> None:
    X, y = hard
    model = LinearSVM(C=1e2, random_state=0).fit(X.astype(np.float32), y)
    assert model.converged_
    assert model.coef_.dtype == np.float32


def check(epoch: float, gap: float) -> Check:
    return Check(epoch, 0.0, 1.0, 1.0 - gap, gap, 0.0, 1)


def test_descent_that_is_ahead_goes_on() -> None:
    handover = Handover(pass_cost=1.0, finish_cost=100.0, tol=1e-3, max_iter=1000)
    assert not any(handover(check(epoch, 0.8**epoch)) for epoch in range(0, 40, 2))
    assert not handover.asked


def test_descent_that_crawls_hands_over_once_it_has_had_its_chance() -> None:
    handover = Handover(pass_cost=1.0, finish_cost=400.0, tol=1e-3, max_iter=10**6)
    asked = [handover(check(epoch, 0.999**epoch)) for epoch in range(0, 200, 10)]
    assert asked.index(True) == 10  # a quarter of the cost


def test_descent_that_has_too_few_passes_left_hands_over() -> None:
    handover = Handover(pass_cost=1.0, finish_cost=500.0, tol=1e-3, max_iter=100)
    asked = [handover(check(epoch, 0.99**epoch)) for epoch in (10, 20, 30, 40)]
    assert asked == [False, False, False, True]  # still so after twenty passes


def test_passes_that_cost_next_to_nothing_are_waited_for() -> None:
    handover = Handover(pass_cost=1.0, finish_cost=1e9, tol=1e-3, max_iter=100)
    asked = [handover(check(epoch, 0.999**epoch)) for epoch in range(0, 120, 10)]
    assert asked.index(True) == 10  # four fifths, and twenty passes


@pytest.mark.parametrize("machine", ["ww", "cs"])
def test_many_classes_that_contradict_each_other(machine: str) -> None:
    random = np.random.default_rng(0)
    y = random.permutation(np.arange(110) % 40)
    X = random.normal(size=(110, 12))
    X[:55] = 0
    assert LinearSVM(machine, C=1e4, random_state=0).fit(X, y).converged_


def test_a_swing_of_the_primal_is_no_reason_to_hand_over() -> None:
    handover = Handover(pass_cost=1.0, finish_cost=1e9, tol=1e-3, max_iter=100)
    gaps = {10: 0.5, 20: 0.3, 25: 0.96, 30: 0.01, 40: 2e-3, 50: 5e-4}
    assert not any(handover(check(epoch, gap)) for epoch, gap in gaps.items())


def test_a_stop_by_the_monitor_ends_the_steps(hard: tuple[Any, Any]) -> None:
    variables = Variables(find_machine("ww"), hard[1].astype(np.int32), np.full(200, 1e4), 4)
    reached = finish(
        RowSpace(hard[0]), variables, np.zeros((200, 4)), 0.1, 1e-9, 1e12, lambda r: r.n_steps >= 3
    )
    assert reached.n_steps == 3
    assert not reached.converged


def test_an_interrupt_keeps_what_was_reached(hard: tuple[Any, Any]) -> None:
    variables = Variables(find_machine("ww"), hard[1].astype(np.int32), np.full(200, 1e4), 4)

    def watch(reached: Any) -> bool:
        if reached.n_steps == 2:
            raise KeyboardInterrupt
        return False

    reached = finish(RowSpace(hard[0]), variables, np.zeros((200, 4)), 0.1, 1e-9, 1e12, watch)
    assert isinstance(reached.exception, KeyboardInterrupt)
    assert reached.highest.dual > 0


@pytest.mark.parametrize("estimator", [LinearSVM, KernelSVM])
def test_an_interrupted_fit_keeps_what_the_steps_reached(
    estimator: Any, hard: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = hard
    steps: list[int] = []

    def finish_and_interrupt(*arguments: Any, **options: Any) -> Any:
        *others, watch, max_free = arguments

        def interrupted(reached: Any) -> bool:
            steps.append(reached.n_steps)
            if reached.n_steps == 5:
                raise KeyboardInterrupt
            return bool(watch(reached))

        return finish(*others, interrupted, max_free, **options)

    place = "fit" if estimator is LinearSVM else "kernel"
    monkeypatch.setattr(f"polymargin.{place}._second_order.finish", finish_and_interrupt)
    model = estimator(C=1e4, tol=1e-9, solver="second-order", random_state=0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X / X.std(axis=0), y)
    assert steps[-1] == 5
    assert 0 < model.dual_objective_ < model.primal_objective_ < np.inf
    assert not model.converged_
    assert len(model.predict(X)) == len(y)


def test_the_certificate_is_that_of_the_core(machine: str, hard: tuple[Any, Any]) -> None:
    X, y = hard
    model = LinearSVM(machine, C=1e3, fit_intercept=False, random_state=0).fit(X, y)
    scores = X @ model.coef_.T
    variables = Variables(find_machine(machine), y.astype(np.int32), np.full(200, 1e3), 4)
    primal = float(np.sum(model.coef_**2)) / 2 + variables.loss(variables.margins(scores))
    weights = model.duals_.T @ X
    if find_machine(machine).zero_sum:
        weights -= weights.mean(axis=0)
    norm = float(np.sum(weights**2)) / 2
    dual = float(np.vdot(variables.targets, to_array(model._dual_state.duals))) - norm
    assert model.primal_objective_ == pytest.approx(primal, rel=1e-9)
    assert model.dual_objective_ == pytest.approx(dual, rel=1e-7)
    assert model.dual_gap_ == pytest.approx(core.relative_gap(primal, dual), abs=1e-6)


def test_steps_are_tried_again_once_descent_has_gone_on() -> None:
    handover = Handover(pass_cost=1.0, finish_cost=100.0, tol=1e-3, max_iter=10**6)
    assert any(handover(check(epoch, 0.999**epoch)) for epoch in range(0, 40, 10))
    handover.refuse()
    asked = [handover(check(epoch, 0.999**epoch)) for epoch in range(40, 100, 10)]
    assert asked == [False, False, True, True, True, True]


def test_too_many_free_variables_at_first_are_no_reason_to_give_up(
    hard: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[float] = []

    def too_many_at_first(*arguments: Any) -> float:
        asked.append(np.inf if len(asked) < 2 else predict_cost(*arguments))
        return asked[-1]

    monkeypatch.setattr("polymargin.kernel._second_order.predict_cost", too_many_at_first)
    X, y = hard
    model = KernelSVM(C=1e6, gamma=0.01, tol=1e-8, max_iter=10**6, random_state=0)
    model.fit(X / X.std(axis=0), y)
    assert len(asked) >= 3
    assert model.converged_


@pytest.mark.parametrize("lowest", [0, -1])
def test_a_stage_that_is_too_long_is_followed_by_a_shorter_one(lowest: int) -> None:
    X, y = load_data("dna.train")
    rows = lowest + (1 - lowest) * X.toarray()  # from 0 and 1
    assert LinearSVM("ovr", C=1e6, random_state=0).fit(rows, y).converged_
