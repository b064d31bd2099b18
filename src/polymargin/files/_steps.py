"""The steps before the estimator of a pipeline: one codec for each class that a file may name."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sklearn.feature_extraction import text
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, Normalizer, StandardScaler
from sklearn.utils.validation import check_is_fitted

from polymargin.errors import ModelFileError
from polymargin.files import _columns, _text
from polymargin.preprocessing import ColumnEncoder, HashingVectorizer, Scaler
from polymargin.storage import (
    Arrays,
    Fields,
    Tensors,
    as_objects,
    build,
    encode_parameters,
    put_strings,
    take_strings,
    write_number,
)

Put = Callable[[Any], tuple[dict[str, Any], Arrays]]
Take = Callable[[Any, Fields, Tensors], None]


@dataclass(frozen=True)
class Codec:
    """How a fitted step is stored, made again, and what it makes of the features."""

    cls: type[Any]
    put: Put
    take: Take
    width_in: Callable[[Any], int | None]  # None: not numbers
    width_out: Callable[[Any], int]


def _numeric(cls: type[Any], *names: str, optional: bool = False) -> Codec:
    """Of a step with one float a feature for each of the attributes `names`."""

    def put(step: Any) -> tuple[dict[str, Any], Arrays]:
        arrays = {
            name: getattr(step, name) for name in names if getattr(step, name, None) is not None
        }
        fields: dict[str, Any] = {"n_features": int(step.n_features_in_)}
        seen = getattr(step, "n_samples_seen_", None)
        if seen is not None and getattr(seen, "ndim", 0) == 0:
            fields["n_samples_seen"] = write_number(seen)
        elif seen is not None:
            arrays["n_samples_seen_"] = seen.astype("float64")
        if hasattr(step, "feature_names_in_"):
            arrays |= put_strings("feature_names", step.feature_names_in_, "feature_names_in_")
        return fields, arrays

    def take(step: Any, fields: Fields, tensors: Tensors) -> None:
        step.n_features_in_ = d = fields.count("n_features", 1)
        for name in names:
            if name in tensors or not optional:
                setattr(step, name, tensors.floats(name, (d,)))
            else:
                setattr(step, name, None)
        if "n_samples_seen" in fields:
            step.n_samples_seen_ = fields.finite("n_samples_seen")
        elif "n_samples_seen_" in tensors:
            step.n_samples_seen_ = tensors.floats("n_samples_seen_", (d,))
        if "feature_names.offsets" in tensors:
            step.feature_names_in_ = as_objects(take_strings(tensors, "feature_names", d))

    return Codec(cls, put, take, _n_features_in, _n_features_in)


def _n_features_in(step: Any) -> int:
    return int(step.n_features_in_)


def _minmax() -> Codec:
    names = ("scale_", "min_", "data_min_", "data_max_", "data_range_")
    inner = _numeric(MinMaxScaler, *names)

    def take(step: Any, fields: Fields, tensors: Tensors) -> None:
        inner.take(step, fields, tensors)
        ends = step.feature_range
        if not (len(ends) == 2 and all(type(end) in (int, float) for end in ends)):
            raise ModelFileError(f"{fields.place}: feature_range is not two numbers")
        if not -math.inf < ends[0] < ends[1] < math.inf:
            raise ModelFileError(f"{fields.place}: feature_range does not ascend")

    return Codec(inner.cls, inner.put, take, inner.width_in, inner.width_out)


def _standard() -> Codec:
    inner = _numeric(StandardScaler, "mean_", "var_", "scale_", optional=True)

    def take(step: Any, fields: Fields, tensors: Tensors) -> None:
        inner.take(step, fields, tensors)
        wanted = {"mean_": step.with_mean, "scale_": step.with_std}
        for name, needed in wanted.items():
            if needed and getattr(step, name) is None:
                raise ModelFileError(f"tensor {tensors.prefix + name!r} is missing")

    return Codec(inner.cls, inner.put, take, inner.width_in, inner.width_out)


def _tfidf_transformer() -> Codec:
    inner = _numeric(TfidfTransformer, "idf_", optional=True)

    def take(step: Any, fields: Fields, tensors: Tensors) -> None:
        inner.take(step, fields, tensors)
        if step.idf_ is None:
            del step.idf_
            if step.use_idf:
                raise ModelFileError(f"tensor {tensors.prefix + 'idf_'!r} is missing")

    return Codec(inner.cls, inner.put, take, inner.width_in, inner.width_out)


def _nothing(step: Any) -> None:
    return None


CODECS: dict[str, Codec] = {
    codec.cls.__name__: codec
    for codec in (
        _numeric(Scaler, "offset_", "factor_"),
        Codec(
            ColumnEncoder,
            _columns.put,
            _columns.take,
            _nothing,
            lambda s: int(s.n_features_out_),
        ),
        _minmax(),
        _standard(),
        _numeric(MaxAbsScaler, "scale_", "max_abs_"),
        _numeric(Normalizer),
        _tfidf_transformer(),
        Codec(HashingVectorizer, _text.put_hashing, _text.take_hashing, _nothing, _text.n_hashed),
        Codec(CountVectorizer, _text.put_counting, _text.take_counting, _nothing, _text.n_terms),
        Codec(TfidfVectorizer, _text.put_tfidf, _text.take_tfidf, _nothing, _text.n_terms),
    )
}
# Classes of which a file holds the same as of another.
_ALIKE: dict[type[Any], type[Any]] = {HashingVectorizer: text.HashingVectorizer}


def put_step(name: str, step: Any) -> tuple[dict[str, Any], Arrays]:
    """A fitted step; ValueError that names it where it cannot be stored."""
    codec = CODECS.get(type(step).__name__)
    if codec is None or type(step) not in (codec.cls, _ALIKE.get(codec.cls)):
        raise ValueError(
            f"step {name!r} of the pipeline is a {type(step).__name__}, which a model file cannot "
            f"hold; it can hold {', '.join(CODECS)} and an estimator of polymargin at the end"
        )
    try:
        if not isinstance(step, text.HashingVectorizer):  # scikit-learn 1.6 thinks that it learns
            check_is_fitted(step)
        if codec.width_in is _nothing:
            _text.check_vectorizer(step)
        fields, arrays = codec.put(step)
    except ValueError as error:
        raise ValueError(f"step {name!r} of the pipeline cannot be saved: {error}") from error
    skipped = ("vocabulary", "n_jobs")  # what the step has learnt, and a matter of the machine
    kind = type(step).__name__
    values = {p: value for p, value in step.get_params(False).items() if p not in skipped}
    return {"class": kind, "parameters": encode_parameters(kind, values)} | fields, arrays


def take_step(fields: Fields, tensors: Tensors) -> Any:
    """What `put_step` has stored."""
    name = fields.text("class")
    if name not in CODECS:
        raise ModelFileError(f"{fields.place}: there is no step of class {name!r:.60}")
    codec = CODECS[name]
    step = build(codec.cls, fields.part("parameters").values)
    _check_words(step, fields.place)
    codec.take(step, fields, tensors)
    return step


def _check_words(step: Any, place: str) -> None:
    if isinstance(step, (text.HashingVectorizer, CountVectorizer)):
        try:
            _text.check_vectorizer(step)
        except ValueError as error:
            raise ModelFileError(f"{place}: {error}") from None


def check_widths(steps: list[Any], n_features: int) -> None:
    """Refuse steps that do not fit each other or the `n_features` of the estimator."""
    made: int | None = None
    for i, step in enumerate(steps):
        codec = CODECS[type(step).__name__]
        taken = codec.width_in(step)
        if i > 0 and (taken is None or taken != made):
            raise ModelFileError(f"step {i} of the pipeline does not take what step {i - 1} makes")
        made = codec.width_out(step)
    if steps and made != n_features:
        raise ModelFileError(f"the steps make {made} features, the estimator takes {n_features}")
