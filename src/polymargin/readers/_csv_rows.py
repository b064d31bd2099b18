"""The rows of CSV and TSV files, as text."""

import csv
from collections.abc import Iterator
from typing import Any

import numpy as np

from polymargin._wording import counted
from polymargin.errors import DataError
from polymargin.readers._chunks import Chunk, regrouped, rows_at_a_time
from polymargin.readers._columns import MOST_COLUMNS
from polymargin.readers._cut_rows import CutRows
from polymargin.readers._delimiters import SHOWN_DELIMITERS, cut_cells, fitting_delimiter
from polymargin.readers._first_lines import COMMENT, could_be_data, start_of_table
from polymargin.readers._line_blocks import LineBlocks
from polymargin.readers._options import Options
from polymargin.readers._parser import cut_lines
from polymargin.readers._source import Source
from polymargin.readers._tab_rows import LONE_RETURN, LONG_CELL, LONGEST_CELL, RowError, TabRows

__all__ = ["CsvRows"]

_CERTAIN_DELIMITERS = (",", ";", "\t", "|")  # which are no part of a number
_ROWS_IN_DOUBT = 256  # that are read one by one before the next try to cut many


class CsvRows:
    """Names of the columns and rows of as many cells.

    Attributes
    ----------
    names : list of str
        Those of the header, or "1", "2" and so on.
    has_names : bool
        Whether there is a header.
    guessed_header : int or None
        Its line, where nobody has said that there is one.
    delimiter : str
        What is between cells.
    """

    def __init__(self, source: Source, options: Options) -> None:
        self._source = source
        self.has_names = options.header is not False
        self._needs_labels = options.takes_own_labels
        self.guessed_header: int | None = None
        self._must_look_like_one = options.header == "auto"
        self._start = start_of_table(source, options.delimiter, self.has_names)
        self.delimiter = self._start.delimiter
        self._blocks = LineBlocks(source.line_blocks(), source.decode)
        lines = self._blocks.lines()
        for _ in self._start.above:
            next(lines)
        self._tab_rows = TabRows(self._blocks) if self.delimiter == "\t" else None
        self._rows: Iterator[list[str]] = self._tab_rows or self._cells_of_lines()
        self.names: list[str] = []
        self._first: list[tuple[int, list[str]]] = []  # a row, where it does not name the columns
        self.names = self._read_names()
        if self._tab_rows is not None:
            self._tab_rows.width = len(self.names)
        self._may_cut = self.delimiter in _CERTAIN_DELIMITERS and len(self.names) > 1

    def error(self, line: int, message: str, column: int | None = None) -> DataError:
        """About a row; `column` counts cells."""
        return DataError(message, path=self._source.name, line=line, column=column)

    @property
    def reading(self) -> dict[str, Any]:
        """How to read another file like this one."""
        form = "tsv" if self.delimiter == "\t" else "csv"
        return {"format": form, "delimiter": self.delimiter, "header": self.has_names}

    @property
    def only_labels(self) -> DataError:
        """That there is no column to learn from."""
        lines = self._start.below
        other, later = fitting_delimiter(lines), fitting_delimiter(lines[len(lines) // 2 :])
        way_out = ": give another with delimiter="
        if other is not None:
            way_out = f", and look separated by {SHOWN_DELIMITERS[other]}: say delimiter={other!r}"
        elif later is not None:
            way_out = (
                f", and look separated by {SHOWN_DELIMITERS[later]} further below: take away what "
                "stands above the names of the columns"
            )
        return self.error(
            1,
            f"there is no column besides {self.names[0][:40]!r}; cells are taken to be "
            f"separated by {self.delimiter!r}{way_out}",
        )

    def _cells_of_lines(self) -> Iterator[list[str]]:
        """The cells of all rows but those that tabs separate; a run of blanks is one."""
        if self.delimiter != " ":
            return csv.reader(self._blocks.lines(), delimiter=self.delimiter, strict=True)
        lines = (line.rstrip() + "\n" for line in self._blocks.lines())
        return csv.reader(lines, delimiter=" ", skipinitialspace=True, strict=True)

    def _read_names(self) -> list[str]:
        found, failure = self._read_rows(1)
        if failure is not None:
            raise failure
        if not found:
            raise DataError("the file has no rows", path=self._source.name)
        line, cells = found[0]
        if not self.has_names:
            self._first = found
            return [str(j + 1) for j in range(len(cells))]
        names = [cell.strip() for cell in cells]
        if self.delimiter == " " and names[0] == COMMENT and len(names) > 1:
            del names[0]
        self._check_title(line, names)
        if names.count("") > 1:
            names = [name or f"unnamed {place}" for place, name in enumerate(names, start=1)]
        if self._must_look_like_one:
            self.guessed_header = line
        if self._must_look_like_one and could_be_data(names):
            raise self.error(
                line,
                "the first line should name the columns and holds numbers; say whether it is "
                "a header (header=True or False, --header or --no-header)",
            )
        return names

    def _check_title(self, line: int, names: list[str]) -> None:
        """Refuse a line with a single text above lines with more cells."""
        below = self._start.below[1:]
        widths = [sum(bool(cell.strip()) for cell in self._cut_cells(text)) for text in below]
        if self._must_look_like_one and widths and sum(map(bool, names)) == 1 < min(widths):
            other = fitting_delimiter(self._start.below)
            if other not in (None, self.delimiter):
                raise self.error(
                    line,
                    f"cells look separated by {SHOWN_DELIMITERS[other]}: say delimiter={other!r}",
                )
            raise self.error(
                line,
                f"{next(filter(None, names))[:40]!r} stands alone in its line, like a title, and "
                "lines below have more cells; take away what stands above the names of the columns",
            )

    @property
    def n_hollow(self) -> int:
        """How many of the last columns have neither a name nor a value in the first lines."""
        cut = map(self._cut_cells, self._start.below)
        rows = [cells for cells in cut if len(cells) == len(self.names)]
        is_hollow = [not any(map(str.strip, cells)) for cells in zip(*rows, strict=True)]
        return next((n for n, hollow in enumerate(reversed(is_hollow)) if not hollow), 0)

    def _cut_cells(self, text: str) -> list[str]:
        return cut_cells(text, self.delimiter)

    def chunks(self, rows: int) -> Iterator[Chunk]:
        """All rows, so many at a time or fewer where they are long.

        Where rows need labels, those without a single value are passed over like blank lines.
        """
        chunks = regrouped(self._pieces(), rows_at_a_time(rows, len(self.names)))
        if not self._needs_labels:
            return chunks
        return (chunk for chunk in (c.without_blanks() for c in chunks) if len(chunk.lines))

    def _pieces(self) -> Iterator[Chunk | CutRows]:
        """All rows: lines that are in no doubt as they are cut at once, others row by row.

        How they come makes no difference but for the time: the same rows in the same order, and
        an error after all rows before it.
        """
        found, failure = self._first, None
        while True:
            if found:
                yield Chunk.of_rows([line for line, _ in found], [cells for _, cells in found])
            if failure is not None:
                raise failure
            while (rows := self._cut()) is not None:
                yield rows
            found, failure = self._read_rows(_ROWS_IN_DOUBT)
            if not found and failure is None:
                return

    def _cut(self) -> CutRows | None:
        """The next lines, as far as they are in no doubt; None where the first is."""
        if not self._may_cut:
            return None
        block = self._blocks.peek()
        cut = cut_lines(_text_of(block), self.delimiter, len(self.names), LONGEST_CELL)
        if cut.n_rows == 0:
            return None
        first = self._blocks.n_lines + 1
        self._blocks.skip(cut.n_rows, cut.n_bytes)
        return CutRows(np.arange(first, first + cut.n_rows), cut)

    def _read_rows(self, rows: int) -> tuple[list[tuple[int, list[str]]], Exception | None]:
        """So many rows, each with the line it starts on, and what is wrong with the next one."""
        found: list[tuple[int, list[str]]] = []
        limit = csv.field_size_limit(LONGEST_CELL)  # of all who use the module
        try:
            while len(found) < rows:
                line = self._blocks.n_lines + 1
                cells = next(self._rows, None)
                if cells is None:
                    break
                if len(cells) > 1 or (cells and cells[0].strip()):
                    self._check_width(line, cells)
                    found.append((line, cells))
        except csv.Error as error:
            return found, self.error(line, _explain(error))
        except RowError as error:
            return found, self.error(line, str(error))
        except (DataError, OSError) as error:
            return found, error
        finally:
            csv.field_size_limit(limit)
        return found, None

    def _check_width(self, line: int, cells: list[str]) -> None:
        if len(cells) > MOST_COLUMNS:
            raise self.error(line, f"{len(cells)} cells are more than {MOST_COLUMNS}")
        if self.names and len(cells) != len(self.names):
            first = "header" if self.has_names else "first row"
            raise self.error(
                line,
                f"{counted(len(cells), 'cell')} where the {first} has {len(self.names)}; "
                + self._remedy(cells),
            )

    def _remedy(self, cells: list[str]) -> str:
        if cells[0].startswith(COMMENT):
            return "comments stand before the header alone; take this one away"
        return f"quote cells that contain {self.delimiter!r}"


def _text_of(block: bytes) -> bytes:
    """The first lines, as far as they are UTF-8."""
    if block.isascii():
        return block
    try:
        block.decode("utf-8")
    except UnicodeDecodeError as error:
        return block[: block.rfind(b"\n", 0, error.start) + 1]
    return block


def _explain(error: csv.Error) -> str:
    text = str(error)
    if "field limit" in text or "unexpected end of data" in text:
        return LONG_CELL.format(LONGEST_CELL)
    if "expected after" in text:
        return (
            "text after a closing quote; enclose a cell that has quotes in quotes, and double "
            'those inside: """fly"" in italian"; cells that are separated by tabs may have them '
            "as they are"
        )
    if "new-line character" in text:
        return LONE_RETURN
    return text
