"""The lines of a svmlight file that begin in one of equal parts of its bytes.

Every line begins in one part, so that readers of all parts have each line once, and none of them
reads much more than its own.
"""

import codecs
import os
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import BinaryIO

from polymargin.errors import DataError
from polymargin.readers._opening import open_data
from polymargin.readers._options import Options
from polymargin.readers._source import BLOCK_SIZE, LONGEST_LINE, Source
from polymargin.readers._svmlight import read_svmlight
from polymargin.readers._table import Table

__all__ = ["read_part"]


def read_part(
    path: str | PathLike[str],
    part: int,
    of: int,
    *,
    format: str | None = None,
    n_features: int | None = None,
    zero_based: bool | str = "auto",
    label_kind: str | None = None,
    n_jobs: int | None = None,
) -> Table:
    """The rows of a part, counted from 0; there may be none. Options are those of `read`.

    Where indices start, and of which kind labels are, is told by this part alone.
    """
    options = Options(
        format=format,
        n_features=n_features,
        zero_based=zero_based,
        label_kind=label_kind,
        n_jobs=n_jobs,
    )
    with open_data(path, options) as (source, form, _):
        if not isinstance(source, Source) or form != "svmlight":
            raise DataError(
                f"parts are read of svmlight files, and this is one of format {form}; "
                "polymargin convert makes svmlight of it",
                path=os.fspath(path),
            )
        _check_plain(source)
    return read_svmlight(_Part(source.path, part, of), options)


def _check_plain(source: Source) -> None:
    """Refuse what cannot be read from the middle."""
    if source.is_standard_input or not source.can_rewind:
        reason = "it is a pipe, which has no middle; write it to a file"
    elif source.packing is not None:
        reason = f"it is packed by {source.packing}, and has to be read from its start; unpack it"
    elif source.is_converted:
        reason = "its characters are of two bytes or more; convert it to UTF-8"
    else:
        return
    raise DataError(f"no part of this can be read by itself: {reason}", path=source.name)


class _Part:
    """What a reader of svmlight text takes of a `Source`."""

    def __init__(self, path: str, part: int, of: int) -> None:
        self.name = self._path = path
        with Path(path).open("rb") as file:
            is_marked = file.read(len(codecs.BOM_UTF8)) == codecs.BOM_UTF8
            self._begin = len(codecs.BOM_UTF8) if is_marked else 0
            size = file.seek(0, os.SEEK_END) - self._begin
        self._first, self._end = (self._begin + size * i // of for i in (part, part + 1))

    @property
    def lines_before(self) -> int:
        """Of the file: counted where an error names a line."""
        with Path(self._path).open("rb") as file:
            start = self._start(file)
            file.seek(0)
            return sum(block.count(b"\n") for block in _blocks(file, start))

    def blocks(self) -> Iterator[bytes]:
        """All lines, without a byte order mark at the start of the file."""
        with Path(self._path).open("rb") as file:
            last = b"\n"
            self._start(file)
            for block in _blocks(file, self._end):
                yield block
                last = block[-1:]
            if last != b"\n":  # a line goes on in the next part
                yield _rest_of_line(file, self.name)

    def _start(self, file: BinaryIO) -> int:
        """Go to the first line that begins in this part; where that is."""
        file.seek(max(self._first - 1, self._begin))
        if self._first > self._begin:
            _rest_of_line(file, self.name)
        return file.tell()


def _blocks(file: BinaryIO, end: int) -> Iterator[bytes]:
    """From where the file is now."""
    while (left := end - file.tell()) > 0 and (block := file.read(min(BLOCK_SIZE, left))):
        yield block


def _rest_of_line(file: BinaryIO, name: str) -> bytes:
    """With its end."""
    line = file.readline(LONGEST_LINE + 1)
    if len(line) > LONGEST_LINE:
        raise DataError(
            f"a line is longer than {LONGEST_LINE} bytes; is this a text file?", path=name
        )
    return line
