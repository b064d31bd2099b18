"""Some rows of a table as cells of text."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Chunk", "rows_at_a_time"]

CHUNK_CELLS = 1 << 21


class Chunk(NamedTuple):
    """The lines that rows start on, and the cells of each column."""

    lines: NDArray[np.int64]
    columns: list[Sequence[str]]

    @classmethod
    def of_rows(cls, lines: Sequence[int], rows: Sequence[Sequence[str]]) -> "Chunk":
        """From the cells of each row, of which there is one at least."""
        return cls(np.array(lines, dtype=np.int64), [*zip(*rows, strict=True)])


def rows_at_a_time(rows: int, width: int) -> int:
    """As many rows as are wanted, or fewer where they are long."""
    return min(rows, max(1, CHUNK_CELLS // width))
