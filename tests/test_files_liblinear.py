"""Models of LIBLINEAR in and out."""

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import MACHINES
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, Normalizer, StandardScaler

from polymargin import KernelSVM, LinearSVM
from polymargin.errors import ModelFileError
from polymargin.files import load, load_liblinear, save, save_liblinear
from polymargin.preprocessing import Scaler

MCSVM_CS = 4  # its number in LIBLINEAR
VALID = """solver_type MCSVM_CS
nr_class 3
label 2 1 7
nr_feature 2
bias 0.5
w
1 2 3
4 5e-1 -6
7 8 9
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "model.txt"


@pytest.fixture(scope="module")
def theirs() -> Any:
    return pytest.importorskip("liblinear.liblinearutil")


def decide(theirs: Any, file: Path, X: Any) -> tuple[list[int], Any]:
    """Labels and decision values of LIBLINEAR; its own Python function cuts them."""
    model = theirs.load_model(str(file))
    k, d, bias = model.get_nr_class(), model.get_nr_feature(), model.bias
    n_values = 1 if k == 2 and model.param.solver_type != MCSVM_CS else k
    labels, values = [], np.empty((len(X), n_values))
    for i, row in enumerate(X):
        nodes, _ = theirs.gen_feature_nodearray(row, feature_max=d)
        if bias >= 0:
            nodes[-2] = theirs.feature_node(d + 1, bias)
        found = (ctypes.c_double * k)()
        labels.append(int(theirs.liblinear.predict_values(model, nodes, found)))
        values[i] = found[:n_values]
    order = np.argsort(model.get_labels())
    return labels, values[:, order] if n_values > 1 else values


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("machine", MACHINES)
def test_liblinear_reads_our_models(
    machine: str, k: int, intercept: bool, theirs: Any, crowd: tuple[Any, Any], file: Path
) -> None:
    X, y = crowd[0], crowd[1] % k * 3 - 1
    model = LinearSVM(machine, fit_intercept=intercept, tol=1e-2, random_state=0).fit(X, y)
    save_liblinear(model, file)
    labels, values = decide(theirs, file, X)
    assert labels == model.predict(X).tolist()
    if values.shape[1] == 1:
        assert (machine, k) == ("ovr", 2)
        np.testing.assert_allclose(-values[:, 0], model.decision_function(X), rtol=0, atol=1e-12)
    else:
        np.testing.assert_allclose(values, model.class_scores(X), rtol=0, atol=1e-12)
    loaded = load_liblinear(file)
    np.testing.assert_allclose(
        loaded.decision_function(X), model.decision_function(X), rtol=0, atol=1e-12
    )


@pytest.mark.parametrize("bias", [-1, 2])
@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("solver", range(8))
def test_we_read_models_of_liblinear(
    solver: int, k: int, bias: int, theirs: Any, crowd: tuple[Any, Any], file: Path
) -> None:
    X, y = crowd[0], (5 - crowd[1]) % k
    theirs.save_model(str(file), theirs.train(y, X, f"-s {solver} -B {bias} -q"))
    labels, values = decide(theirs, file, X)
    model = load_liblinear(file)
    assert model.predict(X).tolist() == labels
    if values.shape[1] > 1:
        np.testing.assert_allclose(model.class_scores(X), values, atol=1e-12)
    else:
        first = theirs.load_model(str(file)).get_labels()[0]
        sign = 1 if first == model.classes_[1] else -1
        np.testing.assert_allclose(sign * model.decision_function(X), values[:, 0], atol=1e-12)
    assert not hasattr(model, "dual_gap_")
    saved = file.with_suffix(".safetensors")
    save(model, saved)
    np.testing.assert_array_equal(load(saved).class_scores(X), model.class_scores(X))


@pytest.mark.parametrize(
    "scaler",
    [
        Scaler("minmax"),
        Scaler("standard"),
        Scaler("maxabs"),
        MinMaxScaler((-1, 2)),
        StandardScaler(),
        StandardScaler(with_mean=False),
        StandardScaler(with_std=False),
        MaxAbsScaler(),
    ],
)
@pytest.mark.parametrize("intercept", [False, True])
def test_scaling_goes_into_the_weights(
    scaler: Any, intercept: bool, theirs: Any, seed: int, file: Path
) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 3)) * [1, 100, 1e-3] + [5, -7, 0]
    y = rng.integers(0, 3, 40)
    model = make_pipeline(
        MaxAbsScaler(), scaler, LinearSVM(fit_intercept=intercept, weights="sparse", tol=0.1)
    ).fit(X, y)
    save_liblinear(model, file)
    expected = model.decision_function(X)
    np.testing.assert_allclose(load_liblinear(file).class_scores(X), expected, atol=1e-9)
    labels, values = decide(theirs, file, X)
    np.testing.assert_allclose(values, expected, atol=1e-9)
    assert labels == model.predict(X).tolist()


def test_what_the_format_cannot_hold(blobs: tuple[Any, Any], file: Path) -> None:
    X, y = blobs
    for labels in (np.array(["a", "b", "c"])[y], y == 0, y + 2**31):
        with pytest.raises(ValueError, match="LIBLINEAR knows 32-bit integer labels only"):
            save_liblinear(LinearSVM(tol=0.1, random_state=0).fit(X, labels), file)
    with pytest.raises(ValueError, match="this is a KernelSVM"):
        save_liblinear(KernelSVM(random_state=0).fit(X, y), file)
    for step in (Normalizer(), MinMaxScaler(clip=True)):
        with pytest.raises(ValueError, match="which weights cannot take in"):
            save_liblinear(make_pipeline(step, LinearSVM(tol=0.1)).fit(X, y), file)
    assert not file.exists()


def test_loading(file: Path) -> None:
    file.write_text(VALID)
    model = load_liblinear(file)
    assert model.classes_.tolist() == [1, 2, 7]
    assert model.coef_.tolist() == [[2, 0.5], [1, 4], [3, -6]]
    assert model.intercept_.tolist() == [4, 3.5, 4.5]
    assert (model.machine, model.fit_intercept) == ("cs", True)


def test_a_bias_of_zero_has_weights_all_the_same(file: Path) -> None:
    file.write_text(VALID.replace("bias 0.5", "bias 0"))
    model = load_liblinear(file)
    assert model.coef_.tolist() == [[2, 0.5], [1, 4], [3, -6]]
    assert model.intercept_.tolist() == [0, 0, 0]
    assert model.fit_intercept


def test_a_negative_bias_has_no_weights(file: Path) -> None:
    file.write_text(VALID.replace("bias 0.5", "bias -1").replace("7 8 9\n", ""))
    model = load_liblinear(file)
    assert model.intercept_.tolist() == [0, 0, 0]
    assert not model.fit_intercept


def test_files_that_are_too_short_are_refused_before_their_weights_are_read(file: Path) -> None:
    """A weight takes two bytes or more, so that 21 x 3 take 126."""
    text = VALID.replace("nr_feature 2", "nr_feature 20")
    text = text[: text.index("w\n") + 2]
    file.write_text(text + "\n" * (126 - len(text)))
    with pytest.raises(ModelFileError, match="line 7: 0 weights where 3 should be"):
        load_liblinear(file)
    file.write_text(text + "\n" * (125 - len(text)))
    with pytest.raises(ModelFileError, match="125 bytes, too few for 21 x 3 weights"):
        load_liblinear(file)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("MCSVM_CS", "L2R_L2LOSS_SVR"), "line 1: 'L2R_L2LOSS_SVR' is no solver of classifiers"),
        (("nr_class 3", "nr_class 1"), r"line 2: 1 is outside \[2"),
        (("nr_class 3", "nr_class x"), "line 2: 'x' is not an integer"),
        (("label 2 1 7", "label 2 1"), "line 3: there should be 3 different labels"),
        (("label 2 1 7", "label 2 1 1"), "line 3: there should be 3 different labels"),
        (("nr_feature 2", "nr_feature 2000000000"), "the file is cut off"),
        (("nr_feature 2", "nr_feature 2\nrho 1"), "line 5: a model of one class"),
        (("bias 0.5", "bias nan"), "line 5: 'nan' is not a finite number"),
        (("bias 0.5", "nr_class 3"), "line 5: nr_class comes twice"),
        (("bias 0.5", "comment x"), "line 5: 'comment' is not part"),
        (("bias 0.5\n", ""), "line 5: the header has no bias"),
        (("1 2 3", "1 2"), "line 7: 2 weights where 3 should be"),
        (("5e-1", "5_1"), "line 8: '5_1' is not a finite number"),
        (("5e-1", "1e999"), "line 8: '1e999' is not a finite number"),
        (("5e-1", "\xe9"), "line 8: this is not text"),
        (("7 8 9\n", ""), "line 9: the file ends too early"),
        (("7 8 9\n", "7 8 9\n1 2 3\n"), "line 10: there is more"),
        (("bias 0.5", "bias 1e308"), "bias times its weights is infinite"),
        (("w\n", "W\n"), "line 6: 'W' is not part"),
    ],
)
def test_malformed_files(change: tuple[str, str], message: str, file: Path) -> None:
    assert change[0] in VALID
    file.write_bytes(VALID.replace(*change).encode("latin-1"))
    with pytest.raises(ModelFileError, match=message) as caught:
        load_liblinear(file)
    assert str(file) in str(caught.value)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(at=st.integers(0, len(VALID)), cut=st.integers(0, 9), put=st.binary(max_size=6))
def test_any_change_loads_or_is_refused(at: int, cut: int, put: bytes, file: Path) -> None:
    text = VALID.encode()
    file.write_bytes(text[:at] + put + text[at + cut :])
    try:
        model = load_liblinear(file)
    except ModelFileError:
        return
    assert np.all(np.isfinite(model.class_scores(np.zeros((1, model.n_features_in_)))))


def test_labels_have_32_bits(blobs: tuple[Any, Any], file: Path) -> None:
    low, high = -(2**31), 2**31 - 1
    labels = np.array([low, 7, high])
    save_liblinear(LinearSVM(random_state=0).fit(blobs[0], labels[blobs[1]]), file)
    np.testing.assert_array_equal(load_liblinear(file).classes_, labels)
    text = file.read_text()
    for label, beyond in ((low, low - 1), (high, high + 1)):
        file.write_text(text.replace(str(label), str(beyond)))
        with pytest.raises(ModelFileError, match="label"):
            load_liblinear(file)
        model = LinearSVM(random_state=0).fit(blobs[0], np.array([beyond, 7, 8])[blobs[1]])
        with pytest.raises(ValueError, match="32-bit integer labels only"):
            save_liblinear(model, file)


def test_probabilities_are_dropped_with_a_warning(blobs: tuple[Any, Any], file: Path) -> None:
    model = LinearSVM("cs", calibration="temperature", random_state=0).fit(*blobs)
    with pytest.warns(UserWarning, match="no place for calibration='temperature'"):
        save_liblinear(model, file)
    loaded = load_liblinear(file)
    assert not hasattr(loaded, "predict_proba")
    np.testing.assert_allclose(loaded.class_scores(blobs[0]), model.class_scores(blobs[0]))
