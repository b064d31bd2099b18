"""ONNX graphs compute the scores of the models."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import MACHINES
from scipy import sparse
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, Normalizer, StandardScaler

from polymargin import KernelSVM, LinearSVM
from polymargin.calibration import CALIBRATIONS, Isotonic
from polymargin.errors import MissingPackageError
from polymargin.files import load_liblinear, save_liblinear, save_onnx
from polymargin.kernel import NAMED_KERNELS
from polymargin.preprocessing import ColumnEncoder, Scaler
from polymargin.readers import Columns


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "model.onnx"


@pytest.fixture(scope="module")
def runtime() -> Any:
    pytest.importorskip("onnx")
    return pytest.importorskip("onnxruntime")


def assert_same(runtime: Any, model: Any, X: Any, file: Path) -> None:
    """Scores and labels of the graph for no, one and many rows."""
    save_onnx(model, file)
    session = runtime.InferenceSession(file.read_bytes(), providers=["CPUExecutionProvider"])
    atol = 1e-10 if X.dtype == np.float64 else 1e-4
    estimator = model[-1] if hasattr(model, "steps") else model
    for n in (len(X), 1, 0):
        labels, scores = session.run(["label", "scores"], {"X": X[:n]})
        assert scores.dtype == X.dtype
        assert scores.shape == (n, len(estimator.classes_))
        if n == 0:
            assert labels.shape == (0,)
            continue
        rows = model[:-1].transform(X[:n]) if hasattr(model, "steps") else X[:n]
        expected = estimator.class_scores(rows)
        np.testing.assert_allclose(scores, expected, rtol=atol, atol=atol)
        two = np.sort(expected, axis=1)[:, -2:]
        is_clear = two[:, 1] - two[:, 0] > 10 * atol
        assert labels[is_clear].tolist() == model.predict(X[:n])[is_clear].tolist()
        assert np.count_nonzero(is_clear) >= min(n, 1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_linear(machine: str, dtype: Any, runtime: Any, blobs: tuple[Any, Any], file: Path) -> None:
    X, y = blobs[0].astype(dtype), np.array(["a", "ä", "c"])[blobs[1]]
    assert_same(runtime, LinearSVM(machine, tol=0.1, random_state=0).fit(X, y), X, file)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("as_sparse", [False, True])
@pytest.mark.parametrize("kernel", NAMED_KERNELS)
def test_kernels(
    kernel: str, as_sparse: bool, dtype: Any, runtime: Any, blobs: tuple[Any, Any], file: Path
) -> None:
    X, y = blobs[0].astype(dtype), blobs[1] - 1
    if as_sparse:
        X = X * (np.abs(X) > 1.2)  # some rows are zero
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = KernelSVM(
            kernel=kernel, gamma=0.3, coef0=0.0 if as_sparse else 0.5, fit_intercept=as_sparse,
            random_state=0,
        ).fit(sparse.csr_array(X) if as_sparse else X, y)  # fmt: skip
    assert_same(runtime, model, X, file)


@pytest.mark.parametrize("machine", MACHINES)
def test_kernel_machines(machine: str, runtime: Any, blobs: tuple[Any, Any], file: Path) -> None:
    X, y = blobs
    model = KernelSVM(machine, fit_intercept=True, tol=0.01, random_state=0).fit(X, y > 0)
    assert_same(runtime, model, X, file)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "step",
    [
        Scaler("minmax"),
        Scaler("standard"),
        Scaler("maxabs"),
        MinMaxScaler((-1, 2), clip=True),
        StandardScaler(),
        StandardScaler(with_mean=False, with_std=False),
        MaxAbsScaler(),
        Normalizer("l1"),
        Normalizer("l2"),
        Normalizer("max"),
    ],
)
def test_steps(step: Any, dtype: Any, runtime: Any, blobs: tuple[Any, Any], file: Path) -> None:
    X, y = (3 * blobs[0] + 1).astype(dtype), blobs[1]
    X[3] = 0
    model = make_pipeline(step, KernelSVM(gamma=0.5, tol=0.01, random_state=0)).fit(X, y)
    assert_same(runtime, model, np.vstack([X, 2 * X]), file)


def test_one_feature(runtime: Any, blobs: tuple[Any, Any], file: Path) -> None:
    X, y = blobs[0][:, :1] * 1.7, blobs[1]
    for last in (LinearSVM(tol=0.1), KernelSVM(kernel="poly", gamma=0.3, degree=2, tol=0.1)):
        assert_same(runtime, make_pipeline(Scaler("maxabs"), last).fit(X, y), X, file)
        assert_same(runtime, make_pipeline(StandardScaler(), last).fit(X, y), X, file)


def test_sparse_weights_and_same_bytes(runtime: Any, blobs: tuple[Any, Any], file: Path) -> None:
    X, y = blobs
    model = LinearSVM("cs", weights="sparse", random_state=0).fit(X, y.astype(float))
    assert_same(runtime, model, X, file)
    first = file.read_bytes()
    save_onnx(model, file)
    assert file.read_bytes() == first


def test_what_has_no_graph(runtime: Any, blobs: tuple[Any, Any], file: Path) -> None:
    X, y = blobs
    text = make_pipeline(HashingVectorizer(n_features=8), LinearSVM(tol=0.1))
    text.fit(["a b", "c d", "e f"], [0, 1, 2])
    with pytest.raises(ValueError, match=r"step 'hashingvectorizer' .* Export the steps after it"):
        save_onnx(text, file)
    for kernel, word in (("precomputed", "precomputed"), (lambda A, B: A @ B.T, "a function")):
        model = KernelSVM(kernel=kernel, random_state=0).fit(X @ X.T, y)
        with pytest.raises(ValueError, match=f"the kernel is {word}"):
            save_onnx(model, file)
    model = LinearSVM(tol=0.1, random_state=0).fit(X, y)
    model.classes_ = np.array([0, "a", 1], object)
    with pytest.raises(ValueError, match="ONNX labels are integers or text"):
        save_onnx(model, file)
    with pytest.raises(ValueError, match="not fitted"):
        save_onnx(LinearSVM(), file)
    assert not file.exists()


def test_a_missing_package(
    blobs: tuple[Any, Any], file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "onnx", None)
    model = LinearSVM(tol=0.1, random_state=0).fit(*blobs)
    with pytest.raises(MissingPackageError, match=r"polymargin\[onnx\]"):
        save_onnx(model, file)


def test_columns_of_numbers_are_rows(runtime: Any, blobs: tuple[Any, Any], tmp_path: Path) -> None:
    X, y = blobs
    columns = Columns(tuple("abcd"), tuple(X.T))
    model = make_pipeline(ColumnEncoder(), Scaler(), LinearSVM(random_state=0)).fit(columns, y)
    save_onnx(model, tmp_path / "model.onnx")
    session = runtime.InferenceSession(tmp_path / "model.onnx")
    scores = session.run(["scores"], {"X": X})[0]
    np.testing.assert_allclose(scores, model.decision_function(columns), atol=1e-9)
    save_liblinear(model, tmp_path / "model.txt")
    again = load_liblinear(tmp_path / "model.txt")
    np.testing.assert_allclose(again.class_scores(X), scores, atol=1e-9)


@pytest.mark.parametrize(
    ("encoder", "values"),
    [
        (ColumnEncoder(missing="mean"), np.arange(6.0)),
        (ColumnEncoder(), np.array(list("ababab"), dtype=object)),
    ],
)
def test_other_columns_are_refused(encoder: Any, values: Any, tmp_path: Path) -> None:
    columns = Columns(("a",), (values,))
    model = make_pipeline(encoder, LinearSVM(random_state=0)).fit(columns, [0, 1, 0, 1, 1, 0])
    for write in (save_onnx, save_liblinear):
        with pytest.raises(ValueError, match="ColumnEncoder"):
            write(model, tmp_path / "model")


def test_objects_of_text_are_text(runtime: Any, blobs: tuple[Any, Any], file: Path) -> None:
    words = np.array(["a", "bb", "c"])
    graphs = []
    for labels in (words, words.astype(object)):
        save_onnx(LinearSVM(random_state=0).fit(blobs[0], labels[blobs[1]]), file)
        graphs.append(file.read_bytes())
    assert graphs[0] == graphs[1]


@pytest.mark.parametrize("name", CALIBRATIONS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("k", [2, 3])
def test_probabilities(
    name: str, dtype: Any, k: int, runtime: Any, crowd: tuple[Any, Any], file: Path
) -> None:
    X, y = crowd[0].astype(dtype), crowd[1] % k
    for svm in (LinearSVM(calibration=name), KernelSVM(calibration=name, gamma=0.1)):
        model = make_pipeline(Scaler(), svm.set_params(random_state=0)).fit(X, y)
        assert_same(runtime, model, X, file)
        session = runtime.InferenceSession(file.read_bytes(), providers=["CPUExecutionProvider"])
        far = np.concatenate([X, 1e4 * X[:5], np.zeros_like(X[:1])])
        (p,) = session.run(["probabilities"], {"X": far})
        assert p.dtype == dtype
        tolerance = 1e-9 if dtype == np.float64 else 2e-3
        np.testing.assert_allclose(p, model.predict_proba(far), rtol=0, atol=tolerance)


def test_curves_without_a_rise(runtime: Any, blobs: tuple[Any, Any], file: Path) -> None:
    model = LinearSVM(calibration="isotonic", random_state=0).fit(*blobs)
    flat = (np.array([0.0]), np.array([0.0]))
    model.calibrator_ = Isotonic((flat, flat, flat))
    save_onnx(model, file)
    session = runtime.InferenceSession(file.read_bytes(), providers=["CPUExecutionProvider"])
    (p,) = session.run(["probabilities"], {"X": blobs[0]})
    np.testing.assert_array_equal(p, np.full((60, 3), 1 / 3))
    np.testing.assert_array_equal(model.predict_proba(blobs[0]), p)


def test_a_calibration_that_was_not_learnt(blobs: tuple[Any, Any], file: Path) -> None:
    pytest.importorskip("onnx")
    model = LinearSVM(random_state=0).fit(*blobs).set_params(calibration="sigmoid")
    with pytest.raises(ValueError, match="Call fit again"):
        save_onnx(model, file)
