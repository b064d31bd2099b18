"""Texts, one on each line, with labels or without: ``label<TAB>text`` or ``text``."""

import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin.errors import DataError
from polymargin.readers._formats import is_header_of_texts
from polymargin.readers._labels import LabelTexts, label_kind_of
from polymargin.readers._line_blocks import LineBlocks
from polymargin.readers._options import Options
from polymargin.readers._parser import cut_texts
from polymargin.readers._source import Source
from polymargin.readers._table import Table

__all__ = ["text_batches"]

_ROWS_IN_DOUBT = 256  # that are read one by one before the next try to cut many
_ESCAPE = re.compile(r"\\([\\trn])")
_FORMS = {  # of a line, by whether it has a tab and a label before it
    (True, True): "a label and a tab",
    (True, False): "a tab without a label",
    (False, False): "no tab",
}
_MEANING = {"\\": "\\", "t": "\t", "r": "\r", "n": "\n"}


def text_batches(source: Source, rows: int | None, options: Options) -> Iterator[Table]:
    """Tables of at most `rows` texts, or one of all.

    Backslash, tab, carriage return and line feed of a text are written ``\\\\``, ``\\t``, ``\\r``,
    ``\\n``; other backslashes stand for themselves. Blank lines are skipped, and so is a first line
    that names the columns. All lines have a label, or none has.
    """
    kind = options.label_kind
    lines = _Lines(source, options)
    batch = _Batch()
    for piece in lines.pieces():
        start = 0
        while start < len(piece.texts):
            if rows is not None and len(batch.texts) == rows:
                table = batch.to_table(kind, lines.error)
                kind = table.reading.get("label_kind")
                yield table
                batch = _Batch()
            stop = len(piece.texts) if rows is None else start + rows - len(batch.texts)
            batch.add(piece.part(start, stop))
            start = stop
    if rows is None and options.header == "auto":
        batch.tell_header(lines.error)
    if batch.texts:
        yield batch.to_table(kind, lines.error)


@dataclass
class _Piece:
    """Some rows; there are as many labels, or none."""

    texts: list[str] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    lines: Sequence[int] | NDArray[np.int64] = field(default_factory=list)

    def part(self, start: int, stop: int) -> "_Piece":
        if start == 0 and stop >= len(self.texts):
            return self
        return _Piece(self.texts[start:stop], self.labels[start:stop], self.lines[start:stop])


class _Lines:
    """Line number, label, if any, and text of each row."""

    def __init__(self, source: Source, options: Options) -> None:
        self._source = source
        self._blocks = LineBlocks(source.line_blocks(), source.decode)
        self._header = options.header
        self._labels_needed = options.takes_own_labels
        self._first: tuple[int, tuple[bool, bool]] | None = None  # its number and form

    def pieces(self) -> Iterator[_Piece]:
        """All rows: lines that are in no doubt at once, others one by one.

        How they come makes no difference but for the time: an error follows all rows before it.
        """
        rows = self._rows()
        while True:
            while (piece := self._cut()) is not None:
                yield piece
            piece, failure = _taken(rows, 1 if self._first is None else _ROWS_IN_DOUBT)
            yield piece
            if failure is not None:
                try:
                    raise failure
                finally:
                    del failure  # whose frames, and the line in them, would else wait for garbage
            if not piece.texts:
                return

    def _cut(self) -> _Piece | None:
        """The next lines, as far as they are in no doubt; None where the first is."""
        if self._first is None or self._first[1] not in ((True, True), (False, False)):
            return None
        texts, labels, lines, n_lines, n_bytes = cut_texts(self._blocks.peek(), self._first[1][0])
        if n_lines == 0:
            return None
        lines += self._blocks.n_lines + 1
        self._blocks.skip(n_lines, n_bytes)
        return _Piece(texts, labels, lines)

    def _rows(self) -> Iterator[tuple[int, str | None, str]]:
        is_first = True
        for ended in self._blocks.lines():
            number = self._blocks.n_lines
            line = ended.removesuffix("\n").removesuffix("\r")
            if not line or line.isspace():
                continue
            if not (is_first and self._is_header(line)):
                yield number, *self._parts(number, line)
            is_first = False

    def _is_header(self, line: str) -> bool:
        if self._header == "auto":
            return is_header_of_texts(line.encode())
        return bool(self._header)

    def _parts(self, number: int, line: str) -> tuple[str | None, str]:
        label, tab, text = line.partition("\t")
        if "\t" in text:
            column = len(label) + 2 + text.index("\t")
            raise self.error(number, "a second tab; inside a text it is written \\t", column)
        label = label.strip() if tab else ""
        if not label and self._labels_needed:
            raise self.error(
                number,
                "the label before the tab is missing"
                if tab
                else "no tab: a line is a label, a tab and a text; for texts without "
                "labels, say that the file has none",
            )
        self._check_like_first(number, (bool(tab), bool(label)))
        return label or None, _ESCAPE.sub(_unescape, text if tab else line)

    def _check_like_first(self, number: int, form: tuple[bool, bool]) -> None:
        """Labels are there in all lines or in none: what stands before a tab is no text."""
        first, expected = self._first = self._first or (number, form)
        if form != expected:
            raise self.error(
                number,
                f"{_FORMS[form]} here and {_FORMS[expected]} in line {first}: all lines are a "
                "label, a tab and a text, or all are texts alone; inside a text a tab is written "
                "\\t",
            )

    def error(self, line: int, message: str, column: int = 1) -> DataError:
        return DataError(message, path=self._source.name, line=line, column=column)


def _taken(
    rows: Iterator[tuple[int, str | None, str]], most: int
) -> tuple[_Piece, Exception | None]:
    """So many rows, and what is wrong with the next one."""
    lines: list[int] = []
    piece = _Piece(lines=lines)
    try:
        for number, label, text in islice(rows, most):
            lines.append(number)
            piece.texts.append(text)
            if label is not None:
                piece.labels.append(label)
    except (DataError, OSError) as error:
        return piece, error
    return piece, None


class _Batch:
    def __init__(self) -> None:
        self.texts: list[str] = []
        self._lines: list[Any] = []  # sequences of numbers
        self._labels = LabelTexts()

    def add(self, piece: _Piece) -> None:
        self.texts += piece.texts
        self._lines.append(piece.lines)
        self._labels.extend(piece.labels)

    def tell_header(self, error: Callable[[int, str], DataError]) -> None:
        """Warn of a first line that stands out: it may name the columns."""
        counts = Counter(self._labels.texts)
        once = [label for label, count in counts.items() if count == 1]
        if len(counts) > 2 and once == self._labels.texts[:1]:
            message = (
                f"no other line has the label {once[0][:40]!r}; where this line names the columns, "
                "say so (header=True, --header)"
            )
            warnings.warn(str(error(int(self._lines[0][0]), message)), stacklevel=5)

    def to_table(self, kind: str | None, error: Callable[[int, str], DataError]) -> Table:
        reading: dict[str, Any] = {"format": "text"}
        y = None
        lines = np.concatenate([np.asarray(part, dtype=np.int64) for part in self._lines])
        if len(self._labels.texts) == len(self.texts):
            y = self._labels.to_array(kind, lambda row, message: error(int(lines[row]), message))
            reading["label_kind"] = kind or label_kind_of(y)
        return Table(self.texts, y, reading, lines)


def _unescape(match: re.Match[str]) -> str:
    return _MEANING[match[1]]
