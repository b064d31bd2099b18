"""The encoder of named columns in a file."""

from itertools import pairwise
from typing import Any

import numpy as np

from polymargin.errors import ModelFileError
from polymargin.files import _text
from polymargin.preprocessing import ColumnEncoder
from polymargin.storage import Arrays, Fields, Tensors, as_objects, put_strings, take_strings

_KINDS = ("number", "category", "date", "date:hours", "text:tfidf", "text:hashing")


def put(step: ColumnEncoder) -> tuple[dict[str, Any], Arrays]:
    """Names and numbers of the columns, the values of each category one after the other."""
    counts = [-1 if values is None else len(values) for values in step.categories_]
    values = [value for values in step.categories_ if values is not None for value in values]
    arrays = {
        "counts": np.array(counts, np.int64),
        "means": np.asarray(step.means_, np.float64),
        "offsets": np.asarray(step.offsets_, np.float64),
        "factors": np.asarray(step.factors_, np.float64),
        "lows": np.asarray(step.lows_, np.float64),
        "highs": np.asarray(step.highs_, np.float64),
    }
    arrays |= put_strings("names", step.names_, "the names of columns")
    arrays |= put_strings("values", values, "the values of categories")
    for i, kind in enumerate(step.kinds_):
        if kind == "text:tfidf":
            _, parts = _text.put_tfidf(step.vectorizers_[i])
            arrays |= {f"text{i}.{name}": array for name, array in parts.items()}
    return {"kinds": list(step.kinds_)}, arrays


def take(step: ColumnEncoder, fields: Fields, tensors: Tensors) -> None:
    """What `put` has stored."""
    try:
        _text.check_ngrams(step.ngram_range)
    except ValueError as error:
        raise ModelFileError(f"{fields.place}: {error}") from None
    names = take_strings(tensors, "names")
    if not names or len(set(names)) != len(names):
        raise ModelFileError("there are no columns, or two of one name")
    counts = tensors.integers("counts", (len(names),)).tolist()
    values = take_strings(tensors, "values")
    if min(counts) < -1 or sum(max(count, 0) for count in counts) != len(values):
        raise ModelFileError("the values of categories do not add up")
    step.names_ = tuple(names)
    step.kinds_ = _take_kinds(fields, counts)
    step.means_ = tensors.floats("means", (len(names),))
    _take_scales(step, tensors)
    _take_ranges(step, tensors)
    step.categories_, first = [], 0
    for name, count in zip(names, counts, strict=True):
        if count < 0:
            step.categories_.append(None)
            continue
        part = values[first : first + count]
        if any(one >= other for one, other in pairwise(part)):
            raise ModelFileError(f"the values of column {name!r:.60} do not ascend")
        step.categories_.append(as_objects(part))
        first += count
    step.vectorizers_ = [
        _take_vectorizer(step, i, tensors) if kind.startswith("text:") else None
        for i, kind in enumerate(step.kinds_)
    ]


def _take_kinds(fields: Fields, counts: list[int]) -> tuple[str, ...]:
    """One for each column; a file that has none is of the time of numbers and categories."""
    if "kinds" not in fields:
        return tuple("number" if count < 0 else "category" for count in counts)
    kinds = fields.items("kinds")
    unknown = [kind for kind in kinds if kind not in _KINDS]
    if unknown:
        raise ModelFileError(f"{fields.place}: there is no kind {unknown[0]!r:.60} of columns")
    if [kind == "category" for kind in kinds] != [count >= 0 for count in counts]:
        raise ModelFileError(f"{fields.place}: the kinds of columns do not fit their values")
    return tuple(kinds)


def _take_scales(step: ColumnEncoder, tensors: Tensors) -> None:
    shape = (len(step.names_),)
    if "offsets" in tensors or step.scale != "none":
        step.offsets_ = tensors.floats("offsets", shape)
        step.factors_ = tensors.floats("factors", shape)
    else:
        step.offsets_, step.factors_ = np.zeros(shape), np.ones(shape)


def _take_ranges(step: ColumnEncoder, tensors: Tensors) -> None:
    """Ranges of the columns, of which earlier files say nothing."""
    shape = (len(step.names_),)
    if "lows" in tensors or "highs" in tensors:
        step.lows_ = tensors.floats("lows", shape)
        step.highs_ = tensors.floats("highs", shape)
    else:
        step.lows_, step.highs_ = np.zeros(shape), np.zeros(shape)


def _take_vectorizer(step: ColumnEncoder, i: int, tensors: Tensors) -> Any:
    vectorizer = step.make_vectorizer(step.kinds_[i])
    if step.kinds_[i] == "text:tfidf":
        _text.take_weighted_terms(vectorizer, tensors.under(f"text{i}."))
    return vectorizer
