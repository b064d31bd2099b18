"""The lines of a text file, one by one or many at a time."""

import io
from collections.abc import Callable, Iterator

__all__ = ["LineBlocks"]


class LineBlocks:
    """Lines that leave either as text, one by one, or as a block of bytes.

    Parameters
    ----------
    blocks : iterator of bytes
        Blocks of whole lines.
    decode : callable
        A line as text; it also takes the number of the line, for an error.

    Attributes
    ----------
    n_lines : int
        Lines that have left.
    """

    def __init__(self, blocks: Iterator[bytes], decode: Callable[[bytes, int], str]) -> None:
        self._blocks = blocks
        self._decode = decode
        self._rest = io.BytesIO()
        self.n_lines = 0

    def lines(self) -> Iterator[str]:
        """The lines that have not left, each when it is asked for."""
        while block := self._take():
            self._rest = io.BytesIO(block)
            for line in self._rest:
                self.n_lines += 1
                yield self._decode(line, self.n_lines)

    def peek(self) -> bytes:
        """The next lines, of about a block; b"" at the end."""
        block = self._take()
        self._rest = io.BytesIO(block)
        return block

    def skip(self, n_lines: int, n_bytes: int) -> None:
        """Let the first of those lines leave."""
        self.n_lines += n_lines
        self._rest.seek(n_bytes)

    def put_back(self, lines: list[str]) -> None:
        """Take back the lines that have left last, one by one."""
        content = "".join(lines).encode("utf-8", "surrogateescape")
        self.n_lines -= len(lines)
        place = self._rest.tell() - len(content)
        if place >= 0:
            self._rest.seek(place)
        else:
            self._rest = io.BytesIO(content + self._rest.read())

    def _take(self) -> bytes:
        return self._rest.read() or next(self._blocks, b"")
