"""Dates as numbers: the day, and which month, day of the week and hour it is."""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["date_feature_names", "has_times", "mark_parts", "to_days"]

_MONTHS, _WEEKDAYS, _HOURS = range(1, 13), range(1, 8), range(24)
_SECONDS = 86400  # of a day


def to_days(dates: "NDArray[np.datetime64]") -> "NDArray[np.float64]":
    """Days since the start of 1970 with their fractions, NaN where a date is missing."""
    seconds = dates.astype("datetime64[s]").astype(np.int64)
    return np.where(np.isnat(dates), np.nan, seconds / _SECONDS)


def has_times(dates: "NDArray[np.datetime64]") -> bool:
    """Whether there is a time of day other than midnight."""
    days = to_days(dates)
    return bool(np.any(days[~np.isnan(days)] % 1 > 0))


def date_feature_names(name: str, with_hours: bool) -> list[str]:
    """The day first, then a feature for each month, weekday (1 is Monday), and hour if asked."""
    names = [name]
    names += [f"{name}.month={month}" for month in _MONTHS]
    names += [f"{name}.weekday={weekday}" for weekday in _WEEKDAYS]
    return names + [f"{name}.hour={hour}" for hour in _HOURS if with_hours]


def mark_parts(dates: "NDArray[np.datetime64]", out: "NDArray[np.float64]") -> None:
    """Put 1 for the month, the weekday and, where there is room, the hour; `out` is of zeros."""
    rows = np.flatnonzero(~np.isnat(dates))
    known = dates[rows]
    month = known.astype("datetime64[M]").astype(np.int64) % 12
    days = known.astype("datetime64[D]").astype(np.int64)
    out[rows, month] = 1.0
    out[rows, len(_MONTHS) + (days + 3) % 7] = 1.0  # 1970 began on a Thursday
    if out.shape[1] > len(_MONTHS) + len(_WEEKDAYS):
        hour = known.astype("datetime64[h]").astype(np.int64) % 24
        out[rows, len(_MONTHS) + len(_WEEKDAYS) + hour] = 1.0
