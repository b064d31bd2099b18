"""Numbers of like size."""

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

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import NDArray

__all__ = ["Scaler", "Seen"]

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

    def _learn(self, X: Any, before: "Seen | None") -> "Self":
        with unchanged_on_failure(self):
            X = validate_data(self, X, accept_sparse="csr", dtype=_FLOATS, reset=before is None)
            self._count(X, before)
        return self

    def _count(self, X: Any, before: "Seen | None") -> None:
        seen = Seen(self.kind) if before is None else deepcopy(before)  # for errors leave it alone
        if seen.kind != self.kind:
            raise ValueError(
                f"partial_fit has learnt {seen.kind!r} so far and cannot go on with {self.kind!r}; "
                "fit starts again."
            )
        seen.add(X)
        offset, factor = seen.shift_and_stretch()
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


class Seen:
    """What all rows so far say of each feature, kept by scikit-learn's scalers.

    Only what they count is used, not their scaling: they leave features that hardly vary as they
    are, and take sparse rows only where nothing is shifted.
    """

    def __init__(self, kind: str, with_moments: bool = False) -> None:
        self.kind = kind
        self._with_moments = with_moments or kind == "standard"
        self._ends = MinMaxScaler()
        self._moments = StandardScaler(with_mean=False)

    def add(self, X: Any) -> None:
        """Count more rows; NaN is passed over."""
        is_sparse = sparse.issparse(X)
        with np.errstate(over="ignore", invalid="ignore"):
            self._ends.partial_fit(np.stack(min_max_axis(X, axis=0)) if is_sparse else X)
            if self._with_moments:
                self._moments.partial_fit(X.astype(np.float64, copy=False) if is_sparse else X)

    def shift_and_stretch(
        self, names: "list[str] | None" = None
    ) -> "tuple[NDArray[np.float64], NDArray[np.float64]]":
        """Offset and factor of each feature; ValueError where they are beyond float64.

        A feature without a value is mapped to 0.
        """
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            offset, width = self.low, self.high - self.low
            if self.kind == "maxabs":
                offset = np.zeros_like(offset)
                width = np.maximum(np.abs(self.low), np.abs(self.high))
            elif self.kind == "standard":
                offset, width = self.mean, np.where(width > 0, self.deviation, 0.0)
            factor = np.where(width > 0, 1 / width, 0.0 if self.kind != "maxabs" else 1.0)
        offset = np.where(np.isnan(self.low), 0.0, offset)
        width = np.where(np.isnan(self.low), 0.0, width)
        unfit = np.flatnonzero(~np.isfinite(factor) | ~np.isfinite(offset) | ~np.isfinite(width))
        if len(unfit):
            j = int(unfit[0])
            name = f"Feature {j}" if names is None else names[j]
            raise ValueError(
                f"{name} cannot be scaled in float64: its values are from {self.low[j]:g} to "
                f"{self.high[j]:g}."
            )
        return offset, factor

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
