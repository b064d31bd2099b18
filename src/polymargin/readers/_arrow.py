"""Parquet files, Arrow IPC files and streams (Feather)."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin.errors import DataError, require
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
from polymargin.readers._guess import Column
from polymargin.readers._kinds import NAMING_WORDS, Facts, base_kind
from polymargin.readers._labels import label_kind_of, settle_labels
from polymargin.readers._options import Options
from polymargin.readers._table import Columns, Scan, Table

__all__ = ["arrow_batches", "read_arrow", "scan_arrow"]

_ROWS = 1 << 16  # at a time
_MICROSECONDS = 3.6e9  # of an hour

_IPC_MAGIC = b"ARROW1"
_OLD_FEATHER_MAGIC = b"FEA1"


def read_arrow(path: str, form: str, options: Options) -> Table | None:
    """All rows of a Parquet or Arrow file; None if there are none."""
    with _opened(path, _ROWS, form, options) as (reader, batches):
        tables = [reader.table(batch, settle_labels=False) for batch in batches]
        if not tables:
            return None
        table = reader.finished(join_tables(tables), reader.kinds(), first_row=0)
    if table.y is None:
        return table
    y = settle_labels(
        table.y,
        options.label_kind,
        lambda row, message: DataError(f"row {row + 1}: {message}", path=path),
    )
    return replace(table, y=y, reading={**table.reading, "label_kind": label_kind_of(y)})


def arrow_batches(path: str, rows: int, form: str, options: Options) -> Iterator[Table]:
    """Tables of at most `rows` rows; what a column of words holds is decided by the first."""
    kinds: dict[str, str] | None = None
    with _opened(path, rows, form, options) as (reader, batches):
        first_row = 0
        for batch in batches:
            table = reader.table(batch)
            kinds = kinds or reader.kinds()
            yield reader.finished(table, kinds, first_row)
            first_row += table.n_rows


def scan_arrow(
    path: str, form: str, options: Options, consume: Callable[[Iterator[Table]], Any]
) -> tuple[Any, Scan]:
    """As `scan_text_table`."""
    with _opened(path, _ROWS, form, options) as (reader, batches):
        made = consume(reader.table(batch) for batch in batches)
        if made.n_rows == 0:
            return made, Scan(0, None, None, {})
        kinds = reader.kinds()
        reading, n_columns = reader.reading(kinds), len(kept_among(kinds))
        return made, Scan(0, n_columns, None, reading, reader.left_out, reader.label_reason)


@contextmanager
def _opened(
    path: str, rows: int, form: str, options: Options
) -> Iterator[tuple["_Reader", Iterator[Any]]]:
    """A reader, and record batches of at most `rows` rows."""
    arrow = require(
        "pyarrow", extra="arrow", purpose="Parquet files" if form == "parquet" else "Arrow files"
    )

    def sliced(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            batch.validate(full=True)
            for start in range(0, batch.num_rows, rows):
                yield batch.slice(start, rows)

    try:
        with arrow.OSFile(path, "rb") as file:
            batches, schema = (_open_parquet if form == "parquet" else _open_ipc)(file, rows, path)
            yield _Reader(arrow, schema, form, options, path), sliced(batches)
    except (arrow.ArrowException, OSError, UnicodeError) as error:
        if isinstance(error, OSError) and error.filename is not None:
            raise
        raise DataError(
            f"the {form} file is damaged or not one ({str(error).strip()}); get it again, or name "
            "its true format with format=",
            path=path,
        ) from error


def _open_parquet(file: Any, rows: int, path: str) -> tuple[Iterator[Any], Any]:
    parquet = require("pyarrow.parquet", extra="arrow", purpose="Parquet files").ParquetFile(file)
    return parquet.iter_batches(batch_size=rows), parquet.schema_arrow


def _open_ipc(file: Any, rows: int, path: str) -> tuple[Iterator[Any], Any]:
    ipc = require("pyarrow.ipc", extra="arrow", purpose="Arrow files")
    start = file.read(len(_IPC_MAGIC))
    file.seek(0)
    if start.startswith(_OLD_FEATHER_MAGIC):
        raise DataError("this is version 1 of Feather; write the file as version 2", path=path)
    if start != _IPC_MAGIC:
        stream = ipc.open_stream(file)
        return iter(stream), stream.schema
    reader = ipc.open_file(file)
    batches = (reader.get_batch(i) for i in range(reader.num_record_batches))
    return batches, reader.schema


class _Reader:
    def __init__(self, arrow: Any, schema: Any, form: str, options: Options, path: str) -> None:
        self._arrow = arrow
        self._form = form
        self._options = options
        self._path = path
        self._names = list(schema.names)
        check_names(self._names, options, path)
        self.left_out: dict[str, str] = {}
        self.label_reason: str | None = None
        self._label = self._find_label(_index_columns(schema.metadata or {}))
        options = self._options
        features = features_among(self._names, self._label, options, path)
        if not features:
            raise DataError("there is no column besides that of the labels", path=path)
        self._kinds = {j: self._kind(schema.field(j)) for j in features}
        self._facts = {j: Facts(self._names[j]) for j in features}
        self._known: dict[int, dict[str, str]] = {j: {} for j in features}
        self._parsed = {
            j: Column(self._names[j], self._kinds[j], delimiter=",")
            for j in features
            if _is_text(arrow.types, self._value_type(schema.field(j)))
            and base_kind(self._kinds[j] or "") in ("number", "date", "time")
        }
        self._label_kind = options.label_kind
        self._row = 0

    def _find_label(self, index: set[str]) -> int | None:
        """The column of the labels; those of a pandas index are left out unless asked for."""
        options = self._options
        asked = options.kinds or {}
        unasked = [n for n in self._names if n in index and n not in (*asked, options.label)]
        if unasked and options.extra == "error":
            self._options = replace(options, kinds={**asked, **dict.fromkeys(unasked, "drop")})
            self.left_out = dict.fromkeys(unasked, "the index of a pandas frame")
        candidates = [n for n in self._names if options.label is not None or n not in index]
        label = find_label(candidates, options, self._path) if candidates else None
        if label is None:
            return None
        self.label_reason = why_label(candidates, label, options)
        return self._names.index(candidates[label])

    def _kind(self, field: Any) -> str | None:
        """What a column holds; None for words, which show what they are."""
        asked = (self._options.kinds or {}).get(field.name)
        types, kind = self._arrow.types, self._value_type(field)
        if _is_text(types, kind):
            return asked or ("category" if types.is_dictionary(field.type) else None)
        if types.is_date(kind) or types.is_timestamp(kind):
            own = "date"
        elif types.is_time(kind):
            own = "time"
        elif _is_number(types, kind) or types.is_null(kind):
            own = "number"
        else:
            raise DataError(
                f"column {field.name!r} is of type {field.type}; make it numbers, dates, times or "
                "strings, or leave it out (kinds=, --column NAME=drop)",
                path=self._path,
            )
        if asked is None or base_kind(asked) == own:
            return own
        if base_kind(asked) in ("category", "text"):
            return asked
        raise DataError(
            f"column {field.name!r} is of type {field.type}, which is no {base_kind(asked)}",
            path=self._path,
        )

    def _value_type(self, field: Any) -> Any:
        """Of what is behind a dictionary, if there is one."""
        is_coded = self._arrow.types.is_dictionary(field.type)
        return field.type.value_type if is_coded else field.type

    def table(self, batch: Any, settle_labels: bool = True) -> Table:
        """The values of all columns of a record batch."""
        values: list[NDArray[Any]] = []
        for j, kind in self._kinds.items():
            column = self._plain(batch.column(j))
            if j in self._parsed:
                cells = ["" if cell is None else cell for cell in column.to_pylist()]
                read = self._parsed[j].read(
                    cells, lambda row, message: self._error(row, None, message)
                )
                problem = read.problem or self._parsed[j].doubt()
                if problem is not None:
                    raise problem
                values.append(read.values)
            elif kind == "number":
                values.append(self._numbers(column, j))
            elif kind == "date":
                values.append(self._dates(column))
            elif kind == "time":
                values.append(self._hours(column))
            else:
                values.append(self._words(column, j))
            self._facts[j].add(values[-1])
        y = None
        if self._label is not None:
            y = self._labels(batch.column(self._label), self._label, settle_labels)
        self._row += batch.num_rows
        names = tuple(self._names[j] for j in self._kinds)
        return Table(Columns(names, tuple(values)), y)

    def kinds(self) -> dict[str, str]:
        """What each column holds, by the rows so far."""
        asked = self._options.kinds or {}
        kinds = {}
        for j, kind in self._kinds.items():
            name, facts = self._names[j], self._facts[j]
            reason = facts.why_numbers_are_left_out() if kind == "number" else None
            is_told = reason is not None and name not in asked
            kinds[name] = "drop" if is_told else kind or facts.kind_of_words()
            if kinds[name] == "drop":
                self.left_out[name] = reason or NAMING_WORDS
        check_some_left(kinds, self._path)
        return kinds

    def finished(self, table: Table, kinds: dict[str, str], first_row: int) -> Table:
        """Without the columns that are left out, and with how it was read."""
        columns = keep_columns(table.X, kinds)
        places = [self._names.index(name) + 1 for name in columns.names]
        rows = np.arange(first_row + 1, first_row + 1 + columns.n_rows)
        missing = first_missing(columns, places, rows)
        ignored = ignored_among(self._names, self._label, self._options)
        return Table(
            columns,
            table.y,
            self.reading(kinds),
            None,
            missing,
            ignored_columns=ignored,
            left_out=self.left_out,
            label_reason=self.label_reason,
        )

    def _numbers(self, column: Any, j: int) -> NDArray[np.float64]:
        numbers = np.array(
            column.cast(self._arrow.float64(), safe=False).to_numpy(zero_copy_only=False)
        )
        infinite = np.flatnonzero(np.isinf(numbers))
        if len(infinite):
            raise self._error(int(infinite[0]), j, "an infinite value; leave the cell empty")
        return numbers

    def _dates(self, column: Any) -> NDArray[np.datetime64]:
        seconds = column.cast(self._arrow.timestamp("s"), safe=False)
        return np.asarray(seconds.to_numpy(zero_copy_only=False), dtype="datetime64[s]")

    def _hours(self, column: Any) -> NDArray[np.float64]:
        """Of times of day, since midnight."""
        micros = column.cast(self._arrow.time64("us")).cast(self._arrow.int64())
        filled = micros.fill_null(-1).to_numpy(zero_copy_only=False)
        return np.where(filled < 0, np.nan, filled / _MICROSECONDS)

    def _words(self, column: Any, j: int) -> NDArray[np.object_]:
        known = self._known[j]
        cells = column.cast(self._arrow.string()).to_pylist()
        values = np.empty(len(cells), dtype=object)
        values[:] = [None if cell is None else known.setdefault(cell, cell) for cell in cells]
        return values

    def _plain(self, column: Any) -> Any:
        """Without a dictionary."""
        types = self._arrow.types
        return column.dictionary_decode() if types.is_dictionary(column.type) else column

    def _labels(self, column: Any, j: int, settle: bool) -> NDArray[Any] | None:
        column = self._plain(column)
        if column.null_count:
            if not self._options.takes_own_labels:
                return None
            row = column.is_null().to_pylist().index(True)
            raise self._error(row, j, "the label is missing; remove the row")

        def complain(row: int, message: str) -> DataError:
            return self._error(row, j, message)

        values = self._label_values(column, j)
        if not settle:
            return values
        y = settle_labels(values, self._label_kind, complain)
        self._label_kind = label_kind_of(y)
        return y

    def _label_values(self, column: Any, j: int) -> NDArray[Any]:
        """Whole numbers, numbers or strings, as they are stored."""
        types = self._arrow.types
        if types.is_boolean(column.type):
            column = column.cast(self._arrow.int8())
        if types.is_integer(column.type):
            return np.array(column.cast(self._arrow.int64()).to_numpy())
        if _is_number(types, column.type):
            numbers = column.cast(self._arrow.float64(), safe=False).to_numpy(zero_copy_only=False)
            wrong = np.flatnonzero(~np.isfinite(numbers))
            if len(wrong):
                raise self._error(int(wrong[0]), j, "the label is not finite")
            return np.array(numbers)
        if not _is_text(types, column.type):
            raise DataError(
                f"the labels in column {self._names[j]!r} are of type {column.type}; make them "
                "numbers or strings",
                path=self._path,
            )
        values = np.empty(len(column), dtype=object)
        values[:] = column.to_pylist()
        return values

    def _error(self, row: int, j: int | None, message: str) -> DataError:
        place = f"row {self._row + row + 1}" + ("" if j is None else f", column {self._names[j]!r}")
        return DataError(f"{place}: {message}", path=self._path)

    def reading(self, kinds: dict[str, str]) -> dict[str, Any]:
        """How to read another file like this one."""
        asked = self._options.kinds or {}
        dropped = [name for name, kind in asked.items() if kind == "drop"]
        reading: dict[str, Any] = {
            "format": self._form,
            "kinds": kinds | dict.fromkeys(dropped, "drop"),
        }
        if self._label is not None:
            reading["label"] = self._names[self._label]
        if self._label_kind is not None:
            reading["label_kind"] = self._label_kind
        return reading


def _index_columns(metadata: Mapping[bytes, bytes]) -> set[str]:
    """The columns in which pandas has stored the index of a frame, which names its rows."""
    try:
        told = json.loads(metadata.get(b"pandas", b"{}"))
    except ValueError:
        return set()
    listed = told.get("index_columns") if isinstance(told, dict) else None
    return {name for name in listed if isinstance(name, str)} if isinstance(listed, list) else set()


def _is_number(types: Any, kind: Any) -> bool:
    return bool(
        types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_boolean(kind)
        or types.is_decimal(kind)
    )


def _is_text(types: Any, kind: Any) -> bool:
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))
