"""What turns columns into numbers and numbers into numbers of like size, stored with the model."""

from copy import deepcopy
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.utils.sparsefuncs import min_max_axis
from sklearn.utils.validation import check_is_fitted, validate_data

from polymargin._attempt import unchanged_on_failure
from polymargin._sklearn import StrOptions, fit_context
from polymargin.errors import DataError

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import NDArray

    from polymargin.readers import Columns

__all__ = ["ColumnEncoder", "Scaler"]

_FLOATS = [np.float64, np.float32]
_DENSE_BYTES = 2**33  # a sparse matrix is not made into an array larger than this


class Scaler(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Shift and stretch each feature: ``x' = (x - offset_) * factor_``.

    All kinds are of this one form, so that a linear model can take the scaling into its weights.
    A feature that does not vary is mapped to 0 by "minmax" and "standard".

    Parameters
    ----------
    kind : {"minmax", "standard", "maxabs"}, default="minmax"
        Map the training part to [0, 1], to mean 0 and variance 1, or to [-1, 1] without a shift.
        Sparse rows stay sparse where no feature is shifted, as with "maxabs", and become an array
        otherwise.

    Attributes
    ----------
    offset_, factor_ : ndarray of shape (d,)
        Shift and stretch.
    n_features_in_ : int
        Features seen in `fit`.

    Examples
    --------
    >>> from polymargin.preprocessing import Scaler
    >>> Scaler("minmax").fit_transform([[1.0, 5.0], [3.0, 5.0]]).tolist()
    [[0.0, 0.0], [1.0, 0.0]]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "kind": [StrOptions({"minmax", "standard", "maxabs"})]
    }

    def __init__(self, kind: str = "minmax") -> None:
        self.kind = kind

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None) -> "Self":
        """Learn shift and stretch of each feature.

        Parameters
        ----------
        X : array-like or sparse of shape (n, d)
            Rows.
        y : None
            Not used.

        Returns
        -------
        self : Scaler
        """
        return self._learn(X, None)

    @fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any = None) -> "Self":
        """Learn from more rows; those of all calls since `fit` count together.

        Parameters
        ----------
        X : array-like or sparse of shape (n, d)
            Rows.
        y : None
            Not used.

        Returns
        -------
        self : Scaler
        """
        return self._learn(X, getattr(self, "_seen", None))

    def _learn(self, X: Any, before: "_Seen | None") -> "Self":
        with unchanged_on_failure(self):
            X = validate_data(self, X, accept_sparse="csr", dtype=_FLOATS, reset=before is None)
            self._count(X, before)
        return self

    def _count(self, X: Any, before: "_Seen | None") -> None:
        seen = _Seen(self.kind) if before is None else deepcopy(before)  # for errors leave it alone
        if seen.kind != self.kind:
            raise ValueError(
                f"partial_fit has learnt {seen.kind!r} so far and cannot go on with {self.kind!r}; "
                "fit starts again."
            )
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            seen.add(X)
            offset, width = seen.low, seen.high - seen.low
            if self.kind == "maxabs":
                offset = np.zeros_like(offset)
                width = np.maximum(np.abs(seen.low), np.abs(seen.high))
            elif self.kind == "standard":
                offset, width = seen.mean, np.where(width > 0, seen.deviation, 0.0)
            factor = np.where(width > 0, 1 / width, 0.0 if self.kind != "maxabs" else 1.0)
        unfit = np.flatnonzero(~np.isfinite(factor) | ~np.isfinite(offset) | ~np.isfinite(width))
        if len(unfit):
            j = int(unfit[0])
            raise ValueError(
                f"Feature {j} cannot be scaled in float64: its values are from {seen.low[j]:g} to "
                f"{seen.high[j]:g}."
            )
        self._seen = seen
        self.offset_: NDArray[np.float64] = offset
        self.factor_: NDArray[np.float64] = factor

    def transform(self, X: Any) -> Any:
        """Scale rows.

        Parameters
        ----------
        X : array-like or sparse of shape (n, d)
            Rows.

        Returns
        -------
        X : ndarray or csr_array of shape (n, d)
            A new matrix; values beyond those of the training part are not cut.
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=_FLOATS, reset=False)
        if sparse.issparse(X) and not np.any(self.offset_ * self.factor_):
            factor = self.factor_[X.indices].astype(X.dtype, copy=False)
            return sparse.csr_array((X.data * factor, X.indices, X.indptr), shape=X.shape)
        if sparse.issparse(X):
            if X.shape[0] * X.shape[1] * X.dtype.itemsize > _DENSE_BYTES:
                raise ValueError(
                    f"{self.kind!r} shifts features, which would fill all {X.shape[0]} x "
                    f"{X.shape[1]} entries of a sparse matrix; use 'maxabs', which keeps zeros."
                )
            X = X.toarray()
        scaled: NDArray[Any] = X - self.offset_.astype(X.dtype)
        scaled *= self.factor_.astype(X.dtype)
        return scaled

    def get_feature_names_out(self, input_features: Any = None) -> "NDArray[Any]":
        """The names of the features, which scaling does not change."""
        check_is_fitted(self)
        if input_features is None:
            input_features = getattr(
                self, "feature_names_in_", [f"x{j}" for j in range(self.n_features_in_)]
            )
        return np.asarray(input_features, dtype=object)


class _Seen:
    """What all rows so far say of each feature, kept by scikit-learn's scalers.

    Only what they count is used, not their scaling: they leave features that hardly vary as they
    are, and take sparse rows only where nothing is shifted.
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._ends = MinMaxScaler()
        self._moments = StandardScaler(with_mean=False)

    def add(self, X: Any) -> None:
        is_sparse = sparse.issparse(X)
        self._ends.partial_fit(np.stack(min_max_axis(X, axis=0)) if is_sparse else X)
        if self.kind == "standard":
            self._moments.partial_fit(X.astype(np.float64, copy=False) if is_sparse else X)

    @property
    def low(self) -> "NDArray[np.float64]":
        return np.asarray(self._ends.data_min_, np.float64)

    @property
    def high(self) -> "NDArray[np.float64]":
        return np.asarray(self._ends.data_max_, np.float64)

    @property
    def mean(self) -> "NDArray[np.float64]":
        return np.asarray(self._moments.mean_, np.float64)

    @property
    def deviation(self) -> "NDArray[np.float64]":
        return np.sqrt(np.asarray(self._moments.var_, np.float64))


class ColumnEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Named columns as an array: numbers as they are, one feature for each value of a category.

    Columns are found by name, so that another file may have them in another order and others
    beside them. A value that the training part did not have is zero in all features of its
    category, and so is a missing one.

    Parameters
    ----------
    missing : {"error", "mean"}, default="error"
        What to do with a missing number: refuse it, or put the mean of the training part.

    Attributes
    ----------
    names_ : tuple of str
        The columns.
    categories_ : list of (ndarray of str or None)
        The values of each category in ascending order; None for a number.
    means_ : ndarray of shape (n_columns,)
        Means of the numbers, 0 for a category.
    feature_names_out_ : ndarray of str
        ``column`` for a number, ``column=value`` for a value of a category.

    Examples
    --------
    >>> import numpy as np
    >>> from polymargin.preprocessing import ColumnEncoder
    >>> from polymargin.readers import Columns
    >>> size, colour = np.array([1.0, 2.0]), np.array(["red", "blue"], dtype=object)
    >>> encoder = ColumnEncoder().fit(Columns(("size", "colour"), (size, colour)))
    >>> encoder.feature_names_out_.tolist()
    ['size', 'colour=blue', 'colour=red']
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "missing": [StrOptions({"error", "mean"})]
    }

    def __init__(self, missing: str = "error") -> None:
        self.missing = missing

    @fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: "Columns", y: Any = None) -> "Self":
        """Learn the categories.

        Parameters
        ----------
        X : Columns
            Named columns.
        y : None
            Not used.

        Returns
        -------
        self : ColumnEncoder
        """
        with unchanged_on_failure(self):
            self.names_ = tuple(X.names)
            self.categories_ = [_categories(values) for values in X.values]
            self.means_ = np.array([_mean(values) for values in X.values])
            names: list[str] = []
            for name, values in zip(self.names_, self.categories_, strict=True):
                names += [name] if values is None else [f"{name}={value}" for value in values]
            self.feature_names_out_ = np.array(names, dtype=object)
        return self

    @property
    def is_plain(self) -> bool:
        """Whether all columns are numbers that stay as they are."""
        return self.missing == "error" and all(values is None for values in self.categories_)

    @property
    def kinds(self) -> dict[str, str]:
        """How the columns of another file have to be read: "number" or "category"."""
        return {
            name: "number" if categories is None else "category"
            for name, categories in zip(self.names_, self.categories_, strict=True)
        }

    def transform(self, X: "Columns") -> "NDArray[np.float64]":
        """Encode columns.

        Parameters
        ----------
        X : Columns
            Columns among which are all those that were there in `fit`.

        Returns
        -------
        X : ndarray of shape (n, d)
        """
        check_is_fitted(self)
        given = dict(zip(X.names, X.values, strict=True))
        absent = [name for name in self.names_ if name not in given]
        if absent:
            raise DataError(
                f"{_listed(absent)} of the training file {'is' if len(absent) == 1 else 'are'} "
                f"missing; the columns here are {', '.join(map(repr, X.names))}"
            )
        n = len(X.values[0]) if X.values else 0
        encoded = np.zeros((n, len(self.feature_names_out_)))
        first = 0
        for name, categories, mean in zip(self.names_, self.categories_, self.means_, strict=True):
            width = 1 if categories is None else len(categories)
            part = encoded[:, first : first + width]
            if categories is None:
                part[:, 0] = self._numbers(name, given[name], mean)
            else:
                _mark(given[name], categories, part)
            first += width
        return encoded

    def get_feature_names_out(self, input_features: Any = None) -> "NDArray[Any]":
        """``column`` for a number, ``column=value`` for a value of a category."""
        check_is_fitted(self)
        names: NDArray[Any] = self.feature_names_out_
        return names

    def _numbers(self, name: str, values: "NDArray[Any]", mean: float) -> "NDArray[np.float64]":
        if values.dtype == object:
            raise DataError(f"column {name!r} holds text; in the training file it held numbers")
        missing = np.isnan(values)
        if not np.any(missing):
            return values
        if self.missing == "error":
            raise DataError(
                f"column {name!r} has {np.count_nonzero(missing)} missing number(s), the first in "
                f"row {int(np.argmax(missing)) + 1}; fill them in, or ask for their mean"
            )
        return np.where(missing, mean, values)


def _categories(values: "NDArray[Any]") -> "NDArray[Any] | None":
    if values.dtype != object:
        return None
    return np.array(sorted({value for value in values if value is not None}), dtype=object)


def _mean(values: "NDArray[Any]") -> float:
    if values.dtype == object or np.all(np.isnan(values)):
        return 0.0
    return float(np.nanmean(values))


def _mark(values: "NDArray[Any]", categories: "NDArray[Any]", out: "NDArray[Any]") -> None:
    """Put 1 into the column of each value."""
    position = {value: c for c, value in enumerate(categories)}
    if values.dtype != object:  # a file in which all values happen to be numbers
        values = np.array([None if np.isnan(v) else f"{v:g}" for v in values], dtype=object)
    found = np.array([position.get(value, -1) for value in values], dtype=np.int64)
    rows = np.flatnonzero(found >= 0)
    out[rows, found[rows]] = 1.0


def _listed(names: list[str]) -> str:
    quoted = ", ".join(map(repr, names))
    return f"column {quoted}" if len(names) == 1 else f"columns {quoted}"
