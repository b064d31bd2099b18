"""Scaling and columns: the scikit-learn transformers that are stored with a model."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer
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


def words(*values: Any) -> Any:
    return np.array(values, dtype=object)


TEXTS = words("one dog ran", "two dogs sat down", None, "one cat sat")


def test_texts_beside_numbers_are_tfidf_features() -> None:
    table = Columns(("price", "remark"), (np.arange(4.0), TEXTS), {"remark": "text"})
    encoder = ColumnEncoder(ngram_range=(1, 2)).fit(table)
    encoded = encoder.transform(table)
    assert isinstance(encoded, sparse.csr_array)
    expected = TfidfVectorizer(sublinear_tf=True, ngram_range=(1, 2)).fit(
        ["" if text is None else text for text in TEXTS]
    )
    assert encoder.n_features_out_ == 1 + len(expected.vocabulary_) == encoded.shape[1]
    names = ["price", *(f"remark:{term}" for term in expected.get_feature_names_out())]
    assert encoder.get_feature_names_out().tolist() == names
    np.testing.assert_array_equal(encoded[:, [0]].toarray().ravel(), np.arange(4.0))
    np.testing.assert_array_equal(
        encoded[:, 1:].toarray(), expected.transform([text or "" for text in TEXTS]).toarray()
    )
    assert encoder.kinds == {"price": "number", "remark": "text"}


def test_texts_can_be_hashed_one_by_one() -> None:
    kinds = {"one": "text:hashing", "other": "text"}
    table = Columns(("one", "other"), (TEXTS, TEXTS), kinds)
    encoder = ColumnEncoder(hash_bits=4).fit(table)
    assert encoder.kinds_ == ("text:hashing", "text:tfidf")
    assert encoder.transform(table).shape == (4, encoder.n_features_out_)
    assert encoder.feature_names_out_[:2].tolist() == ["one#0", "one#1"]


def test_texts_without_words_are_named() -> None:
    table = Columns(("marks",), (words("!", "?"),), {"marks": "text"})
    with pytest.raises(DataError, match="the texts of column 'marks' have no words"):
        ColumnEncoder().fit(table)


def test_dates_are_days_and_their_parts() -> None:
    dates = np.array(["1970-01-01", "1971-12-31", "NaT"], "datetime64[s]")
    encoder = ColumnEncoder(missing="mean").fit(Columns(("when",), (dates,)))
    names = encoder.feature_names_out_.tolist()
    assert len(names) == 1 + 12 + 7
    encoded = dict(zip(names, encoder.transform(Columns(("when",), (dates,))).T, strict=True))
    assert encoded["when"].tolist() == [0, 729, 364.5]
    assert encoded["when.month=1"].tolist() == [1, 0, 0]
    assert encoded["when.month=12"].tolist() == [0, 1, 0]
    assert encoded["when.weekday=4"].tolist() == [1, 0, 0]  # a Thursday
    assert encoded["when.weekday=5"].tolist() == [0, 1, 0]
    with pytest.raises(DataError, match="column 'when' has 1 missing"):
        ColumnEncoder().fit_transform(Columns(("when",), (dates,)))
    with pytest.raises(DataError, match="column 'when' holds no dates"):
        encoder.transform(columns(when=[1.0]))


@pytest.mark.parametrize("scale", ["none", "standard"])
def test_days_beyond_those_of_training_count_as_the_nearest(scale: str) -> None:
    def encoded(*days: str) -> dict[str, list[float]]:
        dates = np.array(days, "datetime64[s]")
        names = encoder.feature_names_out_.tolist()
        return dict(zip(names, encoder.transform(Columns(("when",), (dates,))).T, strict=True))

    trained = np.array(["2024-03-01", "2024-06-30"], "datetime64[s]")
    encoder = ColumnEncoder(scale=scale).fit(Columns(("when",), (trained,)))
    near = encoded("2024-03-01", "2024-06-30", "2024-04-15")
    far = encoded("2023-01-01", "2031-02-01", "2024-04-15")
    np.testing.assert_array_equal(far["when"], near["when"])
    assert far["when.month=2"].tolist() == [0, 1, 0]


def test_hours_count_where_there_are_any() -> None:
    dates = np.array(["1969-12-31T23:30", "2024-02-29T07:00"], "datetime64[s]")
    encoder = ColumnEncoder().fit(Columns(("when",), (dates,)))
    assert encoder.kinds_ == ("date:hours",)
    assert encoder.kinds == {"when": "date"}
    names = encoder.feature_names_out_.tolist()
    encoded = dict(zip(names, encoder.transform(Columns(("when",), (dates,))).T, strict=True))
    assert encoded["when"][0] == pytest.approx(-0.5 / 24)
    marked = [name for name in names[1:] if encoded[name][0]]
    assert marked == ["when.month=12", "when.weekday=3", "when.hour=23"]
    assert [name for name in names[1:] if encoded[name][1]][-1] == "when.hour=7"


@pytest.mark.parametrize("kind", PEERS)
def test_only_numbers_and_days_are_scaled(kind: str) -> None:
    price = np.array([10_000.0, 20_000.0, np.nan, 60_000.0])
    dates = np.array(["2024-01-01", "2024-05-01", "2024-09-01", "2024-12-31"], "datetime64[s]")
    table = Columns(
        ("price", "colour", "when", "remark"),
        (price, words("red", "blue", "red", None), dates, TEXTS),
        {"remark": "text"},
    )
    plain = ColumnEncoder(missing="mean").fit_transform(table).toarray()
    scaled = ColumnEncoder(missing="mean", scale=kind).fit_transform(table).toarray()
    measured = [0, 3]
    known = ~np.isnan(price)
    expected = PEERS[kind]().fit(plain[known][:, measured])
    np.testing.assert_allclose(
        scaled[known][:, 0], expected.transform(plain[:, measured])[known][:, 0], rtol=1e-9
    )
    by_days = PEERS[kind]().fit_transform(plain[:, [3]])
    np.testing.assert_allclose(scaled[:, [3]], by_days, rtol=1e-9)
    others = [j for j in range(plain.shape[1]) if j not in measured]
    np.testing.assert_array_equal(scaled[:, others], plain[:, others])


def test_columns_in_parts_are_learnt_like_all_at_once() -> None:
    random = np.random.default_rng(0)
    n = 90
    dates = np.datetime64("2024-01-01") + random.integers(0, 400, n).astype("timedelta64[D]")
    values = (
        random.normal(1e5, 3, n),
        random.choice(["a", "b", "c"], n).astype(object),
        dates.astype("datetime64[s]"),
        np.array([f"word {i}" for i in range(n)], dtype=object),
    )
    names, kinds = ("x", "c", "d", "t"), {"t": "text:hashing"}
    whole = Columns(names, values, kinds)
    options: dict[str, Any] = {"scale": "standard", "hash_bits": 5}
    in_parts = ColumnEncoder(**options)
    for first in range(0, n, 20):
        part = tuple(column[first : first + 20] for column in values)
        in_parts.partial_fit(Columns(names, part, kinds))
    expected = ColumnEncoder(**options).fit(whole).transform(whole)
    np.testing.assert_allclose(in_parts.transform(whole).toarray(), expected.toarray(), atol=1e-9)
    with pytest.raises(ValueError, match="the columns are"):
        in_parts.partial_fit(columns(x=[1.0]))
    with pytest.raises(ValueError, match="tf-idf of column 't' needs all rows at once"):
        ColumnEncoder().partial_fit(Columns(names, values, {"t": "text"}))
    assert in_parts.fit(columns(x=[1.0, 3.0])).names_ == ("x",)


def test_wide_categories_are_sparse() -> None:
    values = np.array([f"w{i}" for i in range(5000)] * 2, dtype=object)
    table = Columns(("size", "word"), (np.arange(10_000.0), values))
    encoded = ColumnEncoder().fit_transform(table)
    assert isinstance(encoded, sparse.csr_array)
    assert encoded.shape == (10_000, 5001)
    assert encoded.nnz < 20_001
    other = ColumnEncoder().fit(table).transform(columns(size=[3.0, 4.0], word=["w7", "new"]))
    assert other.toarray()[:, 1:].sum(axis=1).tolist() == [1, 0]


def test_too_many_values_are_told_with_their_column(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polymargin.preprocessing._seen.MOST_VALUES", 2)
    with pytest.raises(DataError, match="column 'c' has more than 2 values, too many"):
        ColumnEncoder().fit(columns(c=["x", "y", "z"]))


def test_values_that_were_never_seen_are_told() -> None:
    encoder = ColumnEncoder().fit(columns(colour=["red", "blue"]))
    with pytest.warns(UserWarning, match="no value of column 'colour' was in the training file"):
        encoder.transform(columns(colour=["green", "yellow"]))


def test_columns_that_cannot_be_scaled_are_named() -> None:
    with pytest.raises(ValueError, match="column 'b' cannot be scaled in float64"):
        ColumnEncoder(scale="minmax").fit(columns(a=[1, 2], b=[-1.7e308, 1.7e308]))
    empty = Columns(("a",), (np.full(3, np.nan),))
    encoded = ColumnEncoder(missing="mean", scale="standard").fit_transform(empty)
    assert encoded.tolist() == [[0.0]] * 3


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
