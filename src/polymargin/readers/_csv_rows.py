"""The rows of CSV and TSV files, as text."""

import csv
import itertools
from collections.abc import Iterator
from typing import Any

from polymargin._wording import counted
from polymargin.errors import DataError
from polymargin.readers._cells import to_numbers
from polymargin.readers._chunks import Chunk, rows_at_a_time
from polymargin.readers._columns import MOST_COLUMNS
from polymargin.readers._options import Options
from polymargin.readers._source import Source

__all__ = ["CsvRows"]

LONGEST_CELL = 1 << 24  # characters
_DELIMITERS = (",", ";", "\t")


class CsvRows:
    """Names of the columns and rows of as many cells."""

    def __init__(self, source: Source, options: Options) -> None:
        self._source = source
        self._has_header = options.header is not False
        self._must_look_like_one = options.header == "auto"
        self.delimiter = options.delimiter or self._find_delimiter()
        self._csv = csv.reader(source.text_lines(), delimiter=self.delimiter, strict=True)
        self._rows: Iterator[tuple[int, list[str]]] = self._checked_rows()
        self.names = self._read_names()

    def error(self, line: int, message: str, column: int | None = None) -> DataError:
        """About a row; `column` counts cells."""
        return DataError(message, path=self._source.name, line=line, column=column)

    @property
    def reading(self) -> dict[str, Any]:
        """How to read another file like this one."""
        form = "tsv" if self.delimiter == "\t" else "csv"
        return {"format": form, "delimiter": self.delimiter, "header": self._has_header}

    @property
    def only_labels(self) -> DataError:
        """That there is no column to learn from."""
        return self.error(
            1,
            f"there is no column besides {self.names[0][:40]!r}; cells are taken to be "
            f"separated by {self.delimiter!r}: give another with delimiter=",
        )

    def _find_delimiter(self) -> str:
        """The one that cuts the first line into most cells."""
        lines = [line for line in self._source.sample() if line.strip()]
        first = lines[0].decode("utf-8", "replace") if lines else ""
        counts = {mark: _count_cells(first, mark) for mark in _DELIMITERS}
        return max(counts, key=lambda mark: counts[mark])

    def _checked_rows(self) -> Iterator[tuple[int, list[str]]]:
        """Rows with the line they start on."""
        while True:
            line = self._csv.line_num + 1
            limit = csv.field_size_limit(LONGEST_CELL)  # of all who use the module
            try:
                cells = next(self._csv, None)
            except csv.Error as error:
                raise self.error(line, _explain(error)) from error
            finally:
                csv.field_size_limit(limit)
            if cells is None:
                return
            if len(cells) > MOST_COLUMNS:
                raise self.error(line, f"{len(cells)} cells are more than {MOST_COLUMNS}")
            if cells and (len(cells) > 1 or cells[0].strip()):
                yield line, cells

    def _read_names(self) -> list[str]:
        first = next(self._rows, None)
        if first is None:
            raise DataError("the file has no rows", path=self._source.name)
        if self._has_header:
            names = [cell.strip() for cell in first[1]]
            if self._must_look_like_one and _could_be_data(names):
                raise self.error(
                    first[0],
                    "the first line should name the columns and holds numbers; say whether it is "
                    "a header (header=True or False, --header or --no-header)",
                )
            return names
        self._rows = itertools.chain([first], self._rows)
        return [str(j + 1) for j in range(len(first[1]))]

    def chunks(self, rows: int) -> Iterator[Chunk]:
        """All rows, so many at a time or fewer where they are long."""
        lines: list[int] = []
        chunk: list[list[str]] = []
        width = len(self.names)
        rows = rows_at_a_time(rows, width)
        for line, cells in self._rows:
            if len(cells) != width:
                first = "header" if self._has_header else "first row"
                raise self.error(
                    line,
                    f"{counted(len(cells), 'cell')} where the {first} has {width}; quote cells "
                    f"that contain {self.delimiter!r}",
                )
            lines.append(line)
            chunk.append(cells)
            if len(chunk) == rows:
                yield Chunk.of_rows(lines, chunk)
                lines, chunk = [], []
        if chunk:
            yield Chunk.of_rows(lines, chunk)


def _could_be_data(names: list[str]) -> bool:
    """Whether all cells but one, which may be a label, are numbers."""
    _, wrong = to_numbers(names)
    if wrong is None:
        return True
    return len(names) > 1 and to_numbers(names[:wrong] + names[wrong + 1 :])[1] is None


def _count_cells(line: str, delimiter: str) -> int:
    """How many cells a line has; a quoted delimiter does not count."""
    return sum(part.count(delimiter) for part in line.split('"')[::2]) + 1


def _explain(error: csv.Error) -> str:
    text = str(error)
    if "field limit" in text or "unexpected end of data" in text:
        return (
            f"a cell is longer than {LONGEST_CELL} characters or its quote is never "
            "closed; close it"
        )
    if "expected after" in text:
        return "text after a closing quote; write a quote inside a cell as two quotes"
    if "new-line character" in text:
        return "a carriage return without a line feed; end lines with a line feed"
    return text
