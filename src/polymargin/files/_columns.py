"""The encoder of named columns in a file."""

from itertools import pairwise
from typing import Any

import numpy as np

from polymargin.errors import ModelFileError
from polymargin.preprocessing import ColumnEncoder
from polymargin.storage import Arrays, Fields, Tensors, as_objects, put_strings, take_strings


def put(step: ColumnEncoder) -> tuple[dict[str, Any], Arrays]:
    """Names and means of the columns, the values of each category one after the other."""
    counts = [-1 if values is None else len(values) for values in step.categories_]
    values = [value for values in step.categories_ if values is not None for value in values]
    arrays = {"counts": np.array(counts, np.int64), "means": np.asarray(step.means_, np.float64)}
    arrays |= put_strings("names", step.names_, "the names of columns")
    return {}, arrays | put_strings("values", values, "the values of categories")


def take(step: ColumnEncoder, fields: Fields, tensors: Tensors) -> None:
    """What `put` has stored."""
    names = take_strings(tensors, "names")
    if not names or len(set(names)) != len(names):
        raise ModelFileError("there are no columns, or two of one name")
    counts = tensors.integers("counts", (len(names),)).tolist()
    values = take_strings(tensors, "values")
    if min(counts) < -1 or sum(max(count, 0) for count in counts) != len(values):
        raise ModelFileError("the values of categories do not add up")
    step.names_ = tuple(names)
    step.means_ = tensors.floats("means", (len(names),))
    step.categories_, features, first = [], [], 0
    for name, count in zip(names, counts, strict=True):
        if count < 0:
            step.categories_.append(None)
            features.append(name)
            continue
        part = values[first : first + count]
        if any(one >= other for one, other in pairwise(part)):
            raise ModelFileError(f"the values of column {name!r:.60} do not ascend")
        step.categories_.append(as_objects(part))
        features += [f"{name}={value}" for value in part]
        first += count
    step.feature_names_out_ = as_objects(features)


def n_encoded(step: ColumnEncoder) -> int:
    return len(step.feature_names_out_)
