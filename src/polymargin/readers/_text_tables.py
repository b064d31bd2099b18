"""Tables in text files: CSV, TSV, JSON lines."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin.errors import DataError
from polymargin.readers._cells import is_missing
from polymargin.readers._chunks import Chunk
from polymargin.readers._columns import (
    check_names,
    check_some_left,
    features_among,
    find_label,
    first_missing,
    ignored_among,
    join_tables,
    keep_columns,
    kept_among,
    why_label,
)
from polymargin.readers._csv_rows import CsvRows
from polymargin.readers._guess import Column
from polymargin.readers._json_rows import JsonRows
from polymargin.readers._labels import LabelTexts, label_kind_of, labels_from_texts
from polymargin.readers._options import Options
from polymargin.readers._source import Source
from polymargin.readers._table import Columns, Scan, Table
from polymargin.readers._totals import has_odd_end, total_among

__all__ = ["read_text_table", "scan_text_table", "text_table_batches"]

CHUNK_ROWS = 4096


class _UnlikeError(Exception):
    """Cells of a column are not like those before, which were read in another way."""

    def __init__(self, error: DataError) -> None:
        super().__init__(str(error))
        self.error = error


def text_table_batches(source: Source, rows: int, options: Options) -> Iterator[Table]:
    """Tables of at most `rows` rows.

    What a column holds and what labels are is decided by the first rows unless it is given; later
    rows that differ are an error.
    """
    reader = _Reader(source, options)
    kinds: dict[str, str] | None = None
    try:
        for table in reader.tables(rows):
            reader.raise_doubts()
            if kinds is None:
                kinds = reader.kinds(is_whole=False)
            yield reader.finished(table, kinds, table.y)
    except _UnlikeError as unlike:
        raise unlike.error from None


def read_text_table(source: Source, options: Options) -> Table:
    """All rows. The file is read again where its first rows mislead."""
    tables, reader = _consumed(
        source, options, lambda reader: list(reader.tables(CHUNK_ROWS, True))
    )
    if not tables:
        raise reader.rows.error(1, "there are no rows")
    return reader.finished(join_tables(tables), reader.kinds(is_whole=True), reader.all_labels())


def scan_text_table(
    source: Source, options: Options, consume: Callable[[Iterator[Table]], Any]
) -> tuple[Any, Scan]:
    """What `consume` makes of all tables, and what is known of the file without counting rows."""
    made, reader = _consumed(source, options, lambda reader: consume(reader.tables(CHUNK_ROWS)))
    kinds = reader.kinds(is_whole=True)
    reading, n_columns = reader.reading(kinds, None), len(kept_among(kinds))
    return made, Scan(0, n_columns, None, reading, reader.left_out, reader.label_reason)


def _consumed(
    source: Source, options: Options, consume: Callable[["_Reader"], Any]
) -> tuple[Any, "_Reader"]:
    """What is made of a file by a reader that knows how all of its cells are written."""
    reader = _Reader(source, options)
    try:
        made = consume(reader)
    except _UnlikeError as unlike:
        if not source.can_rewind:
            raise unlike.error from None
        reader.go_to_end()
        reader.raise_doubts()
        source.rewind()
        reader = _Reader(source, options, reader.columns)
        made = consume(reader)
    reader.raise_doubts()
    return made, reader


class _Reader:
    def __init__(
        self, source: Source, options: Options, before: dict[int, Column] | None = None
    ) -> None:
        self._source = source
        self.options = options
        rows = JsonRows if options.format == "jsonl" else CsvRows
        self.rows: JsonRows | CsvRows = rows(source, options)
        self.names = self.rows.names
        self._chunks: Iterator[Chunk] | None = None  # those that are still to come
        check_names(self.names, options, source.name)
        named = self.names[: len(self.names) - self.rows.n_hollow]
        self.label = find_label(named, options, source.name)
        self.label_reason = None if self.label is None else why_label(named, self.label, options)
        asked = options.kinds or {}
        self._dropped = [name for name, kind in asked.items() if kind == "drop"]
        self.columns = {
            j: Column(
                self.names[j],
                asked.get(self.names[j]),
                self.rows.delimiter,
                None if before is None else before[j],
                may_count=j == 0 and not self.rows.has_names,
            )
            for j in features_among(self.names, self.label, options, source.name)
        }
        self._label_texts = LabelTexts()
        self._label_lines: list[NDArray[np.int64]] = []
        self._label_kind = options.label_kind
        self.label_gaps = False
        self.left_out: dict[str, str] = {}
        self._label_is_like_name = False
        if not self.columns:
            raise self.rows.only_labels

    def tables(self, rows: int, keep_label_texts: bool = False) -> Iterator[Table]:
        """The values of all columns, also of those that are left out in the end."""
        if self._chunks is None:
            self._chunks = self.rows.chunks(rows)
        for lines, cells in self._chunks:
            yield self._table(lines, cells, keep_label_texts)

    def go_to_end(self) -> None:
        """Look at the rest of the file, whatever its cells are like."""
        while True:
            try:
                for _ in self.tables(CHUNK_ROWS, True):
                    pass
            except _UnlikeError:
                continue
            return

    def _table(
        self, lines: NDArray[np.int64], cells: Sequence[Sequence[str]], keep_label_texts: bool
    ) -> Table:
        problems: list[DataError] = []
        changes: list[DataError] = []
        values: list[NDArray[Any]] = []
        for j, column in self.columns.items():

            def complain(row: int, message: str, place: int = j + 1) -> DataError:
                return self.rows.error(int(lines[row]), message, place)

            read = column.read(cells[j], complain)
            values.append(read.values)
            problems += [read.problem] if read.problem else []
            changes += [read.change] if read.change else []
        if problems:
            raise min(problems, key=_place)
        y = None
        if self.label is not None:
            y = self._labels(cells, lines, keep_label_texts)
        if changes:
            raise _UnlikeError(min(changes, key=_place))
        names = tuple(column.name for column in self.columns.values())
        return Table(Columns(names, tuple(values)), y, {}, lines)

    def raise_doubts(self) -> None:
        """Refuse cells that could be read in several ways, or in none."""
        doubts = [doubt for column in self.columns.values() if (doubt := column.doubt())]
        if doubts:
            raise min(doubts, key=_place)

    def kinds(self, is_whole: bool) -> dict[str, str]:
        """What each column holds by the rows so far, which may be all."""
        columns = self.columns.values()
        kinds = {column.name: column.kind(is_whole) for column in columns}
        reasons = {column.name: column.why_left_out(is_whole) for column in columns}
        self.left_out = {name: reason for name, reason in reasons.items() if reason is not None}
        for slip in filter(None, (column.slip() for column in columns)):
            warnings.warn(f"{self._source.name}: {slip}", stacklevel=5)
        self._check_header()
        check_some_left(kinds, self._source.name)
        return kinds

    def _check_header(self) -> None:
        """Refuse a header that could be a row, as far as cells tell."""
        line = self.rows.guessed_header
        told = [column.is_like_name() for column in self.columns.values()]
        is_like_row = self._label_is_like_name and True in told and False not in told
        if line is not None and is_like_row:
            raise self.rows.error(
                line,
                "the first line should name the columns, and all of its cells could stand in the "
                "rows below; say whether it is a header (header=True or False, --header or "
                "--no-header)",
            )

    def finished(self, table: Table, kinds: dict[str, str], y: NDArray[Any] | None) -> Table:
        """Without the columns that are left out, and with how it was read."""
        columns = keep_columns(table.X, kinds)
        places = [self.names.index(name) + 1 for name in columns.names]
        reading = self.reading(kinds, None if y is None else label_kind_of(y))
        missing = first_missing(columns, places, table.lines)
        ignored = ignored_among(self.names, self.label, self.options)
        return Table(
            columns,
            y,
            reading,
            table.lines,
            missing,
            ignored_columns=ignored,
            left_out=self.left_out,
            label_reason=self.label_reason,
        )

    def _labels(
        self, cells: Sequence[Sequence[str]], lines: NDArray[np.int64], keep: bool
    ) -> NDArray[Any] | None:
        assert self.label is not None
        place = self.label + 1
        texts = [*map(str.strip, cells[self.label])]
        distinct = list(dict.fromkeys(texts))
        if self.names[self.label] in distinct:
            self._label_is_like_name = True
        empty = {text for text in distinct if is_missing(text)}
        if empty and self.options.takes_own_labels:
            row = next(row for row, text in enumerate(texts) if text in empty)
            total = total_among(column[row] for column in cells)
            what = "" if total is None else f", which looks like a line of totals ({total[:40]!r})"
            raise self.rows.error(
                int(lines[row]),
                f"the label in column {self.names[self.label]!r} is missing; remove the row{what}; "
                "a file without labels is read with has_labels=False",
                place,
            )
        if empty:
            self.label_gaps = True
            return None
        if keep:
            self._label_texts.extend(texts)
            self._label_lines.append(lines)
            return None
        y = labels_from_texts(
            texts,
            distinct,
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
        texts = self._label_texts.texts
        if has_odd_end(texts):
            message = (
                f"no other row has the label {texts[-1][:40]!r} of the last one; if that is a "
                "line of totals, remove it"
            )
            warnings.warn(str(self.rows.error(int(lines[-1]), message, place)), stacklevel=4)
        return self._label_texts.to_array(
            self.options.label_kind,
            lambda row, message: self.rows.error(int(lines[row]), message, place),
        )

    def reading(self, kinds: dict[str, str], label_kind: str | None) -> dict[str, Any]:
        """How to read another file like this one."""
        reading: dict[str, Any] = {
            **self.rows.reading,
            "kinds": kinds | dict.fromkeys(self._dropped, "drop"),
        }
        if self.label is not None:
            reading["label"] = self.names[self.label]
        if label_kind is not None:
            reading["label_kind"] = label_kind
        return reading


def _place(error: DataError) -> tuple[int, int]:
    return error.line or 0, error.column or 0
