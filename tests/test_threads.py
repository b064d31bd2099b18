"""Fits in several Python threads at once, and the meaning of n_jobs."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import joblib
import numpy as np
import pytest
from scipy import sparse

from polymargin import BlockDescent, LinearSVM
from polymargin._threads import count_threads
from polymargin.estimators import _linear
from polymargin.fit._linear import make_options


def test_fits_in_threads_are_the_same_as_alone(machine: str, blobs: tuple[Any, Any]) -> None:
    X, y = blobs
    models = [LinearSVM(machine, C=C, random_state=i) for i, C in enumerate((0.01, 0.1, 1.0, 0.1))]
    alone = [model.fit(X, y).coef_.copy() for model in models]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda model: model.fit(X, y).coef_.copy(), models))
    for expected, coef in zip(alone, together, strict=True):
        np.testing.assert_array_equal(coef, expected)


def test_one_thread_is_reproducible(machine: str, blobs: tuple[Any, Any]) -> None:
    first, second = (LinearSVM(machine, random_state=3).fit(*blobs) for _ in range(2))
    np.testing.assert_array_equal(first.coef_, second.coef_)


def test_two_threads_reach_the_same_optimum(machine: str, blobs: tuple[Any, Any]) -> None:
    models = [
        LinearSVM(machine, C=0.1, tol=1e-6, max_iter=10_000, n_jobs=n, random_state=0).fit(*blobs)
        for n in (1, 2)
    ]
    assert models[1].converged_
    assert models[1].primal_objective_ == pytest.approx(models[0].primal_objective_, rel=2e-6)


@pytest.mark.parametrize("machine", ["ww", "cs"])
def test_threads_that_share_a_sweep_reach_the_same_optimum(
    machine: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In rounds, as from 10^7 dual variables on: another path, the same each time."""
    rng = np.random.default_rng(seed)
    n, d, k = 1200, 600, 40  # many classes, and rows that hardly overlap
    X = sparse.random_array((n, d), density=0.05, rng=rng, data_sampler=rng.standard_normal)
    X = X.tocsr()
    y = np.argmax(X @ rng.normal(size=(d, k)) + rng.normal(size=(n, k)) / 2, axis=1)

    def fit(n_jobs: int, shared_from: float) -> LinearSVM:
        def options(*given: Any) -> Any:
            made = make_options(*given)
            made.shared_from = shared_from
            return made

        monkeypatch.setattr(_linear, "make_options", options)
        return LinearSVM(
            machine,
            C=0.5,
            fit_intercept=False,
            solver=BlockDescent(second_order=False),
            n_jobs=n_jobs,
            random_state=0,
        ).fit(X, y)

    alone, apart, two, again = (fit(*given) for given in [(1, 0.0), (2, 1e7), (2, 0.0), (2, 0.0)])
    np.testing.assert_array_equal(apart.coef_, alone.coef_)
    assert not np.array_equal(two.coef_, alone.coef_)
    np.testing.assert_array_equal(again.coef_, two.coef_)
    assert two.converged_
    assert two.dual_gap_ <= two.tol
    assert two.primal_objective_ >= alone.dual_objective_
    assert two.dual_objective_ <= alone.primal_objective_
    norm = 0.5 * np.sum(two.coef_**2)
    assert norm + 0.5 * loss_of(machine, two.class_scores(X), y) == pytest.approx(
        two.primal_objective_, rel=1e-9
    )


def loss_of(machine: str, scores: Any, y: Any) -> float:
    """The sum of the hinges of Weston and Watkins, or of the largest ones."""
    own = np.arange(scores.shape[1]) == y[:, None]
    hinges = np.where(own, 0.0, np.maximum(0.0, 1 - scores[own][:, None] + scores))
    return float((hinges.sum(axis=1) if machine == "ww" else hinges.max(axis=1)).sum())


def test_predictions_of_threads_agree(blobs: tuple[Any, Any]) -> None:
    X, y = blobs
    model = LinearSVM(random_state=0).fit(X, y)
    alone = model.class_scores(X)
    np.testing.assert_array_equal(model.set_params(n_jobs=2).class_scores(X), alone)


def test_none_is_one_thread() -> None:
    assert count_threads(None) == 1


def test_minus_one_is_all_cores() -> None:
    assert count_threads(-1) == joblib.cpu_count()


def test_positive_counts_are_taken_as_they_are() -> None:
    assert count_threads(3) == 3


def test_zero_jobs_is_an_error(blobs: tuple[Any, Any]) -> None:
    with pytest.raises(ValueError, match="n_jobs"):
        LinearSVM(n_jobs=0).fit(*blobs)


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_all_cores_is_one_thread_inside_a_joblib_worker(backend: str) -> None:
    counts = joblib.Parallel(2, backend=backend)(
        joblib.delayed(count_threads)(-1) for _ in range(2)
    )
    assert counts == [1, 1]


def test_none_follows_a_joblib_context() -> None:
    with joblib.parallel_config("threading", n_jobs=2):
        assert count_threads(None) == 2
