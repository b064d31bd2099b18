"""One-vs-rest with very many classes goes class by class: the answers are those of all together."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import polymargin
from polymargin import LinearSVM
from polymargin.fit import _descent

OVR: dict[str, Any] = {
    "machine": "ovr", "weights": "sparse", "solver": "block-descent", "random_state": 0
}  # fmt: skip


def texts(n: int = 600, d: int = 400, k: int = 80) -> tuple[sparse.csr_array, NDArray[Any]]:
    """Rows with a dozen features, some of them of their class, and one that is in all."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % k
    X = sparse.random_array((n, d), density=0.03, rng=rng, dtype=np.float32, format="lil")
    X[np.arange(n), y] = 0.5 + rng.random(n)
    X[:, d - 1] = 0.3
    return sparse.csr_array(X), y


@pytest.fixture(autouse=True)
def small_problems_go_class_by_class(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = _descent.with_options
    monkeypatch.setattr(
        _descent, "with_options",
        lambda options, **changes: plain(options, **changes, searched_from=0.0),
    )  # fmt: skip


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_the_same_answers_as_all_classes_together(C: float, fit_intercept: bool) -> None:
    X, y = texts()
    options: dict[str, Any] = {"C": C, "fit_intercept": fit_intercept, "tol": 1e-4}
    lists = LinearSVM(**OVR, **options).fit(X, y)
    dense = LinearSVM("ovr", weights="dense", random_state=0, **options).fit(X, y)
    assert lists.converged_
    assert lists.primal_objective_ == pytest.approx(dense.primal_objective_, rel=2e-4)
    assert (lists.predict(X) == dense.predict(X)).mean() > 0.99
    # What is claimed of the weights is true of them.
    scores = lists.class_scores(X).astype(float)
    hinges = np.maximum(0.0, 1.0 + np.where(np.arange(80) == y[:, None], -scores, scores))
    norm = (lists.coef_.astype(float) ** 2).sum() + (lists.intercept_.astype(float) ** 2).sum()
    assert lists.primal_objective_ == pytest.approx(norm / 2 + C * hinges.sum(), rel=1e-5)


def test_threads_give_the_same_model() -> None:
    X, y = texts()
    one, two = (LinearSVM(**OVR, n_jobs=jobs).fit(X, y) for jobs in (1, 2))
    assert (one.coef_ != two.coef_).nnz == 0
    np.testing.assert_array_equal(one.intercept_, two.intercept_)
    assert (one.duals_ != two.duals_).nnz == 0


def test_history_has_a_record_for_each_pass() -> None:
    X, y = texts()
    model = LinearSVM(**OVR, tol=1e-5).fit(X, y)
    dual = model.history_["dual"]
    assert (np.diff(dual) >= -1e-6 * dual[-1]).all()
    assert (np.diff(model.history_["epoch"]) <= 1).all()
    assert model.n_iter_ == np.ceil(model.history_["epoch"][-1])


def test_warm_starts_and_weights_of_rows() -> None:
    X, y = texts()
    weight = 1.0 + np.arange(len(y)) % 2
    model = LinearSVM(**OVR, tol=1e-6, warm_start=True).fit(X, y)
    warm = model.fit(X, y, sample_weight=weight)
    twice = np.repeat(np.arange(len(y)), weight.astype(int))
    repeated = LinearSVM(**OVR, tol=1e-6).fit(X[twice], y[twice])
    assert warm.primal_objective_ == pytest.approx(repeated.primal_objective_, rel=3e-6)


def test_a_checkpoint_is_gone_on_from(tmp_path: Path) -> None:
    X, y = texts()
    path = tmp_path / "fit.checkpoint"
    options: dict[str, Any] = {"tol": 1e-6, "max_iter": 2, "checkpoint": path}
    with pytest.warns(ConvergenceWarning):
        stopped = LinearSVM(**OVR, **options).fit(X, y)
    assert stopped.n_iter_ == 2
    with pytest.warns(ConvergenceWarning):
        resumed = polymargin.resume(path, X, y)
    assert resumed.dual_gap_ < stopped.dual_gap_


def test_an_interrupted_fit_is_certified(interrupt_after: Callable[[float], None]) -> None:
    X, y = texts(n=20_000, d=600, k=500)
    model = LinearSVM(**OVR, C=100.0, tol=1e-12)
    interrupt_after(0.5)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert not model.converged_
    assert 0 < model.dual_gap_ <= 1
    assert model.duals_.nnz > 0


def test_too_dense_an_optimum_is_refused_with_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = texts()
    monkeypatch.setattr("polymargin.fit._linear.total_memory", lambda: 2e5)
    with pytest.raises(MemoryError, match=r"about \d+ MB"):
        LinearSVM(**OVR, C=1e-4, fit_intercept=False).fit(X, y)
