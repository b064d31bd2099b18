"""Weights of very many classes in lists: the same answers as an array of all, in less memory."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import polymargin
from polymargin import LinearSVM, core
from polymargin.fit import _descent
from polymargin.fit._problem import make_problem
from polymargin.fit._weights import choose_weights, sparse_bytes

MACHINES = {info.name: info for info in core.machines()}
SEARCHED = ("ww", "cs", "ovr")
# Descent alone: small problems are handed over to second-order steps.
LISTS: dict[str, Any] = {"weights": "sparse", "solver": "block-descent"}


def texts(
    n: int = 400, d: int = 300, k: int = 60, seed: int = 0
) -> tuple[sparse.csr_array, NDArray[Any]]:
    """Rows of unit length with ten features, half of them of their class."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    own = rng.integers(0, d, (k, 12))
    columns = np.where(
        rng.random((n, 10)) < 0.5, own[y[:, None], rng.integers(0, 12, (n, 10))],
        (d * rng.random((n, 10)) ** 2).astype(int),
    )  # fmt: skip
    X = sparse.csr_array(
        (rng.random(10 * n) + 0.1, columns.ravel(), np.arange(0, 10 * n + 1, 10)), shape=(n, d)
    )
    X.sum_duplicates()
    norms = np.sqrt(X.multiply(X).sum(axis=1))
    return sparse.csr_array(X / norms[:, None]), y


@pytest.fixture
def searching(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small problems are solved as large ones are: searches, or one class after the other."""
    plain = _descent.with_options
    monkeypatch.setattr(
        _descent, "with_options", lambda options, **changes: plain(
            options, **changes, searched_from=0.0, shared_from=0.0
        )
    )  # fmt: skip


@pytest.mark.parametrize("machine", MACHINES)
def test_the_same_optimum(machine: str) -> None:
    X, y = texts(n=150, d=100, k=40)
    models = {
        weights: LinearSVM(machine, C=0.5, tol=1e-4, weights=weights, random_state=0).fit(X, y)
        for weights in ("dense", "sparse")
    }
    dense, lists = models["dense"], models["sparse"]
    assert lists.converged_
    assert lists.primal_objective_ == pytest.approx(dense.primal_objective_, rel=2e-4)
    assert sparse.issparse(lists.coef_)
    assert lists.coef_.format == "csr"
    np.testing.assert_allclose(lists.coef_.toarray(), dense.coef_, atol=5e-2)


@pytest.mark.usefixtures("searching")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("machine", SEARCHED)
class TestSearches:
    def test_reach_the_optimum(self, machine: str, dtype: type) -> None:
        X, y = texts()
        X = X.astype(dtype)
        tol = 1e-4
        lists = LinearSVM(machine, tol=tol, **LISTS, random_state=0).fit(X, y)
        dense = LinearSVM(machine, tol=tol, weights="dense", random_state=0).fit(X, y)
        assert lists.converged_
        assert lists.coef_.dtype == dtype
        assert lists.coef_.has_sorted_indices
        assert lists.primal_objective_ == pytest.approx(dense.primal_objective_, rel=2 * tol)
        assert (lists.predict(X) == dense.predict(X)).mean() > 0.99

    def test_threads_end_on_the_same_objective(self, machine: str, dtype: type) -> None:
        X, y = texts(n=1500)
        X = X.astype(dtype)
        one, two = (
            LinearSVM(machine, **LISTS, n_jobs=jobs, random_state=0).fit(X, y) for jobs in (1, 2)
        )
        assert two.converged_
        assert two.primal_objective_ == pytest.approx(one.primal_objective_, rel=2e-3)

    def test_the_same_seed_gives_the_same_weights(self, machine: str, dtype: type) -> None:
        X, y = texts()
        first, second = (
            LinearSVM(machine, **LISTS, random_state=3).fit(X.astype(dtype), y) for _ in range(2)
        )
        assert (first.coef_ != second.coef_).nnz == 0


@pytest.mark.usefixtures("searching")
@pytest.mark.parametrize("machine", SEARCHED)
def test_weights_of_rows_and_classes(machine: str) -> None:
    X, y = texts()
    weight = np.random.default_rng(1).integers(1, 3, len(y)).astype(float)
    twice = np.repeat(np.arange(len(y)), weight.astype(int))
    options: dict[str, Any] = {"tol": 1e-6, "random_state": 0, "class_weight": {0: 3.0}}
    weighted = LinearSVM(machine, **LISTS, **options).fit(X, y, sample_weight=weight)
    repeated = LinearSVM(machine, weights="dense", **options).fit(X[twice], y[twice])
    assert weighted.primal_objective_ == pytest.approx(repeated.primal_objective_, rel=3e-6)


@pytest.mark.usefixtures("searching")
def test_warm_starts_and_paths() -> None:
    X, y = texts()
    model = LinearSVM(C=0.1, **LISTS, warm_start=True, random_state=0).fit(X, y)
    cold = LinearSVM(C=0.12, **LISTS, random_state=0).fit(X, y)
    warm = model.set_params(C=0.12).fit(X, y)
    assert warm.primal_objective_ == pytest.approx(cold.primal_objective_, rel=2e-3)
    assert warm.n_iter_ < cold.n_iter_
    steps = polymargin.path(X, y, [0.1, 1.0], **LISTS, random_state=0)
    assert all(sparse.issparse(step.coef_) for _, step in steps)


@pytest.mark.usefixtures("searching")
def test_a_checkpoint_is_gone_on_from(tmp_path: Path) -> None:
    X, y = texts()
    path = tmp_path / "fit.checkpoint"
    with pytest.warns(ConvergenceWarning):
        stopped = LinearSVM(**LISTS, tol=1e-5, max_iter=3, random_state=0, checkpoint=path).fit(
            X, y
        )
    with pytest.warns(ConvergenceWarning):
        resumed = polymargin.resume(path, X, y)
    assert resumed.n_iter_ > stopped.n_iter_
    assert resumed.dual_gap_ < stopped.dual_gap_
    assert sparse.issparse(resumed.coef_)


@pytest.mark.usefixtures("searching")
def test_models_are_copied_and_stored(tmp_path: Path) -> None:
    X, y = texts()
    model = LinearSVM("cs", **LISTS, random_state=0).fit(X, y)
    path = tmp_path / "model.safetensors"
    polymargin.save(model, path)
    for copy in (pickle.loads(pickle.dumps(model)), polymargin.load(path)):
        assert (copy.coef_ != model.coef_).nnz == 0
        assert (copy.predict(X) == model.predict(X)).all()
        assert (copy.predict_topk(X, 3)[:, 0] == model.predict(X)).all()


@pytest.mark.usefixtures("searching")
def test_too_dense_an_optimum_is_refused_with_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = texts(n=1000, k=1000)
    monkeypatch.setattr("polymargin.fit._linear.total_memory", lambda: 1e6)
    with pytest.raises(MemoryError, match=r"about \d+ MB.*Raise C"):
        LinearSVM(C=1e-4, **LISTS, tol=1e-9, random_state=0).fit(X, y)
    LinearSVM(C=10.0, **LISTS, tol=1e-2, random_state=0).fit(X, y)


class TestAutomaticChoice:
    def problem(self, n: int, d: int, k: int) -> Any:
        """Rows with one entry each."""
        X = sparse.csr_array(
            (np.ones(n, np.float32), np.arange(n) % d, np.arange(n + 1)), shape=(n, d)
        )
        y = np.arange(n) % k
        return make_problem(X, y, np.ones(n))

    @pytest.mark.parametrize(
        ("d", "machine", "expected"),
        [
            (1_000, "ww", "dense"),  # small
            (60_000, "ww", "sparse"),
            (60_000, "cs", "sparse"),
            (60_000, "ovr", "sparse"),
            (60_000, "llw", "dense"),  # zero-sum
        ],
    )
    def test_follows_the_sizes(self, d: int, machine: str, expected: str) -> None:
        problem = self.problem(4_000, d, 2_000)
        assert choose_weights("auto", problem, MACHINES[machine], False) == expected

    def test_is_not_asked_where_the_user_says(self) -> None:
        problem = self.problem(10, 10, 2)
        for weights in ("dense", "sparse"):
            assert choose_weights(weights, problem, MACHINES["ww"], True) == weights

    def test_frequent_features_are_rows_of_all_classes(self) -> None:
        assert sparse_bytes(np.array([1_000]), 1_000, 4) == 4_000
        assert sparse_bytes(np.array([1, 0]), 1_000, 4, listed=10.0) == 90
