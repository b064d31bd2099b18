"""CSV and TSV tables."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin.errors import DataError
from polymargin.readers._cells import is_missing, to_categories, to_numbers
from polymargin.readers._columns import check_names, features_among, find_label, join_tables
from polymargin.readers._csv_rows import CsvRows
from polymargin.readers._labels import LabelTexts, label_kind_of, labels_from_texts
from polymargin.readers._options import Options
from polymargin.readers._source import Source
from polymargin.readers._table import Columns, MissingCell, Table

__all__ = ["csv_batches", "read_csv", "scanned_tables"]

CHUNK_ROWS = 4096


class _UnlikeError(Exception):
    """A column taken for numbers has a cell that is none."""

    def __init__(self, table: Table, error: DataError) -> None:
        super().__init__(str(error))
        self.table = table  # with the column as a category
        self.error = error


def csv_batches(source: Source, rows: int, options: Options) -> Iterator[Table]:
    """Tables of at most `rows` rows.

    What a column holds and what labels are is decided by the first rows unless it is given; later
    rows that differ are an error.
    """
    reader = _Reader(source, options)
    try:
        yield from reader.tables(rows)
    except _UnlikeError as unlike:
        raise unlike.error from None


def read_csv(source: Source, options: Options) -> Table:
    """All rows. The file is read again where a column of numbers turns out to be a category."""
    reader = _Reader(source, options)
    tables: list[Table] = []
    try:
        tables.extend(reader.tables(CHUNK_ROWS, keep_label_texts=True))
    except _UnlikeError as unlike:
        if source.is_standard_input:
            raise unlike.error from None
        tables.clear()
        for _ in _all_tables(reader, keep_label_texts=True):  # for the kinds of all columns
            pass
        source.rewind()
        again = _Reader(source, options)
        again.kinds = reader.kinds
        reader = again
        tables.extend(reader.tables(CHUNK_ROWS, keep_label_texts=True))
    if not tables:
        raise reader.rows.error(1, "there are no rows")
    table = join_tables(tables)
    y = reader.all_labels()
    reading = reader.reading(None if y is None else label_kind_of(y))
    return Table(table.X, y, reading, table.lines, table.first_missing)


def scanned_tables(source: Source, options: Options) -> Iterator[Table]:
    """Tables for a scan. The last one knows what all columns hold."""
    return _all_tables(_Reader(source, options), keep_label_texts=False)


def _all_tables(reader: "_Reader", keep_label_texts: bool) -> Iterator[Table]:
    """Tables to the end of the file, also where a column changes from numbers to a category."""
    while True:
        try:
            yield from reader.tables(CHUNK_ROWS, keep_label_texts)
        except _UnlikeError as unlike:
            yield unlike.table
        else:
            return


class _Reader:
    def __init__(self, source: Source, options: Options) -> None:
        self.options = options
        self.rows = CsvRows(source, options)
        self.names = self.rows.names
        check_names(self.names, options, source.name)
        self.label = find_label(self.names, options, source.name)
        self.features = features_among(self.names, self.label, options)
        self.kinds: dict[int, str] = {}
        self._known: dict[int, dict[str, str]] = {j: {} for j in self.features}
        self._label_texts = LabelTexts()
        self._label_lines: list[NDArray[np.int64]] = []
        self._label_kind = options.label_kind
        self.label_gaps = False
        if not self.features:
            raise self.rows.error(
                1,
                f"there is no column besides {self.names[0][:40]!r}; cells are taken to be "
                f"separated by {self.rows.delimiter!r}: give another with delimiter=",
            )

    def tables(self, rows: int, keep_label_texts: bool = False) -> Iterator[Table]:
        for lines, chunk in self.rows.chunks(rows):
            yield self._table(lines, list(zip(*chunk, strict=True)), keep_label_texts)

    def _table(
        self, lines: list[int], columns: list[tuple[str, ...]], keep_label_texts: bool
    ) -> Table:
        missing: list[MissingCell] = []
        problems: list[DataError] = []
        changes: list[DataError] = []  # from numbers to a category
        decided = bool(self.kinds)
        values: list[NDArray[Any]] = []
        for j in self.features:
            forced = (self.options.kinds or {}).get(self.names[j])
            kind = forced or self.kinds.get(j, "number")
            wrong = None
            if kind == "number":
                numbers, wrong, empty = to_numbers(columns[j])
            if wrong is not None:
                problem = self._not_a_number(lines[wrong], j, columns[j][wrong], bool(forced))
                if forced:
                    problems.append(problem)
                elif decided:
                    changes.append(problem)
                kind = "category"
            self.kinds[j] = kind
            if kind == "category":
                values.append(to_categories(columns[j], self._known[j]))
                continue
            values.append(numbers)
            infinite = np.flatnonzero(np.isinf(numbers))
            if len(infinite):
                problems.append(self._not_finite(lines[infinite[0]], j, columns[j][infinite[0]]))
            if empty is not None:
                missing.append(MissingCell(lines[empty], j + 1, self.names[j]))
        if problems:
            raise min(problems, key=_place)
        places = np.array(lines, dtype=np.int64)
        y = None
        if self.label is not None:
            y = self._labels(columns[self.label], places, keep_label_texts)
        names = tuple(self.names[j] for j in self.features)
        kind_of_labels = None if y is None else label_kind_of(y)
        reading = self.reading(kind_of_labels)
        cells = Columns(names, tuple(values))
        table = Table(cells, y, reading, places, min(missing, default=None))
        if changes:
            raise _UnlikeError(table, min(changes, key=_place))
        return table

    def _not_a_number(self, line: int, j: int, cell: str, forced: bool) -> DataError:
        advice = (
            "correct it, or read the column as a category"
            if forced
            else "all cells before are numbers; correct it, or say that the column is a category"
        )
        return self.rows.error(
            line,
            f"{cell.strip()[:40]!r} in column {self.names[j]!r} is not a number: {advice}",
            j + 1,
        )

    def _not_finite(self, line: int, j: int, cell: str) -> DataError:
        return self.rows.error(
            line,
            f"{cell.strip()[:40]!r} in column {self.names[j]!r} is not finite; leave the cell "
            "empty or put a number",
            j + 1,
        )

    def _labels(
        self, cells: tuple[str, ...], lines: NDArray[np.int64], keep: bool
    ) -> NDArray[Any] | None:
        assert self.label is not None
        place = self.label + 1
        empty = [row for row, cell in enumerate(cells) if is_missing(cell)]
        if empty and self.options.takes_own_labels:
            raise self.rows.error(
                int(lines[empty[0]]),
                f"the label in column {self.names[self.label]!r} is missing; remove the row; "
                "a file without labels is read with has_labels=False",
                place,
            )
        if empty:
            self.label_gaps = True
            return None
        if keep:
            for cell in cells:
                self._label_texts.add(cell.strip())
            self._label_lines.append(lines)
            return None
        texts = [cell.strip() for cell in cells]
        y = labels_from_texts(
            texts,
            list(dict.fromkeys(texts)),
            self._label_kind,
            lambda row, message: self.rows.error(int(lines[row]), message, place),
        )
        self._label_kind = label_kind_of(y)
        return y

    def all_labels(self) -> NDArray[Any] | None:
        """The labels of all tables that kept their texts."""
        if self.label is None or self.label_gaps or not self._label_texts.texts:
            return None
        lines = np.concatenate(self._label_lines)
        place = self.label + 1
        return self._label_texts.to_array(
            self.options.label_kind,
            lambda row, message: self.rows.error(int(lines[row]), message, place),
        )

    def reading(self, label_kind: str | None) -> dict[str, Any]:
        reading: dict[str, Any] = {
            "format": "tsv" if self.rows.delimiter == "\t" else "csv",
            "delimiter": self.rows.delimiter,
            "header": self.options.header is not False,
            "kinds": {self.names[j]: self.kinds[j] for j in self.features if j in self.kinds},
        }
        if self.label is not None:
            reading["label"] = self.names[self.label]
        if label_kind is not None:
            reading["label_kind"] = label_kind
        return reading


def _place(error: DataError) -> tuple[int, int]:
    return error.line or 0, error.column or 0
