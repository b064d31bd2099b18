"""Rows that compiled code has cut: numbers at once, text where it is asked for."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import overload

import numpy as np
from numpy.typing import NDArray

from polymargin.readers._parser import TableLines

__all__ = ["CutCells", "CutRows", "cut_columns"]

# What a cell is, as `CellClass` of the compiled code counts: the largest tells of a column.
_MISSING, _WHOLE, _GROUPED, _DECIMAL, _OTHER = range(5)


@dataclass(frozen=True)
class CutRows:
    """Some of the lines that were cut at a time.

    Parameters
    ----------
    lines : ndarray of shape (n,)
        Their numbers in the file.
    cut : TableLines
        Those lines and others.
    start : int
        The first of them in `cut`.
    """

    lines: NDArray[np.int64]
    cut: TableLines
    start: int = 0

    @property
    def stop(self) -> int:
        """Behind the last of them in `cut`."""
        return self.start + len(self.lines)

    def part(self, start: int, stop: int) -> "CutRows":
        """Some of the rows."""
        return CutRows(self.lines[start:stop], self.cut, self.start + start)

    def texts(self, column: int) -> list[str]:
        """The cells of a column."""
        return self.cut.texts(column, self.start, self.stop)


class CutCells(Sequence[str]):
    """The cells of a column.

    Attributes
    ----------
    numbers : ndarray of shape (n,)
        Their values, NaN where a cell is missing or something else.
    has_gaps : bool
        Whether cells are missing.
    are_plain : bool
        Whether all of them are missing or finite numbers, with a decimal point if any.
    has_point : bool
        Whether one of these numbers has a point.
    has_decimals : bool
        Whether one of these points cannot stand before a group of three digits.
    """

    def __init__(
        self,
        rows: Sequence[CutRows],
        column: int,
        numbers: NDArray[np.float64],
        smallest: int,
        largest: int,
    ) -> None:
        self._rows = rows
        self._column = column
        self.numbers = numbers
        self.has_gaps = smallest == _MISSING
        self.are_plain = largest < _OTHER
        self.has_point = largest >= _GROUPED
        self.has_decimals = largest >= _DECIMAL

    @property
    def are_full(self) -> bool:
        """Whether all of them are such numbers."""
        return self.are_plain and not self.has_gaps

    @cached_property
    def _texts(self) -> list[str]:
        return list(chain.from_iterable(rows.texts(self._column) for rows in self._rows))

    def __len__(self) -> int:
        return len(self.numbers)

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    @overload
    def __getitem__(self, key: int) -> str: ...
    @overload
    def __getitem__(self, key: slice) -> list[str]: ...
    def __getitem__(self, key: int | slice) -> str | list[str]:
        return self._texts[key]


def cut_columns(rows: Sequence[CutRows]) -> list[Sequence[str]]:
    """The columns of rows that were cut, perhaps at several times."""
    values = np.concatenate([part.cut.values[:, part.start : part.stop] for part in rows], axis=1)
    classes = np.concatenate([part.cut.classes[:, part.start : part.stop] for part in rows], axis=1)
    extremes = zip(classes.min(axis=1).tolist(), classes.max(axis=1).tolist(), strict=True)
    return [CutCells(rows, j, values[j], *pair) for j, pair in enumerate(extremes)]
