"""Nested grid search: the scores of direct fits, the winner of scikit-learn, what is shared."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from conftest import MACHINES
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.preprocessing import scale
from threadpoolctl import threadpool_info

from polymargin import KernelSVM, LinearSVM
from polymargin.model_selection import GridPoint, GridSearch, _fits, nested_grid_search
from polymargin.model_selection._gram import Pairs, SharedGrams, fit_on_gram

EXACT: dict[str, Any] = {"tol": 1e-9, "max_iter": 10**6, "random_state": 0}


def small_set(name: str) -> tuple[Any, Any]:
    load = {"iris": load_iris, "wine": load_wine, "digits": load_digits}[name]
    X, y = load(return_X_y=True)
    chosen = np.random.default_rng(0).permutation(len(y))[:200]
    return scale(X)[chosen], y[chosen]


def direct_scores(
    estimator: Any, X: Any, y: Any, folds: Any, weight: Any = None, **params: Any
) -> list[float]:
    """Accuracies of cold fits on rows, or on parts of a precomputed matrix."""
    scores = []
    for train, validation in folds:
        columns = train if getattr(estimator, "kernel", None) == "precomputed" else slice(None)
        model = clone(estimator).set_params(**params)
        model.fit(X[train][:, columns], y[train], None if weight is None else weight[train])
        part = None if weight is None else weight[validation]
        scores.append(model.score(X[validation][:, columns], y[validation], part))
    return scores


def assert_direct(search: GridSearch, estimator: Any, X: Any, y: Any, folds: Any) -> None:
    for point in search.points:
        expected = direct_scores(estimator, X, y, folds, **point.params)
        np.testing.assert_allclose(point.scores, expected, atol=1e-12, err_msg=str(point))
        assert point.mean_score == pytest.approx(np.mean(expected), abs=1e-12)
        assert point.std_score == pytest.approx(np.std(expected), abs=1e-12)


def folds_of(y: Any, n_folds: int = 3) -> list[Any]:
    return list(StratifiedKFold(n_folds, shuffle=True, random_state=0).split(np.zeros(len(y)), y))


# The same as fits one by one


@pytest.mark.parametrize("name", ["iris", "wine", "digits"])
def test_same_winner_and_scores_as_grid_search_cv(name: str) -> None:
    X, y = small_set(name)
    folds = folds_of(y, 5)
    estimator = KernelSVM("ww", **EXACT)
    grid = {"C": [2.0**e for e in (-4, -2, 0, 2)], "gamma": [2.0**e for e in (-9, -6, -3, 0)]}
    theirs = GridSearchCV(estimator, grid, cv=folds).fit(X, y)
    ours = nested_grid_search(
        estimator, X, y, log2_C=(-4, 2, 2), log2_gamma=(-9, 0, 3), refinements=0, cv=folds,
        race=None,
    )  # fmt: skip
    results = theirs.cv_results_
    means = {
        (params["C"], params["gamma"]): mean
        for params, mean in zip(results["params"], results["mean_test_score"], strict=True)
    }
    assert {(p.C, p.gamma) for p in ours.points} == set(means)
    for point in ours.points:
        assert point.mean_score == pytest.approx(means[point.C, point.gamma], abs=1e-12)
    C, gamma = min(means, key=lambda key: (-round(means[key], 12), *key))
    assert ours.best_params == {"machine": "ww", "C": C, "gamma": gamma}
    assert ours.n_fits == 16 * 5 + 1
    assert ours.best_score == pytest.approx(theirs.best_score_, abs=1e-12)


def test_linear_has_the_winner_and_scores_of_grid_search_cv() -> None:
    X, y = small_set("wine")
    folds = folds_of(y)
    estimator = LinearSVM(**EXACT)
    grid = {"C": [2.0**e for e in range(-12, 1)]}
    theirs = GridSearchCV(estimator, grid, cv=folds).fit(X, y).cv_results_["mean_test_score"]
    ours = nested_grid_search(
        estimator, X, y, log2_C=(-12, 0, 1), refinements=0, cv=folds, race=None
    )
    np.testing.assert_allclose([point.mean_score for point in ours.points], theirs, atol=1e-12)
    assert ours.best_params == {"machine": "ww", "C": grid["C"][int(np.argmax(theirs))]}


def twice_linear(left: Any, right: Any) -> Any:
    return 2 * (left @ right.T)


def spread(X: Any) -> Any:
    """A sparse matrix without empty rows (whose scores would tie): a third of it is stored."""
    columns = 3 * np.arange(X.shape[1]) + np.arange(len(X))[:, None] % 3
    rows = np.broadcast_to(np.arange(len(X))[:, None], X.shape)
    shape = len(X), 3 * X.shape[1]
    return sparse.csr_array((X.ravel(), (rows.ravel(), columns.ravel())), shape)


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize(
    "kernel", ["linear", "rbf", "laplacian", "poly", "normalized-poly", twice_linear]
)
def test_shared_kernels_score_like_direct_fits(
    kernel: Any, fit_intercept: bool, is_sparse: bool, blobs: tuple[Any, Any]
) -> None:
    X, y = blobs
    X = spread(X) if is_sparse else X
    folds = folds_of(y)
    model = KernelSVM("cs", kernel=kernel, coef0=1.0, fit_intercept=fit_intercept, **EXACT)
    gammas: dict[str, Any] = (
        {"log2_gamma": (-4, 0, 2)} if model.kernel not in ("linear", twice_linear) else {}
    )
    search = nested_grid_search(model, X, y, log2_C=(-4, 2, 3), cv=folds, race=None, **gammas)
    assert_direct(search, model, X, y, folds)


def test_precomputed_matrix_is_searched_over_C(blobs: tuple[Any, Any]) -> None:
    X, y = blobs
    K, folds = X @ X.T, folds_of(y)
    model = KernelSVM(kernel="precomputed", **EXACT)
    search = nested_grid_search(model, K, y, log2_C=(-4, 2, 3), cv=folds, matrix_size=0, race=None)
    assert_direct(search, model, K, y, folds)
    assert search.log2_gamma is None
    assert search.best_estimator_ is not None
    assert search.best_estimator_.predict(K).shape == y.shape


@pytest.mark.parametrize("make", [LinearSVM, KernelSVM])
def test_every_machine_scores_like_direct_fits(
    make: Callable[..., Any], blobs: tuple[Any, Any]
) -> None:
    X, y = blobs
    folds = folds_of(y)
    model = make(**EXACT)
    gammas: dict[str, Any] = {"log2_gamma": (-3, 0, 3)} if make is KernelSVM else {}
    search = nested_grid_search(
        model, X, y, machines=MACHINES, log2_C=(-4, 2, 3), cv=folds, refit=False, race=None,
        **gammas,
    )  # fmt: skip
    assert search.machines == tuple(MACHINES)
    assert {point.machine for point in search.points} == set(MACHINES)
    assert_direct(search, model, X, y, folds)


def test_weights_count_in_fits_and_scores(blobs: tuple[Any, Any]) -> None:
    X, y = blobs
    folds = folds_of(y)
    weight = np.random.default_rng(1).integers(0, 4, len(y)).astype(float)
    model = KernelSVM(class_weight={0: 2.0}, gamma="scale", **EXACT)
    options: dict[str, Any] = {
        "log2_C": (-4, 2, 3),
        "log2_gamma": None,
        "cv": folds,
        "refit": False,
        "race": None,
    }
    search = nested_grid_search(model, X, y, sample_weight=weight, **options)
    for point in search.points:
        assert point.gamma is None
        expected = direct_scores(model, X, y, folds, weight, **point.params)
        np.testing.assert_allclose(point.scores, expected, atol=1e-12)
    unweighted = nested_grid_search(model, X, y, **options)
    assert [p.scores for p in unweighted.points] != [p.scores for p in search.points]


# What is shared


def counted_row_fits(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    fitted: list[Any] = []
    fit = KernelSVM.fit

    def counting(self: Any, X: Any, *args: Any) -> Any:
        fitted.append(X)
        return fit(self, X, *args)

    monkeypatch.setattr(KernelSVM, "fit", counting)
    return fitted


def test_rows_are_fitted_where_the_matrix_does_not_fit(
    blobs: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = blobs
    fitted = counted_row_fits(monkeypatch)
    options: dict[str, Any] = {
        "log2_C": (-4, 2, 3),
        "log2_gamma": (-3, 0, 3),
        "cv": 3,
        "refit": False,
        "race": None,
    }
    needed = 3 * len(y) ** 2 * 8 / 2**20  # the distances, the values of one gamma, a fold
    shared = nested_grid_search(KernelSVM(**EXACT), X, y, matrix_size=needed, **options)
    assert len(fitted) == 0
    rows = nested_grid_search(KernelSVM(**EXACT), X, y, matrix_size=0.99 * needed, **options)
    assert len(fitted) == rows.n_fits
    assert [p.scores for p in rows.points] == [p.scores for p in shared.points]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_precision_of_the_rows_is_kept(
    dtype: Any, blobs: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = blobs
    seen = set()
    fit = fit_on_gram

    def watching(model: Any, kernel: Any, *args: Any) -> None:
        fit(model, kernel, *args)
        seen.update([kernel.matrix.dtype, model.dual_coef_.dtype, model.duals_.dtype])

    monkeypatch.setattr(_fits, "fit_on_gram", watching)
    search = nested_grid_search(
        KernelSVM(random_state=0), X.astype(dtype), y, log2_C=(-2, 2, 2), log2_gamma=(-4, 0, 2)
    )
    assert seen == {np.dtype(dtype)}
    assert search.best_estimator_ is not None
    assert search.best_estimator_.dual_coef_.dtype == dtype


def test_fits_along_C_start_from_the_fit_before(
    blobs: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = blobs
    started: list[bool] = []
    fit = fit_on_gram

    def watching(model: Any, *args: Any) -> None:
        started.append(hasattr(model, "_dual_state"))
        fit(model, *args)

    monkeypatch.setattr(_fits, "fit_on_gram", watching)
    options: dict[str, Any] = {
        "log2_gamma": (-4, 0, 2),
        "cv": 3,
        "refit": False,
        "refinements": 0,
        "race": None,
    }
    nested_grid_search(KernelSVM(random_state=0), X, y, log2_C=(-2, 2, 2), **options)
    assert started == [False, True, True] * 9


def test_matrices_are_given_up_after_their_last_use(blobs: tuple[Any, Any]) -> None:
    X, _ = blobs
    grams = SharedGrams(Pairs.of(KernelSVM(), X, 1))
    grams.announce([0.5, 1.0, 0.5])
    with grams.use(0.5) as first:
        assert set(grams._made) == {0.5}
    with grams.use(0.5) as second, grams.use(1.0) as other:
        assert second is first
        assert other is not first
    assert grams._made == {}


def test_matrices_wait_for_later_uses_where_there_is_room(blobs: tuple[Any, Any]) -> None:
    X, _ = blobs
    grams = SharedGrams(Pairs.of(KernelSVM(), X, 1), n_kept=1)
    grams.announce([0.5, 1.0])
    with grams.use(0.5):
        pass
    with grams.use(1.0) as last:
        assert set(grams._made) == {0.5, 1.0}
    assert set(grams._made) == {1.0}
    grams.announce([1.0])
    with grams.use(1.0) as again:
        assert again is last


def test_threads_change_nothing() -> None:
    X, y = small_set("wine")
    before = [(lib["filepath"], lib["num_threads"]) for lib in threadpool_info()]
    options: dict[str, Any] = {
        "machines": ["ww", "llw"],
        "log2_C": (-3, 3, 2),
        "log2_gamma": (-8, 0, 2),
    }
    for matrix_size in (2048, 0):
        alone, together = (
            nested_grid_search(
                KernelSVM(random_state=0), X, y, matrix_size=matrix_size, n_jobs=n_jobs, **options
            )
            for n_jobs in (1, 4)
        )
        assert alone.points == together.points
    after = [(lib["filepath"], lib["num_threads"]) for lib in threadpool_info()]
    assert after == before


# Grid and winner


def place(point: GridPoint) -> tuple[float, float]:
    """On both axes, where all logarithms of these tests are multiples of 1/4."""
    assert point.gamma is not None
    return round(np.log2(point.C), 9), round(np.log2(point.gamma), 9)


def test_refinements_halve_the_step_around_the_best_point() -> None:
    X, y = small_set("wine")
    low, high, step = -8.0, 1.5, 3.0
    search = nested_grid_search(
        KernelSVM(random_state=0),
        X,
        y,
        log2_C=(low, high, step),
        log2_gamma=(low, high, step),
        refinements=2,
        cv=3,
        race=None,
    )
    places = {level: {place(p) for p in search.points if p.level == level} for level in range(3)}
    coarse = (-8.0, -5.0, -2.0, 1.0)
    assert places[0] == set(itertools.product(coarse, coarse))
    known = set(places[0])
    for level in (1, 2):
        so_far = [p for p in search.points if p.level < level]
        best = min(so_far, key=lambda p: (-round(p.mean_score, 12), p.C, p.gamma))
        axes = [
            [
                x + j * step / 2**level
                for j in range(-2, 3)
                if low <= x + j * step / 2**level <= high
            ]
            for x in place(best)
        ]
        assert places[level] == set(itertools.product(*axes)) - known
        known |= places[level]
    assert search.n_fits == 3 * len(search.points) + 1


def test_each_machine_is_refined_around_its_own_best_point() -> None:
    X, y = small_set("digits")
    search = nested_grid_search(
        LinearSVM(random_state=0), X, y, machines=["ww", "mmr"], log2_C=(-12, 0, 4), cv=3,
        race=None,
    )  # fmt: skip
    for machine in ("ww", "mmr"):
        points = [p for p in search.points if p.machine == machine]
        best = min((p for p in points if p.level == 0), key=lambda p: (-p.mean_score, p.C))
        for point in points:
            assert point.level == 0 or abs(np.log2(point.C) - np.log2(best.C)) == 2
        assert search.best_of(machine).mean_score == max(p.mean_score for p in points)


def test_smallest_C_and_gamma_and_first_machine_of_equals() -> None:
    X = np.repeat([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]], 10, axis=0)
    y = np.repeat(["a", "b", "c"], 10)
    X += np.random.default_rng(0).normal(size=X.shape)
    search = nested_grid_search(
        KernelSVM(random_state=0), X, y, machines=["cs", "ww"], log2_C=(0, 4, 2),
        log2_gamma=(-4, -2, 1), refinements=0,
    )  # fmt: skip
    assert {point.mean_score for point in search.points} == {1.0}
    assert search.best_params == {"machine": "cs", "C": 1.0, "gamma": 2.0**-4}
    assert search.best_of("ww").params == {"machine": "ww", "C": 1.0, "gamma": 2.0**-4}


def test_estimator_is_left_alone_and_refitted_with_its_own_parameters(
    blobs: tuple[Any, Any],
) -> None:
    X, y = blobs
    model = KernelSVM("cs", C=3.0, gamma=0.7, cache_size=10, random_state=0)
    before = model.get_params()
    search = nested_grid_search(model, X, y, log2_C=(-2, 2, 2), log2_gamma=(-4, 0, 2))
    assert model.get_params() == before
    assert not hasattr(model, "classes_")
    assert search.best_estimator_ is not None
    assert search.best_estimator_.get_params() == before | search.best_params
    np.testing.assert_array_equal(
        search.best_estimator_.predict(X),
        clone(model).set_params(**search.best_params).fit(X, y).predict(X),
    )
    without = nested_grid_search(model, X, y, log2_C=(-2, 2, 2), log2_gamma=(-4, 0, 2), refit=False)
    assert without.best_estimator_ is None
    assert without.n_fits == search.n_fits - 1
    assert without.points == search.points


class Watcher:
    """A callback that notes the estimators whose fits it sees."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def setup(self, estimator: Any, context: Any) -> None: ...

    def teardown(self, estimator: Any, context: Any) -> None: ...

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        if estimator not in self.seen:
            self.seen.append(estimator)

    def on_fit_task_end(self, estimator: Any, context: Any, **kwargs: Any) -> None: ...


@pytest.mark.skipif(not hasattr(KernelSVM, "set_callbacks"), reason="needs scikit-learn 1.9")
@pytest.mark.parametrize("make", [LinearSVM, KernelSVM])
def test_callbacks_see_the_last_fit_only(make: Callable[..., Any], blobs: tuple[Any, Any]) -> None:
    watcher = Watcher()
    model = make(random_state=0).set_callbacks(watcher)
    gammas: dict[str, Any] = {"log2_gamma": (-3, 0, 3)} if make is KernelSVM else {}
    search = nested_grid_search(model, *blobs, log2_C=(-4, 2, 3), cv=3, refit=False, **gammas)
    assert watcher.seen == []
    search = nested_grid_search(model, *blobs, log2_C=(-4, 2, 3), cv=3, **gammas)
    assert watcher.seen == [search.best_estimator_]
