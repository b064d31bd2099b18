"""Compiled readers of text files; `_svmlight.py`, `_cut_rows.py` and `_texts.py` use them."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Fault: TypeAlias = tuple[int, int, str]  # line and column, from 1, and what is wrong

class SvmlightParser:
    """svmlight text, in pieces of any length, into the arrays of a CSR matrix.

    An error ends the file: nothing may be fed afterwards.
    """

    def __init__(
        self,
        *,
        zero_based: bool | None,
        n_features: int | None,
        ignore_extra: bool,
        labels_optional: bool,
        n_threads: int,
        longest_line: int,
    ) -> None: ...
    def feed(self, text: bytes, /) -> Fault | None:
        """Read more text, without the GIL."""

    def end(self) -> Fault | None:
        """Read a last line that has no line feed, and settle where indices start."""

    def settle(self) -> Fault | None:
        """Decide where indices start, if that is not known, by what was read."""

    def take(
        self, count: int, /
    ) -> tuple[
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.int32],
        NDArray[np.int64],
        NDArray[np.int64],
    ]:
        """The first rows, which are forgotten: labels, values, indices, indptr, lines.

        All rows that are there move without a copy. Missing labels are NaN.
        """

    def drop(self) -> NDArray[np.float64]:
        """Forget all rows; their labels."""

    @property
    def zero_based(self) -> bool | None:
        """Whether indices start from 0; None until that is settled."""

    @property
    def has_index_zero(self) -> bool: ...
    @property
    def largest_index(self) -> int:
        """As written in the file; -1 without entries."""

    @property
    def ignored_entries(self) -> int:
        """Entries left out because their index is too large."""

    @property
    def missing_labels(self) -> int:
        """Rows without a label, of all that were read."""

    @property
    def n_rows(self) -> int:
        """Rows read and not yet taken."""

    @property
    def line_count(self) -> int:
        """Lines read, also those without a row."""

class TableLines:
    """Lines of a table, cut into cells up to the first line in doubt.

    A line is in doubt if it has another number of cells than there are columns, a quote that does
    not enclose a whole cell, a line end inside a cell, a zero, or a cell that is too long.
    """

    @property
    def n_rows(self) -> int:
        """Lines that are cut, a row each."""

    @property
    def n_bytes(self) -> int:
        """Bytes of those lines."""

    @property
    def values(self) -> NDArray[np.float64]:
        """The numbers by column, of shape (width, n_rows); NaN where a cell is none."""

    @property
    def classes(self) -> NDArray[np.uint8]:
        """What cells are, as `CellClass` in ``table_lines.hpp`` counts; of the same shape."""

    def texts(self, column: int, start: int, stop: int, /) -> list[str]:
        """The cells of some rows of a column, without quotes; they have to be UTF-8."""

def cut_lines(text: bytes, delimiter: str, width: int, longest_cell: int) -> TableLines:
    """Cut lines into `width` cells each, without the GIL; `longest_cell` counts bytes."""

def cut_texts(
    block: bytes, has_labels: bool
) -> tuple[list[str], list[str], NDArray[np.int64], int, int]:
    """Cut lines of ``label<TAB>text``, or of texts alone, up to the first line in doubt.

    Returns the texts, their labels if there are any, their lines from 0, and how many lines and
    bytes are cut. A line is in doubt if it is not UTF-8, has a zero, another number of tabs or a
    blank label, or is blank without being empty.
    """
