"""Weights in half precision: what is stored, and what is made of it.

A tensor is stored as its values times a power of two, the largest just below 2^15. Of a half there
are eleven digits in binary then for all values down to 2^-29 of the largest, whatever C was.
"""

from typing import Any

import numpy as np

from polymargin.errors import ModelFileError
from polymargin.storage import FLOATS, Arrays, Fields, Tensors

_HALF = np.dtype(np.float16)
_ROUNDED = ("coef_transposed", "coef.data", "dual_coef_transposed")
_LARGEST_EXPONENT = 15  # of a half that is finite, in the sense of frexp
_MOST = 2000  # beyond the exponents of doubles, subnormal ones included


def round_weights(fields: dict[str, Any], arrays: Arrays) -> tuple[dict[str, Any], Arrays]:
    """The same with weights as halves; all else stays in the precision of the model."""
    exponents: dict[str, int] = {}
    rounded: Arrays = {}
    for name in _ROUNDED:
        if name in arrays:
            largest = np.abs(arrays[name]).max(initial=0)
            exponents[name] = _LARGEST_EXPONENT - int(np.frexp(largest)[1])
            rounded[name] = np.ldexp(arrays[name], exponents[name]).astype(_HALF)
    return fields | {"rounded": {"dtype": _HALF.name, "exponents": exponents}}, arrays | rounded


def weights_dtype(fields: Fields, dtype: str) -> str:
    """Of the stored weights of a model of this precision."""
    return _HALF.name if "rounded" in fields else dtype


def restore_weights(fields: Fields, tensors: Tensors) -> Tensors:
    """The tensors with weights in the precision of the model, whatever they are stored in."""
    if "rounded" not in fields:
        return tensors
    rounded = fields.part("rounded")
    if rounded.text("dtype") != _HALF.name:
        raise ModelFileError(f"weights are rounded to the unknown type {rounded.text('dtype'):.40}")
    dtype = tensors.take("intercept", FLOATS, (None,)).dtype
    exponents = rounded.part("exponents")
    restored = {}
    for name in _ROUNDED:
        if name in tensors:
            stored = tensors.values[tensors.prefix + name]
            tensors.take(name, (_HALF,), (None,) * stored.ndim)
            exponent = exponents.count(name, -_MOST, _MOST)
            with np.errstate(over="ignore"):
                weights = np.ldexp(stored.astype(dtype), -exponent)
            restored[tensors.prefix + name] = weights
    return Tensors(tensors.values | restored, tensors.prefix, tensors.trusted)
