"""Some rows of a table as cells of text."""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polymargin.readers._cut_rows import CutCells, CutRows, cut_columns

__all__ = ["Chunk", "regrouped", "rows_at_a_time"]

CHUNK_CELLS = 1 << 21


class Chunk(NamedTuple):
    """The lines that rows start on, and the cells of each column."""

    lines: NDArray[np.int64]
    columns: Sequence[Sequence[str]]

    @classmethod
    def of_rows(cls, lines: Sequence[int], rows: Sequence[Sequence[str]]) -> "Chunk":
        """From the cells of each row, of which there is one at least."""
        return cls(np.array(lines, dtype=np.int64), [*zip(*rows, strict=True)])

    def part(self, start: int, stop: int) -> "Chunk":
        """Some of the rows."""
        return Chunk(self.lines[start:stop], [cells[start:stop] for cells in self.columns])

    def texts(self, column: int) -> Sequence[str]:
        """The cells of a column."""
        return self.columns[column]

    def without_blanks(self) -> "Chunk":
        """The same without rows that have no cell with anything in it."""
        if any(isinstance(cells, CutCells) and cells.are_full for cells in self.columns):
            return self
        blank: Sequence[int] = range(len(self.lines))
        for cells in self.columns:
            blank = [row for row in blank if not cells[row].strip()]
            if not blank:
                return self
        left_out = set(blank)
        kept = [row for row in range(len(self.lines)) if row not in left_out]
        return Chunk(self.lines[kept], [[cells[row] for row in kept] for cells in self.columns])


def rows_at_a_time(rows: int, width: int) -> int:
    """As many rows as are wanted, or fewer where they are long."""
    return min(rows, max(1, CHUNK_CELLS // width))


def regrouped(pieces: Iterator[Chunk | CutRows], rows: int) -> Iterator[Chunk]:
    """Rows that come in pieces of any size, so many at a time."""
    waiting: list[Chunk | CutRows] = []
    missing = rows
    for piece in pieces:
        start, n_rows = 0, len(piece.lines)
        while n_rows - start >= missing:
            yield _join([*waiting, piece.part(start, start + missing)])
            start, missing, waiting = start + missing, rows, []
        if start < n_rows:
            waiting.append(piece.part(start, n_rows))
            missing -= n_rows - start
    if waiting:
        yield _join(waiting)


def _join(pieces: list[Chunk | CutRows]) -> Chunk:
    lines = np.concatenate([piece.lines for piece in pieces])
    cut = [piece for piece in pieces if isinstance(piece, CutRows)]
    if len(cut) == len(pieces):
        return Chunk(lines, cut_columns(cut))
    width = next(len(piece.columns) for piece in pieces if isinstance(piece, Chunk))
    return Chunk(
        lines,
        [tuple(chain.from_iterable(piece.texts(j) for piece in pieces)) for j in range(width)],
    )
