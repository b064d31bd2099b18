"""The two estimators in a file: parameters, scores, certificate, and what to go on from."""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from polymargin.errors import ModelFileError
from polymargin.estimators import KernelSVM, LinearSVM
from polymargin.files._calibrators import put_calibrator, take_calibrator
from polymargin.files._kernel_scores import put_kernel, take_kernel
from polymargin.files._rounded import restore_weights, round_weights
from polymargin.fit import check_stream
from polymargin.solvers import choose
from polymargin.storage import (
    AUTO_BYTES,
    FLOATS,
    Arrays,
    Fields,
    Tensors,
    as_objects,
    build,
    duals_bytes,
    encode_parameters,
    put_certificate,
    put_csr,
    put_duals,
    put_labels,
    put_stream,
    put_strings,
    take_certificate,
    take_csr,
    take_duals,
    take_labels,
    take_stream,
    take_strings,
)

Estimator = LinearSVM | KernelSVM
Weights = tuple[dict[str, Any], Arrays]  # fields and arrays that scores are made of
ESTIMATORS: dict[str, type[Any]] = {"LinearSVM": LinearSVM, "KernelSVM": KernelSVM}


def put_estimator(
    model: Estimator,
    duals: bool | str,
    dtype: str | None = None,
    weights: Weights | None = None,
) -> tuple[dict[str, Any], Arrays]:
    """All of a fitted estimator, or these in place of its weights; else as in `save`."""
    check_is_fitted(model)
    name = type(model).__name__
    kind, arrays = put_labels(np.asarray(model.classes_))
    fields: dict[str, Any] = {
        "class": name,
        "parameters": encode_parameters(name, model.get_params(deep=False)),
        "labels": kind,
        "n_features": int(model.n_features_in_),
    }
    if hasattr(model, "feature_names_in_"):
        arrays |= put_strings("feature_names", model.feature_names_in_, "feature_names_in_")
    put = _put_linear if isinstance(model, LinearSVM) else put_kernel
    scoring, scoring_arrays = weights or put(model)
    check_weights(scoring_arrays)
    if dtype is not None:
        scoring, scoring_arrays = round_weights(scoring, scoring_arrays)
    fields |= scoring
    arrays |= scoring_arrays
    goes_on = dtype is None  # what is left of the weights is there to predict
    for more, more_arrays in (
        put_calibrator(model),
        _put_training(model, goes_on and duals, goes_on),
    ):
        fields |= more
        arrays |= more_arrays
    return fields, arrays


def take_estimator(fields: Fields, tensors: Tensors) -> Any:
    """What `put_estimator` has stored."""
    cls = ESTIMATORS[fields.text("class")]
    tensors = restore_weights(fields, tensors)
    model: Any = build(cls, fields.part("parameters").values)
    _check_solvers(model)
    model.n_features_in_ = fields.count("n_features", 1)
    model.classes_ = take_labels(tensors, fields.text("labels"))
    if "feature_names.offsets" in tensors:
        names = take_strings(tensors, "feature_names", model.n_features_in_)
        model.feature_names_in_ = as_objects(names)
    if cls is LinearSVM:
        _take_linear(model, fields, tensors)
    else:
        take_kernel(model, fields, tensors)
    if "calibrator" in fields:
        take_calibrator(model, fields.part("calibrator"), tensors)
    _take_training(model, fields, tensors)
    return model


def _check_solvers(model: Any) -> None:
    """The names that the estimator itself looks up in `fit` only."""
    try:
        choose(model)
    except ValueError as error:
        raise ModelFileError(f"the parameters are wrong: {error!s:.400}") from None


def _put_training(model: Any, duals: bool | str, goes_on: bool) -> tuple[dict[str, Any], Arrays]:
    """The certificate and, where it `goes_on`, what a stream goes on from."""
    fields: dict[str, Any] = {}
    arrays: Arrays = {}
    state = vars(model).get("_dual_state")
    if hasattr(model, "dual_gap_"):
        fields["certificate"], parts = put_certificate(model)
        arrays |= parts
    if "_stream" in vars(model) and goes_on:
        check_stream(model)
        fields["stream"], parts = put_stream(model._stream)
        arrays |= {f"stream.{name}": part for name, part in parts.items()}
    if state is not None and state.n_given != vars(model).get("_n_examples", state.n_given):
        state = None  # those of a share of the rows
    if state is not None:
        fields["n_examples"] = int(state.n_given)
    elif hasattr(model, "n_samples_seen_"):
        fields["n_samples_seen"] = int(model.n_samples_seen_)
        if hasattr(model, "n_iter_"):
            fields["n_iter"] = int(model.n_iter_)
    elif hasattr(model, "_n_examples"):
        fields["n_examples"] = int(model._n_examples)
    if duals is True and state is None:
        raise ValueError("the model has no dual variables to save; only fit leaves them")
    if state is not None and (
        duals is True or (duals == "auto" and duals_bytes(state) <= AUTO_BYTES)
    ):
        fields["duals"], parts = put_duals(state)
        arrays |= {f"duals.{name}": part for name, part in parts.items()}
    return fields, arrays


def _take_training(model: Any, fields: Fields, tensors: Tensors) -> None:
    if "certificate" in fields:
        take_certificate(model, fields.part("certificate"), tensors)
    if "n_examples" in fields:
        model._n_examples = fields.count("n_examples", 1)
    if "duals" in fields:
        state = take_duals(fields.part("duals"), tensors.under("duals."), model.classes_)
        if state.n_features != model.n_features_in_:
            raise ModelFileError("the dual variables are of another number of features")
        model._dual_state = state
    if "stream" in fields:
        if not isinstance(model, LinearSVM):
            raise ModelFileError("only a linear model can be a stream")
        stored = fields.part("stream")
        model._stream, model._stream_of = take_stream(stored, tensors.under("stream."), model)
    if "n_samples_seen" in fields:
        model.n_samples_seen_ = fields.count("n_samples_seen")
    if "n_iter" in fields:
        model.n_iter_ = fields.count("n_iter")


def _put_linear(model: LinearSVM) -> Weights:
    arrays = {"intercept": model.intercept_}
    if sparse.issparse(model.coef_):
        return {"weights": "sparse"}, arrays | put_csr("coef", model.coef_)
    return {"weights": "dense"}, arrays | {"coef_transposed": model.coef_.T}


def _take_linear(model: LinearSVM, fields: Fields, tensors: Tensors) -> None:
    k, d = len(model.classes_), model.n_features_in_
    match fields.text("weights"):
        case "dense":
            model.coef_ = tensors.floats("coef_transposed", (d, k)).T
        case "sparse":
            model.coef_ = take_csr(tensors, "coef", (k, d))
        case other:
            raise ModelFileError(f"weights are dense or sparse, not {other!r:.40}")
    model.intercept_ = tensors.alike("intercept", (k,), model.coef_.dtype)


def check_weights(arrays: Arrays) -> None:
    """Refuse to write what could not be read: weights of several types or not finite."""
    names = ("coef_transposed", "coef.data", "dual_coef_transposed", "intercept",
             "support_vectors", "support_vectors.data", "centre")  # fmt: skip
    found = {name: arrays[name] for name in names if name in arrays}
    dtypes = {array.dtype for array in found.values()}
    if len(dtypes) != 1 or not dtypes <= set(FLOATS):
        kinds = ", ".join(f"{name} of {array.dtype}" for name, array in found.items())
        raise ValueError(f"a model has weights all of float32 or float64, not {kinds}")
    for name, array in found.items():
        if not np.all(np.isfinite(array)):
            raise ValueError(f"the model cannot be saved: {name} holds NaN or infinity")
