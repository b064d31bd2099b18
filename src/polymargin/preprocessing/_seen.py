"""What the rows so far tell of each column."""

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from polymargin.errors import DataError
from polymargin.preprocessing._dates import has_times, to_days
from polymargin.preprocessing._scaler import Seen
from polymargin.preprocessing._words import words_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polymargin.readers import Columns

__all__ = ["SeenColumns"]

MOST_VALUES = 1 << 20  # of a category


class SeenColumns:
    """Counts rows; `kinds` become those of the encoder."""

    def __init__(self, scale: str, names: tuple[str, ...], kinds: list[str]) -> None:
        self.names, self.kinds = names, kinds
        self._values: list[set[str]] = [set() for _ in names]
        self._measured = [i for i, kind in enumerate(kinds) if kind in ("number", "date")]
        self._seen = Seen("standard" if scale == "none" else scale, with_moments=True)
        self._scale = scale

    def add(self, X: "Columns") -> None:
        for i, (name, values) in enumerate(zip(X.names, X.values, strict=True)):
            if self.kinds[i] == "date" and has_times(values):
                self.kinds[i] = "date:hours"
            if self.kinds[i] != "category":
                continue
            self._values[i].update(word for word in words_of(values) if word is not None)
            if len(self._values[i]) > MOST_VALUES:
                raise DataError(
                    f"column {name!r} has more than {MOST_VALUES} values, too many for a "
                    "category; read it as text with the kind 'text:hashing', or leave it out "
                    "(kind 'drop')"
                )
        if self._measured:
            numbers = [
                to_days(X.values[i]) if self.kinds[i].startswith("date") else X.values[i]
                for i in self._measured
            ]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # a column without a value
                self._seen.add(np.column_stack(numbers))

    def categories(self) -> list[Any]:
        return [
            np.array(sorted(values), dtype=object) if kind == "category" else None
            for kind, values in zip(self.kinds, self._values, strict=True)
        ]

    def numbers(self) -> "tuple[NDArray[np.float64], ...]":
        """Mean, offset and factor of each column."""
        means, offsets, factors = (np.full(len(self.names), start) for start in (0.0, 0.0, 1.0))
        if self._measured:
            means[self._measured] = np.nan_to_num(self._seen.mean)
            if self._scale != "none":
                names = [f"column {self.names[i]!r}" for i in self._measured]
                offsets[self._measured], factors[self._measured] = self._seen.shift_and_stretch(
                    names
                )
        return means, offsets, factors

    def ranges(self) -> "tuple[NDArray[np.float64], NDArray[np.float64]]":
        """The least and the largest value of each column of numbers or dates; else 0 and 0."""
        lows, highs = np.zeros(len(self.names)), np.zeros(len(self.names))
        if self._measured:
            lows[self._measured] = np.nan_to_num(self._seen.low)
            highs[self._measured] = np.nan_to_num(self._seen.high)
        return lows, highs
