"""A grid search whose fits run on the workers of another scheduler."""

import joblib
import pytest
from sklearn.model_selection import GridSearchCV

from polymargin import LinearSVM
from polymargin.datasets import load_satimage

GRID = {"machine": ["ww", "cs"], "C": [0.01, 0.1]}


def test_grid_search_on_dask_finds_what_it_finds_alone() -> None:
    distributed = pytest.importorskip("distributed", reason="dask[distributed] is not installed")
    X, y, *_ = load_satimage()
    X, y = X[:600], y[:600]
    search = GridSearchCV(LinearSVM(random_state=0), GRID, cv=3)
    alone = search.fit(X, y)
    expected, best = alone.cv_results_["mean_test_score"], alone.best_params_
    with (
        distributed.Client(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=""),
        joblib.parallel_config("dask"),
    ):
        search.fit(X, y)
    assert search.cv_results_["mean_test_score"].tolist() == expected.tolist()
    assert search.best_params_ == best
