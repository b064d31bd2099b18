"""Weights in half precision: how far off, how small, what is left out and what is refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli_helpers import SATIMAGE_TEST, done, run
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from polymargin import KernelSVM, LinearSVM
from polymargin.datasets import load_letter
from polymargin.errors import ModelFileError
from polymargin.files import load, read_info, save
from polymargin.files._rounded import restore_weights
from polymargin.storage import Fields, Tensors

HALF_DIGITS = 2.0**-11  # relative rounding error of a half


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "model.safetensors"


def again(model: Any, path: Path, **options: Any) -> Any:
    save(model, path, dtype="float16", **options)
    return load(path)


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weights", ["dense", "sparse"])
def test_linear_weights_are_rounded_whatever_their_scale(
    weights: str, dtype: Any, scale: float, blobs: Any, file: Path
) -> None:
    X, y = blobs
    model = LinearSVM(C=0.1, weights=weights, random_state=0).fit(X.astype(dtype), y)
    model.coef_ = model.coef_ * dtype(scale)
    loaded = again(model, file)
    found, expected = (
        m.coef_.toarray() if sparse.issparse(m.coef_) else m.coef_ for m in (loaded, model)
    )
    assert found.dtype == dtype
    assert sparse.issparse(loaded.coef_) == (weights == "sparse")
    np.testing.assert_allclose(found, expected, rtol=HALF_DIGITS)
    assert np.any(found != expected)
    np.testing.assert_array_equal(loaded.intercept_, model.intercept_)


def test_small_weights_beside_large_ones_keep_their_digits(file: Path) -> None:
    model = LinearSVM(random_state=0).fit(np.eye(3), [0, 1, 2])
    model.coef_ = np.array([[1e6, -3.3, 0.0], [0.0077, 1.0, 1e-12], [0.0, 0.0, 0.0]])
    loaded = again(model, file)
    np.testing.assert_allclose(loaded.coef_, model.coef_, rtol=HALF_DIGITS, atol=1e-11)
    model.coef_ = np.zeros((3, 3))
    np.testing.assert_array_equal(again(model, file).coef_, 0.0)


def test_kernel_coefficients_are_rounded_and_support_vectors_are_not(
    blobs: Any, file: Path
) -> None:
    model = KernelSVM(C=100.0, gamma=0.5, fit_intercept=True, random_state=0).fit(*blobs)
    loaded = again(model, file)
    np.testing.assert_allclose(loaded.dual_coef_, model.dual_coef_, rtol=HALF_DIGITS)
    np.testing.assert_array_equal(loaded.support_vectors_, model.support_vectors_)
    np.testing.assert_array_equal(loaded.intercept_, model.intercept_)
    assert np.mean(loaded.predict(blobs[0]) == model.predict(blobs[0])) > 0.95


def test_letter_is_predicted_as_before_but_for_few_rows(file: Path, tmp_path: Path) -> None:
    X, y, X_test, y_test = load_letter()
    model = make_pipeline(StandardScaler(), LinearSVM("cs", tol=1e-2, random_state=0))
    model.fit(X[:4000], y[:4000])
    save(model, tmp_path / "whole.safetensors", duals=False)
    loaded = again(model, file)
    assert np.mean(loaded.predict(X_test) == model.predict(X_test)) > 0.995
    assert loaded.score(X_test, y_test) == pytest.approx(model.score(X_test, y_test), abs=2e-3)
    whole, half = (read_info(path) for path in (tmp_path / "whole.safetensors", file))
    assert half.n_bytes < whole.n_bytes
    assert (half.dtype, half.weights_dtype) == ("float64", "float16")
    assert (whole.dtype, whole.weights_dtype) == ("float64", "float64")


def test_a_second_time_changes_nothing(blobs: Any, file: Path, tmp_path: Path) -> None:
    model = LinearSVM(random_state=0).fit(*blobs)
    loaded = again(model, file)
    np.testing.assert_array_equal(again(loaded, tmp_path / "other.safetensors").coef_, loaded.coef_)
    save(loaded, file)
    np.testing.assert_array_equal(load(file).coef_, loaded.coef_)
    assert read_info(file).weights_dtype == "float64"


def test_nothing_to_go_on_from_is_stored(blobs: Any, file: Path) -> None:
    X, y = blobs
    model = LinearSVM(random_state=0).fit(X, y)
    loaded = again(model, file)
    assert not hasattr(loaded, "duals_")
    assert loaded.dual_gap_ == model.dual_gap_
    assert not read_info(file).has_duals
    with pytest.raises(
        ValueError, match="dual variables are those of weights that are not rounded"
    ):
        save(model, file, dtype="float16", duals=True)
    stream = LinearSVM(random_state=0).partial_fit(X, y, classes=[0, 1, 2])
    loaded = again(stream, file)
    assert loaded.n_samples_seen_ == len(X)
    np.testing.assert_allclose(loaded.coef_, stream.coef_, rtol=HALF_DIGITS)
    assert loaded.partial_fit(X[:5], y[:5]).n_samples_seen_ == 5  # a stream of its own


def test_probabilities_stay(blobs: Any, file: Path) -> None:
    X, y = blobs
    model = LinearSVM(calibration="sigmoid", random_state=0).fit(X, y)
    p = again(model, file).predict_proba(X)
    np.testing.assert_allclose(p, model.predict_proba(X), atol=0.01)


@pytest.mark.parametrize("dtype", ["float32", "int8", np.float16, 16])
def test_other_types_are_refused(dtype: Any, blobs: Any, file: Path) -> None:
    with pytest.raises(ValueError, match='dtype must be None or "float16"'):
        save(LinearSVM(random_state=0).fit(*blobs), file, dtype=dtype)
    assert not file.exists()


GOOD = {"dtype": "float16", "exponents": {"coef_transposed": 10}}


@pytest.mark.parametrize(
    ("rounded", "weights", "message"),
    [
        (GOOD | {"dtype": "int8"}, np.ones((2, 2), np.float16), "unknown type int8"),
        (GOOD, np.ones((2, 2), np.float32), "wrong type float32"),
        (GOOD | {"exponents": {}}, np.ones((2, 2), np.float16), "coef_transposed is missing"),
        (
            GOOD | {"exponents": {"coef_transposed": 10**9}},
            np.ones((2, 2), np.float16),
            "outside",
        ),
        (
            GOOD | {"exponents": {"coef_transposed": -1500}},
            np.ones((2, 2), np.float16),
            "NaN or infinity",
        ),
        (GOOD, np.full((2, 2), np.nan, np.float16), "NaN or infinity"),
    ],
)
def test_what_a_file_may_not_say(rounded: Any, weights: Any, message: str) -> None:
    tensors = Tensors({"coef_transposed": weights, "intercept": np.zeros(2)})
    with pytest.raises(ModelFileError, match=message):
        restore_weights(Fields({"rounded": rounded}), tensors).floats("coef_transposed", (2, 2))


def test_convert(model: Path, tmp_path: Path) -> None:
    small = tmp_path / "small.safetensors"
    done("convert", model, small, "--dtype", "float16")
    assert read_info(small).weights_dtype == "float16"
    assert read_info(small).reading == read_info(model).reading
    assert small.stat().st_size < model.stat().st_size
    shown = " ".join(done("info", small).out.split())
    assert "rounded to float16" in shown
    assert "before weights were rounded" in shown
    before, after = (
        done("score", path, SATIMAGE_TEST, "--json").json["accuracy"] for path in (model, small)
    )
    assert after == pytest.approx(before, abs=5e-3)


def test_convert_rounds_models_alone(model: Path, tmp_path: Path) -> None:
    for source, target, *more in (
        (model, "m.onnx"),
        (SATIMAGE_TEST, "rows.npz"),
        (SATIMAGE_TEST, "rows.svm", "--shuffle"),
    ):
        result = run("convert", source, tmp_path / target, "--dtype", "float16", *more)
        assert result.code == 2
        assert "--dtype" in result.err
        assert not (tmp_path / target).exists()
