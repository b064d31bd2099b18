"""Scaling and columns: the scikit-learn transformers that are stored with a model."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import sparse
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from polymargin.errors import DataError
from polymargin.preprocessing import ColumnEncoder, Scaler
from polymargin.readers import Columns

PEERS = {"minmax": MinMaxScaler, "standard": StandardScaler, "maxabs": MaxAbsScaler}


def sets_with_mean(estimator: Any) -> dict[str, str]:
    """Checks that set a parameter of StandardScaler on whatever is called Scaler."""
    checks = ("check_estimator_sparse_array", "check_estimator_sparse_matrix")
    return dict.fromkeys(checks, "with_mean is no parameter here")


@parametrize_with_checks([Scaler(kind) for kind in PEERS], expected_failed_checks=sets_with_mean)
def test_scaler_is_a_transformer(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("kind", PEERS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_scaler_agrees_with_scikit_learn(kind: str, dtype: Any, is_sparse: bool) -> None:
    random = np.random.default_rng(0)
    X = np.where(random.random((50, 6)) < 0.5, 0, random.normal(3, 20, (50, 6))).astype(dtype)
    train, test = X[:40], X[40:]
    expected = PEERS[kind]().fit(train).transform(test)
    as_rows = sparse.csr_array if is_sparse else np.asarray
    scaled = Scaler(kind).fit(as_rows(train)).transform(as_rows(test))
    assert scaled.dtype == dtype
    assert sparse.issparse(scaled) == (is_sparse and kind == "maxabs")
    scaled = scaled.toarray() if sparse.issparse(scaled) else scaled
    np.testing.assert_allclose(scaled, expected, rtol=1e-4 if dtype == np.float32 else 1e-12)


def test_minmax_of_counts_stays_sparse() -> None:
    counts = sparse.csr_array([[0.0, 2.0], [4.0, 0.0]])
    scaled = Scaler("minmax").fit_transform(counts)
    assert sparse.issparse(scaled)
    np.testing.assert_array_equal(scaled.toarray(), [[0, 1], [1, 0]])


@given(
    arrays.arrays(
        np.float64, st.tuples(st.integers(1, 8), st.integers(1, 4)), elements=st.floats(-1e6, 1e6)
    ),
    st.sampled_from(sorted(PEERS)),
)
def test_training_part_is_in_range(X: Any, kind: str) -> None:
    X = np.where(np.abs(X) < 1e-6, 0, X)  # widths have a reciprocal
    scaled = Scaler(kind).fit_transform(X)
    low, high = {"minmax": (0, 1), "maxabs": (-1, 1), "standard": (-np.inf, np.inf)}[kind]
    assert np.all((scaled >= low - 1e-9) & (scaled <= high + 1e-9))
    if kind == "standard":
        np.testing.assert_allclose(scaled.mean(axis=0), 0, atol=1e-6)


@pytest.mark.parametrize("kind", ["minmax", "standard"])
def test_constant_features_become_zero(kind: str) -> None:
    X = np.column_stack([np.full(7, 0.1), np.arange(7.0)])
    for rows in (X, sparse.csr_array(X)):
        scaled = Scaler(kind).fit_transform(rows)
        assert not np.any((scaled.toarray() if sparse.issparse(scaled) else scaled)[:, 0])


@pytest.mark.parametrize("kind", PEERS)
@pytest.mark.parametrize(("dtype", "least"), [(np.float32, 1e-7), (np.float64, 1e-16)])
def test_features_of_tiny_values_are_scaled_too(kind: str, dtype: Any, least: float) -> None:
    X = np.array([[0.0], [least], [2 * least]], dtype)
    middle = {"minmax": (0.5, 1), "maxabs": (0.5, 1), "standard": (0, np.sqrt(1.5))}[kind]
    for rows in (X, sparse.csr_array(X)):
        scaled = Scaler(kind).fit_transform(rows)
        scaled = scaled.toarray() if sparse.issparse(scaled) else scaled
        np.testing.assert_allclose(scaled[1:, 0], middle, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", ["minmax", "standard"])
def test_constant_features_stay_zero_in_other_rows(kind: str) -> None:
    scaler = Scaler(kind).fit([[5.0, 1.0], [5.0, 2.0]])
    assert scaler.transform([[9.0, 1.5]])[0, 0] == 0


def test_a_small_part_of_large_values_has_variance_one() -> None:
    X = 1.7e9 + np.random.default_rng(0).random((200_000, 1)) / 100
    np.testing.assert_allclose(Scaler("standard").fit_transform(X).std(), 1, rtol=1e-6)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", ["minmax", "standard"])
def test_features_beyond_double_precision_are_named(kind: str) -> None:
    scaler = Scaler(kind).fit([[1.0, 2.0], [3.0, 4.0]])
    factor = scaler.factor_.copy()
    for _ in range(2):
        with pytest.raises(ValueError, match="Feature 1 cannot be scaled in float64"):
            scaler.partial_fit([[1.0, -1.7e308], [2.0, 1.7e308]])
    np.testing.assert_array_equal(scaler.factor_, factor)
    scaler.partial_fit([[1.0, 2.0], [3.0, 4.0]])  # what was refused does not count
    np.testing.assert_allclose(scaler.factor_, factor)


def test_another_kind_starts_again() -> None:
    scaler = Scaler("minmax").fit([[1.0], [2.0]]).set_params(kind="standard")
    with pytest.raises(ValueError, match="learnt 'minmax' so far .* with 'standard'"):
        scaler.partial_fit([[1.0], [2.0]])
    assert scaler.fit([[1.0], [3.0]]).offset_ == 2


def test_too_wide_for_an_array_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polymargin.preprocessing._scaler._DENSE_BYTES", 100)
    X = sparse.csr_array(np.arange(1.0, 41.0).reshape(8, 5))
    with pytest.raises(ValueError, match="use 'maxabs'"):
        Scaler("standard").fit(X).transform(X)


def columns(**values: Any) -> Columns:
    return Columns(
        tuple(values),
        tuple(
            np.array(v, dtype=object if any(isinstance(x, str) for x in v) else np.float64)
            for v in values.values()
        ),
    )


def test_columns_are_encoded_by_name() -> None:
    encoder = ColumnEncoder().fit(columns(size=[1, 2, 3], colour=["red", None, "blue"]))
    assert encoder.kinds == {"size": "number", "colour": "category"}
    assert encoder.feature_names_out_.tolist() == ["size", "colour=blue", "colour=red"]
    other = columns(more=[7], colour=["red"], size=[5])
    np.testing.assert_array_equal(encoder.transform(other), [[5, 0, 1]])


def test_unknown_and_missing_values_are_zero() -> None:
    encoder = ColumnEncoder().fit(columns(colour=["red", "blue"]))
    encoded = encoder.transform(columns(colour=["green", None, "blue"]))
    np.testing.assert_array_equal(encoded, [[0, 0], [0, 0], [1, 0]])


def test_missing_columns_are_named() -> None:
    encoder = ColumnEncoder().fit(columns(a=[1], b=[2], c=[3]))
    with pytest.raises(DataError, match="columns 'a', 'c' of the training file are missing"):
        encoder.transform(columns(b=[1]))


def test_missing_numbers() -> None:
    table = columns(a=[1, np.nan, 5])
    with pytest.raises(DataError, match="column 'a' has 1 missing number.*row 2"):
        ColumnEncoder().fit_transform(table)
    np.testing.assert_array_equal(
        ColumnEncoder(missing="mean").fit_transform(table), [[1], [3], [5]]
    )


def test_text_in_a_column_of_numbers_is_refused() -> None:
    encoder = ColumnEncoder().fit(columns(a=[1.0, 2.0]))
    with pytest.raises(DataError, match="column 'a' holds text"):
        encoder.transform(columns(a=["one"]))


@pytest.mark.parametrize("kind", PEERS)
@pytest.mark.parametrize("as_rows", [np.asarray, sparse.csr_array])
def test_rows_in_parts_are_scaled_like_all_at_once(kind: str, as_rows: Any) -> None:
    X = np.random.default_rng(0).normal(1e6, 3.0, (97, 4))
    X[:, 3] = 7.0
    in_parts = Scaler(kind).fit(as_rows(X[:3] * 1000))  # forgotten by the next fit
    in_parts.fit(as_rows(X[:10]))
    for first in (10, 11, 60):
        in_parts.partial_fit(as_rows(X[first : {10: 11, 11: 60, 60: 97}[first]]))
    whole = Scaler(kind).fit(X)
    np.testing.assert_allclose(in_parts.offset_, whole.offset_, rtol=1e-12)
    np.testing.assert_allclose(in_parts.factor_, whole.factor_, rtol=1e-9)
