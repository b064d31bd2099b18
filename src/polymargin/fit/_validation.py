"""Checks of what the user passes, and its conversion to what the core reads."""

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import validate_data

from polymargin import core
from polymargin._sklearn import check_weights
from polymargin.fit._sparse import csr_rows, guard_conversion

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polymargin.core import Rows

# Squared norms outside these bounds leave no room to compute with: scores are products of two
# features and a dual variable, and all three have to stay in the range of the type. A row far
# below the largest one may vanish without harm, so only the largest norm has a lower bound.
_NORM_BOUNDS = {np.dtype(np.float32): (1e-30, 1e30), np.dtype(np.float64): (1e-280, 1e280)}
_UPPER_BOUNDS = {np.dtype(np.float32): (1e-30, 1e30), np.dtype(np.float64): (1e-280, 1e280)}


def check_X(estimator: Any, X: Any, y: Any = "no_validation", **options: Any) -> Any:
    """`validate_data` with what all methods share; finiteness is left to `check_finite`.

    ``y="no_validation"`` is scikit-learn's own word for "there is no y".
    """
    if sparse.issparse(X):
        guard_conversion(X)
    if _is_polars_single(X):
        options = {"dtype": np.float32} | options
    if hasattr(X, "astype") and isinstance(getattr(X, "dtype", None), np.dtype):
        X = X.astype(X.dtype.newbyteorder("="), copy=False)  # scikit-learn would widen float32
    options = {
        "dtype": [np.float64, np.float32],
        "accept_sparse": "csr",
        "ensure_all_finite": False,
    } | options
    with np.errstate(over="ignore"):  # `check_finite` names what a narrower type cannot hold
        return validate_data(estimator, X, y, **options)


def _is_polars_single(X: Any) -> bool:
    """Whether all columns of a polars frame are float32, which scikit-learn does not see."""
    types = getattr(X, "dtypes", None)
    return isinstance(types, list) and len(types) > 0 and {str(t) for t in types} == {"Float32"}


def as_rows(X: Any) -> "Rows":
    """The rows of validated `X` for the core; a copy only of fields of a record array."""
    if sparse.issparse(X):
        return csr_rows(X)
    if any(stride % X.itemsize for stride in X.strides):
        X = np.ascontiguousarray(X)
    return core.dense_rows(X)


def check_finite(rows: "Rows", X: Any, given: Any = None) -> None:
    """ValueError that names the row and column of the first value of `X` not finite.

    `given` is what `X` was converted from: a value may be finite there.
    """
    place = rows.find_non_finite()
    if place is not None:
        i, j = place
        if isinstance(given, np.ndarray) and given.ndim == 2 and np.isfinite(given[i, j]):
            raise ValueError(
                f"Input X contains {given[i, j]:.3g} in row {i}, column {j}: too large for "
                f"{X.dtype.name}, the precision of the model."
            )
        kind = "NaN" if np.isnan(X[i, j]) else "infinity"
        raise ValueError(f"Input X contains {kind} in row {i}, column {j}.")


def check_finite_norms(rows: "Rows", X: Any) -> None:
    """`check_finite` of rows whose norms are needed anyway: the values are read once, for both."""
    if not np.all(np.isfinite(rows.squared_norms())):  # squares of finite values may be infinite
        check_finite(rows, X)


def check_square(K: Any) -> None:
    """Refuse a precomputed kernel that is not square."""
    n, m = K.shape
    if n != m:
        raise ValueError(
            f"Precomputed kernel: the matrix has to be square, (n, n) for n rows; got {n} x {m}."
        )


def check_symmetric(K: Any) -> None:
    """Refuse a precomputed kernel that is not symmetric."""
    n = K.shape[0]
    largest, difference, width = 0.0, 0.0, 1024
    for first in range(0, n, width):
        rows, columns = K[first : first + width], K[:, first : first + width].T
        difference = max(difference, float(abs(rows - columns).max()))
        largest = max(largest, float(abs(rows).max()))
    if difference > 1e-4 * largest:
        raise ValueError(
            f"Precomputed kernel: the matrix is not symmetric; entries differ by {difference:.3g} "
            f"where the largest is {largest:.3g}."
        )


def check_features(rows: "Rows", X: Any, kept: "NDArray[np.int64] | None" = None) -> None:
    """Refuse features that the type of the rows cannot compute with.

    `kept` are the numbers of the rows in what the user passed; None: all of them.
    """
    norms = rows.squared_norms()
    has_vanished = not np.any(norms) and bool(np.any(X.data if sparse.issparse(X) else X))
    i = int(np.argmax(norms))
    what = f"squared norm of a row of X, that of row {i if kept is None else kept[i]},"
    _check_norms(what, norms, rows.dtype, has_vanished, "Rescale the features")


def check_row_norms(rows: "Rows", X: Any) -> None:
    """Refuse rows to predict from whose squared norms the type cannot hold."""
    with np.errstate(over="ignore"):
        norms = rows.squared_norms().astype(X.dtype)
    if not np.all(np.isfinite(norms)):
        i = int(np.argmin(np.isfinite(norms)))
        raise ValueError(
            f"The squared norm of row {i} of X leaves the range of {X.dtype.name}: its largest "
            f"value is {_largest_value(X, i):.3g}. Scale the features as for fit."
        )


def check_scores(scores: "NDArray[Any]", X: Any = None, first: int = 0) -> None:
    """Refuse scores that are not finite: rows, of validated `X`, are too large for the model.

    The scores are those of consecutive rows from the `first` one on.
    """
    if np.all(np.isfinite(scores)):
        return
    i = first + int(np.argmin(np.isfinite(scores.reshape(len(scores), -1)).all(axis=1)))
    raise ValueError(
        f"The scores of row {i} of X leave the range of {scores.dtype.name}"
        + ("" if X is None else f": its largest value is {_largest_value(X, i):.3g}")
        + ". Scale the features as for fit."
    )


def _largest_value(X: Any, i: int) -> float:
    row = X[[i]]
    return float(np.abs(row.data if sparse.issparse(row) else np.asarray(row)).max(initial=0))


def check_kernel(diagonal: "NDArray[Any]", remedy: str) -> None:
    """Refuse a kernel with such values K(x, x), or with any that the type cannot compute with."""
    _check_norms("kernel value K(x, x),", diagonal, diagonal.dtype, False, remedy)


def _check_norms(
    what: str, norms: "NDArray[Any]", dtype: "np.dtype[Any]", must_be_positive: bool, remedy: str
) -> None:
    largest = float(np.abs(norms).max())
    low, high = _NORM_BOUNDS[dtype]
    is_small = 0 < largest < low or (largest == 0 and must_be_positive)
    if is_small or not largest <= high:
        word = "small" if is_small else "large"
        other = " or pass float64" if dtype == np.float32 else ""
        raise ValueError(
            f"The largest {what} {largest:.3g}, is too {word} for {dtype.name}. {remedy}{other}."
        )


def check_bounds(upper: "NDArray[np.float64]", dtype: "np.dtype[Any]") -> None:
    """Refuse bounds C_i that the type cannot compute with; those of C = inf are no bounds."""
    if np.all(np.isinf(upper)):
        return
    low, high = _UPPER_BOUNDS[dtype]
    least, most = float(np.min(upper)), float(np.max(upper))
    if most > high or least < low:
        value, word, remedy = (most, "large", "Lower") if most > high else (least, "small", "Raise")
        raise ValueError(
            f"C times sample and class weight is {value:.3g}, too {word} for {dtype.name}. "
            f"{remedy} C or the weights."
        )


def check_sample_weight(
    sample_weight: Any, X: Any, allow_zeros: bool = False
) -> "NDArray[np.float64]":
    """One weight per row, none negative or NaN; ones when there are none.

    Unless `allow_zeros`, one has to be positive.
    """
    if allow_zeros and sample_weight is not None and not np.any(sample_weight):
        # Versions of scikit-learn differ in whether they can be told.
        return np.zeros_like(check_weights(np.ones_like(sample_weight), X, dtype=np.float64))
    weights: NDArray[np.float64] = check_weights(
        sample_weight, X, dtype=np.float64, ensure_non_negative=True
    )
    return weights


def apply_class_weight(
    class_weight: Any,
    y: "NDArray[Any]",
    sample_weight: "NDArray[np.float64]",
    known: "NDArray[Any] | None" = None,
) -> "NDArray[np.float64]":
    """`sample_weight` times the weight of the class of each row.

    A dict has to name one of the `known` classes, by default those of `y`.
    """
    if class_weight is None:
        return sample_weight
    classes, labels = np.unique(y, return_inverse=True)
    if isinstance(class_weight, dict):
        per_class = _weights_from_dict(class_weight, classes, classes if known is None else known)
    else:  # "balanced", with weighted counts: weight 2 is the row twice
        totals = np.bincount(labels, weights=sample_weight)
        present = int(np.count_nonzero(totals))
        per_class = np.zeros(len(classes))
        np.divide(totals.sum() / max(present, 1), totals, out=per_class, where=totals > 0)
    return sample_weight * per_class[labels]


def _weights_from_dict(
    class_weight: dict[Any, Any], classes: "NDArray[Any]", known: "NDArray[Any]"
) -> "NDArray[np.float64]":
    try:
        per_class = np.array([float(class_weight.get(c, 1.0)) for c in classes.tolist()])
    except (TypeError, ValueError):
        per_class = np.array([np.nan])
    if not np.all(per_class >= 0) or np.isinf(per_class).any():
        raise ValueError(f"class_weight must be finite and not negative, got {class_weight!r}")
    unknown = [label for label in class_weight if label not in set(known.tolist())]
    if len(unknown) == len(class_weight) > 0:
        raise ValueError(f"none of the classes of class_weight, {unknown}, is in y")
    return per_class
