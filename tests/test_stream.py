"""`partial_fit`: each row is visited once."""

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from stream_helpers import SVM, as_array, assert_same

from polymargin import LinearSVM, load, save

CERTIFICATE = ("n_iter_", "dual_gap_", "primal_objective_", "converged_", "history_", "duals_")


@pytest.fixture
def model(svm: SVM, blobs: tuple[Any, Any]) -> LinearSVM:
    """A fitted model."""
    fitted: LinearSVM = svm(C=0.1, random_state=0).fit(*blobs)
    return fitted


def test_stream_learns(svm: SVM, machine: str, blobs: tuple[Any, Any]) -> None:
    X, y = blobs
    stream = svm(machine, C=0.1, random_state=0)
    for start in range(0, len(y), 7):
        batch = slice(start, start + 7)
        stream.partial_fit(X[batch], y[batch], classes=[0, 1, 2])
    assert stream.score(X, y) > 0.5
    for name in CERTIFICATE:
        assert not hasattr(stream, name)


def test_batches_of_a_stream_do_not_matter(svm: SVM, machine: str, blobs: tuple[Any, Any]) -> None:
    X, y = blobs
    whole = svm(machine, random_state=0).partial_fit(X, y, classes=[0, 1, 2])
    parts = svm(machine, random_state=0).partial_fit(X[:9], y[:9], classes=[0, 1, 2])
    parts = pickle.loads(pickle.dumps(parts)).partial_fit(sparse.csr_array(X[9:]), y[9:])
    np.testing.assert_allclose(as_array(parts.coef_), as_array(whole.coef_), rtol=1e-9, atol=1e-12)


def test_rows_of_weight_zero_are_passed_over(svm: SVM, blobs: tuple[Any, Any]) -> None:
    X, y = blobs
    weights = (np.arange(len(y)) % 2).astype(float)
    some = svm(random_state=0).partial_fit(X, y, [0, 1, 2], weights)
    rest = svm(random_state=0).partial_fit(X[1::2], y[1::2], [0, 1, 2])
    assert_same(some.coef_, rest.coef_)


@pytest.mark.parametrize("dtype", [object, str])
def test_labels_may_be_strings(svm: SVM, blobs: tuple[Any, Any], dtype: Any) -> None:
    X, y = blobs
    names = np.array(["ash", "elm", "oak"], dtype=dtype)
    weights = (np.arange(len(y)) % 3).astype(float)
    expected = svm(random_state=0).partial_fit(X, y, [0, 1, 2], weights)
    found = svm(random_state=0).partial_fit(X, names[y], ["ash", "elm", "oak"], weights)
    assert_same(found.coef_, expected.coef_)
    assert found.predict(X).tolist() == names[expected.predict(X)].tolist()
    with pytest.raises(ValueError, match=r"labels that are not in classes: \['fir'\]"):
        found.partial_fit(X[:3], np.array(["ash", "fir", "oak"], dtype=dtype))


@pytest.mark.parametrize("label", [1, None, np.nan, ["ash"], {}])
def test_labels_of_several_types_are_refused(svm: SVM, blobs: tuple[Any, Any], label: Any) -> None:
    y = np.empty(2, dtype=object)
    y[:] = ["ash", label]
    stream = svm().partial_fit(blobs[0][:2], ["ash", "elm"], ["ash", "elm"])
    with pytest.raises((ValueError, TypeError)):
        stream.partial_fit(blobs[0][:2], y)


def test_stream_after_fit_starts_anew(svm: SVM, model: LinearSVM, blobs: tuple[Any, Any]) -> None:
    fresh = svm(C=0.1, random_state=0).partial_fit(*blobs, classes=[0, 1, 2])
    assert_same(model.partial_fit(*blobs).coef_, fresh.coef_)
    for name in CERTIFICATE:
        assert not hasattr(model, name)
    assert model.fit(*blobs).converged_
    assert_same(model.partial_fit(*blobs).coef_, fresh.coef_)


def test_stream_keeps_its_dtype(svm: SVM, blobs: tuple[Any, Any]) -> None:
    X, y = blobs
    stream = svm().partial_fit(X.astype(np.float32), y, classes=[0, 1, 2])
    assert stream.partial_fit(X, y).coef_.dtype == np.float32


def test_stream_refuses_nonsense(svm: SVM, blobs: tuple[Any, Any]) -> None:
    X, y = blobs
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        svm().partial_fit(X, y)
    with pytest.raises(ValueError, match=r"labels that are not in classes: \[2\]"):
        svm().partial_fit(X, y, classes=[0, 1])
    balanced = "".join(["bal", "anced"])  # as a file has it: not the string of the code
    with pytest.raises(ValueError, match='class_weight="balanced" needs all labels'):
        svm(class_weight=balanced).partial_fit(X, y, classes=[0, 1, 2])
    stream = svm().partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="is not the same as on the first call"):
        stream.partial_fit(X, y, classes=[0, 1, 2, 3])
    with pytest.raises(ValueError, match="X has 3 features"):
        stream.partial_fit(X[:, :3], y)


@pytest.mark.parametrize("n", [1, 60])
def test_stream_refuses_what_the_type_cannot_compute_with(
    svm: SVM, n: int, blobs: tuple[Any, Any]
) -> None:
    X, y = blobs[0][:n].astype(np.float32), blobs[1][:n]
    with pytest.raises(ValueError, match="too large for float32"):
        svm(C=1e300).partial_fit(X, y, [0, 1, 2])
    with pytest.raises(ValueError, match="squared norm of a row of X"):
        svm().partial_fit(np.float32(1e-30) * X, y, [0, 1, 2])


@pytest.mark.parametrize("y", [[0, None, 1], [0.5, 1.0, 2.0], [[0, 1], [1, 0], [0, 0]]])
def test_stream_refuses_what_are_no_labels(svm: SVM, y: Any) -> None:
    with pytest.raises(ValueError, match="Unknown label type|y should be a 1d array"):
        svm().partial_fit(np.eye(3), np.array(y), classes=[0, 1, 2])


@pytest.mark.filterwarnings("error")
def test_a_batch_may_have_as_many_classes_as_rows(svm: SVM) -> None:
    """Its labels were announced, so that it is no regression problem."""
    stream = svm().partial_fit(np.eye(30), np.arange(30), classes=np.arange(40))
    assert stream.n_samples_seen_ == 30


def test_rows_seen_are_counted(svm: SVM, blobs: tuple[Any, Any]) -> None:
    X, y = blobs
    stream = svm().partial_fit(X, y, [0, 1, 2])
    assert stream.n_samples_seen_ == len(y)
    assert stream.partial_fit(X[:10], y[:10]).n_samples_seen_ == len(y) + 10


def test_batch_of_weight_zero_changes_nothing(svm: SVM, blobs: tuple[Any, Any]) -> None:
    X, y = blobs
    stream = svm().partial_fit(X, y, [0, 1, 2])
    coef = stream.coef_
    stream.partial_fit(X, y, sample_weight=np.zeros(len(y)))
    assert_same(stream.coef_, coef)


def test_class_weight_of_a_class_not_in_the_batch(svm: SVM, blobs: tuple[Any, Any]) -> None:
    X, y = blobs
    stream = svm(class_weight={2: 3.0}).partial_fit(X, y, classes=[0, 1, 2])
    stream.partial_fit(X[y < 2], y[y < 2])
    with pytest.raises(ValueError, match="none of the classes of class_weight"):
        svm(class_weight={9: 3.0}).partial_fit(X, y, classes=[0, 1, 2])


def test_interrupt_keeps_the_rows_visited(
    svm: SVM, seed: int, interrupt_after: Callable[[float], None]
) -> None:
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(50_000, 100)), rng.integers(0, 1000, 50_000)
    stream = svm(C=1.0).partial_fit(X[:10], y[:10], classes=np.arange(1000))
    interrupt_after(0.3)
    with pytest.raises(KeyboardInterrupt):
        stream.partial_fit(X[10:], y[10:])
    seen = stream.n_samples_seen_
    assert 10 <= seen < 50_000
    again = svm(C=1.0).partial_fit(X[:seen], y[:seen], np.arange(1000))
    assert_same(stream.coef_, again.coef_)


def test_weights_are_read_off_the_stream_when_asked_for(svm: SVM, blobs: tuple[Any, Any]) -> None:
    X, y = blobs
    stream = svm(random_state=0).partial_fit(X[:30], y[:30], [0, 1, 2])
    assert not {"coef_", "intercept_"} & set(vars(stream))
    twins = [copy.deepcopy(stream), pickle.loads(pickle.dumps(stream))]
    first = stream.coef_
    assert {"coef_", "intercept_"} <= set(vars(stream))
    assert stream.coef_ is first
    for twin in twins:
        np.testing.assert_array_equal(twin.intercept_, stream.intercept_)
        assert_same(twin.coef_, first)
    before = first.copy()
    stream.partial_fit(X[30:], y[30:])
    assert_same(first, before)
    assert not np.array_equal(as_array(stream.coef_), as_array(before))


def test_weights_of_a_stream_can_be_sparse(blobs: tuple[Any, Any]) -> None:
    X, y = blobs
    stream = LinearSVM(weights="sparse").partial_fit(X, y, [0, 1, 2])
    assert sparse.issparse(stream.coef_)
    assert sparse.issparse(stream.partial_fit(X, y).coef_)
    assert not sparse.issparse(stream.densify().coef_)


def test_a_model_without_weights_says_so() -> None:
    model = LinearSVM()
    for name in ("coef_", "intercept_"):
        assert not hasattr(model, name)
        with pytest.raises(AttributeError, match=f"'LinearSVM' object has no attribute '{name}'"):
            getattr(model, name)


def test_fit_forgets_the_stream(svm: SVM, blobs: tuple[Any, Any]) -> None:
    X, y = blobs
    model = svm(C=0.1, random_state=0).partial_fit(X, y, [0, 1, 2]).fit(X, y)
    assert not hasattr(model, "n_samples_seen_")
    assert_same(model.coef_, svm(C=0.1, random_state=0).fit(X, y).coef_)


def test_a_stream_cannot_become_one_of_a_later_name(svm: SVM, blobs: tuple[Any, Any]) -> None:
    X, y = blobs
    begun = svm("cs", random_state=0).partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="begun with machine='cs' and cannot go on with 'ww'"):
        begun.set_params(machine="ww").partial_fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"machine": "cs"}, "begun with machine='ww' and cannot go on with 'cs'"),
        ({"fit_intercept": False}, "begun with fit_intercept=True and cannot go on with False"),
    ],
)
def test_a_stream_cannot_become_another(
    svm: SVM, parameters: dict[str, Any], message: str, blobs: tuple[Any, Any], tmp_path: Path
) -> None:
    X, y = blobs
    begun = svm("weston-watkins", random_state=0).partial_fit(X, y, classes=[0, 1, 2])
    save(begun, tmp_path / "stream.safetensors")
    for model in (begun, load(tmp_path / "stream.safetensors")):
        model.set_params(**parameters)
        with pytest.raises(ValueError, match=message):
            model.partial_fit(X, y)
        with pytest.raises(ValueError, match=message):
            save(model, tmp_path / "other.safetensors")
        assert model.n_samples_seen_ == len(y)
        model.set_params(machine="ww", fit_intercept=True, C=0.5).partial_fit(X, y)
        assert model.n_samples_seen_ == 2 * len(y)
        model.set_params(**parameters).fit(X, y)
        model.partial_fit(X, y)
        assert model.n_samples_seen_ == len(y)
