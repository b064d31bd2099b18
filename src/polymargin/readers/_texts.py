"""Texts with labels: ``label<TAB>text``, one on each line."""

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from polymargin.errors import DataError
from polymargin.readers._labels import LabelTexts, label_kind_of
from polymargin.readers._options import Options
from polymargin.readers._source import Source
from polymargin.readers._table import Table

__all__ = ["text_batches"]

_ESCAPE = re.compile(r"\\([\\trn])")
_MEANING = {"\\": "\\", "t": "\t", "r": "\r", "n": "\n"}


def text_batches(source: Source, rows: int | None, options: Options) -> Iterator[Table]:
    """Tables of at most `rows` texts, or one of all.

    Backslash, tab, carriage return and line feed of a text are written ``\\\\``, ``\\t``, ``\\r``,
    ``\\n``; other backslashes stand for themselves. Blank lines are skipped.
    """
    kind = options.label_kind
    batch = _Batch(source, options)
    for number, line in enumerate(source.text_lines(), start=1):
        if rows is not None and len(batch.texts) == rows:
            table = batch.to_table(kind)
            kind = table.reading.get("label_kind")
            yield table
            batch = _Batch(source, options)
        batch.add(number, line)
    if batch.texts:
        yield batch.to_table(kind)


class _Batch:
    def __init__(self, source: Source, options: Options) -> None:
        self._source = source
        self._labels_needed = options.takes_own_labels
        self.texts: list[str] = []
        self._lines: list[int] = []
        self._labels = LabelTexts()

    def add(self, number: int, line: str) -> None:
        line = line.removesuffix("\n").removesuffix("\r")
        if not line or line.isspace():
            return
        label, tab, text = line.partition("\t")
        if not tab:
            if self._labels_needed:
                raise self._error(
                    number,
                    "no tab: a line is a label, a tab and a text; texts without "
                    "labels are read with has_labels=False",
                )
            text = line
        elif "\t" in text:
            column = len(label) + 2 + text.index("\t")
            raise self._error(number, "a second tab; inside a text it is written \\t", column)
        elif not label.strip():
            if self._labels_needed:
                raise self._error(number, "the label before the tab is missing")
        else:
            self._labels.add(label.strip())
        self.texts.append(_ESCAPE.sub(_unescape, text) if "\\" in text else text)
        self._lines.append(number)

    def to_table(self, kind: str | None) -> Table:
        reading: dict[str, Any] = {"format": "text"}
        y = None
        if len(self._labels.texts) == len(self.texts):
            y = self._labels.to_array(
                kind, lambda row, message: self._error(self._lines[row], message)
            )
            reading["label_kind"] = kind or label_kind_of(y)
        return Table(self.texts, y, reading, np.array(self._lines, dtype=np.int64))

    def _error(self, line: int, message: str, column: int = 1) -> DataError:
        return DataError(message, path=self._source.name, line=line, column=column)


def _unescape(match: re.Match[str]) -> str:
    return _MEANING[match[1]]
