"""Parquet files, Arrow IPC files and streams (Feather)."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin.errors import DataError, require
from polymargin.readers._cells import to_numbers
from polymargin.readers._columns import check_names, features_among, find_label, join_tables
from polymargin.readers._labels import label_kind_of, settle_labels
from polymargin.readers._options import Options
from polymargin.readers._table import Columns, MissingCell, Table

__all__ = ["arrow_batches", "read_arrow"]

_ROWS = 1 << 16  # at a time

_IPC_MAGIC = b"ARROW1"
_OLD_FEATHER_MAGIC = b"FEA1"


def read_arrow(path: str, form: str, options: Options) -> Table | None:
    """All rows of a Parquet or Arrow file; None if there are none."""
    tables = list(_tables(path, _ROWS, form, options, settle_labels=False))
    if not tables:
        return None
    table = join_tables(tables)
    if table.y is None:
        return table
    y = settle_labels(
        table.y,
        options.label_kind,
        lambda row, message: DataError(f"row {row + 1}: {message}", path=path),
    )
    return replace(table, y=y, reading={**table.reading, "label_kind": label_kind_of(y)})


def arrow_batches(path: str, rows: int, form: str, options: Options) -> Iterator[Table]:
    """Tables of at most `rows` rows from a Parquet or Arrow file."""
    return _tables(path, rows, form, options, settle_labels=True)


def _tables(
    path: str, rows: int, form: str, options: Options, settle_labels: bool
) -> Iterator[Table]:
    arrow = require(
        "pyarrow", extra="arrow", purpose="Parquet files" if form == "parquet" else "Arrow files"
    )
    try:
        with arrow.OSFile(path, "rb") as file:
            batches, schema = (_open_parquet if form == "parquet" else _open_ipc)(file, rows, path)
            reader = _Reader(arrow, schema, form, options, path, settle_labels)
            for batch in batches:
                batch.validate(full=True)
                for start in range(0, batch.num_rows, rows):
                    yield reader.table(batch.slice(start, rows))
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
    def __init__(
        self,
        arrow: Any,
        schema: Any,
        form: str,
        options: Options,
        path: str,
        settle_labels: bool,
    ) -> None:
        self._settle_labels = settle_labels
        self._arrow = arrow
        self._form = form
        self._options = options
        self._path = path
        self._names = list(schema.names)
        check_names(self._names, options, path)
        self._label = find_label(self._names, options, path) if self._names else None
        self._features = features_among(self._names, self._label, options)
        if not self._features:
            raise DataError("there is no column besides that of the labels", path=path)
        self._kinds = {j: self._kind(schema.field(j)) for j in self._features}
        self._known: dict[int, dict[str, str]] = {j: {} for j in self._features}
        self._label_kind = options.label_kind
        self._row = 0

    def _kind(self, field: Any) -> str:
        forced = (self._options.kinds or {}).get(field.name)
        types = self._arrow.types
        kind = field.type.value_type if types.is_dictionary(field.type) else field.type
        if _is_number(types, kind) or types.is_null(kind):
            return forced or "number"
        if _is_text(types, kind):
            return forced or "category"
        raise DataError(
            f"column {field.name!r} is of type {field.type}; make it numbers or strings",
            path=self._path,
        )

    def table(self, batch: Any) -> Table:
        """Columns of a record batch."""
        values: list[NDArray[Any]] = []
        missing: list[MissingCell] = []
        for j in self._features:
            column = batch.column(j)
            if self._kinds[j] == "category":
                values.append(self._categories(column, j))
                continue
            numbers = self._numbers(column, j)
            empty = np.flatnonzero(np.isnan(numbers))
            if len(empty):
                place = self._row + int(empty[0]) + 1
                missing.append(MissingCell(place, j + 1, self._names[j]))
            values.append(numbers)
        y = None if self._label is None else self._labels(batch.column(self._label), self._label)
        self._row += batch.num_rows
        names = tuple(self._names[j] for j in self._features)
        return Table(
            Columns(names, tuple(values)), y, self._reading(), None, min(missing, default=None)
        )

    def _numbers(self, column: Any, j: int) -> NDArray[np.float64]:
        column = self._plain(column)
        if not _is_number(self._arrow.types, column.type):
            cells = ["" if cell is None else cell for cell in column.to_pylist()]
            numbers, wrong, _ = to_numbers(cells)
            if wrong is not None:
                raise self._error(wrong, j, f"{cells[wrong][:40]!r} is not a number")
        else:
            numbers = np.array(
                column.cast(self._arrow.float64(), safe=False).to_numpy(zero_copy_only=False)
            )
        infinite = np.flatnonzero(np.isinf(numbers))
        if len(infinite):
            raise self._error(int(infinite[0]), j, "an infinite value; leave the cell empty")
        return numbers

    def _categories(self, column: Any, j: int) -> NDArray[np.object_]:
        known = self._known[j]
        cells = self._plain(column).cast(self._arrow.string()).to_pylist()
        values = np.empty(len(cells), dtype=object)
        values[:] = [None if cell is None else known.setdefault(cell, cell) for cell in cells]
        return values

    def _plain(self, column: Any) -> Any:
        """Without a dictionary."""
        types = self._arrow.types
        return column.dictionary_decode() if types.is_dictionary(column.type) else column

    def _labels(self, column: Any, j: int) -> NDArray[Any] | None:
        column = self._plain(column)
        if column.null_count:
            if not self._options.takes_own_labels:
                return None
            row = column.is_null().to_pylist().index(True)
            raise self._error(row, j, "the label is missing; remove the row")

        def complain(row: int, message: str) -> DataError:
            return self._error(row, j, message)

        values = self._label_values(column, j)
        if not self._settle_labels:
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

    def _error(self, row: int, j: int, message: str) -> DataError:
        place = f"row {self._row + row + 1}, column {self._names[j]!r}"
        return DataError(f"{place}: {message}", path=self._path)

    def _reading(self) -> dict[str, Any]:
        reading: dict[str, Any] = {
            "format": self._form,
            "kinds": {self._names[j]: kind for j, kind in self._kinds.items()},
        }
        if self._label is not None:
            reading["label"] = self._names[self._label]
        if self._label_kind is not None:
            reading["label_kind"] = self._label_kind
        return reading


def _is_number(types: Any, kind: Any) -> bool:
    return bool(
        types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_boolean(kind)
        or types.is_decimal(kind)
    )


def _is_text(types: Any, kind: Any) -> bool:
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))
