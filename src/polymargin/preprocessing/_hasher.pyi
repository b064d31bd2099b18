"""Compiled hashing of texts; `_hashing.py` uses it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

def hash_terms(
    texts: tuple[Any, ...],
    table: NDArray[np.uint32],
    *,
    analyzer: str,
    least: int,
    most: int,
    n_features: int,
    alternate_sign: bool,
    binary: bool,
    norm: str | None,
    single: bool,
    n_threads: int,
) -> tuple[
    NDArray[np.float32] | NDArray[np.float64],
    NDArray[np.int32],
    NDArray[np.int64],
    NDArray[np.int64],
    int,
]:
    """The rows of texts, without the GIL: values, indices, indptr, rows in doubt, terms.

    Rows in doubt are empty: what is no `str` itself, a character that `table` has in doubt, or more
    terms than numbers of this precision can count. `table` is that of `characters`.
    """
