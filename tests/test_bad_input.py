"""Input that is wrong, odd or extreme: each has a message or a right answer."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from conftest import fit_linear
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from polymargin import LinearSVM
from polymargin.block_solvers import SMO

# C of the binary SVM and its weights, for two classes without a bias
_DIFFERENCE = {"ww", "cs"}  # f = f1 - f0, C_binary = 2 C
_HALF = {"llw", "adm", "atm", "mmr", "rm"}  # f = f1, C_binary = C / 2; ats, ovr: C


# Classes


def test_one_class_is_an_error(machine: str) -> None:
    with pytest.raises(ValueError, match="number of classes has to be at least two; got 1"):
        LinearSVM(machine).fit([[0.0], [1.0]], [7, 7])


def test_one_example_is_an_error() -> None:
    with pytest.raises(ValueError, match="number of classes has to be at least two; got 1"):
        LinearSVM().fit([[0.0]], [1])


def test_no_example_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        LinearSVM().fit(np.empty((0, 2)), [])


def test_class_of_one_example(machine: str) -> None:
    X = np.array([[5.0, 0.0], [5.0, 1.0], [-5.0, 0.0], [0.0, 9.0]])
    model = fit_linear(X, [0, 0, 1, 2], machine, C=10.0)
    assert model.converged_
    assert model.predict([[0.0, 9.0]])[0] == 2


def test_class_of_weight_zero_is_missing(machine: str, blobs: tuple[Any, Any]) -> None:
    X, y = blobs
    weighted = fit_linear(X, y, machine, C=0.1, sample_weight=np.where(y == 1, 0.0, 1.0))
    alone = fit_linear(X[y != 1], y[y != 1], machine, C=0.1)
    assert weighted.classes_.tolist() == [0, 2]
    np.testing.assert_allclose(weighted.coef_, alone.coef_, rtol=1e-3, atol=1e-5)
    assert weighted.duals_.shape == (len(y), 2)
    assert abs(weighted.duals_[y == 1]).sum() == 0


def test_fewer_than_two_classes_of_positive_weight_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"got 1 class\(es\) among the rows of positive weight"):
        LinearSVM().fit([[0.0], [1.0], [2.0]], [0, 1, 1], [0.0, 1.0, 1.0])


def test_class_weight_zero_removes_the_class(blobs: tuple[Any, Any]) -> None:
    X, y = blobs
    assert fit_linear(X, y, C=0.1, class_weight={1: 0.0}).classes_.tolist() == [0, 2]


@pytest.mark.parametrize("weight", [-1.0, np.nan, np.inf])
def test_bad_weights_are_errors(weight: float) -> None:
    X, y = [[0.0], [1.0], [2.0]], [0, 1, 1]
    with pytest.raises(ValueError, match=r"[Nn]egative|NaN|infinity"):
        LinearSVM().fit(X, y, [1.0, 1.0, weight])
    with pytest.raises(ValueError, match="class_weight must be finite and not negative"):
        LinearSVM(class_weight={1: weight}).fit(X, y)


def test_class_weight_of_no_class_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"none of the classes of class_weight, \['a'\], is in y"):
        LinearSVM(class_weight={"a": 2.0}).fit([[0.0], [1.0]], [0, 1])


def test_more_classes_than_examples_of_most(machine: str) -> None:
    model = fit_linear(np.eye(5), np.arange(5), machine, C=10.0)
    assert model.coef_.shape == (5, 5)
    np.testing.assert_array_equal(model.predict(np.eye(5)), np.arange(5))


def test_more_classes_in_a_stream_than_examples(machine: str) -> None:
    stream = LinearSVM(machine).partial_fit(np.eye(2), [3, 5], classes=np.arange(9))
    assert stream.coef_.shape == (9, 2)
    assert np.isfinite(stream.coef_).all()


@pytest.mark.parametrize(
    "labels",
    [["ant", "bee", "cat"], [-7, -1, 3], [0.0, 1.0, 2.0]],
    ids=["strings", "negative", "floats"],
)
def test_labels_of_any_kind(labels: list[Any], blobs: tuple[Any, Any]) -> None:
    X, y = blobs
    named = np.array(labels)[y]
    model, plain = LinearSVM(random_state=0).fit(X, named), LinearSVM(random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.classes_, labels)
    np.testing.assert_array_equal(model.predict(X), np.array(labels)[plain.predict(X)])


def test_labels_of_booleans(blobs: tuple[Any, Any]) -> None:
    X, y = blobs
    model = LinearSVM(random_state=0).fit(X, y == 1)
    assert model.classes_.tolist() == [False, True]
    assert model.predict(X).dtype == bool


def test_continuous_labels_are_an_error() -> None:
    with pytest.raises(ValueError, match="Unknown label type"):
        LinearSVM().fit([[0.0], [1.0]], [0.25, 0.75])


def test_two_classes_are_the_binary_machine(machine: str, blobs: tuple[Any, Any]) -> None:
    X, y = blobs[0], (blobs[1] == 0).astype(int)
    C = 0.5
    model = fit_linear(X, y, machine, C=C, fit_intercept=False, tol=1e-10)
    factor = 2.0 if machine in _DIFFERENCE else 0.5 if machine in _HALF else 1.0
    binary = LinearSVC(
        loss="hinge", C=factor * C, fit_intercept=False, tol=1e-9, max_iter=10**6, random_state=0
    ).fit(X, y)
    offset = model.coef_[0] if machine in _DIFFERENCE else 0.0
    np.testing.assert_allclose(model.coef_[1] - offset, binary.coef_[0], rtol=1e-4, atol=1e-5)
    scores = model.class_scores(X)
    np.testing.assert_allclose(model.decision_function(X), scores[:, 1] - scores[:, 0])


# Values


def test_rows_of_zeros(machine: str, blobs: tuple[Any, Any]) -> None:
    X, y = blobs
    X = X.copy()
    X[::4] = 0.0
    model = fit_linear(X, y, machine, C=0.1, fit_intercept=False, tol=1e-6)
    assert model.converged_
    assert model.dual_gap_ <= 1e-6


def test_only_rows_of_zeros(machine: str) -> None:
    model = fit_linear(np.zeros((4, 2)), [0, 1, 2, 2], machine, fit_intercept=False, tol=1e-6)
    assert model.converged_
    assert not model.coef_.any()


def test_constant_feature(machine: str, blobs: tuple[Any, Any]) -> None:
    X, y = blobs
    bias = fit_linear(X, y, machine, C=0.1)
    column = fit_linear(np.c_[X, np.ones(len(X))], y, machine, C=0.1, fit_intercept=False)
    np.testing.assert_allclose(column.coef_[:, -1], bias.intercept_, rtol=1e-3, atol=1e-4)
    assert not column.intercept_.any()


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array, sparse.csc_matrix])
@pytest.mark.parametrize(
    ("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")]
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_value_not_finite_is_named(
    container: Callable[[Any], Any], value: float, word: str, dtype: type
) -> None:
    X: Any = np.arange(12, dtype=dtype).reshape(4, 3)
    y = [0, 1, 2, 0]
    model = LinearSVM(C=1e-3).fit(container(X), y)
    X[2, 1] = value
    message = f"Input X contains {word} in row 2, column 1"
    for call in (model.predict, lambda X: LinearSVM().fit(X, y)):
        with pytest.raises(ValueError, match=message):
            call(container(X))
    with pytest.raises(ValueError, match=message):
        LinearSVM().partial_fit(container(X), y, classes=[0, 1, 2])


@pytest.mark.parametrize("C", [0.0, -1.0, np.nan, -np.inf, "1"])
def test_bad_C_is_an_error(C: Any, blobs: tuple[Any, Any]) -> None:
    with pytest.raises(ValueError, match="The 'C' parameter of LinearSVM"):
        LinearSVM(C=C).fit(*blobs)


def test_huge_C_is_right_or_warns(machine: str, blobs: tuple[Any, Any]) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = LinearSVM(machine, C=1e8, max_iter=50, random_state=0).fit(*blobs)
    assert np.isfinite(model.coef_).all()
    assert model.converged_ or any(item.category is ConvergenceWarning for item in caught)


def test_C_beyond_the_range_is_an_error(blobs: tuple[Any, Any]) -> None:
    X, y = blobs
    with pytest.raises(ValueError, match="too large for float64. Lower C or the weights"):
        LinearSVM(C=1e300).fit(X, y, np.full(len(y), 1e10))
    with pytest.raises(ValueError, match="too large for float32. Lower C or the weights"):
        LinearSVM(C=1e35).fit(X.astype(np.float32), y)


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_extreme_scale_in_double(scale: float, machine: str, blobs: tuple[Any, Any]) -> None:
    """Features times s with C / s^2 is the same problem with weights over s."""
    X, y = blobs
    model = fit_linear(X, y, machine, C=0.1, fit_intercept=False)
    scaled = fit_linear(X * scale, y, machine, C=0.1 / scale**2, fit_intercept=False)
    assert scaled.converged_
    np.testing.assert_allclose(scaled.coef_ * scale, model.coef_, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_extreme_scale_in_double_at_plain_C(scale: float, blobs: tuple[Any, Any]) -> None:
    X, y = blobs
    X = X + 10 * np.eye(3)[y] @ np.eye(3, 4)  # separable
    model = LinearSVM(fit_intercept=False, random_state=0).fit(X * scale, y)
    assert model.converged_
    assert model.score(X * scale, y) > 0.9


@pytest.mark.parametrize(("scale", "word"), [(1e-30, "small"), (1e30, "large")])
def test_extreme_scale_in_single_is_an_error(
    scale: float, word: str, blobs: tuple[Any, Any]
) -> None:
    X, y = (blobs[0] * scale).astype(np.float32), blobs[1]
    message = f"too {word} for float32. Rescale the features or pass float64"
    with pytest.raises(ValueError, match=message):
        LinearSVM().fit(X, y)
    with pytest.raises(ValueError, match=message):
        LinearSVM().partial_fit(X, y, classes=[0, 1, 2])


def test_scale_beyond_double_is_an_error() -> None:
    with pytest.raises(ValueError, match="too large for float64. Rescale the features"):
        LinearSVM().fit([[1e200], [-1e200]], [0, 1])


# Arrays


def _odd_layouts(X: Any) -> dict[str, Any]:
    wide = np.zeros((2 * X.shape[0], 3 * X.shape[1]), dtype=X.dtype)
    wide[::2, ::3] = X
    frozen = X.copy()
    frozen.flags.writeable = False
    return {
        "fortran": np.asfortranarray(X),
        "slice": wide[::2, ::3],
        "reversed": X[::-1, ::-1].copy()[::-1, ::-1],
        "read-only": frozen,
        "byte-swapped": X.astype(X.dtype.newbyteorder()),
        "unaligned": _unaligned(X),
    }


def _unaligned(X: Any) -> Any:
    raw = np.zeros(X.nbytes + 1, dtype=np.uint8)
    view = raw[1:].view(X.dtype).reshape(X.shape)
    view[...] = X
    return view


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("layout", list(_odd_layouts(np.zeros((2, 2)))))
def test_layout_of_dense_arrays(layout: str, dtype: type, blobs: tuple[Any, Any]) -> None:
    X, y = blobs[0].astype(dtype), blobs[1]
    odd = _odd_layouts(X)[layout]
    expected = LinearSVM(random_state=0).fit(X, y)
    model = LinearSVM(random_state=0).fit(odd, y)
    assert model.coef_.dtype == dtype
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(model.class_scores(odd), model.class_scores(X), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, bool, np.float16])
def test_other_types_become_double(dtype: type, seed: int) -> None:
    X: Any = np.random.default_rng(seed).integers(0, 2, (30, 4)).astype(dtype)
    y = np.arange(30) % 3
    model = LinearSVM(C=0.1, random_state=0).fit(X, y)
    assert model.coef_.dtype == np.float64
    np.testing.assert_array_equal(
        model.coef_, LinearSVM(C=0.1, random_state=0).fit(X.astype(np.float64), y).coef_
    )


def test_X_is_not_written_to(machine: str, blobs: tuple[Any, Any]) -> None:
    X, y = blobs
    before = X.copy()
    LinearSVM(machine).fit(X, y).predict(X)
    np.testing.assert_array_equal(X, before)


# At the limits of the precision


@pytest.mark.parametrize("C", [0.7, 1e-4, 3.3])
def test_rounded_bound_does_not_hang(machine: str, C: float) -> None:
    """Bounds that single precision rounds down make gaps that round below zero."""
    model = LinearSVM(machine, C=C, tol=0.0, fit_intercept=False, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(np.zeros((8, 1), np.float32), np.arange(8))
    assert model.dual_gap_ <= 1e-6
    assert len(model.history_) < 100


def test_warning_names_the_precision(blobs: tuple[Any, Any]) -> None:
    X, y = blobs
    with pytest.warns(ConvergenceWarning, match=r"float64 gets no further than \S+: loosen tol"):
        LinearSVM(C=100, tol=0.0, max_iter=10**6, solver="block-descent", random_state=0).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="loosen tol or pass float64"):
        LinearSVM(tol=0.0, max_iter=100_000, random_state=0).fit(X.astype(np.float32), y)


def test_C_below_the_range_is_an_error(blobs: tuple[Any, Any]) -> None:
    X, y = blobs
    with pytest.raises(ValueError, match=r"is 1e-40, too small for float32\. Raise C"):
        LinearSVM(C=1e-40).fit(X.astype(np.float32), y)
    with pytest.raises(ValueError, match="too small for float64"):
        LinearSVM(C=1e-200).fit(X, y, np.full(len(y), 1e-200))
    with pytest.raises(ValueError, match=r"1.8e\+308, too large for float64"):
        LinearSVM(C=10**400).fit(X, y)


@pytest.mark.parametrize("as_given", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (-np.inf, "infinity")])
def test_a_value_that_is_not_finite_is_told_from_an_infinite_square(
    as_given: Any, value: float, word: str, blobs: tuple[Any, Any]
) -> None:
    X, y = blobs
    X[3, 1] = 1e200
    with pytest.raises(ValueError, match=r"inf, is too large for float64\. Rescale the features"):
        LinearSVM().fit(as_given(X), y)
    X[5, 2] = value
    with pytest.raises(ValueError, match=f"contains {word} in row 5, column 2"):
        LinearSVM().fit(as_given(X), y)


def test_squares_that_vanish_are_an_error(blobs: tuple[Any, Any]) -> None:
    X, y = blobs
    with pytest.raises(ValueError, match="too small for float64"):
        LinearSVM().fit(X * 1e-170, y)


def test_value_beyond_the_precision_of_the_model_is_named(blobs: tuple[Any, Any]) -> None:
    X, y = blobs
    model = LinearSVM(random_state=0).fit(X.astype(np.float32), y)
    with pytest.raises(ValueError, match="too large for float32, the precision of the model"):
        model.predict(np.full_like(X, 1e300))


# Unusual containers and parameters


def test_field_of_a_record_array(blobs: tuple[Any, Any]) -> None:
    X, y = blobs
    records = np.zeros(len(y), dtype=[("id", "i4"), ("x", "f8", (X.shape[1],))])
    records["x"] = X
    model = LinearSVM(random_state=0).fit(records["x"], y)
    np.testing.assert_array_equal(model.coef_, LinearSVM(random_state=0).fit(X, y).coef_)
    np.testing.assert_array_equal(model.predict(records["x"]), model.predict(X))


def test_polars_single_stays_single(blobs: tuple[Any, Any]) -> None:
    polars = pytest.importorskip("polars")
    X, y = blobs
    assert LinearSVM().fit(polars.DataFrame(X.astype(np.float32)), y).coef_.dtype == np.float32
    assert LinearSVM().fit(polars.DataFrame(X), y).coef_.dtype == np.float64


def test_sparse_of_one_dimension_is_an_error() -> None:
    with pytest.raises(ValueError, match="expected 2 dimensions, got 1"):
        LinearSVM().fit(sparse.coo_array(np.ones(3)), [0, 1, 1])


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"max_iter": 2**63}, "max_iter"),
        ({"class_weight": {0: None}}, "class_weight must be finite"),
    ],
)
def test_parameters_beyond_reason_are_named(
    params: dict[str, Any], message: str, blobs: tuple[Any, Any]
) -> None:
    with pytest.raises(ValueError, match=message):
        LinearSVM(**params).fit(*blobs)


def test_options_beyond_reason_are_named() -> None:
    with pytest.raises(ValueError, match="SMO: max_iter must be an integer from 0 to"):
        SMO(max_iter=2**31)
