"""Cells of text: numbers, categories, missing."""

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["is_missing", "to_categories", "to_numbers"]

_MISSING = frozenset({"", "na", "nan", "?", "null"})
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_INFINITE = re.compile(r"[+-]?inf(inity)?", re.IGNORECASE)


def is_missing(cell: str) -> bool:
    """Whether the cell is empty or one of NA, nan, ?, null, in any case."""
    return cell.strip().lower() in _MISSING


def to_numbers(cells: Sequence[str]) -> tuple[NDArray[np.float64], int | None, int | None]:
    """Numbers, NaN where a cell is missing.

    Returns
    -------
    numbers : ndarray of shape (n,)
    wrong : int or None
        The first cell that is not a number; infinite ones are left in place.
    missing : int or None
        The first cell that is missing.
    """
    simple = _all_simple(cells)
    if simple is not None:
        return simple, None, None
    numbers = np.empty(len(cells))
    missing = None
    for row, cell in enumerate(cells):
        text = cell.strip()
        if _NUMBER.fullmatch(text):
            numbers[row] = float(text)
        elif _INFINITE.fullmatch(text):
            numbers[row] = np.inf
        elif text.lower() in _MISSING:
            numbers[row] = np.nan
            missing = row if missing is None else missing
        else:
            return numbers, row, missing
    return numbers, None, missing


def _all_simple(cells: Sequence[str]) -> NDArray[np.float64] | None:
    """The usual case at once: finite numbers only, none written as Python alone allows."""
    text = "".join(cells)
    if "_" in text or not text.isascii():
        return None
    try:
        numbers = np.array([float(cell) for cell in cells])
    except ValueError:
        return None
    return numbers if np.isfinite(numbers).all() else None


def to_categories(cells: Sequence[str], known: dict[str, str]) -> NDArray[np.object_]:
    """Stripped strings, None where a cell is missing; equal ones are stored once, in `known`."""
    values = np.empty(len(cells), dtype=object)
    for row, cell in enumerate(cells):
        text = cell.strip()
        if text.lower() not in _MISSING:
            values[row] = known.setdefault(text, text)
    return values
