"""Constructor parameters of estimators and transformers as JSON.

Plain values stand for themselves. Whatever JSON has no form for is an object of one key that says
what it is; only the classes of the tables below are ever made from a file.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from polymargin import solvers
from polymargin._sklearn import validate_parameters
from polymargin.block_solvers import BLOCK_SOLVERS
from polymargin.errors import ModelFileError
from polymargin.solvers import KERNEL_SOLVERS, LINEAR_SOLVERS
from polymargin.storage._fields import read_number, write_number

# An outer loop shares its name with a block solver.
_NAMES: dict[type[Any], str] = {
    cls: "SMOSolver" if cls is solvers.SMO else cls.__name__
    for table in (BLOCK_SOLVERS, LINEAR_SOLVERS, KERNEL_SOLVERS)
    for cls in table.values()
}
_OPTIONS = {name: cls for cls, name in _NAMES.items()}
_DTYPES = {name: getattr(np, name) for name in ("float32", "float64", "int32", "int64")}


_OF_THIS_PLACE = (
    "checkpoint",
    "device",
    "comm",
    "gather",
)  # of no use to who reads the file elsewhere


def encode_parameters(kind: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of an estimator of this class; ValueError where one cannot be stored."""
    return {
        name: _encode_of(kind, name, value)
        for name, value in values.items()
        if name not in _OF_THIS_PLACE
    }


def _encode_of(kind: str, name: str, value: Any) -> Any:
    if name == "random_state" and isinstance(value, np.random.RandomState | np.random.Generator):
        return None  # its state is not part of a model
    try:
        return encode(value)
    except TypeError as error:
        raise ValueError(f"{kind} cannot be saved: its parameter {name} is {error}") from None


def encode(value: Any) -> Any:
    """A value as JSON; TypeError with a description of what cannot be."""
    if isinstance(value, np.generic) and not isinstance(value, np.void):
        value = value.item()
    if value is None or isinstance(value, (bool, str)):
        return str(value) if isinstance(value, str) else value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else {"number": write_number(value)}
    if isinstance(value, list):
        return [encode(item) for item in value]
    if isinstance(value, tuple):
        return {"tuple": [encode(item) for item in value]}
    if isinstance(value, dict):
        return {"pairs": [[encode(key), encode(item)] for key, item in value.items()]}
    if type(value) in _NAMES:
        options = {field.name: encode(getattr(value, field.name)) for field in fields(value)}
        return {"options": _NAMES[type(value)], "fields": options}
    if isinstance(value, (type, np.dtype)):
        name = np.dtype(value).name
        if name in _DTYPES:
            return {"dtype": name}
    if callable(value):
        raise TypeError(f"the function {value!r:.80}; a file holds no code. Use one of the names")
    raise TypeError(f"{value!r:.80}, for which a model file has no form")


def decode(value: Any) -> Any:
    """What `encode` has made into JSON; ModelFileError where it cannot have."""
    if isinstance(value, list):
        return [decode(item) for item in value]
    if not isinstance(value, dict):
        return value
    if set(value) == {"options", "fields"}:
        return _decode_options(value["options"], value["fields"])
    if len(value) != 1:
        raise ModelFileError(f"a parameter has the unknown form {sorted(value)!r:.80}")
    ((form, content),) = value.items()
    if form not in _FORMS:
        raise ModelFileError(f"a parameter has the unknown form {form!r:.40}")
    return _FORMS[form](content)


def decode_parameters(values: dict[str, Any]) -> dict[str, Any]:
    """All parameters."""
    for name in _OF_THIS_PLACE:
        if name in values:  # a file does not say where others are written
            raise ModelFileError(f"the parameter {name} belongs in no file")
    return {name: decode(value) for name, value in values.items()}


def build(cls: Callable[..., Any], values: dict[str, Any]) -> Any:
    """An object of `cls` with these parameters, which it checks itself."""
    name = getattr(cls, "__name__", str(cls))
    try:
        made = cls(**decode_parameters(values))
        if isinstance(made, BaseEstimator):
            validate_parameters(made)
    except (TypeError, ValueError, OverflowError) as error:
        raise ModelFileError(f"the parameters of {name} are wrong: {error!s:.400}") from None
    return made


def _decode_options(name: Any, values: Any) -> Any:
    if not isinstance(name, str) or name not in _OPTIONS:
        raise ModelFileError(f"there are no options called {name!r:.40}")
    if not isinstance(values, dict):
        raise ModelFileError(f"the fields of {name} are not an object")
    return build(_OPTIONS[name], values)


def _decode_tuple(content: Any) -> tuple[Any, ...]:
    if not isinstance(content, list):
        raise ModelFileError("a parameter that should be a tuple is none")
    return tuple(decode(item) for item in content)


def _decode_pairs(content: Any) -> dict[Any, Any]:
    made: dict[Any, Any] = {}
    for pair in content if isinstance(content, list) else [None]:
        if not isinstance(pair, list) or len(pair) != 2 or isinstance(pair[0], (list, dict)):
            raise ModelFileError("a parameter that should be a dict is none")
        made[pair[0]] = decode(pair[1])
    if len(made) != len(content):
        raise ModelFileError("a parameter that should be a dict has a key twice")
    return made


def _decode_number(content: Any) -> float:
    if not isinstance(content, str):
        raise ModelFileError("a parameter that should be a number is none")
    return read_number(content, "a parameter")


def _decode_dtype(content: Any) -> Any:
    if not isinstance(content, str) or content not in _DTYPES:
        raise ModelFileError(f"a parameter is of the unknown type {content!r:.40}")
    return _DTYPES[content]


_FORMS: dict[str, Callable[[Any], Any]] = {
    "tuple": _decode_tuple,
    "pairs": _decode_pairs,
    "number": _decode_number,
    "dtype": _decode_dtype,
}
