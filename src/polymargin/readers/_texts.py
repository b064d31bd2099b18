"""Texts, one on each line, with labels or without: ``label<TAB>text`` or ``text``."""

import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from polymargin.errors import DataError
from polymargin.readers._formats import is_header_of_texts
from polymargin.readers._labels import LabelTexts, label_kind_of
from polymargin.readers._options import Options
from polymargin.readers._source import Source
from polymargin.readers._table import Table

__all__ = ["text_batches"]

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
    for number, label, text in lines:
        if rows is not None and len(batch.texts) == rows:
            table = batch.to_table(kind, lines.error)
            kind = table.reading.get("label_kind")
            yield table
            batch = _Batch()
        batch.add(number, label, text)
    if rows is None and options.header == "auto":
        batch.tell_header(lines.error)
    if batch.texts:
        yield batch.to_table(kind, lines.error)


class _Lines:
    """Number, label, if any, and text of each line."""

    def __init__(self, source: Source, options: Options) -> None:
        self._source = source
        self._header = options.header
        self._labels_needed = options.takes_own_labels
        self._first: tuple[int, tuple[bool, bool]] | None = None  # its number and form

    def __iter__(self) -> Iterator[tuple[int, str | None, str]]:
        is_first = True
        for number, ended in enumerate(self._source.text_lines(), start=1):
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


class _Batch:
    def __init__(self) -> None:
        self.texts: list[str] = []
        self._lines: list[int] = []
        self._labels = LabelTexts()

    def add(self, number: int, label: str | None, text: str) -> None:
        self.texts.append(text)
        self._lines.append(number)
        if label is not None:
            self._labels.add(label)

    def tell_header(self, error: Callable[[int, str], DataError]) -> None:
        """Warn of a first line that stands out: it may name the columns."""
        counts = Counter(self._labels.texts)
        once = [label for label, count in counts.items() if count == 1]
        if len(counts) > 2 and once == self._labels.texts[:1]:
            message = (
                f"no other line has the label {once[0][:40]!r}; where this line names the columns, "
                "say so (header=True, --header)"
            )
            warnings.warn(str(error(self._lines[0], message)), stacklevel=5)

    def to_table(self, kind: str | None, error: Callable[[int, str], DataError]) -> Table:
        reading: dict[str, Any] = {"format": "text"}
        y = None
        if len(self._labels.texts) == len(self.texts):
            y = self._labels.to_array(kind, lambda row, message: error(self._lines[row], message))
            reading["label_kind"] = kind or label_kind_of(y)
        return Table(self.texts, y, reading, np.array(self._lines, dtype=np.int64))


def _unescape(match: re.Match[str]) -> str:
    return _MEANING[match[1]]
