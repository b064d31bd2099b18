"""The papers' own solvers of kernel machines: optima, switches, interrupts."""

import signal
import time
import warnings
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from conftest import MACHINES, fit_at_once
from reference.kernel_optima import KERNELS, KernelProblem, load_kernel_optima
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

from polymargin import KernelSVM, core
from polymargin.kernel._decomposition import KernelRows
from polymargin.solvers import S2DO, SMO, CrammerSinger

FIXED_POINT_MACHINES = ["cs", "adm", "ovr"]  # one-vs-rest by two classes at a time
SOLVERS = ["smo", "s2do", "crammer-singer"]
DEFINED = [
    (solver, machine)
    for solver, machine in product(SOLVERS, MACHINES)
    if solver != "crammer-singer" or machine in FIXED_POINT_MACHINES
]
PROBLEMS = load_kernel_optima()


def fit(machine: str, solver: Any, data: tuple[Any, Any], **params: Any) -> KernelSVM:
    params = {"C": 1.0, "gamma": 0.3, "random_state": 0} | params
    return KernelSVM(machine, solver=solver, **params).fit(*data)


# Optima


@pytest.mark.parametrize(
    ("solver", "problem"),
    [pair for pair in product(SOLVERS, PROBLEMS) if (pair[0], pair[1].machine) in DEFINED],
    ids=lambda value: getattr(value, "name", value),
)
def test_stored_optima_are_reached(problem: KernelProblem, solver: str) -> None:
    # The fixed-point iteration gets no closer where C is large.
    inexact = solver == "crammer-singer"
    model = KernelSVM(
        problem.machine,
        problem.C,
        kernel=problem.kernel,
        fit_intercept=problem.fit_intercept,
        tol=5e-7 if inexact else 1e-9,
        solver=solver,
        random_state=0,
        **KERNELS[problem.kernel],
    ).fit(problem.X, problem.y, problem.sample_weight)
    assert model.converged_
    assert model.primal_objective_ == pytest.approx(problem.objective, rel=1e-6)
    assert model.dual_objective_ <= problem.objective * (1 + 1e-10)
    assert model.dual_gap_ <= model.tol


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("solver", "machine"), DEFINED)
def test_solvers_agree_with_blocks(
    solver: str, machine: str, dtype: type, crowd: tuple[Any, Any]
) -> None:
    data = crowd[0].astype(dtype), crowd[1]
    exact = fit(machine, "blocks", data, tol=1e-4)
    model = fit(machine, solver, data, tol=1e-4)
    assert model.converged_
    assert model.dual_coef_.dtype == dtype
    assert model.primal_objective_ == pytest.approx(exact.primal_objective_, rel=2e-4)
    assert model.dual_objective_ <= exact.primal_objective_
    np.testing.assert_allclose(model.class_scores(data[0]), exact.class_scores(data[0]), atol=0.2)


@pytest.mark.parametrize(("solver", "machine"), DEFINED)
def test_certificate_is_that_of_the_model(
    solver: str, machine: str, crowd: tuple[Any, Any]
) -> None:
    X, y = crowd
    model = fit(machine, solver, crowd, tol=1e-3)
    A, F = model.duals_.toarray(), model.class_scores(X)
    norm = float((A * F).sum())
    loss = model.primal_objective_ - 0.5 * norm
    assert loss >= 0
    blocks = fit(machine, "blocks", crowd, tol=1e-9)
    assert model.dual_objective_ <= blocks.primal_objective_ * (1 + 1e-9)
    assert model.primal_objective_ >= blocks.dual_objective_ * (1 - 1e-9)
    assert model.history_["gap"][-1] == model.dual_gap_
    assert np.all(np.diff(model.history_["dual"]) >= -1e-9)
    assert model.history_["active"][0] <= len(y)
    assert np.all(np.diff(model.history_["epoch"]) >= 0)


@pytest.mark.parametrize(("solver", "machine"), DEFINED)
def test_violation_stops_too(solver: str, machine: str, crowd: tuple[Any, Any]) -> None:
    model = fit(machine, solver, crowd, tol=1e-3, stopping="kkt")
    assert model.converged_
    assert model.history_["violation"][-1] <= 1e-3


@pytest.mark.parametrize("options", [SMO, S2DO])
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_shrinking_does_not_matter(
    options: Any, C: float, machine: str, crowd: tuple[Any, Any]
) -> None:
    shrunk = fit(machine, options(), crowd, C=C, tol=1e-6)
    plain = fit(machine, options(shrinking=False), crowd, C=C, tol=1e-6)
    assert shrunk.converged_
    assert plain.converged_
    assert shrunk.primal_objective_ == pytest.approx(plain.primal_objective_, rel=2e-6)
    assert np.all(plain.history_["active"] == 300)


def test_shrinking_leaves_examples_out(crowd: tuple[Any, Any]) -> None:
    model = fit("ww", "s2do", crowd, tol=1e-6)
    assert model.history_["active"].min() < 300


@pytest.mark.parametrize(("solver", "machine"), DEFINED)
def test_cache_of_two_rows_gives_the_same(
    solver: str, machine: str, crowd: tuple[Any, Any]
) -> None:
    large = fit(machine, solver, crowd)
    small = fit(machine, solver, crowd, cache_size=1e-6)
    np.testing.assert_array_equal(small.dual_coef_, large.dual_coef_)


# Paths


def path_of(machine: str, solver: Any, data: tuple[Any, Any]) -> list[int]:
    """The examples whose kernel rows the first n steps ask for, in order."""
    X = data[0]
    asked = []

    def kernel(A: Any, B: Any) -> Any:
        if len(A) == 1:
            asked.append(int(np.flatnonzero((X == A).all(axis=1))[0]))
        return rbf_kernel(A, B, gamma=0.3)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fit(machine, solver, data, kernel=kernel, cache_size=1e-6, tol=1e-9, max_iter=1)
    return asked


def test_s2do_goes_another_way_than_smo(machine: str, crowd: tuple[Any, Any]) -> None:
    """Where variables are joined by a maximum both move mass inside one example."""
    simplex = next(info.simplex for info in core.machines() if info.name == machine)
    one, two = (path_of(machine, solver, crowd) for solver in ("smo", "s2do"))
    assert (one == two) == simplex


@pytest.mark.parametrize("machine", ["cs", "adm"])
def test_every_switch_of_crammer_singer_changes_the_path(
    machine: str, crowd: tuple[Any, Any]
) -> None:
    switched: list[dict[str, Any]] = [{}, {"active_set": False}]
    switched += [{"cooling": word} for word in ("exponential", "linear", "none")]
    switched += [{"selection": word} for word in ("cyclic", "random")]
    paths = [tuple(path_of(machine, CrammerSinger(**switch), crowd)) for switch in switched]
    assert len(set(paths)) == len(paths)
    assert path_of(machine, CrammerSinger(), crowd) == list(paths[0])


# Switches of the solver of Crammer and Singer


@pytest.mark.parametrize("cooling", ["log", "exponential", "linear", "none"])
@pytest.mark.parametrize("active_set", [True, False])
@pytest.mark.parametrize("selection", ["kkt", "cyclic", "random"])
@pytest.mark.parametrize("stopping", ["gap", "kkt"])
def test_switches_of_crammer_singer(
    selection: str, active_set: bool, cooling: str, stopping: str, crowd: tuple[Any, Any]
) -> None:
    exact = fit("cs", "blocks", crowd, tol=1e-6)
    solver = CrammerSinger(selection=selection, active_set=active_set, cooling=cooling)
    model = fit("cs", solver, crowd, tol=1e-3, stopping=stopping)
    assert model.converged_
    assert model.primal_objective_ == pytest.approx(exact.primal_objective_, rel=2e-3)


def test_rows_without_a_cache_are_computed_anew(crowd: tuple[Any, Any]) -> None:
    def count(cache: str) -> tuple[int, Any]:
        calls = []

        def kernel(A: Any, B: Any) -> Any:
            calls.append(len(A))
            return rbf_kernel(A, B, gamma=0.3)

        model = fit("cs", CrammerSinger(cache=cache), crowd, kernel=kernel)
        return len(calls), model.dual_coef_

    cached, some = count("lru")
    uncached, others = count("none")
    assert cached <= 300 + 10
    assert uncached > 2 * cached
    np.testing.assert_array_equal(some, others)


@pytest.mark.parametrize(("cache", "most"), [("lru", 300), ("none", 2)])
def test_rows_without_a_cache_take_no_memory(
    cache: str, most: int, crowd: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    places = set()

    def fill(self: KernelRows, i: int, out: Any) -> None:
        places.add(out.ctypes.data)
        fill_row(self, i, out)

    fill_row = KernelRows.fill
    monkeypatch.setattr(KernelRows, "fill", fill)
    model = KernelSVM("cs", gamma=0.3, solver=CrammerSinger(cache=cache), warm_start=True)
    model.fit(*crowd)
    assert 2 <= len(places) <= most
    model.set_params(C=2.0).fit(*crowd)  # whose start needs the rows of all support vectors
    assert len(model.support_) > 100
    assert len(places) <= 2 * most
    assert (len(places) > 100) == (cache == "lru")


def test_random_order_repeats(crowd: tuple[Any, Any]) -> None:
    solver = CrammerSinger(selection="random")
    first, again = (fit("cs", solver, crowd, random_state=3) for _ in range(2))
    np.testing.assert_array_equal(first.dual_coef_, again.dual_coef_)
    other = fit("cs", solver, crowd, random_state=4)
    assert not np.array_equal(first.dual_coef_, other.dual_coef_)


# Options


@pytest.mark.parametrize("machine", [name for name in MACHINES if name not in FIXED_POINT_MACHINES])
def test_crammer_singer_lists_its_machines(machine: str, blobs: tuple[Any, Any]) -> None:
    message = (
        f"'crammer-singer' is not defined for machine '{machine}'; it is defined for cs, adm, ovr"
    )
    with pytest.raises(ValueError, match=message):
        fit(machine, "crammer-singer", blobs)


@pytest.mark.parametrize(
    ("cls", "field", "wrong"),
    [
        (SMO, "shrinking", "yes"),
        (S2DO, "shrinking", 2),
        (CrammerSinger, "selection", "greedy"),
        (CrammerSinger, "active_set", "no"),
        (CrammerSinger, "cooling", None),
        (CrammerSinger, "cache", "arc"),
        (CrammerSinger, "tol", 0.0),
        (CrammerSinger, "history", "steps"),
        (SMO, "history", None),
    ],
)
def test_bad_option_is_named(cls: Any, field: str, wrong: object) -> None:
    with pytest.raises(ValueError, match=f"{cls.__name__}: {field} must be"):
        cls(**{field: wrong})


def test_options_survive_clone_and_compare() -> None:
    options = CrammerSinger(cooling="linear", tol=1e-4)
    assert clone(KernelSVM("cs", solver=options)).solver == options
    assert S2DO() != SMO()


def test_unknown_solver_lists_the_known(blobs: tuple[Any, Any]) -> None:
    with pytest.raises(ValueError, match="known are auto, blocks, smo, s2do, crammer-singer"):
        fit("ww", "smo2", blobs)


# Warm starts, limits, interrupts


@pytest.mark.parametrize(("solver", "machine"), DEFINED)
def test_warm_start(solver: str, machine: str, crowd: tuple[Any, Any]) -> None:
    params = {"gamma": 0.3, "tol": 1e-5, "random_state": 0, "solver": solver}
    warm = KernelSVM(machine, warm_start=True, **params)
    for C in (0.1, 1.0, 0.5):
        warm.set_params(C=C).fit(*crowd)
        cold = KernelSVM(machine, C=C, **params).fit(*crowd)
        assert warm.converged_
        assert warm.primal_objective_ == pytest.approx(cold.primal_objective_, rel=3e-5)
    assert warm.fit(*crowd).n_iter_ == 0
    # What one solver has reached another takes over.
    assert warm.set_params(solver="blocks").fit(*crowd).n_iter_ == 0


@pytest.mark.parametrize(("solver", "machine"), DEFINED)
def test_max_iter_is_honoured_and_said(solver: str, machine: str, crowd: tuple[Any, Any]) -> None:
    with pytest.warns(ConvergenceWarning, match="after 2 passes at a relative duality gap of"):
        model = fit(machine, solver, crowd, C=1000.0, tol=1e-12, max_iter=2)
    assert model.n_iter_ == 2
    assert model.history_["epoch"][-1] == 2
    assert not model.converged_


@pytest.mark.parametrize(("solver", "machine"), DEFINED)
def test_limit_of_the_precision_ends(solver: str, machine: str, blobs: tuple[Any, Any]) -> None:
    data = blobs[0].astype(np.float32), blobs[1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = fit(machine, solver, data, tol=0.0)
    assert model.dual_gap_ < 1e-3


@pytest.mark.parametrize(("solver", "machine"), DEFINED)
@pytest.mark.parametrize("sign", [1, -1])
def test_indefinite_kernels_end(
    solver: str, machine: str, sign: int, crowd: tuple[Any, Any]
) -> None:
    X, y = crowd
    K = np.tanh(0.5 * X @ X.T - 1) if sign > 0 else -rbf_kernel(X, gamma=0.3)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = fit(machine, solver, (K, y), kernel="precomputed", C=10.0, max_iter=500)
    assert sum("not positive semi-definite" in str(w.message) for w in caught) == 1
    assert np.isnan(model.dual_gap_)
    assert np.all(np.isnan(model.history_["gap"]))
    assert np.all(np.isfinite(model.dual_coef_))
    assert model.predict(K).shape == y.shape


@pytest.mark.parametrize(("solver", "machine"), DEFINED)
def test_zero_diagonal_and_duplicate_rows(solver: str, machine: str) -> None:
    X = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    y = np.array([0, 1, 2, 2, 1])
    model = fit(machine, solver, (X, y), C=3.0, kernel="linear", tol=1e-8)
    assert model.dual_gap_ <= 1e-8


@pytest.mark.parametrize("solver", SOLVERS)
def test_interrupt_leaves_a_model(
    solver: str, seed: int, interrupt_after: Callable[[float], None]
) -> None:
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(2000, 30)), rng.integers(0, 5, 2000)
    model = KernelSVM("cs", C=1e4, kernel="linear", tol=1e-12, solver=solver, random_state=0)
    began = time.perf_counter()
    interrupt_after(1.0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert time.perf_counter() - began < 60  # it would run for minutes
    assert 0 < model.dual_gap_ < np.inf
    assert not model.converged_
    # What was stored is in order: a warm start from it begins where it ended.
    history = model.history_
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        again = model.set_params(warm_start=True, max_iter=1).fit(X, y)
    assert again.history_["dual"][0] == pytest.approx(history["dual"][-1], rel=1e-6)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


class OddError(Exception):
    """Of a user."""


@pytest.mark.parametrize("kind", [OddError, KeyboardInterrupt])
@pytest.mark.parametrize("solver", SOLVERS)
def test_exceptions_of_a_kernel_function_come_out(
    solver: str, kind: type[BaseException], crowd: tuple[Any, Any]
) -> None:
    calls = []

    def kernel(A: Any, B: Any) -> Any:
        calls.append(len(A))
        if len(calls) > 20:
            raise kind("no more")
        return rbf_kernel(A, B, gamma=0.3)

    with pytest.raises(kind, match="no more"):
        fit("cs", solver, crowd, kernel=kernel)


@pytest.mark.parametrize("solver", SOLVERS)
def test_several_fits_at_once(solver: str, crowd: tuple[Any, Any]) -> None:
    expected = fit("cs", solver, crowd).dual_coef_
    models = [KernelSVM("cs", gamma=0.3, solver=solver, random_state=0) for _ in range(3)]
    fit_at_once(models, *crowd)
    for model in models:
        np.testing.assert_array_equal(model.dual_coef_, expected)


@pytest.mark.parametrize("solver", SOLVERS)
def test_many_classes(solver: str, seed: int) -> None:
    X, y = make_blobs(200, 6, centers=40, cluster_std=2.0, random_state=seed)
    model = fit("cs", solver, (X, y), gamma=0.05, tol=1e-4)
    exact = fit("cs", "blocks", (X, y), gamma=0.05, tol=1e-4)
    assert model.primal_objective_ == pytest.approx(exact.primal_objective_, rel=2e-4)
