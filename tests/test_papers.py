"""The papers' algorithms as they are printed: switches, passes, counts, starts and stops."""

import time
import warnings
from collections.abc import Callable
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from polymargin import (
    S2DO,
    BlockDescent,
    CrammerSinger,
    FixedPoint,
    Greedy,
    KernelSVM,
    LinearSVM,
    core,
    solvers,
)
from polymargin.datasets import load_letter, load_satimage

PLAIN = BlockDescent(shrinking=False, class_lists=False, second_order=False)


def passes_of(model: Any, X: Any, y: Any, count: int) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.set_params(max_iter=count, tol=1e-12).fit(X, y)


@pytest.fixture
def many_classes(seed: int) -> tuple[Any, Any]:
    """Enough classes for lists of them."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(40), 5)
    return rng.normal(size=(40, 8))[y] + 0.5 * rng.normal(size=(200, 8)), y


# Plain block coordinate descent


def plain_descent(X: Any, y: Any, C: float, order: Any, machine: str) -> Any:
    """Weights after visits in this order, blocks solved by the core, all else written out."""
    k = y.max() + 1
    W = np.zeros((k, X.shape[1]))
    beta = np.zeros((len(X), k))
    for i in order:
        f, c = W @ X[i], y[i]
        gradient = 1 - (f[c] - f)
        new = core.solve_block(machine, "newton", gradient, beta[i], float(X[i] @ X[i]), C, int(c))
        change = new - beta[i]
        change[c] = 0
        W -= np.outer(change, X[i])
        W[c] += change.sum() * X[i]
        beta[i] = new
    return W


@pytest.mark.parametrize("machine", ["ww", "cs"])
def test_a_pass_visits_every_example_and_every_class_once(
    machine: str, many_classes: tuple[Any, Any]
) -> None:
    """One order of the rows, and no other, explains one pass."""
    X, y = many_classes[0][:6], np.arange(6)
    params = {"machine": machine, "C": 0.5, "fit_intercept": False, "solver": PLAIN}
    once = passes_of(LinearSVM(**params, random_state=1), X, y, 1)
    errors = [
        np.abs(plain_descent(X, y, 0.5, order, machine) - once.coef_).max()
        for order in permutations(range(6))
    ]
    assert sorted(errors)[0] < 1e-10 < sorted(errors)[1]


@pytest.mark.parametrize("machine", ["ww", "cs", "ovr"])
def test_passes_are_counted_by_all_examples(machine: str, many_classes: tuple[Any, Any]) -> None:
    X, y = many_classes
    solver = BlockDescent(shrinking=False, class_lists=False, second_order=False, history="passes")
    model = passes_of(LinearSVM(machine, C=10.0, solver=solver, random_state=0), X, y, 3)
    assert model.n_iter_ == 3
    assert model.history_["epoch"].tolist() == [1, 2, 3]
    assert np.all(model.history_["active"] == len(X))


def test_each_switch_changes_the_path(many_classes: tuple[Any, Any]) -> None:
    X, y = many_classes

    def coef(data: tuple[Any, Any], count: int, **switches: bool) -> Any:
        off = {"shrinking": False, "class_lists": False, "second_order": False}
        model = LinearSVM("ww", C=10.0, solver=BlockDescent(**off | switches), random_state=0)
        return passes_of(model, *data, count).coef_

    plain = coef((X, y), 8)
    np.testing.assert_array_equal(coef((X, y), 8), plain)
    assert not np.array_equal(coef((X, y), 8, class_lists=True), plain)
    few = load_satimage()
    few = few.X_train[::8], few.y_train[::8]
    long = coef(few, 200)
    assert not np.array_equal(coef(few, 200, shrinking=True), long)
    # Steps of second order are left for when most examples are at rest.
    shrunk = coef(few, 200, shrinking=True)
    assert not np.array_equal(coef(few, 200, shrinking=True, second_order=True), shrunk)


@pytest.mark.parametrize("machine", ["adm", "atm", "llw", "ats"])
def test_small_ill_conditioned_problems_converge(machine: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 20)) * 10 ** (-2 * np.arange(20) / 20)
    y = rng.integers(8, size=80)
    weights = rng.uniform(0.1, 3, size=80)
    model = LinearSVM(machine, tol=1e-8, max_iter=10_000, random_state=0).fit(X, y, weights)
    assert model.converged_


# Records after passes


def test_records_of_passes_leave_the_fit_as_it_is() -> None:
    data = load_satimage()
    models = [
        LinearSVM("cs", C=0.1, solver=BlockDescent(history=history), random_state=0).fit(
            data.X_train, data.y_train
        )
        for history in ("checks", "passes")
    ]
    np.testing.assert_array_equal(models[0].coef_, models[1].coef_)
    history = models[1].history_
    assert np.all(np.diff(history["epoch"]) > 0)
    assert np.all(np.diff(history["seconds"]) > 0)
    assert len(history) >= np.floor(history["epoch"][-1])
    assert history["gap"][-1] == models[1].dual_gap_
    assert np.all(history["dual"] <= models[1].primal_objective_)


@pytest.mark.parametrize(
    "solver", [solvers.SMO, S2DO, CrammerSinger], ids=lambda solver: solver.name
)
def test_records_of_passes_of_kernel_solvers(solver: Any, crowd: tuple[Any, Any]) -> None:
    params = {"machine": "cs", "C": 10.0, "gamma": 0.3, "tol": 1e-4, "random_state": 0}
    checks = KernelSVM(**params, solver=solver()).fit(*crowd)
    passes = KernelSVM(**params, solver=solver(history="passes")).fit(*crowd)
    np.testing.assert_array_equal(checks.dual_coef_, passes.dual_coef_)
    whole = 1 + np.arange(len(passes.history_))
    assert passes.history_["epoch"][:-1].tolist() == whole[:-1].tolist()
    assert whole[-1] - 1 < passes.history_["epoch"][-1] <= whole[-1]
    assert np.all(np.diff(passes.history_["dual"]) >= 0)


def test_the_clock_stands_still_while_objectives_are_computed() -> None:
    """What examples left out need to be checked are rows of the kernel, which are slow here."""
    data = load_letter()
    X, y = data.X_train[:400], data.y_train[:400]
    seconds = 0.0005
    calls = []

    def kernel(A: Any, B: Any) -> Any:
        if len(A) == 1:
            calls.append(1)
            time.sleep(seconds)
        return np.exp(-2 * ((A[:, None] - B) ** 2).sum(axis=2))

    def run(history: str) -> tuple[int, float]:
        calls.clear()
        began = time.perf_counter()
        model = KernelSVM("ww", C=10.0, kernel=kernel, solver=S2DO(history=history))
        model.set_params(cache_size=0.02, stopping="kkt", tol=0.05).fit(X, y)
        return len(calls), time.perf_counter() - began - model.history_["seconds"][-1]

    (needed, _), (with_records, outside) = run("checks"), run("passes")
    assert with_records > needed
    assert outside >= seconds * (with_records - needed)


# Crammer and Singer


def test_version_1_visits_examples_without_a_look_at_their_conditions(
    crowd: tuple[Any, Any],
) -> None:
    """One pass in turn is as long as there are rows, though most violate nothing at the end."""
    in_turn = CrammerSinger(selection="cyclic", active_set=False, cooling="none", cache="none")
    params = {"machine": "cs", "C": 1.0, "gamma": 0.3, "random_state": 0}
    reached = KernelSVM(**params, solver=in_turn, tol=1e-3).fit(*crowd)
    by_violation = KernelSVM(**params, solver=CrammerSinger(), tol=1e-3).fit(*crowd)
    assert reached.converged_
    assert reached.n_iter_ == reached.history_["epoch"][-1]  # whole passes
    assert reached.n_iter_ > 2 * by_violation.n_iter_
    assert np.all(reached.history_["active"] == len(crowd[0]))


def test_version_1_goes_through_the_rows_in_order(seed: int) -> None:
    rows = []
    X = np.random.default_rng(seed).normal(size=(12, 3))
    y = np.arange(12) % 3

    def kernel(A: Any, B: Any) -> Any:
        if len(A) == 1:
            rows.extend(np.flatnonzero((A[0] == X).all(axis=1)))
        return A @ B.T

    model = KernelSVM(
        "cs", kernel=kernel, solver=CrammerSinger(selection="cyclic", cache="none"), tol=1e-9
    )
    passes_of(model, X, y, 1)
    assert rows == list(range(12))


@pytest.mark.parametrize("selection", ["kkt", "cyclic", "random"])
@pytest.mark.parametrize("weighted", [False, True])
def test_one_vs_rest_through_the_same_solver(
    selection: str, weighted: bool, crowd: tuple[Any, Any], seed: int
) -> None:
    weights = np.random.default_rng(seed).uniform(0.5, 2, len(crowd[0])) if weighted else None
    params = {"machine": "ovr", "C": 2.0, "gamma": 0.3, "random_state": 0}
    exact = KernelSVM(**params, tol=1e-9).fit(*crowd, weights)
    solver = CrammerSinger(selection=selection)
    model = KernelSVM(**params, solver=solver, tol=1e-6).fit(*crowd, weights)
    assert model.converged_
    assert model.primal_objective_ == pytest.approx(exact.primal_objective_, rel=2e-6)
    assert model.dual_objective_ <= exact.primal_objective_
    assert np.all(model.history_["dual"] <= exact.primal_objective_)
    assert np.all(model.history_["primal"] >= exact.dual_objective_)
    np.testing.assert_allclose(
        model.class_scores(crowd[0]), exact.class_scores(crowd[0]), atol=1e-2
    )


def test_one_vs_rest_has_converged_where_all_classes_together_have(seed: int) -> None:
    """Some classes may end at their limit of passes."""
    X = np.random.default_rng(seed).normal(size=(40, 4))
    solver = CrammerSinger(cooling="exponential", tol=1e-8)
    params = {"gamma": 0.5, "solver": solver, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for limit in (2, 20):
            model = KernelSVM("ovr", **params, max_iter=limit).fit(X, np.arange(40))
            assert model.converged_ == (model.dual_gap_ <= 1e-3)
            assert model.n_iter_ <= limit
    assert model.converged_


def test_interrupted_one_vs_rest_is_certified(
    seed: int, interrupt_after: Callable[[float], None]
) -> None:
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(2000, 30)), rng.integers(0, 5, 2000)
    model = KernelSVM("ovr", C=1e4, kernel="linear", tol=1e-12, solver="crammer-singer")
    interrupt_after(1.0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    scores, coef = model.class_scores(X), model.dual_coef_ @ X[model.support_]
    sign = np.where(y[:, None] == model.classes_, 1, -1)
    primal = 0.5 * np.square(coef).sum() + 1e4 * np.maximum(0, 1 - sign * scores).sum()
    assert model.primal_objective_ == pytest.approx(primal, rel=1e-9)
    assert 0 < model.dual_objective_ < primal
    assert not model.converged_


def test_the_fixed_point_is_called_with_half_of_the_accuracy() -> None:
    options = core.DecompositionOptions()
    CrammerSinger().apply(options)
    assert options.block_tol == 0  # the core's word for eps/2
    CrammerSinger(tol=1e-5).apply(options)
    assert options.block_tol == 1e-5


# Block solvers


def test_greedy_moves_the_worst_variable_alone() -> None:
    gradient = np.array([0.3, 2.0, 0.0, 0.5])
    new = core.solve_block("ww", "greedy", gradient, np.zeros(4), 2.0, 10.0, 2, 1e-3, 1)
    np.testing.assert_allclose(new, [0, 0.5, 0, 0])  # g/(2 q)


def test_greedy_stops_at_an_absolute_violation() -> None:
    gradient = np.array([0.3, 0.2, 0.0, -0.5])
    start = np.zeros(4)
    for threshold, moves in ((0.31, False), (0.29, True)):
        new = core.solve_block("ww", "greedy", gradient, start, 1.0, 10.0, 2, threshold)
        assert np.any(new != start) == moves


def test_greedy_aims_at_a_tenth_of_the_accuracy() -> None:
    options = core.LinearOptions()
    options.tol = 0.02
    Greedy().apply(options)
    assert options.block_tol == pytest.approx(0.002)
    Greedy(threshold=0.5).apply(options)
    assert options.block_tol == 0.5


def test_fixed_point_ends_where_the_figure_says() -> None:
    """Figure 3 on the simplex of all classes, own class included, to the last step."""
    rng = np.random.default_rng(0)
    for k in (3, 7, 20):
        C, q, y = 1.5, 2.0, 1
        f = rng.normal(size=k)
        gradient = 1 - (f[y] - f)
        D = f / q
        D[y] += C - 1 / q
        theta = D.min()
        for _ in range(10_000):
            theta = (np.maximum(theta, D).sum() - C) / k
        expected = np.maximum(0, D - theta)
        expected[y] = 0
        new = core.solve_block("cs", "fixed-point", gradient, np.zeros(k), q, C, y, 1e-14, 10_000)
        np.testing.assert_allclose(new, expected, atol=1e-12)
    assert FixedPoint().max_iter == 0


def test_options_come_in_the_order_of_the_documentation() -> None:
    assert solvers.SMO(False) == solvers.SMO(shrinking=False)
    assert CrammerSinger("cyclic", False) == CrammerSinger(selection="cyclic", active_set=False)
