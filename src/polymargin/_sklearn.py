"""All that is used of scikit-learn without being part of its public interface.

`make sklearn-versions` tries it with the oldest and the newest version that is supported.
"""

from typing import Any

from sklearn.base import _fit_context as fit_context
from sklearn.pipeline import Pipeline
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    InvalidParameterError,
    StrOptions,
)
from sklearn.utils.validation import _check_sample_weight as check_weights

__all__ = [
    "HasMethods",
    "Interval",
    "InvalidParameterError",
    "StrOptions",
    "check_weights",
    "fit_context",
    "validate_parameters",
    "validate_steps",
]


def validate_parameters(estimator: Any) -> None:
    """Refuse what the constraints of an estimator's parameters exclude, as its `fit` does."""
    estimator._validate_params()


def validate_steps(pipeline: Pipeline) -> None:
    """Refuse steps that are no transformers, and names that are not unique."""
    pipeline._validate_steps()
