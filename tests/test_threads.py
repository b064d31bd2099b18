"""Fits in several Python threads at once, and the meaning of n_jobs."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import joblib
import numpy as np
import pytest

from polymargin import LinearSVM
from polymargin._threads import count_threads


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
