"""Linear models, with the scaling in front of them taken into their weights."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted

from polymargin.estimators import LinearSVM, check_whole
from polymargin.preprocessing import ColumnEncoder, Scaler

if TYPE_CHECKING:
    from numpy.typing import NDArray

Shift = tuple["NDArray[np.float64]", "NDArray[np.float64]"]  # x' = factor x + shift


def exported_steps(model: Any) -> list[tuple[str, Any]]:
    """The steps of a model; an encoder of columns that are all numbers is left out, or a scaler."""
    steps = list(model.steps) if isinstance(model, Pipeline) else [("", model)]
    check_whole(steps[-1][1])
    name, first = steps[0]
    if not (isinstance(first, ColumnEncoder) and hasattr(first, "names_") and first.is_numeric):
        return steps
    scaler = first.as_scaler()
    return steps[1:] if scaler is None else [(name, scaler), *steps[1:]]


def shift_of(step: Any) -> Shift | None:
    """Factor and shift of a scaler; None of any other step, also of one that cuts values."""
    find = _SHIFTS.get(type(step))
    if find is None or getattr(step, "clip", False):
        return None
    check_is_fitted(step)
    factor, shift = find(step)
    return np.asarray(factor, np.float64), np.asarray(shift, np.float64)


def _of_scaler(step: Scaler) -> Any:
    return step.factor_, -step.offset_ * step.factor_


def _of_minmax(step: Any) -> Any:
    return step.scale_, step.min_


def _of_standard(step: Any) -> Any:
    ones = np.ones(step.n_features_in_)
    factor = 1 / step.scale_ if step.with_std else ones
    return factor, -step.mean_ * factor if step.with_mean else 0 * ones


def _of_maxabs(step: Any) -> Any:
    return 1 / step.scale_, np.zeros(step.n_features_in_)


_SHIFTS: dict[type[Any], Callable[[Any], Any]] = {
    Scaler: _of_scaler,
    MinMaxScaler: _of_minmax,
    StandardScaler: _of_standard,
    MaxAbsScaler: _of_maxabs,
}


def folded(model: Any) -> tuple[LinearSVM, "NDArray[np.float64]", "NDArray[np.float64]"]:
    """The estimator, weights (k, d) and constants (k,) of its scores of unscaled rows."""
    steps = exported_steps(model)
    estimator = steps[-1][1]
    if not isinstance(estimator, LinearSVM):
        raise ValueError(
            f"a LIBLINEAR model is linear, and this is a {type(estimator).__name__}; "
            "save it with save or save_onnx"
        )
    check_is_fitted(estimator)
    coef = estimator.coef_
    weights = (coef.toarray() if sparse.issparse(coef) else np.asarray(coef)).astype(np.float64)
    constants = np.asarray(estimator.intercept_, np.float64)
    for name, step in reversed(steps[:-1]):
        change = shift_of(step)
        if change is None:
            raise ValueError(
                f"step {name!r} is a {type(step).__name__}, which weights cannot take in; scalers "
                "that do not cut values can be. Save the last step alone and apply the others "
                "yourself, or use save"
            )
        factor, shift = change
        constants = constants + weights @ shift
        weights = weights * factor
    return estimator, weights, constants
