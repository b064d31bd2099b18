"""Saved and loaded models are the same models."""

import pickle
import warnings
from io import BytesIO
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.numpy import load_file
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from polymargin import (
    S2DO,
    Bisection,
    BlockDescent,
    Blocks,
    CrammerSinger,
    KernelSVM,
    LinearSVM,
)
from polymargin.calibration import CALIBRATIONS
from polymargin.errors import ModelFileError
from polymargin.files import data_hash, load, read_info, save
from polymargin.kernel import NAMED_KERNELS
from polymargin.storage import _arrays, duals_bytes, put_csr, put_duals


def again(model: Any, path: Path, **options: Any) -> Any:
    save(model, path, **options)
    return load(path)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "model.safetensors"


def assert_same(one: Any, other: Any, X: Any) -> None:
    """All that is public of two models, and their scores to the last bit."""
    assert one.get_params() == other.get_params()
    np.testing.assert_array_equal(one.class_scores(X), other.class_scores(X))
    np.testing.assert_array_equal(one.predict(X), other.predict(X))
    assert one.predict(X).dtype == other.predict(X).dtype
    public = {name for name in vars(one) if name.endswith("_")}
    assert public == {name for name in vars(other) if name.endswith("_")}
    for name in public:
        left, right = getattr(one, name), getattr(other, name)
        if sparse.issparse(left):
            assert sparse.issparse(right)
            left, right = left.toarray(), right.toarray()
        if name == "history_":
            left, right = (history.tolist() for history in (left, right))
            assert [len(record) for record in left] == [len(record) for record in right]
        np.testing.assert_array_equal(left, right, err_msg=name)
        assert np.asarray(left).dtype == np.asarray(right).dtype, name
    if hasattr(one, "history_"):
        assert one.history_.dtype == other.history_.dtype
    if hasattr(one, "duals_"):
        np.testing.assert_array_equal(one.duals_.toarray(), other.duals_.toarray())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weights", ["dense", "sparse"])
def test_linear(machine: str, weights: str, dtype: Any, blobs: tuple[Any, Any], file: Path) -> None:
    X, y = blobs
    X = X.astype(dtype)
    model = LinearSVM(machine, C=0.1, weights=weights, tol=1e-2, random_state=0).fit(X, y)
    assert_same(model, again(model, file), X)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("as_sparse", [False, True])
@pytest.mark.parametrize("kernel", NAMED_KERNELS)
def test_kernel(
    kernel: str, as_sparse: bool, dtype: Any, blobs: tuple[Any, Any], file: Path
) -> None:
    X, y = blobs
    X = X.astype(dtype) * (np.abs(X) > 1.2 if as_sparse else 1)
    given = sparse.csr_matrix(X) if as_sparse else X
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = KernelSVM(
            "cs", kernel=kernel, gamma=0.2, coef0=0.5, fit_intercept=as_sparse, random_state=0
        ).fit(given, y)
    assert_same(model, again(model, file), given)
    assert_same(model, load(file), X)


def test_precomputed_kernel(blobs: tuple[Any, Any], file: Path) -> None:
    X, y = blobs
    model = KernelSVM(kernel="precomputed", random_state=0, fit_intercept=True).fit(X @ X.T, y)
    assert_same(model, again(model, file), X[:5] @ X.T)
    assert read_info(file).weights == "precomputed"


@pytest.mark.parametrize(
    "labels",
    [
        np.array([-3, 5, 7]),
        np.array([1, 2, 3], np.int8),
        np.array([1, 2, 2**64 - 1], np.uint64),
        np.array([0.0, 1.0, 2.0], np.float32),
        np.array([False, True]),
        np.array(["", "ä", "日本語"]),
        np.array(["a", "b c", "ü\n"], dtype=object),
    ],
    ids=lambda labels: str(labels.dtype),
)
def test_labels_of_any_type(labels: Any, seed: int, file: Path) -> None:
    rng = np.random.default_rng(seed)
    y = labels[np.arange(20) % len(labels)]
    X = rng.normal(size=(20, 3)) + (np.arange(20) % len(labels))[:, None]
    model = LinearSVM(random_state=0).fit(X, y)
    loaded = again(model, file)
    assert_same(model, loaded, X)
    assert loaded.classes_.dtype == model.classes_.dtype
    assert [type(label) for label in loaded.classes_] == [type(label) for label in model.classes_]
    assert read_info(file).classes.tolist() == model.classes_.tolist()


def test_labels_that_cannot_be_stored(blobs: tuple[Any, Any], file: Path) -> None:
    X, y = blobs
    model = LinearSVM(random_state=0).fit(X, y)
    for labels in (np.array([1, "a", None], object), np.array([b"a", b"b", b"c"])):
        model.classes_ = labels
        with pytest.raises(ValueError, match="cannot be saved; a model file holds integers"):
            save(model, file)
    model.classes_ = np.array(["a", "b", "\ud800"], object)
    with pytest.raises(ValueError, match="not valid Unicode"):
        save(model, file)
    assert not file.exists()


@pytest.mark.parametrize(
    "model",
    [
        LinearSVM(solver=BlockDescent(shrinking=False), block_solver=Bisection(tol=1e-5)),
        LinearSVM(C=np.float32(0.5), tol=np.float64(0.1), max_iter=np.int64(7), n_jobs=2),
        LinearSVM("crammer-singer", random_state=3),
        LinearSVM(class_weight={0: 2.0, 1: 0.5}, verbose=False, warm_start=True),
        LinearSVM(class_weight="balanced", stopping="kkt"),
        KernelSVM("cs", solver=CrammerSinger(cooling="linear"), cache_size=10.5),
        KernelSVM(solver=S2DO(shrinking=False), gamma="auto"),
        KernelSVM(solver=Blocks(size=64), degree=2, kernel="poly", coef0=1),
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_parameters(model: Any, blobs: tuple[Any, Any], file: Path) -> None:
    model = clone(model).fit(*blobs)
    assert_same(model, again(model, file), blobs[0])
    parameters = read_info(file).parameters
    assert parameters | {"checkpoint": None} == model.get_params()
    for name in ("solver", "block_solver"):
        assert type(parameters[name]) is type(model.get_params()[name])


def test_a_random_state_is_stored_as_none(blobs: tuple[Any, Any], file: Path) -> None:
    model = LinearSVM(random_state=np.random.RandomState(0)).fit(*blobs)
    assert again(model, file).random_state is None


def test_functions_are_refused(blobs: tuple[Any, Any], file: Path) -> None:
    model = KernelSVM(kernel=lambda X, Z: X @ Z.T, random_state=0).fit(*blobs)
    with pytest.raises(ValueError, match="a file holds no code"):
        save(model, file)
    assert not file.exists()


def test_what_is_no_model_is_refused(blobs: tuple[Any, Any], file: Path) -> None:
    with pytest.raises(ValueError, match="a model is a LinearSVM"):
        save("model", file)
    with pytest.raises(ValueError, match="not fitted"):
        save(LinearSVM(), file)
    model = KernelSVM(random_state=0).fit(*blobs)
    with pytest.raises(ValueError, match="fitted with kernel='rbf'"):
        save(model.set_params(kernel="poly"), file)
    model = LinearSVM(random_state=0).fit(*blobs)
    with pytest.raises(ValueError, match="duals must be"):
        save(model, file, duals="maybe")
    with pytest.raises(ValueError, match="plain values"):
        save(model, file, reading={"a": np.nan})
    with pytest.raises(ValueError, match="4194304 of a header"):
        save(model, file, reading={"a": "x" * 10_000_000})


def test_feature_names(blobs: tuple[Any, Any], file: Path) -> None:
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame(blobs[0], columns=["a", "b", "größe", ""])
    model = KernelSVM(random_state=0).fit(X, blobs[1])
    loaded = again(model, file)
    assert_same(model, loaded, X)
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(X[["b", "a", "größe", ""]])


def test_any_program_can_read_the_arrays(blobs: tuple[Any, Any], file: Path) -> None:
    model = LinearSVM("ww", random_state=0).fit(*blobs)
    save(model, file)
    tensors = load_file(file)
    np.testing.assert_array_equal(tensors["0.coef_transposed"].T, model.coef_)
    with safe_open(file, "numpy") as opened:
        assert set(opened.metadata()) == {"polymargin", "polymargin.digest"}


def test_the_same_model_gives_the_same_bytes(crowd: tuple[Any, Any], file: Path) -> None:
    for model in (LinearSVM(random_state=0), KernelSVM("llw", random_state=0)):
        save(model.fit(*crowd), file, reading={"b": 1, "a": [2]}, data_hash="x")
        first = file.read_bytes()
        save(load(file), file, reading={"a": [2], "b": 1}, data_hash="x")
        assert file.read_bytes() == first


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("estimator", [LinearSVM, KernelSVM])
def test_a_warm_start_goes_on_from_stored_duals(
    estimator: Any, dtype: Any, crowd: tuple[Any, Any], file: Path
) -> None:
    X, y = crowd[0].astype(dtype), crowd[1]
    weight = np.arange(len(y)) % 7.0  # some rows are not kept
    model = estimator(tol=1e-4, max_iter=10_000, warm_start=True, random_state=0)
    model.fit(X, y, weight)
    cold = model.history_["gap"][0]
    loaded = again(model, file)
    np.testing.assert_array_equal(loaded.duals_.toarray(), model.duals_.toarray())
    loaded.fit(X, y, weight)
    assert loaded.history_["gap"][0] < max(0.1 * cold, 2e-4)
    assert load(file).fit(X, y, weight).class_scores(X).dtype == dtype


def test_duals_can_be_left_out(blobs: tuple[Any, Any], file: Path) -> None:
    model = LinearSVM(random_state=0, warm_start=True).fit(*blobs)
    loaded = again(model, file, duals=False)
    assert not hasattr(loaded, "duals_")
    assert not read_info(file).has_duals
    assert loaded.dual_gap_ == model.dual_gap_
    save(loaded, file)
    assert read_info(file).n_examples == len(blobs[1])
    with pytest.raises(ValueError, match="no dual variables"):
        save(loaded, file, duals=True)
    np.testing.assert_array_equal(loaded.fit(*blobs).coef_, model.coef_)


def test_many_duals_are_left_out_unless_asked_for(
    blobs: tuple[Any, Any], file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = LinearSVM(random_state=0).fit(*blobs)
    n_bytes = duals_bytes(model._dual_state)
    for limit in (n_bytes, n_bytes - 1):
        monkeypatch.setattr("polymargin.files._estimators.AUTO_BYTES", limit)
        save(model, file)
        assert read_info(file).has_duals == (limit == n_bytes)
    save(model, file, duals=True)
    assert read_info(file).has_duals


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_stream_goes_on(machine: str, dtype: Any, blobs: tuple[Any, Any], file: Path) -> None:
    X, y = blobs[0].astype(dtype), blobs[1]
    stream = LinearSVM(machine, C=0.1, random_state=0).partial_fit(X[:30], y[:30], [0, 1, 2])
    loaded = again(stream, file)
    assert_same(stream, loaded, X)
    assert loaded.n_samples_seen_ == 30
    assert not hasattr(loaded, "dual_gap_")
    assert (read_info(file).is_stream, read_info(file).certificate) == (True, None)
    stream.partial_fit(X[30:], y[30:])
    loaded.partial_fit(X[30:], y[30:])
    assert_same(stream, loaded, X)


def test_a_stream_without_its_state(blobs: tuple[Any, Any], file: Path) -> None:
    X, y = blobs
    stream = LinearSVM(random_state=0).partial_fit(X, y, [0, 1, 2])
    stream._end_stream()
    stream.n_iter_, stream.dual_gap_, stream.converged_ = 1, 0.5, False
    stream.primal_objective_, stream.dual_objective_ = 2.0, 1.0
    stream.history_ = LinearSVM(tol=0.1).fit(X, y).history_[:1]
    assert_same(stream, again(stream, file), X)
    info = read_info(file)
    assert (info.is_stream, info.n_examples, info.certificate["dual_gap"]) == (True, 60, 0.5)


def test_arrays_are_mapped_and_read_only(blobs: tuple[Any, Any], file: Path) -> None:
    X, y = blobs
    model = LinearSVM(random_state=0).fit(X, y)
    loaded = again(model, file)
    assert not loaded.coef_.flags.writeable
    assert not loaded.coef_.flags.owndata
    before = file.read_bytes()
    loaded.fit(X[:, :2], y)
    assert loaded.coef_.flags.writeable
    assert file.read_bytes() == before
    kernel = again(KernelSVM(random_state=0).fit(X, y), file)
    assert not kernel.support_vectors_.flags.owndata


def test_loaded_models_pickle_and_clone(blobs: tuple[Any, Any], file: Path) -> None:
    X, y = blobs
    for model in (
        LinearSVM(random_state=0).fit(X, y),
        LinearSVM(weights="sparse", random_state=0).fit(X, y),
        KernelSVM(random_state=0).fit(X, y),
        LinearSVM(random_state=0).partial_fit(X, y, [0, 1, 2]),
    ):
        loaded = again(model, file)
        assert_same(model, pickle.loads(pickle.dumps(loaded)), X)
        stream = BytesIO()
        joblib.dump(loaded, stream)
        stream.seek(0)
        assert_same(model, joblib.load(stream), X)
        assert clone(loaded).get_params() == model.get_params()
        assert loaded.sparsify().coef_.nnz > 0 if isinstance(model, LinearSVM) else True


def test_info(blobs: tuple[Any, Any], file: Path) -> None:
    X, y = blobs
    model = KernelSVM("cs", C=2.0, random_state=0).fit(X, y)
    digest = data_hash(X, y)
    save(model, file, data_hash=digest, reading={"format": "csv", "label": "größe"})
    info = read_info(file)
    assert info.steps == (("", "KernelSVM"),)
    assert (info.format, info.estimator, info.dtype) == ((1, 0), "KernelSVM", "float64")
    assert (info.n_features, info.n_examples, info.n_support) == (4, 60, len(model.support_))
    assert info.reading == {"format": "csv", "label": "größe"}
    assert info.data_hash == digest
    assert info.certificate == {
        "n_iter": model.n_iter_,
        "dual_gap": model.dual_gap_,
        "primal_objective": model.primal_objective_,
        "dual_objective": model.dual_objective_,
        "converged": True,
    }
    np.testing.assert_array_equal(info.history, model.history_)
    assert info.n_bytes == file.stat().st_size


def test_verification_is_an_option(blobs: tuple[Any, Any], file: Path) -> None:
    model = LinearSVM(random_state=0).fit(*blobs)
    save(model, file, duals=False)
    content = bytearray(file.read_bytes())
    at = bytes(content).index(np.ascontiguousarray(model.coef_.T).tobytes())
    content[at] ^= 1
    file.write_bytes(content)
    with pytest.raises(ModelFileError, match="the arrays were altered"):
        load(file)
    changed = load(file, verify=False).coef_
    assert np.count_nonzero(changed != model.coef_) == 1


def test_a_full_disk(blobs: tuple[Any, Any]) -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("there is no /dev/full")
    with pytest.raises(OSError, match="No space left"):
        save(LinearSVM(random_state=0).fit(*blobs), full)


def test_a_failed_save_leaves_the_old_file(blobs: tuple[Any, Any], file: Path) -> None:
    file.write_text("old")
    model = LinearSVM(random_state=0).fit(*blobs)
    model.coef_ = model.coef_.astype(np.float16)  # no type of a file
    with pytest.raises(ValueError, match="float32 or float64"):
        save(model, file)
    assert file.read_text() == "old"
    assert [path.name for path in file.parent.iterdir()] == [file.name]


@given(
    X=st.lists(
        st.lists(st.sampled_from([0.0, -0.0, 1.5, -2.0, 1e300]), min_size=3, max_size=3),
        min_size=1,
        max_size=6,
    )
)
def test_data_hash_does_not_depend_on_storage(X: list[list[float]]) -> None:
    dense = np.array(X)
    digest = data_hash(dense, range(len(X)))
    assert len(digest) == 64
    assert digest == data_hash(sparse.csc_matrix(dense), np.arange(len(X), dtype=np.float32))
    assert digest == data_hash(np.asfortranarray(dense), list(range(len(X))))
    explicit = sparse.csr_array(np.ones_like(dense))
    explicit.data[:] = dense.ravel()
    assert digest == data_hash(explicit, np.arange(len(X)))
    changed = dense.copy()
    changed[0, 0] += 1.0
    if changed[0, 0] != dense[0, 0]:
        assert digest != data_hash(changed, range(len(X)))
    assert digest != data_hash(dense)
    assert digest != data_hash(dense, [str(i) for i in range(len(X))])


def test_data_hash_of_texts_and_columns() -> None:
    from types import SimpleNamespace

    assert data_hash(["ab", "c"], [0, 1]) != data_hash(["a", "bc"], [0, 1])
    size, colour = np.array([1.0, np.nan]), np.array(["red", None], dtype=object)
    columns = SimpleNamespace(names=("size", "colour"), values=(size, colour))
    same = SimpleNamespace(names=("size", "colour"), values=(size.copy(), colour.copy()))
    assert data_hash(columns) == data_hash(same)
    same.values[1][1] = ""
    assert data_hash(columns) != data_hash(same)
    with pytest.raises(ValueError, match="one dimension"):
        data_hash(np.zeros((2, 2, 2)))


def test_data_hash_of_integers_that_no_double_holds() -> None:
    assert data_hash([[1.0]], [2**53 + 1]) != data_hash([[1.0]], [2**53])
    assert data_hash([[1.0]], [-(2**53) - 1]) != data_hash([[1.0]], [-(2**53)])


def test_columns_that_32_bits_cannot_number() -> None:
    for n_columns, dtype in ((2**31 - 1, np.int32), (2**31 + 1, np.int64)):
        row = sparse.csr_array(([1.0], ([0], [n_columns - 1])), shape=(1, n_columns))
        parts = put_csr("x", row)
        assert parts["x.indices"].tolist() == [n_columns - 1]
        assert parts["x.indices"].dtype == parts["x.indptr"].dtype == dtype


def test_tensors_begin_at_a_multiple_of_64_bytes(blobs: tuple[Any, Any], file: Path) -> None:
    model = LinearSVM(random_state=0).fit(*blobs)
    for length in range(16):  # of the text, and so of the header
        save(model, file, reading={"x": length * "x"})
        assert (8 + int.from_bytes(file.read_bytes()[:8], "little")) % 64 == 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("step", [1, 2])
def test_bytes_of_dual_variables(dtype: Any, step: int, blobs: tuple[Any, Any]) -> None:
    """Of all rows, and of those of positive weight."""
    X, y = blobs
    weight = (np.arange(len(y)) % step == 0).astype(float)
    state = LinearSVM(random_state=0).fit(X.astype(dtype), y, weight)._dual_state
    assert (state.kept is None) == (step == 1)
    assert duals_bytes(state) == sum(array.nbytes for array in put_duals(state)[1].values())


def test_weights_without_an_entry(blobs: tuple[Any, Any], tmp_path: Path) -> None:
    model = LinearSVM(random_state=0).fit(*blobs).sparsify()
    model.coef_ = sparse.csr_array(model.coef_.shape)
    save(model, tmp_path / "m.safetensors")
    assert load(tmp_path / "m.safetensors").coef_.nnz == 0


def test_labels_have_a_largest_size(
    blobs: tuple[Any, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As an array, four bytes a character for each of the longest one's length."""
    path, words = tmp_path / "m.safetensors", np.array(["a", "bbbbb", "cc"])
    model = LinearSVM(random_state=0).fit(blobs[0], words[blobs[1]])
    monkeypatch.setattr(_arrays, "_MOST_LABEL_BYTES", 4 * 5 * 3)
    save(model, path)
    np.testing.assert_array_equal(load(path).classes_, words)
    monkeypatch.setattr(_arrays, "_MOST_LABEL_BYTES", 4 * 5 * 3 - 1)
    with pytest.raises(ModelFileError, match="too long for an array of text"):
        load(path)
    with pytest.raises(ValueError, match="too long to be saved"):
        save(model, path)


def test_data_hash_is_what_it_was() -> None:
    """Of more rows than are taken at a time; each of them counts."""
    X, y = np.arange(6000.0).reshape(3000, 2) % 7, np.arange(3000) % 3
    digest = "972298a9711b7ed288552518d2038ab8af5ff6457fc7fc2c905d9e39a6f3da20"
    assert data_hash(X, y) == digest
    for row in (0, 1023, 1024, 2047, 2048, 2999):
        changed = X.copy()
        changed[row, 0] += 1
        assert data_hash(changed, y) != digest


def test_duals_of_one_feature(blobs: tuple[Any, Any], file: Path) -> None:
    model = LinearSVM(random_state=0).fit(blobs[0][:, :1], blobs[1])
    save(model, file, duals=True)
    np.testing.assert_array_equal(load(file).duals_.toarray(), model.duals_.toarray())


@pytest.mark.parametrize("name", CALIBRATIONS)
@pytest.mark.parametrize("k", [2, 4])
def test_probabilities(name: str, k: int, crowd: tuple[Any, Any], file: Path) -> None:
    X, y = crowd[0], crowd[1] % k
    for svm in (LinearSVM(calibration=name), KernelSVM(calibration=name)):
        model = svm.set_params(random_state=0).fit(X, y)
        loaded = again(model, file)
        np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
        np.testing.assert_array_equal(loaded.predict_log_proba(X), model.predict_log_proba(X))
        described = {"name": name} | ({"T": loaded.calibrator_.T} if name == "temperature" else {})
        assert read_info(file).calibrator == described


def test_probabilities_that_were_not_learnt(crowd: tuple[Any, Any], file: Path) -> None:
    model = LinearSVM(calibration="sigmoid", random_state=0).fit(*crowd)
    loaded = again(model.set_params(calibration="isotonic"), file)
    assert read_info(file).calibrator is None
    with pytest.raises(NotFittedError, match="Call fit again"):
        loaded.predict_proba(crowd[0])
