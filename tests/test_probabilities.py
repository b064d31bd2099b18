"""`predict_proba` of the estimators: the cross-fit behind it, and what goes with it."""

import os
import pickle
import signal
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import get_scorer
from sklearn.model_selection import TunedThresholdClassifierCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import polymargin
from polymargin import Checkpoint, KernelSVM, LinearSVM, resume
from polymargin.calibration import CALIBRATIONS, CrossFit, FoldPlan, Temperature
from polymargin.calibration._folds import row_keys
from polymargin.model_selection import nested_grid_search
from polymargin.streams import fit_stream

ESTIMATORS = [LinearSVM(random_state=0), KernelSVM(gamma=0.2, random_state=0)]
FITTED = ("classes_", "n_iter_", "dual_gap_", "primal_objective_", "dual_objective_", "converged_")


@pytest.fixture
def pair(seed: int) -> tuple[Any, Any]:
    """Two overlapping classes."""
    X, y = make_blobs(120, 3, centers=2, cluster_std=4.0, random_state=seed)
    return (X - X.mean(axis=0)) / X.std(axis=0), np.array(["no", "yes"])[y]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_there_are_none_without_calibration(estimator: Any, blobs: Any) -> None:
    model = clone(estimator).fit(*blobs)
    assert not hasattr(model, "predict_proba")
    assert not hasattr(model, "predict_log_proba")
    assert not hasattr(model, "calibrator_")
    model.set_params(calibration="sigmoid")
    with pytest.raises(NotFittedError, match="Call fit again"):
        model.predict_proba(blobs[0])


@pytest.mark.parametrize("name", CALIBRATIONS)
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_the_fit_to_all_rows_is_the_same_to_the_bit(estimator: Any, name: str, crowd: Any) -> None:
    X, y = crowd
    plain = clone(estimator).fit(X, y)
    model = clone(estimator).set_params(calibration=name).fit(X, y)
    for attribute in FITTED:
        np.testing.assert_array_equal(getattr(model, attribute), getattr(plain, attribute))
    np.testing.assert_array_equal(model.class_scores(X), plain.class_scores(X))
    np.testing.assert_array_equal(model.duals_.toarray(), plain.duals_.toarray())
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))
    p = model.predict_proba(X)
    assert p.shape == (300, 4)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), p, rtol=1e-9)
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-12)
    if name == "temperature":
        np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(X))


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
@pytest.mark.parametrize("machine_name", ["ww", "llw"])
def test_scores_are_those_of_models_that_have_not_seen_the_rows(
    estimator: Any, machine_name: str, crowd: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = crowd
    seen: dict[str, Any] = {}

    def learn(scores: Any, labels: Any, weight: Any) -> Temperature:
        seen.update(scores=scores, labels=labels, weight=weight)
        return Temperature(1.0)

    monkeypatch.setattr(Temperature, "learn", staticmethod(learn))
    model = clone(estimator).set_params(machine=machine_name, tol=1e-9, max_iter=100_000)
    model.set_params(calibration="temperature", fit_intercept=True)
    model.fit(X, y)
    plan = FoldPlan.of(X, y.astype(np.int32), "temperature")
    fold = plan.deal(int(np.random.RandomState(0).randint(2**31 - 1)))
    assert np.array_equal(seen["labels"], y)
    assert np.all(seen["weight"] == 1)
    for number in range(5):
        held = fold == number
        part = clone(model).set_params(calibration=None).fit(X[~held], y[~held])
        np.testing.assert_allclose(seen["scores"][held], part.class_scores(X[held]), atol=1e-4)


def test_kernel_values_are_shared_where_there_is_room(crowd: Any) -> None:
    X, y = crowd
    n_values = 0

    def product(A: Any, B: Any) -> Any:
        nonlocal n_values
        n_values += len(A) * len(B)
        return A @ B.T

    options: dict[str, Any] = {"calibration": "temperature", "tol": 1e-6, "random_state": 0}
    T = KernelSVM(kernel="linear", **options).fit(X, y).calibrator_.T
    taken = {}
    for cache_size in (1024, 0.5):
        n_values = 0
        model = KernelSVM(kernel=product, cache_size=cache_size, **options)
        clone(model).set_params(calibration=None).fit(X, y)
        before, n_values = n_values, 0
        model.fit(X, y)
        assert pytest.approx(T, rel=1e-3) == model.calibrator_.T
        taken[cache_size] = n_values - before
    once = len(X) ** 2
    assert once <= taken[1024] <= 1.3 * once  # and what the diagonal takes
    assert taken[0.5] > 2 * once


@pytest.mark.parametrize("name", CALIBRATIONS)
def test_kernels_agree(name: str, blobs: Any) -> None:
    X, y = blobs
    options: dict[str, Any] = {"calibration": name, "tol": 1e-9, "random_state": 0}
    one = KernelSVM(kernel="linear", **options).fit(X, y).predict_proba(X)
    K = X @ X.T
    given = KernelSVM(kernel="precomputed", **options)
    rows = KernelSVM(kernel="linear", **options).fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(rows.predict_proba(sparse.csr_array(X)), one, atol=1e-4)
    p = given.fit(K, y).predict_proba(K)  # other folds: the rows of K are others
    np.testing.assert_allclose(p.sum(axis=1), 1)
    few = given.fit(sparse.csr_array(K), y).predict_proba(K)
    np.testing.assert_allclose(few, p, atol=1e-4)


@pytest.mark.parametrize("name", CALIBRATIONS)
def test_two_classes(name: str, pair: Any) -> None:
    X, y = pair
    model = LinearSVM(calibration=name, random_state=0).fit(X, y)
    p = model.predict_proba(X)
    assert p.shape == (120, 2)
    order = np.argsort(model.decision_function(X))
    assert np.all(np.diff(p[order, 1]) >= 0)
    assert get_scorer("roc_auc")(model, X, y) > 0.5


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_single_precision(estimator: Any, crowd: Any) -> None:
    X, y = crowd
    for name in CALIBRATIONS:
        model = clone(estimator).set_params(calibration=name, tol=1e-5)
        X = X.astype(np.float32).astype(np.float64)  # equal rows have the same folds
        double = model.fit(X, y).predict_proba(X)
        single = model.fit(X.astype(np.float32), y).predict_proba(X)
        assert single.dtype == np.float32
        np.testing.assert_allclose(single, double, atol=0.05)
        np.testing.assert_allclose(single.sum(axis=1), 1, atol=1e-6)


def test_sparse_rows_and_other_orders_have_the_same_folds(blobs: Any) -> None:
    X, y = blobs
    X = np.round(X) + 0.0
    model = LinearSVM(calibration="temperature", tol=1e-9, random_state=0)
    T = clone(model).fit(X, y).calibrator_.T
    order = np.random.default_rng(1).permutation(len(y))
    for rows in (sparse.csr_array(X), np.asfortranarray(X)):
        assert pytest.approx(T, rel=1e-3) == clone(model).fit(rows, y).calibrator_.T
    assert pytest.approx(T, rel=1e-3) == clone(model).fit(X[order], y[order]).calibrator_.T


def test_keys_are_those_of_rows() -> None:
    X = np.array([[0.0, 1.0, -0.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    keys = row_keys(X)
    assert keys[0] == keys[1]
    assert len(np.unique(keys)) == 3
    np.testing.assert_array_equal(row_keys(sparse.csr_array(X)), keys)
    np.testing.assert_array_equal(row_keys(X.astype(np.float32)), keys)
    stored = sparse.csr_array((np.array([0.5, 0.0, 0.5]), np.array([1, 0, 1]), np.array([0, 3])))
    assert row_keys(sparse.csr_array(stored, shape=(1, 3)))[0] == keys[0]


def test_folds_hold_each_row_out_once_and_equal_rows_together(seed: int) -> None:
    random = np.random.default_rng(seed)
    y = np.r_[random.integers(3, size=200), [3] * 2, [4] * 3, 5].astype(np.int32)
    X = random.normal(size=(len(y), 2))
    X[190:200] = X[180:190]
    y[190:200] = y[180:190]
    plan = FoldPlan.of(X, y, "sigmoid")
    assert plan.n_folds == 5
    assert plan.single.tolist() == [5]
    assert plan.n_held_out == 195
    fold = plan.deal(seed)
    np.testing.assert_array_equal(fold[180:190], fold[190:200])
    assert np.all((fold == -1) == (y == 5))
    for number in range(5):
        assert set(y[fold != number]) == set(range(6))
        assert 36 <= np.sum(fold == number) <= 48
    assert np.any(plan.deal(seed + 1) != fold)


def test_few_rows(blobs: Any) -> None:
    model = LinearSVM(calibration="sigmoid", random_state=0)
    X, y = np.array([[0.0], [1.0], [5.0], [6.0], [9.0]]), [0, 0, 1, 1, 2]
    with (
        pytest.warns(UserWarning, match="the cross-fit has 2 folds"),
        pytest.warns(UserWarning, match="1 class.es. have one row, .* first is 2"),
    ):
        p = model.fit(X, y).predict_proba(X)
    assert np.all(np.isfinite(p))
    with pytest.raises(ValueError, match="no class has two rows that differ"):
        model.fit([[0.0], [0.0], [1.0]], [0, 0, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.set_params(calibration="temperature").fit(*blobs)


def test_weights(crowd: Any) -> None:
    X, y = crowd
    weight = np.random.default_rng(0).integers(0, 4, size=len(y)).astype(float)
    often = np.repeat(np.arange(len(y)), weight.astype(int))
    for name in CALIBRATIONS:
        model = LinearSVM(calibration=name, tol=1e-10, max_iter=100_000, random_state=0)
        p = clone(model).fit(X, y, weight).predict_proba(X)
        np.testing.assert_allclose(
            clone(model).fit(X[often], y[often]).predict_proba(X), p, atol=1e-4
        )
    # Class weights move the scores; probabilities stay those of the rows as they came.
    heavy = LinearSVM(calibration="sigmoid", class_weight={0: 10.0}, random_state=0).fit(X, y)
    share = np.bincount(y) / len(y)
    np.testing.assert_allclose(heavy.predict_proba(X).mean(axis=0), share, atol=0.05)
    assert np.mean(heavy.predict(X) == 0) > 1.2 * share[0]


def test_the_scale_of_weights_does_not_blur(crowd: Any) -> None:
    X, y = crowd
    model = LinearSVM(C=1.0, calibration="temperature", tol=1e-8, random_state=0)
    T = clone(model).fit(X, y).calibrator_.T
    small = clone(model).set_params(C=1e4).fit(X, y, np.full(len(y), 1e-4))
    assert pytest.approx(T, rel=1e-3) == small.calibrator_.T


def test_random_state(crowd: Any) -> None:
    def T(seed: Any) -> float:
        model = LinearSVM(calibration="temperature", tol=1e-8, random_state=seed)
        return float(model.fit(*crowd).calibrator_.T)

    assert T(1) == T(1)
    assert T(1) != T(2)
    assert T(1) == pytest.approx(T(2), rel=0.2)


def test_a_second_fit_forgets(blobs: Any, crowd: Any) -> None:
    model = LinearSVM(calibration="temperature", random_state=0).fit(*blobs)
    assert isinstance(model.calibrator_, Temperature)
    model.set_params(calibration=None).fit(*crowd)
    assert not hasattr(model, "calibrator_")
    model.set_params(calibration="temperature").fit(*crowd).set_params(calibration="isotonic")
    with pytest.raises(NotFittedError, match="has learnt calibration='temperature'"):
        model.predict_proba(crowd[0])
    assert not hasattr(clone(model), "calibrator_")
    kernel = KernelSVM(calibration="temperature").fit(*blobs).set_params(calibration=None)
    assert not hasattr(kernel.fit(*blobs), "calibrator_")


def test_warm_starts(crowd: Any) -> None:
    X, y = crowd
    model = LinearSVM(calibration="temperature", warm_start=True, tol=1e-6, random_state=0)
    T = model.fit(X, y).calibrator_.T
    model.fit(X, y)
    assert model.n_iter_ <= 2
    assert pytest.approx(T, rel=1e-3) == model.calibrator_.T


def test_streams_have_none(blobs: Any) -> None:
    X, y = blobs
    model = LinearSVM(calibration="temperature")
    assert not hasattr(model, "partial_fit")
    with pytest.raises(AttributeError) as caught:
        model.partial_fit(X, y, classes=[0, 1, 2])
    assert "a stream forgets its rows" in str(caught.value.__cause__)
    with pytest.raises(ValueError, match="a stream forgets its rows"):
        fit_stream(model, lambda: [(X, y)], [0, 1, 2])
    model.fit(X, y).set_params(calibration=None).partial_fit(X, y)
    assert not hasattr(model, "calibrator_")


def test_checkpoints(crowd: Any, tmp_path: Path) -> None:
    X, y = crowd
    file = tmp_path / "fit.ckpt"
    model = LinearSVM(
        calibration="temperature", checkpoint=Checkpoint(file, every=0), tol=1e-6, random_state=0
    )
    T = model.fit(X, y).calibrator_.T
    again = resume(file, X, y)
    assert again.calibration == "temperature"
    assert pytest.approx(T, rel=1e-3) == again.calibrator_.T


@pytest.mark.usefixtures("interrupt_after")  # for its handler
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_an_interrupt_of_the_cross_fit_keeps_the_fit(
    estimator: Any, crowd: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = crowd
    model = clone(estimator).set_params(calibration="temperature")
    plain = clone(estimator).fit(X, y)
    run = CrossFit.run

    def interrupted(self: CrossFit, fit_part: Any, duals: Any, seed: int) -> Any:
        def fit_one(*arguments: Any) -> Any:
            signal.raise_signal(signal.SIGINT)
            return fit_part(*arguments)

        return run(self, fit_one, duals, seed)

    monkeypatch.setattr(CrossFit, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))
    assert model.converged_
    with pytest.raises(NotFittedError, match="the fit was interrupted"):
        model.predict_proba(X)


def test_fits_that_miss_tol_are_told_of(crowd: Any) -> None:
    model = LinearSVM(C=100.0, calibration="temperature", max_iter=1, tol=1e-9, random_state=0)
    with pytest.warns(ConvergenceWarning, match="5 of 5 fits of the cross-fit"):
        model.fit(*crowd)
    assert model.predict_proba(crowd[0]).shape == (300, 4)


def test_scikit_learns_tools(crowd: Any, pair: Any) -> None:
    X, y = crowd
    model = make_pipeline(StandardScaler(), LinearSVM(calibration="sigmoid", random_state=0))
    assert cross_val_score(model, X, y, scoring="neg_log_loss").mean() > -np.log(4)
    assert cross_val_score(model, X, y, scoring="roc_auc_ovr").mean() > 0.5
    tuned = TunedThresholdClassifierCV(
        LinearSVM(calibration="temperature", random_state=0), scoring="balanced_accuracy"
    ).fit(*pair)
    assert 0 <= tuned.best_threshold_ <= 1
    assert set(tuned.predict(pair[0])) <= {"no", "yes"}


def test_metadata_is_routed(crowd: Any) -> None:
    from sklearn import config_context

    X, y = crowd
    weight = np.where(y == 0, 3.0, 1.0)
    with config_context(enable_metadata_routing=True):
        svm = LinearSVM(calibration="temperature", tol=1e-8, random_state=0)
        svm.set_fit_request(sample_weight=True)
        model = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), svm)
        routed = model.fit(X, y, sample_weight=weight).predict_proba(X)
    rows = StandardScaler().fit_transform(X)
    np.testing.assert_allclose(routed, clone(svm).fit(rows, y, weight).predict_proba(rows))


def test_models_pickle(crowd: Any) -> None:
    X, y = crowd
    for name in CALIBRATIONS:
        model = KernelSVM(calibration=name, random_state=0).fit(X, y)
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.filterwarnings("ignore:The best point lies on the border")
def test_a_grid_search_calibrates_the_best_alone(
    blobs: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = blobs
    runs = []
    run = CrossFit.run
    monkeypatch.setattr(CrossFit, "run", lambda self, *rest: runs.append(1) or run(self, *rest))
    for estimator in ESTIMATORS:
        search = nested_grid_search(
            clone(estimator).set_params(calibration="temperature"),
            X,
            y,
            log2_C=(-2, 2, 2),
            log2_gamma=None,
        )
        assert search.best_estimator_ is not None
        assert search.best_estimator_.predict_proba(X).shape == (60, 3)
    assert len(runs) == 2


def test_a_path_calibrates_each_model(blobs: Any) -> None:
    X, y = blobs
    fitted = polymargin.path(X, y, [0.1, 1.0], calibration="temperature", random_state=0)
    assert fitted.models[0].calibrator_.T != fitted.models[1].calibrator_.T


@pytest.mark.parametrize("name", CALIBRATIONS)
def test_probabilities_are_near_the_truth(name: str, seed: int) -> None:
    """Two Gaussian classes, whose probabilities are known."""
    random = np.random.default_rng(seed)
    y = random.integers(2, size=4000)
    X = random.normal(size=(4000, 1)) + y[:, None]
    model = LinearSVM(calibration=name, random_state=0).fit(X, y)
    at = np.linspace(-2, 3, 21)[:, None]
    truth = 1 / (1 + np.exp(0.5 - at[:, 0]))
    np.testing.assert_allclose(model.predict_proba(at)[:, 1], truth, atol=0.08)


def test_verbose_names_the_folds(blobs: Any, capfd: pytest.CaptureFixture[str]) -> None:
    LinearSVM(calibration="temperature", verbose=2, random_state=0).fit(*blobs)
    said = capfd.readouterr().err
    assert "calibration 1/5" in said
    assert "calibration 5/5" in said
    assert os.linesep in said


def test_unknown_names_are_refused(blobs: Any) -> None:
    with pytest.raises(ValueError, match="'calibration' parameter"):
        LinearSVM(calibration="platt").fit(*blobs)
