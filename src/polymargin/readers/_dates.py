"""Cells of text that are dates, perhaps with a time of day.

A year of four digits that comes first (2024-12-31, 2024/12/31) and a month that is named
(31 Dec 2024, Dec 31, 2024, 31-Dec-24) leave nothing open. In 31.12.2024 the day comes first; in
12/31/2024 and 12-31-2024 a number above 12 tells the day, in one cell for all of a column.
A year of two digits comes last: 69 to 99 are those of 1900, others those of 2000. The name of a day
of the week may come before it all. Times with a zone are brought to that of Greenwich.
"""

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from polymargin.readers._cells import Fit, lacks_value
from polymargin.readers._months import is_weekday, month_of

__all__ = ["DATE_MANNERS", "ShortYears", "could_be_date", "fit_dates", "is_clear", "to_dates"]

DATE_MANNERS = ("ymd", "dmy", "mdy")

_BLANK = "[ \u00a0\u202f]"
_TIME = (
    rf"(?:,?(?:T|{_BLANK}+(?:at{_BLANK}+)?)"
    r"(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2})(?:[.,][0-9]+)?)?"
    rf"(?:{_BLANK}?(?P<half>[AaPp])\.?[Mm]\.?|{_BLANK}Uhr)?"
    rf"(?P<zone>{_BLANK}?(?:Z|UTC|GMT)|{_BLANK}?[+-][0-9]{{2}}:?[0-9]{{2}})?)?"
)
_DAY_OF_WEEK = re.compile(rf"([^\W\d_]{{2,10}})\.?,?{_BLANK}+")
_YEAR = "(?P<year>[0-9]{4}|[0-9]{2})"
_DAY = "(?P<day>[0-9]{1,2})"
_NAME = r"(?P<month>[^\W\d_]{3,9})\.?"
_BETWEEN = rf"(?:{_BLANK}+|[-/])"


def _dated(date: str) -> re.Pattern[str]:
    """A date, perhaps with a time."""
    return re.compile(date + _TIME)


_YEAR_FIRST = _dated(r"([0-9]{4})([-/.])([0-9]{1,2})\2([0-9]{1,2})")
_YEAR_LAST = _dated(r"([0-9]{1,2})([-/.])([0-9]{1,2})\2([0-9]{4}|[0-9]{2})")
_NAMED = (
    _dated(rf"{_DAY}(?:\.|st|nd|rd|th)?{_BETWEEN}?{_NAME}(?:,?{_BETWEEN})?{_YEAR}"),
    _dated(rf"{_NAME}{_BETWEEN}{_DAY}(?:st|nd|rd|th)?(?:,{_BLANK}*|{_BETWEEN}){_YEAR}"),
    _dated(rf"(?P<year>[0-9]{{4}}){_BETWEEN}{_NAME}{_BETWEEN}{_DAY}"),
)
_EPOCH = datetime(1970, 1, 1)
_LONGEST = 64  # characters
_FIRST_OF_1900 = 69
_MOST_MONTHS, _MOST_DAYS = 12, 31


def fit_dates(cells: Sequence[str]) -> Fit:
    """The orders of day, month and year in which all cells are dates.

    They are plain where all of them read the same in any order.
    """
    manners = frozenset(DATE_MANNERS)
    clash: int | None = None
    is_plain = True
    for row, cell in enumerate(cells):
        if lacks_value(cell):
            continue
        found = frozenset(_seconds(cell))
        if not found:
            return Fit(frozenset(), row)
        if clash is None and not manners & found:
            clash = row
        manners &= found
        is_plain = is_plain and len(found) == len(DATE_MANNERS)
    return Fit(manners, None, clash, is_plain)


def to_dates(cells: Sequence[str], manner: str) -> tuple[NDArray[np.datetime64], int | None]:
    """Dates to the second, NaT where a cell is missing, and the first cell that is no date."""
    dates = np.full(len(cells), np.datetime64("NaT"), dtype="datetime64[s]")
    for row, cell in enumerate(cells):
        if lacks_value(cell):
            continue
        seconds = _seconds(cell).get(manner)
        if seconds is None:
            return dates, row
        dates[row] = np.datetime64(seconds, "s")
    return dates, None


def could_be_date(word: str) -> bool:
    """Whether a word is a date in one of the orders."""
    return bool(_seconds(word))


def is_clear(cell: str) -> bool:
    """Whether a date reads the same in any order."""
    return len(_seconds(cell)) != len(DATE_MANNERS) - 1


class ShortYears:
    """Whether years of two digits seem to come first, by all cells of a column.

    They do if each cell would be a date that way and the first numbers take fewer values than the
    last: days differ more than years do.
    """

    def __init__(self) -> None:
        self._first: set[int] = set()
        self._last: set[int] = set()
        self._could_lead = True

    def add(self, cells: Sequence[str]) -> int | None:
        """More cells, all of which are dates or missing; the first of them with such a year."""
        row: int | None = None
        for i, cell in enumerate(cells):
            found = _YEAR_LAST.fullmatch(_without_weekday(cell)) if self._could_lead else None
            if found is None or len(found[4]) > 2:
                continue
            row = i if row is None else row
            month, last = int(found[3]), int(found[4])
            is_possible = month <= _MOST_MONTHS and 1 <= last <= _MOST_DAYS
            self._could_lead = is_possible and len(found[1]) == 2
            self._first.add(int(found[1]))
            self._last.add(last)
        return row

    @property
    def seem_to_lead(self) -> bool:
        """By the cells so far."""
        return self._could_lead and len(self._first) < len(self._last)


def _without_weekday(cell: str) -> str:
    text = cell.strip()
    found = _DAY_OF_WEEK.match(text) if text[:1].isalpha() else None
    return text[found.end() :] if found is not None and is_weekday(found[1]) else text


def _seconds(cell: str) -> dict[str, int]:
    """Seconds since the start of 1970 in each order that makes a date of the cell."""
    return _seconds_of_short(cell) if len(cell) <= _LONGEST else {}


@lru_cache(maxsize=1 << 14)  # dates come again, and are read once to be told and once for good
def _seconds_of_short(cell: str) -> dict[str, int]:
    text = _without_weekday(cell)
    if found := _YEAR_LAST.fullmatch(text):
        moments = {"dmy": _moment(found, 4, 3, 1)}
        if found[2] != ".":
            moments["mdy"] = _moment(found, 4, 1, 3)
    elif found := _YEAR_FIRST.fullmatch(text):
        moments = dict.fromkeys(DATE_MANNERS, _moment(found, 1, 3, 4))
    elif found := next(filter(None, (named.fullmatch(text) for named in _NAMED)), None):
        moments = dict.fromkeys(DATE_MANNERS, _moment(found, "year", "month", "day"))
    else:
        return {}
    return {manner: seconds for manner, seconds in moments.items() if seconds is not None}


def _moment(found: re.Match[str], year: int | str, month: int | str, day: int | str) -> int | None:
    """Seconds since the start of 1970; None where there is no such day or time."""
    number = int(found[month]) if found[month].isdecimal() else month_of(found[month])
    try:
        moment = datetime(_full_year(found[year]), number or 0, int(found[day]), *_time_of(found))
        moment -= _zone_of(found["zone"])
    except (ValueError, OverflowError):
        return None
    return int((moment - _EPOCH).total_seconds())


def _full_year(digits: str) -> int:
    year = int(digits)
    if len(digits) > 2:
        return year
    return year + (1900 if year >= _FIRST_OF_1900 else 2000)


def _time_of(found: re.Match[str]) -> tuple[int, int, int]:
    hour, minute, second = (int(found[part] or 0) for part in ("hour", "minute", "second"))
    if found["half"]:
        if not 1 <= hour <= 12:
            raise ValueError
        hour = hour % 12 + (12 if found["half"] in "Pp" else 0)
    return hour, minute, second


def _zone_of(zone: str | None) -> timedelta:
    digits = re.sub("[^0-9+-]", "", zone or "")
    if not digits:
        return timedelta(0)
    ahead = timedelta(hours=int(digits[1:3]), minutes=int(digits[3:5]))
    return ahead if digits[0] == "+" else -ahead
