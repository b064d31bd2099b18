"""Cells of text that are times of day: 17:30, 17:30:05, 5:30 PM."""

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from polymargin.readers._cells import Fit, lacks_value

__all__ = ["TIME_MANNERS", "fit_times", "to_hours"]

TIME_MANNERS = ("clock",)

_TIME = re.compile(
    r"([0-9]{1,2}):([0-5][0-9])(?::([0-5][0-9](?:[.,][0-9]+)?))?(?: ?([AaPp])\.?[Mm]\.?)?"
)
_NOON, _MIDNIGHT = 12, 24


def fit_times(cells: Sequence[str]) -> Fit:
    """Whether all cells are times of day."""
    for row, cell in enumerate(cells):
        if not lacks_value(cell) and _hours(cell) is None:
            return Fit(frozenset(), row)
    return Fit(frozenset(TIME_MANNERS))


def to_hours(cells: Sequence[str]) -> NDArray[np.float64]:
    """Hours since midnight, NaN where a cell is missing or no time of day."""
    hours = [_hours(cell) for cell in cells]
    return np.array([np.nan if hour is None else hour for hour in hours], dtype=np.float64)


def _hours(cell: str) -> float | None:
    found = _TIME.fullmatch(cell.strip())
    if found is None:
        return None
    hour, half = int(found[1]), found[4]
    if half:
        if not 1 <= hour <= _NOON:
            return None
        hour = hour % _NOON + (_NOON if half in "Pp" else 0)
    time = hour + int(found[2]) / 60 + float((found[3] or "0").replace(",", ".")) / 3600
    return time if time <= _MIDNIGHT else None
