"""Behaviour of LinearSVM that users of scikit-learn rely on."""

import copy
import pickle
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sklearn
from conftest import load_data
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import polymargin
from polymargin import LinearSVM
from polymargin._machines import find_machine
from polymargin.datasets import load_letter, load_satimage

HISTORY_FIELDS = ("epoch", "seconds", "primal", "dual", "gap", "violation", "active")
CERTIFICATE = ("n_iter_", "dual_gap_", "primal_objective_", "converged_", "history_", "duals_")


@pytest.fixture
def model(blobs: tuple[Any, Any]) -> LinearSVM:
    """A fitted model."""
    fitted: LinearSVM = LinearSVM(C=0.1, random_state=0).fit(*blobs)
    return fitted


# With the tools of scikit-learn


def test_pipeline_and_grid_search(blobs: tuple[Any, Any]) -> None:
    steps = make_pipeline(StandardScaler(), LinearSVM(random_state=0))
    grid = {"linearsvm__machine": ["ww", "cs"], "linearsvm__C": [0.01, 0.1]}
    search = GridSearchCV(steps, grid, cv=3).fit(*blobs)
    assert search.best_score_ > 0.5
    assert search.predict(blobs[0]).shape == blobs[1].shape


@pytest.mark.parametrize("n_classes", [2, 3])
def test_calibrated_probabilities(n_classes: int, blobs: tuple[Any, Any]) -> None:
    X, y = blobs[0], blobs[1] % n_classes
    calibrated = CalibratedClassifierCV(LinearSVM(C=0.1, random_state=0), cv=3).fit(X, y)
    np.testing.assert_allclose(calibrated.predict_proba(X).sum(axis=1), 1.0)


def test_metadata_routing(blobs: tuple[Any, Any]) -> None:
    X, y = blobs
    with sklearn.config_context(enable_metadata_routing=True):
        estimator = LinearSVM(random_state=0).set_fit_request(sample_weight=True)
        estimator.set_score_request(sample_weight=False)
        estimator.set_partial_fit_request(sample_weight=True, classes=True)
        weights = np.where(y == 0, 0.0, 1.0)
        scores = cross_validate(
            estimator, X, y, params={"sample_weight": weights}, cv=2, return_estimator=True
        )
    for fitted in scores["estimator"]:
        assert fitted.classes_.tolist() == [1, 2]


def test_clone_keeps_parameters() -> None:
    estimator = LinearSVM("cs", 2.0, block_solver=polymargin.Newton(), weights="sparse")
    assert clone(estimator).get_params() == estimator.get_params()


def test_unfitted_is_an_error() -> None:
    with pytest.raises(NotFittedError):
        LinearSVM().predict([[0.0]])
    assert not hasattr(LinearSVM(), "duals_")


@pytest.mark.parametrize(
    "duplicate", [lambda m: pickle.loads(pickle.dumps(m)), copy.deepcopy], ids=["pickle", "copy"]
)
def test_pickle_and_copy(
    duplicate: Callable[[Any], Any], machine: str, blobs: tuple[Any, Any]
) -> None:
    X, y = blobs
    model = LinearSVM(machine, C=0.1, warm_start=True, random_state=0).fit(X, y)
    same = duplicate(model)
    np.testing.assert_array_equal(same.class_scores(X), model.class_scores(X))
    np.testing.assert_array_equal(same.duals_.toarray(), model.duals_.toarray())
    np.testing.assert_array_equal(same.history_, model.history_)
    np.testing.assert_array_equal(same.fit(X, y).coef_, model.fit(X, y).coef_)


def test_pickle_names_no_simd_level(model: LinearSVM) -> None:
    assert b"_core_" not in pickle.dumps(model)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_feature_names(library: str, blobs: tuple[Any, Any]) -> None:
    frames = pytest.importorskip(library)
    names = ["a", "b", "c", "d"]
    X = frames.DataFrame({name: blobs[0][:, j] for j, name in enumerate(names)})
    if sklearn.__version__.startswith(("1.6", "1.7", "1.8")) and not hasattr(X, "__dataframe__"):
        pytest.skip("this scikit-learn knows frames by a protocol that polars 2 has given up")
    model = LinearSVM(random_state=0).fit(X, blobs[1])
    assert model.feature_names_in_.tolist() == names
    np.testing.assert_array_equal(model.predict(X), model.predict(X[names]))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X[["b", "a", "c", "d"]])


def test_wrong_number_of_features_is_an_error(model: LinearSVM) -> None:
    with pytest.raises(ValueError, match="X has 3 features, but LinearSVM is expecting 4"):
        model.predict(np.zeros((1, 3)))


# What a fit leaves


def test_fitted_attributes(machine: str, blobs: tuple[Any, Any]) -> None:
    X, y = blobs
    model = LinearSVM(machine, C=0.1, random_state=0).fit(X, y)
    assert model.coef_.shape == (3, 4)
    assert model.intercept_.shape == (3,)
    assert model.converged_
    assert 0 <= model.dual_gap_ <= 1e-3
    assert model.dual_gap_ == pytest.approx(
        (model.primal_objective_ - model.dual_objective_) / model.primal_objective_
    )
    np.testing.assert_array_equal(model.predict(X), model.class_scores(X).argmax(axis=1))
    np.testing.assert_array_equal(model.decision_function(X), model.class_scores(X))


def test_shapes_for_two_classes(machine: str, blobs: tuple[Any, Any]) -> None:
    X, y = blobs[0], blobs[1] > 0
    model = LinearSVM(machine, C=0.1, random_state=0).fit(X, y)
    assert model.coef_.shape == (2, 4)
    assert model.intercept_.shape == (2,)
    assert model.decision_function(X).shape == (60,)
    assert model.class_scores(X).shape == (60, 2)
    np.testing.assert_array_equal(model.predict(X), model.decision_function(X) > 0)


def test_history(machine: str, blobs: tuple[Any, Any]) -> None:
    model = LinearSVM(machine, C=0.1, random_state=0).fit(*blobs)
    assert model.history_.dtype.names == HISTORY_FIELDS
    last = model.history_[-1]
    assert last["gap"] == model.dual_gap_
    assert last["primal"] == model.primal_objective_
    assert last["dual"] == model.dual_objective_
    assert np.all(np.diff(model.history_["epoch"]) >= 0)
    assert np.all(np.diff(model.history_["seconds"]) >= 0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_duals_make_the_weights(
    dtype: type, fit_intercept: bool, machine: str, blobs: tuple[Any, Any]
) -> None:
    X, y = blobs[0].astype(dtype), blobs[1]
    weights = np.arange(len(y)) % 4 * 0.5  # a quarter of the rows has weight zero
    model = LinearSVM(machine, C=0.3, fit_intercept=fit_intercept, random_state=0)
    duals = model.fit(X, y, weights).duals_
    assert isinstance(duals, sparse.csr_array)
    assert duals.shape == (60, 3)
    assert duals.dtype == dtype
    assert not duals[weights == 0].nnz
    coef = duals.T.astype(np.float64) @ np.c_[X, np.full(len(X), fit_intercept)]
    if find_machine(machine).zero_sum:
        coef -= coef.mean(axis=0)
    tolerance = 1e-4 if dtype == np.float32 else 1e-9
    np.testing.assert_allclose(model.coef_, coef[:, :-1], rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(model.intercept_, coef[:, -1], rtol=tolerance, atol=tolerance)


def test_not_converged_warns_with_the_gap(machine: str, blobs: tuple[Any, Any]) -> None:
    with pytest.warns(ConvergenceWarning, match=r"gap of .* above tol=1e-15. (Raise|Lower)"):
        model = LinearSVM(machine, C=10.0, tol=1e-15, max_iter=1).fit(*blobs)
    assert not model.converged_
    assert model.dual_gap_ > 1e-15


def test_stopping_by_kkt_violation(machine: str, blobs: tuple[Any, Any]) -> None:
    model = LinearSVM(machine, C=0.1, stopping="kkt", tol=1e-4, random_state=0).fit(*blobs)
    assert model.converged_
    assert model.history_["violation"][-1] <= 1e-4


def test_float32_stays_float32(machine: str, blobs: tuple[Any, Any]) -> None:
    X, y = blobs[0].astype(np.float32), blobs[1]
    model = LinearSVM(machine, C=0.1, random_state=0).fit(X, y)
    assert model.coef_.dtype == model.intercept_.dtype == np.float32
    assert model.decision_function(X).dtype == np.float32
    double = LinearSVM(machine, C=0.1, random_state=0).fit(blobs[0], y)
    assert model.primal_objective_ == pytest.approx(double.primal_objective_, rel=2e-3)


def test_weight_two_is_the_row_twice(machine: str, blobs: tuple[Any, Any]) -> None:
    X, y = blobs
    weights = 1.0 + np.arange(len(y)) % 2
    params: dict[str, Any] = {"C": 0.1, "tol": 1e-9, "max_iter": 100_000, "random_state": 0}
    weighted = LinearSVM(machine, class_weight="balanced", **params).fit(X, y, weights)
    rows = np.repeat(np.arange(len(y)), weights.astype(int))
    repeated = LinearSVM(machine, class_weight="balanced", **params).fit(X[rows], y[rows])
    assert weighted.primal_objective_ == pytest.approx(repeated.primal_objective_, rel=1e-7)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-2, atol=1e-3)


def test_class_weight_is_a_factor_of_the_sample_weight(blobs: tuple[Any, Any]) -> None:
    X, y = blobs
    by_class = LinearSVM(C=0.1, class_weight={0: 3.0}, random_state=0).fit(X, y)
    by_row = LinearSVM(C=0.1, random_state=0).fit(X, y, np.where(y == 0, 3.0, 1.0))
    np.testing.assert_array_equal(by_class.coef_, by_row.coef_)


# Sparse weights


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array, sparse.csr_matrix])
def test_sparsify_and_densify(
    container: Callable[[Any], Any], model: LinearSVM, blobs: tuple[Any, Any]
) -> None:
    X = container(blobs[0])
    scores, coef = model.class_scores(X), model.coef_.copy()
    assert model.sparsify() is model
    assert isinstance(model.coef_, sparse.csr_array)
    np.testing.assert_allclose(model.class_scores(X), scores, atol=1e-12)
    np.testing.assert_array_equal(model.densify().coef_, coef)


def test_sparse_weights_after_fit(blobs: tuple[Any, Any]) -> None:
    model = LinearSVM(weights="sparse", random_state=0).fit(*blobs)
    assert sparse.issparse(model.coef_)
    assert sparse.issparse(model.fit(*blobs).coef_)
    model.partial_fit(*blobs)
    assert sparse.issparse(model.partial_fit(*blobs).coef_)


# While a fit runs


@pytest.mark.parametrize(("verbose", "shown"), [(0, []), (1, ["gap"]), (2, ["epoch", "gap"])])
def test_verbose(
    verbose: int, shown: list[str], blobs: tuple[Any, Any], capfd: pytest.CaptureFixture[str]
) -> None:
    LinearSVM(verbose=verbose, random_state=0).fit(*blobs)
    printed = capfd.readouterr().err
    assert bool(printed) == bool(shown)
    for word in shown:
        assert word in printed


class Recorder:
    """A callback that counts its calls and asks to stop after some checks."""

    def __init__(self, stop_after: int = 10**9) -> None:
        self.calls: list[str] = []
        self.checks = 0
        self.stop_after = stop_after
        self.fitted_estimator: Any = None

    def setup(self, estimator: Any, context: Any) -> None:
        self.calls.append("setup")

    def teardown(self, estimator: Any, context: Any) -> None:
        self.calls.append("teardown")

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        self.calls.append(f"begin {context.task_name}")

    def on_fit_task_end(
        self, estimator: Any, context: Any, *, fitted_estimator: Any = None
    ) -> bool:
        self.calls.append(f"end {context.task_name}")
        self.fitted_estimator = fitted_estimator
        self.checks += context.task_name == "check"
        return self.checks >= self.stop_after


callbacks = pytest.mark.skipif(
    not hasattr(LinearSVM, "set_callbacks"), reason="this scikit-learn has no callbacks"
)


@callbacks
def test_callbacks_see_every_check(blobs: tuple[Any, Any]) -> None:
    recorder = Recorder()
    model = LinearSVM(C=0.1, random_state=0).set_callbacks(recorder).fit(*blobs)
    assert recorder.calls[:2] == ["setup", "begin fit"]
    assert recorder.calls[-2:] == ["end fit", "teardown"]
    assert recorder.checks == len(model.history_)
    np.testing.assert_array_equal(recorder.fitted_estimator.coef_, model.coef_)


@callbacks
def test_callback_stops_the_fit(blobs: tuple[Any, Any]) -> None:
    model = LinearSVM(C=10.0, tol=1e-15, random_state=0).set_callbacks(Recorder(stop_after=1))
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)  # stopping was asked for
        model.fit(*blobs)
    # The check that stopped it and the certificate of what it left: no pass in between.
    assert len(model.history_) == 2
    assert model.history_["epoch"][0] == model.history_["epoch"][1]
    assert not model.converged_


@callbacks
def test_error_in_a_callback_is_raised_and_nothing_is_set(blobs: tuple[Any, Any]) -> None:
    class Failing(Recorder):
        def on_fit_task_end(
            self, estimator: Any, context: Any, *, fitted_estimator: Any = None
        ) -> bool:
            raise RuntimeError("from the callback")

    model = LinearSVM(C=10.0, tol=1e-15, random_state=0).set_callbacks(Failing())
    with pytest.raises(RuntimeError, match="from the callback"):
        model.fit(*blobs)
    assert not hasattr(model, "coef_")


INTERRUPTED = """
import numpy as np
from polymargin import LinearSVM

rng = np.random.default_rng(0)
X, y = rng.normal(size=(2000, 50)), rng.integers(5, size=2000)
options = dict(solver="block-descent", C=1e4, tol=0.0, max_iter=10**9)  # others end too soon
model = LinearSVM({machine!r}, n_jobs={n_jobs}, **options)
print("ready", flush=True)
try:
    model.fit(X, y)
except KeyboardInterrupt:
    print("interrupted", flush=True)
    assert model.coef_.shape == (5, 50)
    assert np.isfinite(model.coef_).all()
    assert not model.converged_
    assert model.n_iter_ >= 1
    assert len(model.history_) >= 1
    assert np.isfinite(model.dual_gap_)
    assert model.duals_.shape == (2000, 5)
    model.predict(X)
    print("usable", flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGINT")
@pytest.mark.parametrize(("machine", "n_jobs"), [("ww", 1), ("cs", 1), ("ww", 2)])
def test_interrupt_leaves_a_model(
    machine: str, n_jobs: int, run_and_interrupt: Callable[[str, float], tuple[str, str]]
) -> None:
    output, errors = run_and_interrupt(INTERRUPTED.format(machine=machine, n_jobs=n_jobs), 0.5)
    assert output == "interrupted\nusable\n", errors


# Bundled data


@pytest.mark.parametrize(
    ("load", "shapes", "n_classes", "accuracy"),
    [
        (load_letter, ((15000, 16), (5000, 16)), 26, 0.6),
        (load_satimage, ((4435, 36), (2000, 36)), 6, 0.75),
    ],
    ids=["letter", "satimage"],
)
def test_bundled_data(
    load: Callable[..., Any], shapes: Any, n_classes: int, accuracy: float
) -> None:
    split = load()
    assert (split.X_train.shape, split.X_test.shape) == shapes
    assert len(np.unique(split.y_train)) == n_classes
    np.testing.assert_allclose(split.X_train.min(axis=0), -1.0)
    np.testing.assert_allclose(split.X_train.max(axis=0), 1.0)
    stream = LinearSVM(C=0.01, random_state=0)
    order = np.random.default_rng(0).permutation(len(split.y_train))
    stream.partial_fit(split.X_train[order], split.y_train[order], np.unique(split.y_train))
    assert stream.score(split.X_test, split.y_test) > accuracy - 0.15
    assert load(scale=False).X_train.max() > 1.0


@pytest.mark.parametrize(("name", "n_features"), [("iris", 4), ("glass", 9), ("vehicle", 18)])
def test_small_real_data(name: str, n_features: int) -> None:
    X, y = load_data(name, n_features)
    pipeline = make_pipeline(StandardScaler(), LinearSVM(C=0.1, random_state=0))
    assert pipeline.fit(X.toarray(), y).score(X.toarray(), y) > 0.55
    assert pipeline[-1].converged_
