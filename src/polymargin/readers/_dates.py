"""Cells of text that are dates, perhaps with a time of day.

A year has four digits. It comes first (2024-12-31, 2024/12/31) or last. In 31.12.2024 the day
comes first; in 12/31/2024 and 12-31-2024 a number above 12 tells the day, in one cell for all of a
column. Times with a zone are brought to that of Greenwich.
"""

import re
from collections.abc import Sequence
from datetime import datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from polymargin.readers._cells import Fit, is_missing

__all__ = ["DATE_MANNERS", "fit_dates", "to_dates"]

DATE_MANNERS = ("ymd", "dmy", "mdy")

_TIME = (
    r"(?:[T ]+(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2})(?:[.,][0-9]+)?)?"
    r"(?: ?(?P<half>[AaPp])\.?[Mm]\.?)?(?P<zone>Z| ?[+-][0-9]{2}:?[0-9]{2})?)?"
)
_YEAR_FIRST = re.compile(rf"([0-9]{{4}})([-/.])([0-9]{{1,2}})\2([0-9]{{1,2}}){_TIME}")
_YEAR_LAST = re.compile(rf"([0-9]{{1,2}})([-/.])([0-9]{{1,2}})\2([0-9]{{4}}){_TIME}")
_EPOCH = datetime(1970, 1, 1)


def fit_dates(cells: Sequence[str]) -> Fit:
    """The orders of day, month and year in which all cells are dates."""
    manners = frozenset(DATE_MANNERS)
    clash: int | None = None
    for row, cell in enumerate(cells):
        if is_missing(cell):
            continue
        found = frozenset(_seconds(cell))
        if not found:
            return Fit(frozenset(), row)
        if clash is None and not manners & found:
            clash = row
        manners &= found
    return Fit(manners, None, clash)


def to_dates(cells: Sequence[str], manner: str) -> tuple[NDArray[np.datetime64], int | None]:
    """Dates to the second, NaT where a cell is missing, and the first cell that is no date."""
    dates = np.full(len(cells), np.datetime64("NaT"), dtype="datetime64[s]")
    for row, cell in enumerate(cells):
        if is_missing(cell):
            continue
        seconds = _seconds(cell).get(manner)
        if seconds is None:
            return dates, row
        dates[row] = np.datetime64(seconds, "s")
    return dates, None


def _seconds(cell: str) -> dict[str, int]:
    """Seconds since the start of 1970 in each order that makes a date of the cell."""
    text = cell.strip()
    if found := _YEAR_FIRST.fullmatch(text):
        orders = {"ymd": (1, 3, 4)}
    elif found := _YEAR_LAST.fullmatch(text):
        orders = {"dmy": (4, 3, 1)} | ({} if found[2] == "." else {"mdy": (4, 1, 3)})
    else:
        return {}
    readings = {}
    for manner, places in orders.items():
        year, month, day = (int(found[place]) for place in places)
        try:
            moment = datetime(year, month, day, *_time_of(found)) - _zone_of(found["zone"])
        except (ValueError, OverflowError):
            continue
        readings[manner] = int((moment - _EPOCH).total_seconds())
    return readings


def _time_of(found: re.Match[str]) -> tuple[int, int, int]:
    hour, minute, second = (int(found[part] or 0) for part in ("hour", "minute", "second"))
    if found["half"]:
        if not 1 <= hour <= 12:
            raise ValueError
        hour = hour % 12 + (12 if found["half"] in "Pp" else 0)
    return hour, minute, second


def _zone_of(zone: str | None) -> timedelta:
    if zone is None or zone == "Z":
        return timedelta(0)
    digits = zone.strip().replace(":", "")
    ahead = timedelta(hours=int(digits[1:3]), minutes=int(digits[3:5]))
    return ahead if digits[0] == "+" else -ahead
