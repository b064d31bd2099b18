"""A fit that fails leaves the estimator as it was, and one that never was fitted unfitted."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from polymargin import KernelSVM, LinearSVM
from polymargin.errors import DataError
from polymargin.preprocessing import ColumnEncoder, Scaler
from polymargin.readers import Columns
from polymargin.streams import fit_stream

X = np.random.default_rng(0).normal(size=(30, 4))
Y = np.arange(30) % 3
WIDER = np.hstack([X, X])
Fail = Callable[[Any], object]


def is_unchanged(estimator: Any, before: dict[str, Any]) -> bool:
    now = vars(estimator)
    return set(now) == set(before) and all(now[name] is before[name] for name in before)


def with_one_class(model: Any) -> None:
    model.fit(WIDER, np.zeros(30))


def with_nan(model: Any) -> None:
    model.fit(np.where(WIDER > 1, np.nan, WIDER), Y)


def with_weights(model: Any) -> None:
    model.fit(WIDER, Y, sample_weight=-np.ones(30))


def with_large_C(model: Any) -> None:
    C = model.C
    try:
        model.set_params(C=1e300).fit(WIDER, Y)
    finally:
        model.set_params(C=C)


def in_the_last_checkpoint(model: Any) -> None:
    try:
        model.set_params(checkpoint=Path("/no/such/folder/fit.ckpt")).fit(WIDER, Y)
    finally:
        model.set_params(checkpoint=None)


def in_a_stream(model: Any) -> None:
    model.partial_fit(WIDER, np.full(30, 7), classes=[0, 1, 2])


def in_the_second_batch(model: Any) -> None:
    def batches() -> Iterator[tuple[Any, Any]]:
        yield WIDER, Y
        yield WIDER, Y + 1

    fit_stream(model, batches, [0, 1, 2])


def in_the_second_pass(model: Any) -> None:
    n_calls = 0

    def batches() -> Iterator[tuple[Any, Any]]:
        nonlocal n_calls
        n_calls += 1
        yield WIDER[: 30 - n_calls], Y[: 30 - n_calls]

    fit_stream(model, batches, [0, 1, 2], passes=2)


BOTH = [with_one_class, with_nan, with_weights, with_large_C, in_the_last_checkpoint]
CASES = [(LinearSVM(), fail) for fail in BOTH] + [(KernelSVM(), fail) for fail in BOTH]
CASES += [(LinearSVM(), fail) for fail in (in_a_stream, in_the_second_batch, in_the_second_pass)]
IDS = [f"{type(model).__name__}-{fail.__name__}" for model, fail in CASES]


@pytest.mark.parametrize(("model", "fail"), CASES, ids=IDS)
def test_an_estimator_never_fitted_stays_so(model: Any, fail: Fail) -> None:
    model = type(model)(random_state=0)
    before = dict(vars(model))
    with pytest.raises((ValueError, OSError)):
        fail(model)
    assert is_unchanged(model, before)
    with pytest.raises(NotFittedError):
        model.predict(X)


@pytest.mark.parametrize(("model", "fail"), CASES, ids=IDS)
def test_a_model_answers_as_before(model: Any, fail: Fail) -> None:
    model = type(model)(random_state=0).fit(X, Y)
    before, scores = dict(vars(model)), model.class_scores(X)
    with pytest.raises((ValueError, OSError)):
        fail(model)
    assert is_unchanged(model, before)
    np.testing.assert_array_equal(model.class_scores(X), scores)


@pytest.mark.parametrize("fail", [in_a_stream, in_the_second_batch, in_the_second_pass])
def test_a_stream_goes_on_as_before(fail: Fail) -> None:
    undisturbed = LinearSVM(random_state=0).partial_fit(X, Y, classes=[0, 1, 2])
    model = LinearSVM(random_state=0).partial_fit(X, Y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="."):
        fail(model)
    undisturbed.partial_fit(X, Y)
    np.testing.assert_array_equal(model.partial_fit(X, Y).coef_, undisturbed.coef_)
    assert model.n_samples_seen_ == 60


def test_names_of_features_stay() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcd"))
    model = LinearSVM(random_state=0).fit(frame, Y)
    with pytest.raises(ValueError, match="two"):
        model.fit(frame.rename(columns=str.upper), np.zeros(30))
    assert model.feature_names_in_.tolist() == list("abcd")
    model.predict(frame)


@pytest.mark.parametrize("cls", [LinearSVM, KernelSVM])
def test_an_error_of_a_callback(cls: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """It comes while the core is at work."""

    def refuse(task: Any) -> bool:
        raise RuntimeError("no more")

    model = cls(random_state=0).fit(X, Y)
    before = dict(vars(model))
    monkeypatch.setattr("polymargin.fit.FitTask.check_done", refuse)
    monkeypatch.setattr("polymargin.fit.FitTask.is_watched", True)
    with pytest.raises(RuntimeError, match="no more"):
        model.fit(WIDER, Y)
    assert is_unchanged(model, before)


@pytest.mark.parametrize("cls", [LinearSVM, KernelSVM])
def test_an_interrupt_before_anything_is_reached(cls: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(f"{cls.__module__}.make_problem", interrupt)
    model = cls()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y)
    assert not hasattr(model, "n_features_in_")


def test_an_interrupt_while_the_buffer_of_a_stream_fills() -> None:
    def batches() -> Iterator[tuple[Any, Any]]:
        yield WIDER, Y
        raise KeyboardInterrupt

    fresh = LinearSVM()
    with pytest.raises(KeyboardInterrupt):
        fit_stream(fresh, batches, [0, 1, 2])
    assert not hasattr(fresh, "classes_")
    model = LinearSVM(random_state=0).fit(X, Y)
    before = dict(vars(model))
    with pytest.raises(KeyboardInterrupt):
        fit_stream(model, batches, [0, 1, 2])
    assert is_unchanged(model, before)
    with pytest.raises(KeyboardInterrupt):
        fit_stream(model, batches, [0, 1, 2], shuffle_size=0)
    assert model.n_samples_seen_ == len(Y)


def test_scaler() -> None:
    scaler = Scaler("standard").fit(X)
    before = dict(vars(scaler))
    with pytest.raises(ValueError, match="NaN"):
        scaler.fit(np.full((2, 7), np.nan))
    with pytest.raises(ValueError, match="cannot be scaled"):
        scaler.fit(np.array([[-1e308] * 7, [1e308] * 7]))
    assert is_unchanged(scaler, before)
    fresh = Scaler()
    with pytest.raises(ValueError, match="cannot be scaled"):
        fresh.partial_fit(np.array([[-1e308] * 7, [1e308] * 7]))
    assert vars(fresh) == {"kind": "minmax"}


def test_column_encoder() -> None:
    size, colour = np.array([1.0, 2.0]), np.array(["red", "blue"], dtype=object)
    encoder = ColumnEncoder().fit(Columns(("size", "colour"), (size, colour)))
    before = dict(vars(encoder))
    mixed = np.array(["red", 1], dtype=object)  # cannot be sorted
    with pytest.raises((TypeError, DataError)):
        encoder.fit(Columns(("other", "colour"), (size, mixed)))
    assert is_unchanged(encoder, before)
