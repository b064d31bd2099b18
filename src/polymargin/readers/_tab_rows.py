"""Rows whose cells are separated by tabs.

Programs that write them double quotes and enclose cells as in CSV, or write all characters as they
are. Both are read: a cell is quoted if its opening quote is closed right before a tab or the end of
a line, with doubled quotes in between; the quotes of all other cells are plain characters. A quoted
cell may have line ends, unless the lines from its first to its last are rows by themselves: then an
opening quote is a plain character as well, for else it would swallow them.
"""

import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from polymargin.readers._line_blocks import LineBlocks

__all__ = ["LONE_RETURN", "LONGEST_CELL", "LONG_CELL", "RowError", "TabRows", "tab_records"]

LONGEST_CELL = 1 << 24  # characters
LONG_CELL = "a cell is longer than {} characters or its quote is never closed; close it"
LONE_RETURN = "a carriage return without a line feed; end lines with a line feed"

_ENDS = "\r\n"
_INSIDE = re.compile(r'(?:[^"]+|"")*+')
_QUOTED = re.compile(rf'"({_INSIDE.pattern})"(?=\t|\Z)')


class RowError(Exception):
    """What is wrong with a row."""


class _Cut(NamedTuple):
    """A line, cut into cells.

    Parameters
    ----------
    cells : list of str
        An opening quote that is not closed in the line is a plain character.
    open_cell : int or None
        The cell with that quote.
    inside : int
        What follows the quote starts here in the line.
    returned : int or None
        The first cell that is not quoted and has a carriage return.
    """

    cells: list[str]
    open_cell: int | None = None
    inside: int = 0
    returned: int | None = None


class TabRows:
    """The cells of one row after the other.

    Parameters
    ----------
    blocks : LineBlocks
        The file. Lines that are looked at and belong to later rows are put back.

    Attributes
    ----------
    width : int or None
        How many cells rows should have; None as long as it is not known.
    lines : list of str
        Those of the last row.
    """

    def __init__(self, blocks: LineBlocks) -> None:
        self._blocks = blocks
        self._lines = blocks.lines()
        self.width: int | None = None
        self.lines: list[str] = []

    def __iter__(self) -> Iterator[list[str]]:
        return self

    def __next__(self) -> list[str]:
        line = next(self._lines)
        self.lines = [line]
        cut = _cut(line)
        cells = None if cut.open_cell is None else self._over_lines(line, cut)
        if cells is None:
            if cut.returned is not None:
                raise RowError(LONE_RETURN)
            cells = cut.cells
        if len(line) > LONGEST_CELL and max(map(len, cells)) > LONGEST_CELL:
            raise RowError(LONG_CELL.format(LONGEST_CELL))
        return cells

    def _over_lines(self, line: str, cut: _Cut) -> list[str] | None:
        """The cells of a row that goes on in more lines; None where it does not."""
        taken: list[str] = []
        cells = self._follow(line, cut, taken)
        if cells is not None and self._is_one_row(cells, [line, *taken]):
            self.lines += taken
            return cells
        self._blocks.put_back(taken)
        self._lines = self._blocks.lines()  # which may have come to their end
        return None

    def _follow(self, line: str, cut: _Cut, taken: list[str]) -> list[str] | None:
        cells: list[str] = []
        size = len(line)
        while cut.open_cell is not None:
            if cut.returned is not None and cut.returned < cut.open_cell:
                return None
            cells += cut.cells[: cut.open_cell]
            parts = [line[cut.inside :]]
            while True:
                line = next(self._lines, "")
                taken += [line] if line else []
                size += len(line)
                if not line or size > LONGEST_CELL:
                    return None
                found = _INSIDE.match(line)
                end = len(line) if found is None else found.end()
                parts.append(line[:end])
                if end < len(line):
                    break
            rest = line[end + 1 :].rstrip(_ENDS)
            if rest and not rest.startswith("\t"):
                return None
            cells.append("".join(parts).replace('""', '"'))
            if not rest:
                return cells
            line = line[end + 2 :]
            cut = _cut(line)
        return cells + cut.cells if cut.returned is None else None

    def _is_one_row(self, cells: list[str], lines: list[str]) -> bool:
        if self.width is None:
            return True
        widths = {len(_cut(line).cells) for line in lines if not line.isspace()}
        return len(cells) == self.width and widths != {self.width}


def tab_records(blocks: Iterator[bytes], n_above: int = 0) -> Iterator[bytes]:
    """The lines of each row, from blocks of whole lines in any encoding that has ASCII.

    The first `n_above` lines, which are no rows, come first.
    """
    line_blocks = LineBlocks(blocks, lambda line, _: line.decode("utf-8", "surrogateescape"))
    for line in islice(line_blocks.lines(), n_above):
        yield line.encode("utf-8", "surrogateescape")
    rows = TabRows(line_blocks)
    while True:
        try:
            width = len(next(rows))
            rows.width = width if rows.width is None else rows.width
        except StopIteration:
            return
        except RowError:
            pass  # whoever reads the rows will tell
        yield "".join(rows.lines).encode("utf-8", "surrogateescape")


def _cut(line: str) -> _Cut:
    text = line.rstrip(_ENDS)
    if '"' not in text:
        cells = text.split("\t")
        with_return = (place for place, cell in enumerate(cells) if "\r" in cell)
        return _Cut(cells, returned=next(with_return, None) if "\r" in text else None)
    cells = []
    open_cell, inside, returned = None, 0, None
    start = 0
    while True:
        is_opened = text.startswith('"', start)
        quoted = _QUOTED.match(text, start) if is_opened else None
        if quoted is not None:
            end = quoted.end()
            cells.append(quoted[1].replace('""', '"'))
        else:
            end = text.find("\t", start)
            end = len(text) if end < 0 else end
            if is_opened and _INSIDE.fullmatch(text, start + 1):
                open_cell, inside = len(cells), start + 1
            if returned is None and "\r" in text[start:end]:
                returned = len(cells)
            cells.append(text[start:end])
        if end == len(text):
            return _Cut(cells, open_cell, inside, returned)
        start = end + 1
