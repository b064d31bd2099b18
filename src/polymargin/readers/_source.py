"""A file to read from: plain or packed, in blocks or in lines."""

import codecs
import io
import sys
from collections.abc import Iterator
from os import PathLike, fspath
from pathlib import Path
from types import TracebackType
from typing import Self, cast

import numpy as np

from polymargin.errors import DataError
from polymargin.readers._ahead import read_ahead
from polymargin.readers._encodings import (
    MARK_SIZE,
    as_utf_8,
    is_utf_8,
    marked_encoding,
    remedy_for_byte,
    remedy_for_zero,
)
from polymargin.readers._packing import find_packing, unpack

__all__ = ["BLOCK_SIZE", "HEAD_SIZE", "LONGEST_LINE", "Source"]

BLOCK_SIZE = 1 << 20  # bytes read or unpacked at a time
LONGEST_LINE = 1 << 27  # bytes
HEAD_SIZE = 1 << 12  # bytes to tell the format by, at least
_SAMPLE_SIZE = 1 << 16  # bytes to tell the format and the delimiter by
_PACKED_SIZE = 1 << 15  # bytes of a packed file read at a time


class Source:
    """The content of a file, unpacked; ``"-"`` is standard input.

    Parameters
    ----------
    path : str or path-like
        The file.
    n_threads : int, default=1
        With more than one, the next block is read while the last one is in use; not of a pipe,
        which may have nothing for long.
    encoding : str, default="utf-8"
        That of a text file, whose content is UTF-8 here in any case. A byte order mark at its
        start counts more.
    """

    def __init__(
        self, path: str | PathLike[str], n_threads: int = 1, encoding: str = "utf-8"
    ) -> None:
        self.path = fspath(path)
        self.is_standard_input = self.path == "-"
        self.name = "standard input" if self.is_standard_input else self.path
        self._n_threads = n_threads
        self._encoding = encoding
        self._open()

    def _open(self) -> None:
        self._file: io.BufferedReader
        self.packing: str | None = None
        if self.is_standard_input:
            self._file = cast(io.BufferedReader, sys.stdin.buffer)
        else:
            self._file = Path(self.path).open("rb")  # noqa: SIM115
        try:
            blocks = self._raw_blocks()
            start = b""
            while len(start) < 6 and (block := next(blocks, b"")):
                start += block
            self.packing = find_packing(start)
            content = _chain(start, blocks)
            if self.packing is not None:
                content = unpack(content, self.packing, BLOCK_SIZE, self.name)
            start = b""
            while len(start) < MARK_SIZE and (block := next(content, b"")):
                start += block
            content = _chain(start, content)
            encoding = marked_encoding(start) or self._encoding
            self.is_converted = not is_utf_8(encoding)
            if self.is_converted:
                content = as_utf_8(content, encoding, self.name)
            self.head = next(content, b"")
            while len(self.head) < HEAD_SIZE and (block := next(content, b"")):
                self.head += block
            self._head_is_all = len(self.head) < HEAD_SIZE
            if not self.head:
                raise DataError("the file is empty", path=self.name)
            self._content = content
        except BaseException:
            self.close()
            raise

    @property
    def lines_before(self) -> int:
        """Lines of the file before the content: it begins at the start."""
        return 0

    @property
    def can_rewind(self) -> bool:
        """Whether the file can be read again, which a pipe cannot."""
        return not self.is_standard_input and Path(self.path).is_file()

    def rewind(self) -> None:
        """Start again from the beginning."""
        self.close()
        self._open()

    def close(self) -> None:
        if not self.is_standard_input:
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _raw_blocks(self) -> Iterator[bytes]:
        # What is there, up to a block: a pipe may be slow. Packed files come in smaller pieces,
        # since what follows a member is copied, and there may be many.
        file, size = self._file, min(BLOCK_SIZE, _PACKED_SIZE)
        while block := file.read1(size):
            yield block
            size = BLOCK_SIZE if self.packing is None else min(BLOCK_SIZE, _PACKED_SIZE)

    def blocks(self) -> Iterator[bytes]:
        """All of the content in blocks, without a byte order mark at its start."""
        content = _chain(self.head.removeprefix(codecs.BOM_UTF8), self._content)
        return read_ahead(content) if self._n_threads > 1 and self.can_rewind else content

    def line_blocks(self) -> Iterator[bytes]:
        """All of the content in blocks of whole lines; the last one may lack its line feed."""
        partial: list[bytes] = []
        size, n_lines = 0, 0
        for block in self.blocks():
            end = block.rfind(b"\n") + 1
            if end:
                lines = b"".join([*partial, memoryview(block)[:end]])
                n_lines += int(np.count_nonzero(np.frombuffer(lines, np.uint8) == ord("\n")))
                yield lines
                partial, size = [], 0
            partial.append(block[end:])
            size += len(block) - end
            if size > LONGEST_LINE:
                raise DataError(
                    f"the line is longer than {LONGEST_LINE} bytes; is this a text file?",
                    path=self.name,
                    line=n_lines + 1,
                )
        if size:
            yield b"".join(partial)

    def lines(self) -> Iterator[bytes]:
        """The lines with their line feed; the last one may lack it."""
        for block in self.line_blocks():
            yield from io.BytesIO(block)

    def text_lines(self) -> Iterator[str]:
        """The lines as text; an error where they are not UTF-8."""
        for number, line in enumerate(self.lines(), start=1):
            yield self.decode(line, number)

    def decode(self, line: bytes, number: int) -> str:
        """A line as text; an error where it is not UTF-8, with its number."""
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise DataError(
                f"byte {line[error.start]:#04x} is not UTF-8; {remedy_for_byte(line, error.start)}",
                path=self.name,
                line=number,
                column=error.start + 1,
            ) from error
        if "\0" in text:
            raise DataError(
                f"there is a zero byte; {remedy_for_zero(line)}",
                path=self.name,
                line=number,
                column=text.index("\0") + 1,
            )
        return text

    @property
    def first_line(self) -> str:
        """Without its end, as far as it can be read."""
        return self.sample()[0].decode("utf-8", "replace")

    def sample(self) -> list[bytes]:
        """The first lines without their ends; of a very long first line, its first words."""
        text = self.head.removeprefix(codecs.BOM_UTF8)
        head = text[:_SAMPLE_SIZE]
        lines = head.split(b"\n")
        if len(lines) > 1 and not (self._head_is_all and lines[-1]):
            del lines[-1]  # empty, or perhaps a part
        elif len(text) > len(head):
            lines = [head.rpartition(b" ")[0]]
        return [line.removesuffix(b"\r") for line in lines]


def _chain(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    if first:
        yield first
    yield from rest
