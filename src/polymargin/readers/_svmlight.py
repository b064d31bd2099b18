"""svmlight and LIBSVM text."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from polymargin.errors import DataError
from polymargin.readers import _source
from polymargin.readers._labels import label_kind_of, labels_from_numbers
from polymargin.readers._options import Options
from polymargin.readers._parser import SvmlightParser
from polymargin.readers._source import Source
from polymargin.readers._table import Scan, Table

if TYPE_CHECKING:
    from polymargin.readers._parser import Fault

__all__ = ["read_svmlight", "scan_svmlight", "svmlight_batches"]


class Text(Protocol):
    """What is read: a file, or a part of one."""

    name: str

    @property
    def lines_before(self) -> int:
        """Of the file, before the text."""
        ...

    def blocks(self) -> Iterator[bytes]:
        """All of the text."""
        ...


class _Reader:
    """A parser, the text it is fed, and what its labels have to be."""

    def __init__(self, source: Text, options: Options) -> None:
        self.source = source
        self.options = options
        self.label_kind = options.label_kind
        self.parser = SvmlightParser(
            zero_based=None if options.zero_based == "auto" else bool(options.zero_based),
            n_features=options.n_features,
            ignore_extra=options.extra == "ignore",
            labels_optional=not options.takes_own_labels,
            n_threads=options.n_threads,
            longest_line=_source.LONGEST_LINE,
        )

    def check(self, fault: "Fault | None") -> None:
        if fault is not None:
            line, column, message = fault
            raise self.wrong(message, line, column)

    def wrong(self, message: str, line: int, column: int) -> DataError:
        """An error in a line of the text."""
        line += self.source.lines_before
        return DataError(message, path=self.source.name, line=line, column=column)

    def feed(self) -> Iterator[None]:
        """Parses a block in each step. Signals are acted on in between."""
        for block in self.source.blocks():
            self.check(self.parser.feed(block))
            yield
        self.check(self.parser.end())

    @property
    def n_features(self) -> int:
        if self.options.n_features is not None:
            return self.options.n_features
        return self.parser.largest_index + (1 if self.parser.zero_based else 0)

    def take(self, count: int) -> Table:
        """The first rows that are there and not taken."""
        ignored = self.parser.ignored_entries
        numbers, values, indices, borders, lines = self.parser.take(count)
        indptr: NDArray[Any] = borders
        y = self.labels(numbers, lines)
        n_features = max(self.n_features, 0)
        if len(values) < 2**31:  # SciPy would widen the indices otherwise
            indptr = borders.astype(np.int32)
        X = csr_array((values, indices, indptr), shape=(len(numbers), n_features))
        X.has_sorted_indices = X.has_canonical_format = True
        return Table(X, y, self.reading(n_features), lines, ignored_entries=ignored)

    def labels(self, numbers: NDArray[np.float64], lines: NDArray[np.int64]) -> NDArray[Any] | None:
        if len(numbers) == 0 or (self.parser.missing_labels and np.isnan(numbers).any()):
            return None

        def complain(row: int, message: str) -> DataError:
            return self.wrong(message, int(lines[row]), 1)

        return labels_from_numbers(numbers, self.label_kind, complain)

    def reading(self, n_features: int) -> dict[str, Any]:
        reading: dict[str, Any] = {
            "format": "svmlight",
            "zero_based": bool(self.parser.zero_based),
            "n_features": n_features,
        }
        if self.label_kind is not None:
            reading["label_kind"] = self.label_kind
        return reading


def read_svmlight(source: Text, options: Options) -> Table:
    """All rows at once. Besides the matrix only a block of text is held."""
    reader = _Reader(source, options)
    for _ in reader.feed():
        pass
    return _take(reader, reader.parser.n_rows)


def svmlight_batches(source: Source, rows: int, options: Options) -> Iterator[Table]:
    """Tables of at most `rows` rows."""
    if options.n_features is None:
        raise ValueError(
            "n_features is needed to read a svmlight file in batches, or each batch would have "
            "its own width; in Python scan(path) tells it"
        )
    reader = _Reader(source, options)
    ignored = 0
    for _ in reader.feed():
        while reader.parser.n_rows >= rows:
            reader.check(reader.parser.settle())
            # Entries are counted when they are parsed: those of a block fall to its first batch.
            table = replace(
                _take(reader, rows), ignored_entries=reader.parser.ignored_entries - ignored
            )
            ignored += table.ignored_entries
            yield table
    while reader.parser.n_rows:
        table = replace(
            _take(reader, rows), ignored_entries=reader.parser.ignored_entries - ignored
        )
        ignored += table.ignored_entries
        yield table


def _take(reader: _Reader, rows: int) -> Table:
    """Rows whose labels say of which kind those of later rows have to be."""
    table = reader.take(rows)
    if table.y is not None:
        reader.label_kind = table.reading["label_kind"] = label_kind_of(table.y)
    return table


def scan_svmlight(source: Source, options: Options) -> Scan:
    """Classes, width and where indices start, with no row kept."""
    reader = _Reader(source, options)
    labels: NDArray[np.float64] = np.empty(0)
    n_rows = 0
    steps = reader.feed()
    more = True
    while more:
        more = next(steps, steps) is not steps
        n_rows += reader.parser.n_rows
        labels = np.unique(np.concatenate([labels, reader.parser.drop()]))
    has_labels = n_rows > 0 and reader.parser.missing_labels == 0
    classes = None
    if has_labels:
        classes = labels_from_numbers(
            labels, options.label_kind, lambda _, message: DataError(message, path=source.name)
        )
        reader.label_kind = label_kind_of(classes)
    n_features = max(reader.n_features, 0)
    return Scan(n_rows, n_features, classes, reader.reading(n_features))
