"""C = inf: optima that a general convex solver found, and classes that cannot be separated."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli_helpers import done, one_error, run
from reference.hard_margin_optima import (
    KERNELS,
    HardMarginProblem,
    gram,
    load_hard_margin_optima,
)
from scipy import sparse
from scipy.optimize import linprog
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale

import polymargin
from polymargin import KernelSVM, LinearSVM
from polymargin._machines import find_machine
from polymargin.errors import NotSeparableError
from polymargin.fit import FitTask
from polymargin.inspect import suspicious_labels
from polymargin.streams import fit_stream

TOL = 1e-9
PROBLEMS = load_hard_margin_optima()
LINEAR = [problem for problem in PROBLEMS if problem.kernel == "linear"]


@pytest.fixture
def wine() -> tuple[Any, Any]:
    X, y = load_wine(return_X_y=True)
    return scale(X), y


def fit(problem: HardMarginProblem, cls: Any = LinearSVM, X: Any = None, **params: Any) -> Any:
    params = {"C": np.inf, "tol": TOL, "random_state": 0} | params
    model = cls(problem.machine, fit_intercept=problem.fit_intercept, **params)
    return model.fit(problem.X if X is None else X, problem.y, problem.sample_weight)


def assert_optimal(model: Any, problem: HardMarginProblem, X: Any = None) -> None:
    primal, dual = model.primal_objective_, model.dual_objective_
    assert model.converged_
    assert model.dual_gap_ <= model.tol
    assert model.dual_gap_ == pytest.approx((primal - dual) / primal, abs=1e-12)
    # The stored objective is itself known to about 1e-9.
    assert primal == pytest.approx(problem.objective, rel=2 * model.tol + 1e-8)
    assert dual <= problem.objective * (1 + 1e-8)
    assert primal >= problem.objective * (1 - 1e-8)
    used = problem.sample_weight > 0
    scores = model.class_scores(problem.X if X is None else X)[used]
    length = np.sqrt(gram(problem.kernel, problem.X).diagonal().max() + problem.fit_intercept)
    room = length * np.sqrt(2 * model.tol * problem.objective) + 1e-5
    np.testing.assert_allclose(scores, problem.scores, atol=room)


def test_every_machine_is_stored_with_and_without_bias() -> None:
    assert len({problem.name for problem in PROBLEMS}) == len(PROBLEMS)
    assert len(PROBLEMS) == 9 * 3 * 2 * len(KERNELS)


@pytest.mark.parametrize("problem", LINEAR, ids=lambda problem: problem.name)
def test_linear_fit_reaches_the_optimum(problem: HardMarginProblem) -> None:
    model = fit(problem)
    assert_optimal(model, problem)
    weights = np.column_stack([model.coef_, model.intercept_])
    assert 0.5 * np.sum(weights**2) == pytest.approx(model.primal_objective_, rel=1e-12)
    assert_optimal(fit(problem, X=sparse.csr_array(problem.X)), problem)


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.name)
def test_kernel_fit_reaches_the_optimum(problem: HardMarginProblem) -> None:
    params = {"kernel": problem.kernel} | KERNELS[problem.kernel]
    assert_optimal(fit(problem, KernelSVM, **params), problem)


@pytest.mark.parametrize("problem", PROBLEMS[::5], ids=lambda problem: problem.name)
def test_precomputed_kernel_reaches_the_optimum(problem: HardMarginProblem) -> None:
    K = gram(problem.kernel, problem.X)
    assert_optimal(fit(problem, KernelSVM, K, kernel="precomputed"), problem, K)


@pytest.mark.parametrize("problem", LINEAR[::4], ids=lambda problem: problem.name)
@pytest.mark.parametrize("solver", ["block-descent", "second-order"])
def test_other_solvers_reach_the_optimum(problem: HardMarginProblem, solver: str) -> None:
    assert_optimal(fit(problem, solver=solver, tol=1e-5, max_iter=100_000), problem)


@pytest.mark.parametrize("problem", LINEAR[::4], ids=lambda problem: problem.name)
def test_stopping_by_kkt_violation(problem: HardMarginProblem) -> None:
    model = fit(problem, stopping="kkt", tol=1e-6, max_iter=1_000_000)
    assert model.converged_
    assert model.history_["violation"][-1] <= 1e-6
    assert model.primal_objective_ == pytest.approx(problem.objective, rel=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_margins_are_kept_and_duals_give_the_weights(
    machine: str, dtype: type, wine: tuple[Any, Any]
) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 40)).astype(dtype), np.arange(60) % 3
    X[np.arange(60), y] += 3
    model = LinearSVM(machine, np.inf, random_state=0).fit(X, y)
    assert model.converged_
    assert model.coef_.dtype == dtype
    scores = model.class_scores(X).astype(np.float64)
    info = find_machine(machine)
    own = scores[np.arange(60), y]
    others = scores[np.arange(3) != y[:, None]].reshape(60, 2)
    margins = own[:, None] - others if info.relative else -others
    if info.has_others:
        assert margins.min() >= 1 - 1e-5
    if info.has_own:
        assert own.min() / info.own_margin(3) >= 1 - 1e-5
    coef = model.duals_.T.astype(np.float64) @ np.c_[X, np.ones(60)]
    coef = coef - coef.mean(axis=0) * info.zero_sum
    tolerance = 1e-4 if dtype == np.float32 else 1e-9
    np.testing.assert_allclose(model.coef_, coef[:, :-1], rtol=tolerance, atol=tolerance)


def test_it_is_the_limit_of_finite_C(machine: str, wine: tuple[Any, Any]) -> None:
    X, y = wine
    hard = KernelSVM(machine, np.inf, tol=1e-8, random_state=0).fit(X, y)
    soft = KernelSVM(machine, 1e6, tol=1e-8, random_state=0).fit(X, y)
    assert hard.primal_objective_ == pytest.approx(soft.primal_objective_, rel=1e-6)


def test_history_ends_on_the_certificate(wine: tuple[Any, Any]) -> None:
    model = LinearSVM(C=np.inf, random_state=0).fit(*wine)
    last = model.history_[-1]
    assert (last["primal"], last["dual"]) == (model.primal_objective_, model.dual_objective_)
    assert last["gap"] == model.dual_gap_
    assert np.all(np.diff(model.history_["epoch"]) >= 0)
    assert model.n_iter_ == np.ceil(last["epoch"])


def test_weights_have_no_effect_unless_zero(wine: tuple[Any, Any]) -> None:
    X, y = wine
    plain = LinearSVM("cs", np.inf, tol=1e-8, random_state=0).fit(X, y)
    weight = np.linspace(0.1, 5, len(y))
    weighted = LinearSVM("cs", np.inf, tol=1e-8, class_weight="balanced", random_state=0)
    weighted.fit(X, y, weight)
    np.testing.assert_allclose(weighted.coef_, plain.coef_, atol=1e-5)
    some = LinearSVM("cs", np.inf, tol=1e-8, random_state=0).fit(X, y, weight * (y != 1))
    assert some.classes_.tolist() == [0, 2]
    assert some.primal_objective_ < 0.9 * plain.primal_objective_


def test_warm_start_goes_on(wine: tuple[Any, Any]) -> None:
    model = LinearSVM(C=np.inf, tol=1e-8, warm_start=True, random_state=0).fit(*wine)
    objective = model.primal_objective_
    again = model.fit(*wine)
    assert again.n_iter_ <= 1
    assert again.primal_objective_ == pytest.approx(objective, rel=1e-8)
    soft = model.set_params(C=1.0).fit(*wine)
    assert soft.converged_
    assert soft.primal_objective_ <= objective * (1 + 1e-8)


def test_path_may_end_on_it(wine: tuple[Any, Any]) -> None:
    fitted = polymargin.path(*wine, [np.inf, 0.1, 10.0], random_state=0)
    assert fitted.Cs.tolist() == [np.inf, 0.1, 10.0]
    objectives = [model.primal_objective_ for _, model in fitted]
    assert objectives[0] >= objectives[2] * (1 - 2e-3) > objectives[1]


def test_it_can_be_calibrated(wine: tuple[Any, Any]) -> None:
    model = KernelSVM(C=np.inf, calibration="temperature", random_state=0).fit(*wine)
    assert model.predict_proba(wine[0]).shape == (178, 3)


def test_a_fit_can_be_stored_and_inspected(tmp_path: Path, wine: tuple[Any, Any]) -> None:
    X, y = wine
    model = LinearSVM(C=np.inf, random_state=0).fit(X, y)
    polymargin.save(model, tmp_path / "m.safetensors", duals=True)
    again = polymargin.load(tmp_path / "m.safetensors")
    assert np.isinf(again.C)
    assert repr(again) == repr(model)
    np.testing.assert_array_equal(again.predict(X), y)
    found = suspicious_labels(again, X, y)
    assert len(found) > 0


def test_resumed_from_a_checkpoint(tmp_path: Path, wine: tuple[Any, Any]) -> None:
    file = tmp_path / "c.safetensors"
    model = LinearSVM(C=np.inf, checkpoint=file, random_state=0).fit(*wine)
    again = polymargin.resume(file, *wine)
    assert again.converged_
    assert np.isinf(again.C)
    assert again.dual_objective_ == pytest.approx(model.dual_objective_, rel=1e-3)


@pytest.mark.parametrize("name", ["ww", "cs", "llw", "adm", "ats", "atm", "rm", "ovr"])
@pytest.mark.parametrize(
    "estimator",
    [LinearSVM(C=np.inf), KernelSVM(C=np.inf, kernel="linear", fit_intercept=True)],
    ids=["linear", "kernel"],
)
def test_iris_cannot_be_separated(name: str, estimator: Any) -> None:
    X, y = load_iris(return_X_y=True)
    model = clone(estimator).set_params(machine=name, random_state=0)
    with pytest.raises(NotSeparableError, match="cannot be separated in float64: no") as caught:
        model.fit(scale(X), y)
    assert caught.value.margin < 1e-6
    rows = caught.value.rows
    assert y[rows[0]] in (1, 2)  # the first class stands apart
    assert str(rows[0]) in str(caught.value)
    assert "Set a finite C" in str(caught.value)
    assert not hasattr(model, "classes_")


def constraint_rows(machine: str, X: Any, y: Any) -> tuple[Any, Any]:
    """A and t of A vec(W) >= t."""
    info, k = find_machine(machine), int(y.max()) + 1
    rows, targets = [], []
    for x, own in zip(X, y.tolist(), strict=True):
        for c in range(k):
            if not (info.has_own if c == own else info.has_others):
                continue
            nu = np.eye(k)[c] * (1 if c == own else -1)
            if c != own and info.relative:
                nu[own] += 1
            rows.append(np.kron(nu - nu.mean() * info.zero_sum, x))
            targets.append(info.own_margin(k) if c == own else 1.0)
    return np.array(rows), np.array(targets)


def test_a_linear_program_agrees_on_what_can_be_separated(machine: str) -> None:
    rng = np.random.default_rng(8)
    answers = set()
    for _ in range(12):
        k, d = rng.integers(2, 5), rng.integers(1, 9)
        y = np.arange(24) % k
        X = 10.0 ** rng.integers(-3, 4) * (
            rng.choice([0.5, 5.0]) * rng.normal(size=(k, d))[y] + rng.normal(size=(24, d))
        )
        A, t = constraint_rows(machine, X, y)
        scaled = A / np.abs(A).max()
        free = linprog(np.zeros(A.shape[1]), A_ub=-scaled, b_ub=-t, bounds=(None, None))
        answers.add(free.status)
        model = LinearSVM(machine, np.inf, fit_intercept=False, random_state=0)
        if free.status == 0:
            assert model.fit(X, y).converged_
        else:
            with pytest.raises(NotSeparableError):
                model.fit(X, y)
    assert answers == {0, 2}


def test_the_error_can_be_sent_to_another_process() -> None:
    error = NotSeparableError("no", rows=np.array([1, 2]), margin=0.5)
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.rows.tolist(), again.margin) == ("no", [1, 2], 0.5)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_equal_rows_of_two_labels_are_named(container: Any) -> None:
    X = np.random.default_rng(0).normal(size=(30, 5))
    y = np.array(["a", "b", "{c}"] * 10)
    X[17] = X[6]
    weight = np.ones(30)
    weight[3] = 0  # rows are counted as they were given
    for model in (LinearSVM(C=np.inf), KernelSVM(C=np.inf)):
        with pytest.raises(NotSeparableError, match=r"row 6 and row 17 .* 'a', '{c}'") as caught:
            model.fit(container(X), y, weight)
        assert caught.value.rows.tolist() == [6, 17]


def test_a_row_of_zeros_is_named() -> None:
    X = np.random.default_rng(0).normal(size=(6, 8))
    X[4] = 0
    with pytest.raises(NotSeparableError, match="row 4, which is zero"):
        LinearSVM(C=np.inf, fit_intercept=False).fit(X, [0, 1, 2] * 2)
    assert LinearSVM(C=np.inf).fit(X, [0, 1, 2] * 2).converged_


def test_too_few_passes_are_told_from_a_proof(wine: tuple[Any, Any]) -> None:
    X, y = load_wine(return_X_y=True)
    with pytest.raises(
        NotSeparableError,
        match=r"found up to 1 pass at C = .*Raise max_iter, scale the features or",
    ):
        LinearSVM(C=np.inf, max_iter=1, random_state=0).fit(X, y)


def test_margins_that_single_precision_hides() -> None:
    X = np.array([[0.0], [1.0], [1.0001]])
    y = [0, 0, 1]
    assert LinearSVM(C=np.inf).fit(X, y).converged_
    with pytest.raises(NotSeparableError, match=r"in float32.*Pass float64 or set a finite C"):
        LinearSVM(C=np.inf).fit(X.astype(np.float32), y)


def test_separated_but_not_converged_warns() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 60)), np.arange(40) % 4
    with pytest.warns(ConvergenceWarning, match="set a finite C or loosen tol"):
        model = LinearSVM("ww", C=np.inf, tol=1e-12, max_iter=3, random_state=0).fit(X, y)
    assert not model.converged_
    assert model.dual_objective_ < model.primal_objective_ < np.inf
    assert model.score(X, y) == 1


@pytest.mark.parametrize("coef0", [-1.0, 0.0])  # a negative K_ii tells it at once, others later
@pytest.mark.filterwarnings("ignore::polymargin.kernel.IndefiniteKernelWarning")
def test_a_kernel_without_margins_is_refused(coef0: float) -> None:
    X, y = load_iris(return_X_y=True)
    model = KernelSVM(C=np.inf, kernel="sigmoid", gamma=1.0, coef0=coef0, random_state=0)
    with pytest.raises(ValueError, match="C=inf needs a positive semi-definite kernel"):
        model.fit(scale(X), y)


class Impatient:
    """A callback that stops or interrupts a fit at its first check."""

    def __init__(self, interrupts: bool) -> None:
        self._interrupts = interrupts

    def __call__(self) -> bool:
        if self._interrupts:
            raise KeyboardInterrupt
        return True


@pytest.mark.parametrize("interrupts", [False, True])
def test_stopped_before_classes_are_separated(
    interrupts: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = load_wine(return_X_y=True)
    stop = Impatient(interrupts)
    monkeypatch.setattr(FitTask, "is_watched", True)
    monkeypatch.setattr(FitTask, "check_done", lambda _: stop())
    model = LinearSVM(C=np.inf, random_state=0)
    if interrupts:
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y)
    else:
        model.fit(X, y)
    assert not model.converged_
    assert model.primal_objective_ == np.inf
    assert 0 < model.dual_objective_ < np.inf
    polymargin.save(model, tmp_path / "m.safetensors")
    assert polymargin.load(tmp_path / "m.safetensors").primal_objective_ == np.inf


def test_streams_refuse_it() -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="C=inf needs all rows at once"):
        LinearSVM(C=np.inf).partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="C=inf needs all rows at once"):
        fit_stream(LinearSVM(C=np.inf), lambda: [(X, y)], [0, 1, 2])


def write_csv(path: Path, X: Any, y: Any) -> Path:
    lines = [",".join([*map(str, x), f"c{label}"]) for x, label in zip(X, y, strict=True)]
    names = ",".join([*(f"f{j}" for j in range(X.shape[1])), "label"])
    path.write_text("\n".join([names, *lines]) + "\n")
    return path


def test_command_line(tmp_path: Path) -> None:
    data = write_csv(tmp_path / "wine.csv", *load_wine(return_X_y=True))
    model = tmp_path / "m.safetensors"
    summary = done("train", data, "-C", "inf", "--model", model, "--json", "--quiet").json
    assert summary["C"] == "inf"
    assert summary["converged"]
    assert "C = inf" in done("info", model).out
    assert done("info", model, "--json").json["parameters"]["C"] == "inf"
    fitted = done("path", data, "--Cs", "0.1,inf", "--json", "--quiet").json["path"]
    assert [record["C"] for record in fitted] == [0.1, "inf"]
    assert "inf" in done("path", data, "--Cs", "1,inf", "--plot", tmp_path / "p.png").out
    assert (tmp_path / "p.png").stat().st_size > 0
    done("inspect", model, data, "--report", tmp_path / "r.html")
    assert "inf" in (tmp_path / "r.html").read_text()
    assert "need a finite one" in one_error(run("bench", data, "-C", "inf"), 2)
    message = one_error(run("train", data, "-C", "inf", "--stream", "--model", model), 2)
    assert "a stream forgets its rows" in message


def test_command_line_names_what_cannot_be_separated(tmp_path: Path) -> None:
    data = write_csv(tmp_path / "iris.csv", *load_iris(return_X_y=True))
    model = tmp_path / "m.safetensors"
    message = one_error(run("train", data, "-C", "inf", "--model", model, "--quiet"), 3)
    assert "iris.csv: C=inf: the classes cannot be separated" in message
    assert not model.exists()


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("a.csv", "size,label\n1,a\n2,b\n\n2,c\n", "line 3 and line 5 are the same"),
        ("a.svm", "1 1:1\n2 1:2\n3 1:2\n", "line 2 and line 3 are the same"),
        ("a.txt", "a\tone\nb\ttwo\nc\ttwo\n", "line 2 and line 3 are the same"),
    ],
)
def test_command_line_names_lines(tmp_path: Path, name: str, text: str, told: str) -> None:
    data = tmp_path / name
    data.write_text(text)
    message = one_error(run("train", data, "-C", "inf", "--model", tmp_path / "m", "-q"), 3)
    assert f"{name}: C=inf: {told}" in message
    assert told in one_error(run("path", data, "--Cs", "1,inf", "-q"), 3)


def test_command_line_names_files_and_rows(tmp_path: Path) -> None:
    for label in "abc":
        folder = tmp_path / "texts" / label
        folder.mkdir(parents=True)
        (folder / "1.txt").write_text("one" if label == "a" else "two")
    out = ("--model", tmp_path / "m", "-q")
    message = one_error(run("train", tmp_path / "texts", "-C", "inf", *out), 3)
    assert "b/1.txt and c/1.txt are the same" in message
    np.savez(tmp_path / "a.npz", X=[[1.0], [2.0], [2.0]], y=[1, 2, 3])
    message = one_error(run("train", tmp_path / "a.npz", "-C", "inf", *out), 3)
    assert "row 2 and row 3 are the same" in message
