"""What every registered machine has to do, whatever its loss."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import MACHINES
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from polymargin import LinearSVM
from polymargin._machines import find_machine
from polymargin.block_solvers import BLOCK_SOLVERS
from polymargin.core._levels import usable_levels
from polymargin.solvers._linear import BlockDescent

# C of the binary machine and its weights, for two classes without a bias
DIFFERENCE = {"ww", "cs"}  # f = f1 - f0, C_binary = 2 C
SAME = {"ats", "ovr"}  # f = f1, C_binary = C; all others C / 2

SOLVERS = [(name, solver) for name in MACHINES for solver in find_machine(name).block_solvers]


def fit(X: Any, y: Any, machine: str, **params: Any) -> LinearSVM:
    """A model at the optimum."""
    params = {"C": 0.1, "tol": 1e-8, "max_iter": 100_000, "random_state": 0} | params
    sample_weight = params.pop("sample_weight", None)
    model: LinearSVM = LinearSVM(machine, **params).fit(X, y, sample_weight)
    assert model.converged_
    return model


def distance(gap: float, model: LinearSVM) -> float:
    """How far two models of relative gap `gap` can be apart: P is 1-strongly convex."""
    return float(2 * np.sqrt(2 * gap * model.primal_objective_))


def weights(model: LinearSVM) -> Any:
    return np.column_stack([model.coef_, model.intercept_])


def assert_same_model(a: LinearSVM, b: LinearSVM, gap: float = 1e-8) -> None:
    """Both optimal for the same problem, to relative gap `gap`."""
    assert a.primal_objective_ == pytest.approx(b.primal_objective_, rel=2 * gap)
    assert np.linalg.norm(weights(a) - weights(b)) <= distance(gap, a)


@pytest.fixture
def holes(seed: int) -> tuple[Any, Any]:
    """A dense array that is mostly zero, and labels of four classes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(50, 12)) * (rng.random((50, 12)) < 0.3)
    return X, np.arange(50) % 4


@pytest.mark.parametrize("C", [1e-3, 0.1, 1.0])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_gap_closes(machine: str, C: float, fit_intercept: bool, blobs: tuple[Any, Any]) -> None:
    model = fit(*blobs, machine, C=C, fit_intercept=fit_intercept)
    assert model.dual_gap_ <= 1e-8
    assert model.primal_objective_ >= model.dual_objective_ - 1e-12 * model.primal_objective_


# Containers


def sparse_layouts(X: Any) -> dict[str, Any]:
    layouts: dict[str, Any] = {}
    for form in ("csr", "csc", "coo"):
        layouts[f"{form}-array"] = sparse.csr_array(X).asformat(form)
        layouts[f"{form}-matrix"] = sparse.csr_matrix(X).asformat(form)
    for index in (np.int32, np.int64):
        wide = sparse.csr_array(X)
        wide.indices, wide.indptr = wide.indices.astype(index), wide.indptr.astype(index)
        layouts[np.dtype(index).name] = wide
    return layouts


@pytest.mark.parametrize("layout", sparse_layouts(np.eye(2)))
def test_sparse_is_dense(machine: str, layout: str, holes: tuple[Any, Any]) -> None:
    X, y = holes
    assert_same_model(fit(sparse_layouts(X)[layout], y, machine), fit(X, y, machine))


def dense_layouts(X: Any) -> dict[str, Any]:
    wide = np.zeros((2 * X.shape[0], 3 * X.shape[1]))
    wide[::2, ::3] = X
    return {
        "fortran": np.asfortranarray(X),
        "strided": wide[::2, ::3],
        "backwards": X[::-1, ::-1].copy()[::-1, ::-1],
    }


@pytest.mark.parametrize("layout", dense_layouts(np.eye(2)))
def test_strides_do_not_matter(machine: str, layout: str, blobs: tuple[Any, Any]) -> None:
    X, y = blobs
    assert_same_model(fit(dense_layouts(X)[layout], y, machine), fit(X, y, machine))


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_single_is_near_double(machine: str, container: Any, holes: tuple[Any, Any]) -> None:
    X, y = holes[0].astype(np.float32), holes[1]
    single = fit(container(X), y, machine, tol=1e-5)
    double = fit(container(X.astype(np.float64)), y, machine)
    assert single.coef_.dtype == np.float32
    assert single.dual_gap_ <= 1e-5
    assert_same_model(double, single, 1e-5)


# Symmetries of the problem


def test_weight_two_is_the_row_twice(machine: str, blobs: tuple[Any, Any]) -> None:
    X, y = blobs
    twice = np.arange(len(y)) % 3 == 0
    weighted = fit(X, y, machine, sample_weight=np.where(twice, 2.0, 1.0))
    repeated = fit(np.vstack([X, X[twice]]), np.concatenate([y, y[twice]]), machine)
    assert_same_model(weighted, repeated)


def test_permuted_classes_permute_the_answer(machine: str, blobs: tuple[Any, Any]) -> None:
    X, y = blobs
    order = np.array([2, 0, 1])
    model, permuted = fit(X, y, machine), fit(X, order[y], machine)
    assert permuted.primal_objective_ == pytest.approx(model.primal_objective_, rel=2e-8)
    difference = np.linalg.norm(weights(permuted)[order] - weights(model))
    assert difference <= distance(1e-8, model)


def test_two_classes_are_the_binary_machine(machine: str, blobs: tuple[Any, Any]) -> None:
    X, y, C = blobs[0], (blobs[1] == 0).astype(int), 0.5
    model = fit(X, y, machine, C=C, fit_intercept=False, tol=1e-12)
    factor = 2.0 if machine in DIFFERENCE else 1.0 if machine in SAME else 0.5
    binary = LinearSVC(
        loss="hinge", C=factor * C, fit_intercept=False, tol=1e-10, max_iter=10**7, random_state=0
    ).fit(X, y)
    w = model.coef_[1] - model.coef_[0] if machine in DIFFERENCE else model.coef_[1]
    np.testing.assert_allclose(w, binary.coef_[0], atol=2 * distance(1e-12, model))


# The same answer by every road


def test_same_seed_same_bits(machine: str, holes: tuple[Any, Any]) -> None:
    X, y = holes
    for rows in (X, X.astype(np.float32), sparse.csr_array(X)):
        first, second = (
            LinearSVM(machine, random_state=7, n_jobs=1).fit(rows, y) for _ in range(2)
        )
        np.testing.assert_array_equal(weights(first), weights(second))
        np.testing.assert_array_equal(first.duals_.toarray(), second.duals_.toarray())
        assert first.dual_gap_ == second.dual_gap_
        assert first.n_iter_ == second.n_iter_


def test_two_threads_reach_the_same_certificate(machine: str, blobs: tuple[Any, Any]) -> None:
    assert_same_model(fit(*blobs, machine, n_jobs=2), fit(*blobs, machine, n_jobs=1))


@pytest.mark.parametrize(("machine", "solver"), SOLVERS)
def test_block_solvers_reach_the_same_optimum(
    machine: str, solver: str, blobs: tuple[Any, Any]
) -> None:
    # Frank-Wolfe is sublinear in every block; the gap can fall no further than the tolerance of a
    # block solver that has one.
    gap = 1e-4 if solver == "frank-wolfe" else 1e-6
    options = {"tol": 1e-9} if solver in ("bisection", "fixed-point") else {}
    model = fit(*blobs, machine, tol=gap, block_solver=BLOCK_SOLVERS[solver](**options))
    assert model.dual_gap_ <= gap
    assert_same_model(fit(*blobs, machine), model, gap)


def test_shrinking_does_not_change_the_answer(machine: str, blobs: tuple[Any, Any]) -> None:
    models = [fit(*blobs, machine, solver=BlockDescent(shrinking=on)) for on in (True, False)]
    assert_same_model(*models)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_duals_make_the_weights(machine: str, fit_intercept: bool, holes: tuple[Any, Any]) -> None:
    X, y = holes
    model = fit(X, y, machine, fit_intercept=fit_intercept)
    constant = np.full((len(y), 1), float(fit_intercept))
    made = model.duals_.T @ np.hstack([X, constant])
    if find_machine(machine).zero_sum:
        made -= made.mean(axis=0)
    np.testing.assert_allclose(weights(model), made, rtol=1e-9, atol=1e-12)


# Stopping


@pytest.mark.parametrize("max_iter", [1, 3, 5])
def test_max_iter_is_honoured(machine: str, max_iter: int, blobs: tuple[Any, Any]) -> None:
    model = LinearSVM(machine, C=1.0, tol=0.0, max_iter=max_iter, random_state=0)
    with pytest.warns(ConvergenceWarning, match=f"after {max_iter} pass(es)? at"):
        model.fit(*blobs)
    assert model.n_iter_ == max_iter
    assert not model.converged_


def test_kkt_rule(machine: str, blobs: tuple[Any, Any]) -> None:
    tol = 1e-3
    model = fit(*blobs, machine, stopping="kkt", tol=tol, max_iter=10_000)
    assert model.history_["violation"][-1] <= tol


# SIMD levels

FIT_ALL = """
import json, sys
import numpy as np
from polymargin import LinearSVM, core

with np.load(sys.argv[1]) as file:
    X, y = file["X"], file["y"]
objectives = {}
for info in core.machines():
    model = LinearSVM(info.name, C=0.1, tol=1e-10, max_iter=100_000, random_state=0).fit(X, y)
    assert model.converged_
    objectives[info.name] = [model.primal_objective_, model.dual_objective_]
print(json.dumps([core.simd_level(), objectives]))
"""


@pytest.fixture(scope="module")
def objectives_here(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A file of a problem, and what each machine makes of it in this process."""
    # 9 classes fill no vector of any level
    X, y = make_blobs(90, 4, centers=9, cluster_std=3.0, random_state=0)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    file = tmp_path_factory.mktemp("simd") / "data.npz"
    np.savez(file, X=X, y=y)
    models = {name: fit(X, y, name, tol=1e-10) for name in MACHINES}
    return file, {
        name: [model.primal_objective_, model.dual_objective_] for name, model in models.items()
    }


@pytest.mark.parametrize("level", usable_levels())
def test_simd_levels_agree(level: str, objectives_here: tuple[Path, dict[str, Any]]) -> None:
    file, here = objectives_here
    run = subprocess.run(
        [sys.executable, "-c", FIT_ALL, str(file)],
        env=os.environ | {"POLYMARGIN_SIMD": level},
        capture_output=True,
        text=True,
        check=True,
    )
    used, there = json.loads(run.stdout)
    assert used == level
    assert sorted(there) == sorted(here)
    for name, objectives in there.items():
        assert objectives == pytest.approx(here[name], rel=1e-9)
