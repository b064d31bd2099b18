"""Numbers and dates of a file that lie outside of those that a model was trained on.

A column of numbers is told of if more than half of its values in the file lie further outside the
range of the training file than that range is wide; a column of dates if more than half of them lie
outside at all: no day comes twice. A column that had one value in the training file is not.
"""

from datetime import datetime, timedelta

import numpy as np

from polymargin._wording import column_option
from polymargin.cli._output.terminal import warn
from polymargin.preprocessing import ColumnEncoder
from polymargin.readers import Columns

_EPOCH = datetime(1970, 1, 1)


class RangeWatch:
    """Counts values of each column of numbers or dates, table by table.

    Parameters
    ----------
    encoder : ColumnEncoder
        What knows the ranges of the training file.
    """

    def __init__(self, encoder: ColumnEncoder) -> None:
        self._encoder = encoder
        widths = encoder.highs_ - encoder.lows_
        self._widths = {
            name: float(width)
            for name, width in zip(encoder.names_, widths, strict=True)
            if width > 0
        }
        self._kinds = dict(zip(encoder.names_, encoder.kinds_, strict=True))
        self._n_values = dict.fromkeys(self._widths, 0)
        self._n_outside = dict.fromkeys(self._widths, 0)
        self._n_far = dict.fromkeys(self._widths, 0)
        self._ends = dict.fromkeys(self._widths, (np.inf, -np.inf))

    def add(self, columns: Columns) -> None:
        """More rows of the file."""
        for name, numbers in self._encoder.measured(columns).items():
            if name not in self._widths or not len(numbers):
                continue
            low, high = self._trained(name)
            distance = np.maximum(low - numbers, numbers - high)
            self._n_values[name] += len(numbers)
            self._n_outside[name] += int(np.count_nonzero(distance > 0))
            self._n_far[name] += int(np.count_nonzero(distance > self._widths[name]))
            least, most = self._ends[name]
            self._ends[name] = min(least, numbers.min()), max(most, numbers.max())

    def tell(self) -> None:
        """Warn of each column that is far away, or of another time."""
        for name, n_values in self._n_values.items():
            is_number = self._kinds[name] == "number"
            n_strange = (self._n_far if is_number else self._n_outside)[name]
            if n_strange > n_values / 2:
                warn(self._about_numbers(name) if is_number else self._about_dates(name))

    def _about_numbers(self, name: str) -> str:
        return (
            f"the numbers of column {name!r} lie far outside of what the model was trained on: "
            f"{self._both_ranges(name)}, so that its answers may be worthless; check its unit, or "
            f"train without the column: {column_option(name, 'drop')}"
        )

    def _about_dates(self, name: str) -> str:
        return (
            f"the dates of column {name!r} are of another time than those the model was trained "
            f"on: {self._both_ranges(name)}, and count as the nearest day that it saw; where the "
            "date itself says nothing of the class, train without the column: "
            f"{column_option(name, 'drop')}"
        )

    def _both_ranges(self, name: str) -> str:
        ends = (self._trained(name), self._ends[name])
        trained, here = (_between(*pair, self._kinds[name]) for pair in ends)
        return f"it saw {trained}, and here they are {here}"

    def _trained(self, name: str) -> tuple[float, float]:
        place = self._encoder.names_.index(name)
        return float(self._encoder.lows_[place]), float(self._encoder.highs_[place])


def _between(low: float, high: float, kind: str) -> str:
    if kind == "number":
        return f"{_number(low)} to {_number(high)}"
    form = "%Y-%m-%d %H:%M" if kind == "date:hours" else "%Y-%m-%d"
    return " to ".join((_EPOCH + timedelta(days=day)).strftime(form) for day in (low, high))


def _number(value: float) -> str:
    """Large ones without a power of ten, as far as they can be read."""
    return f"{value:,.0f}" if 1e5 <= abs(value) < 1e15 else f"{value:,.6g}"
