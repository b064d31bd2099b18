"""Pipelines in model files."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import (
    CountVectorizer,
    HashingVectorizer,
    TfidfTransformer,
    TfidfVectorizer,
)
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    StandardScaler,
)

from polymargin import KernelSVM, LinearSVM, preprocessing
from polymargin.errors import ModelFileError
from polymargin.files import load, read_info, save
from polymargin.files._steps import check_widths
from polymargin.preprocessing import ColumnEncoder, Scaler
from polymargin.readers import Columns

TEXTS = ["the cat sat", "a dog ran", "Der Löwe schlief", "cats and dogs", "ran the dog", "löwe"] * 3
TOPICS = ["cat", "dog", "löwe", "cat", "dog", "löwe"] * 3


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "model.safetensors"


def assert_round_trip(model: Any, X: Any, file: Path) -> Any:
    """Transformed rows, decisions, parameters and bytes stay the same."""
    save(model, file)
    loaded = load(file)
    assert isinstance(loaded, Pipeline)
    assert [name for name, _ in loaded.steps] == [name for name, _ in model.steps]
    assert repr(loaded) == repr(model)
    for other in (loaded, pickle.loads(pickle.dumps(loaded))):
        np.testing.assert_array_equal(other.decision_function(X), model.decision_function(X))
        assert other.predict(X).tolist() == model.predict(X).tolist()
        ours, theirs = (pipeline[:-1].transform(X) for pipeline in (other, model))
        assert sparse.issparse(ours) == sparse.issparse(theirs)
        assert ours.dtype == theirs.dtype
    first = file.read_bytes()
    save(loaded, file)
    assert file.read_bytes() == first
    return loaded


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "step",
    [
        Scaler("minmax"),
        Scaler("standard"),
        Scaler("maxabs"),
        MinMaxScaler((-1, 2), clip=True),
        StandardScaler(),
        StandardScaler(with_mean=False),
        StandardScaler(with_std=False),
        MaxAbsScaler(),
        Normalizer("l1"),
        TfidfTransformer(sublinear_tf=True),
        TfidfTransformer(use_idf=False),
    ],
)
def test_numeric_steps(step: Any, dtype: Any, blobs: tuple[Any, Any], file: Path) -> None:
    X, y = np.abs(blobs[0]).astype(dtype), blobs[1]
    model = make_pipeline(clone(step), LinearSVM("cs", tol=0.1, random_state=0)).fit(X, y)
    assert_round_trip(model, X, file)
    model = make_pipeline(clone(step), Normalizer(), KernelSVM(tol=0.1, random_state=0)).fit(X, y)
    loaded = assert_round_trip(model, X, file)
    refitted = loaded.fit(X, y)
    np.testing.assert_array_equal(refitted.decision_function(X), model.decision_function(X))


def test_a_scaler_of_rows_with_missing_values(blobs: tuple[Any, Any], file: Path) -> None:
    """It has seen another number of rows for each feature."""
    X, y = blobs
    holes = X.copy()
    holes[:3, 1] = np.nan
    model = make_pipeline(StandardScaler().fit(holes), LinearSVM(tol=0.1, random_state=0).fit(X, y))
    loaded = assert_round_trip(model, X, file)
    n = len(y)
    assert loaded[0].n_samples_seen_.tolist() == [n, n - 3, n, n]


def test_steps_that_do_not_fit_are_numbered() -> None:
    steps = [Normalizer().fit(np.ones((1, d))) for d in (4, 4, 3)]
    with pytest.raises(ModelFileError, match="step 2 of the pipeline does not take what step 1"):
        check_widths(steps, 3)


@pytest.mark.parametrize(
    "vectorizer",
    [
        HashingVectorizer(n_features=64, ngram_range=(1, 2), alternate_sign=False),
        HashingVectorizer(n_features=32, analyzer="char_wb", norm="l1", dtype=np.float32),
        CountVectorizer(stop_words=["the", "a"], min_df=2, strip_accents="unicode"),
        CountVectorizer(vocabulary=["cat", "dog", "löwe"], binary=True, dtype=np.float64),
        CountVectorizer(max_df=0.9, max_features=5, dtype=np.float32),
        TfidfVectorizer(stop_words="english", sublinear_tf=True),
        TfidfVectorizer(use_idf=False, norm=None, lowercase=False),
        TfidfVectorizer(vocabulary={"cat": 1, "dog": 0}, token_pattern=r"\w+"),
    ],
)
def test_text_steps(vectorizer: Any, file: Path) -> None:
    model = make_pipeline(clone(vectorizer), LinearSVM(tol=0.1, random_state=0)).fit(TEXTS, TOPICS)
    if not isinstance(vectorizer.get_params().get("vocabulary"), dict):
        assert_round_trip(model, TEXTS, file)
    save(model, file)
    loaded = load(file)
    np.testing.assert_array_equal(loaded.decision_function(TEXTS), model.decision_function(TEXTS))
    scores = loaded.fit(TEXTS, TOPICS).decision_function(TEXTS)
    np.testing.assert_array_equal(scores, model.decision_function(TEXTS))


@pytest.mark.parametrize("numbers", [(1, 2), (0, 0)])
def test_terms_are_numbered_from_0_on(numbers: tuple[int, int], file: Path) -> None:
    vectorizer = CountVectorizer(vocabulary=["cat", "dog"]).fit(TEXTS)
    model = make_pipeline(vectorizer, LinearSVM(tol=0.1)).fit(TEXTS, TOPICS)
    model[0].vocabulary_ = dict(zip(("cat", "dog"), numbers, strict=True))
    with pytest.raises(ValueError, match="does not number the terms from 0 on"):
        save(model, file)


def test_hashing_then_tfidf(file: Path) -> None:
    steps = [HashingVectorizer(n_features=64, norm=None, alternate_sign=False), TfidfTransformer()]
    model = make_pipeline(*steps, LinearSVM(tol=0.1, weights="sparse", random_state=0))
    assert_round_trip(model.fit(TEXTS, TOPICS), TEXTS, file)
    assert read_info(file).steps == (
        ("hashingvectorizer", "HashingVectorizer"),
        ("tfidftransformer", "TfidfTransformer"),
        ("linearsvm", "LinearSVM"),
    )


@pytest.mark.parametrize("cls", [HashingVectorizer, preprocessing.HashingVectorizer])
def test_hashing_is_compiled_when_it_comes_back(cls: Any, file: Path) -> None:
    steps = [cls(n_features=64, analyzer="char"), LinearSVM(tol=0.1, random_state=0)]
    model = make_pipeline(*steps).fit(TEXTS, TOPICS)
    step = assert_round_trip(model, TEXTS, file)[0]
    assert type(step) is preprocessing.HashingVectorizer
    assert step.is_compiled
    theirs = HashingVectorizer(n_features=64, analyzer="char").transform(TEXTS)
    assert step.transform(TEXTS).data.tobytes() == theirs.data.tobytes()


def test_threads_are_not_stored(file: Path) -> None:
    hashing = preprocessing.HashingVectorizer(n_features=64, n_jobs=2)
    save(make_pipeline(hashing, LinearSVM(tol=0.1)).fit(TEXTS, TOPICS), file)
    assert load(file)[0].n_jobs is None
    words = Columns(("t",), (np.array(TEXTS, dtype=object),), {"t": "text"})
    encoder = ColumnEncoder(text_features="hashing", hash_bits=6, n_jobs=2)
    save(make_pipeline(encoder, LinearSVM(tol=0.1)).fit(words, TOPICS), file)
    loaded = load(file)[0]
    assert loaded.n_jobs is None
    assert (loaded.transform(words) != encoder.transform(words)).nnz == 0


def test_columns(file: Path) -> None:
    size = np.array([1.0, 2.0, np.nan, 4.0, 5.0, 6.0])
    colour = np.array(["red", "größe", "red", None, "blue", ""], dtype=object)
    columns = Columns(("size", "=colour"), (size, colour))
    y = np.array([0, 1, 0, 1, 1, 0])
    encoder = ColumnEncoder(missing="mean")
    model = make_pipeline(encoder, Scaler(), LinearSVM(tol=0.1, random_state=0)).fit(columns, y)
    loaded = assert_round_trip(model, columns, file)[0]
    assert loaded.kinds == encoder.kinds
    assert loaded.get_feature_names_out().tolist() == encoder.feature_names_out_.tolist()
    assert loaded.names_ == encoder.names_


def test_feature_names_of_the_first_step(blobs: tuple[Any, Any], file: Path) -> None:
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame(blobs[0], columns=list("abcd"))
    model = make_pipeline(StandardScaler(), LinearSVM(tol=0.1, random_state=0)).fit(X, blobs[1])
    loaded = assert_round_trip(model, X, file)
    assert loaded.feature_names_in_.tolist() == list("abcd")


@pytest.mark.parametrize("step", [PCA(2), FunctionTransformer(), "passthrough"])
def test_other_steps_are_named(step: Any, blobs: tuple[Any, Any], file: Path) -> None:
    model = Pipeline([("reduce", step), ("svm", LinearSVM(tol=0.1))]).fit(*blobs)
    with pytest.raises(
        ValueError, match=r"step 'reduce' .* it can hold Scaler, ColumnEncoder, Min"
    ):
        save(model, file)
    assert not file.exists()


@pytest.mark.parametrize(
    ("vectorizer", "message"),
    [
        (CountVectorizer(tokenizer=str.split, token_pattern=None), "tokenizer is a function"),
        (CountVectorizer(preprocessor=str.lower), "preprocessor is a function"),
        (TfidfVectorizer(analyzer=str.split), "analyzer is a function"),
        (HashingVectorizer(n_features=8, strip_accents=str.lower), "strip_accents is a function"),
    ],
)
def test_functions_are_refused(vectorizer: Any, message: str, file: Path) -> None:
    model = make_pipeline(vectorizer, LinearSVM(tol=0.1)).fit(TEXTS, TOPICS)
    with pytest.raises(ValueError, match=message):
        save(model, file)


def test_pipelines_of_other_estimators_are_refused(blobs: tuple[Any, Any], file: Path) -> None:
    model = make_pipeline(Scaler(), PCA(2)).fit(*blobs)
    with pytest.raises(ValueError, match="a pipeline that ends in one, not PCA"):
        save(model, file)
    inner = make_pipeline(Scaler(), LinearSVM(tol=0.1))
    with pytest.raises(ValueError, match="not Pipeline"):
        save(make_pipeline(Scaler(), inner).fit(*blobs), file)


def test_pipelines_have_at_most_twenty_steps(blobs: tuple[Any, Any], file: Path) -> None:
    steps = [StandardScaler() for _ in range(19)]
    model = make_pipeline(*steps, LinearSVM(random_state=0)).fit(*blobs)
    assert_round_trip(model, blobs[0], file)
    longer = make_pipeline(*steps, StandardScaler(), StandardScaler(), LinearSVM()).fit(*blobs)
    with pytest.raises(ValueError, match="more than 20 steps"):
        save(longer, file)
