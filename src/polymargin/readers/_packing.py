"""Compressed files, recognised by their first bytes and unpacked in bounded steps."""

import bz2
import lzma
import zlib
from collections.abc import Callable, Iterator
from typing import Protocol

from polymargin.errors import DataError

__all__ = ["PACKINGS", "find_packing", "unpack"]

PACKINGS = {
    "gzip": b"\x1f\x8b",
    "bzip2": b"BZh",
    "xz": b"\xfd7zXZ\x00",
    "zstd": b"\x28\xb5\x2f\xfd",
}

_MAGIC_SIZE = max(map(len, PACKINGS.values()))
_XZ_MEMORY = 1 << 29  # bytes; the strongest preset of xz needs an eighth of that
_ZSTD_WINDOW = 1 << 27  # bytes; as the zstd command allows by default
_ZSTD_STEP = 1 << 11  # bytes of input at a time: its output has no limit of its own
_SKIPPABLE = tuple(bytes([0x50 + i, 0x2A, 0x4D, 0x18]) for i in range(16))

_DAMAGE = (zlib.error, lzma.LZMAError, EOFError, OSError, ValueError)


class _Unpacker(Protocol):
    """One member of a packed file, as in the modules bz2 and lzma."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int) -> bytes: ...


class _Gzip:
    def __init__(self) -> None:
        self._member = zlib.decompressobj(wbits=31)
        self.needs_input = True

    @property
    def eof(self) -> bool:
        return self._member.eof

    @property
    def unused_data(self) -> bytes:
        return self._member.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        output = self._member.decompress(self._member.unconsumed_tail + data, max_length)
        self.needs_input = len(output) < max_length and not self._member.unconsumed_tail
        return output


class _Zstd:
    """A frame, fed in steps so small that what one of them unpacks to is bounded."""

    def __init__(self) -> None:
        import zstandard

        self._damage = zstandard.ZstdError
        decompressor = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW)
        self._frame = decompressor.decompressobj()
        self._waiting = b""
        self._position = 0

    @property
    def eof(self) -> bool:
        return self._frame.eof

    @property
    def needs_input(self) -> bool:
        return self._position >= len(self._waiting)

    @property
    def unused_data(self) -> bytes:
        return self._frame.unused_data + self._waiting[self._position :]

    def decompress(self, data: bytes, max_length: int) -> bytes:
        if data:
            self._waiting, self._position = self._waiting[self._position :] + data, 0
        pieces, size = [], 0
        while size < max_length and not self.needs_input and not self._frame.eof:
            step = self._waiting[self._position : self._position + _ZSTD_STEP]
            self._position += len(step)
            try:
                pieces.append(self._frame.decompress(step))
            except self._damage as error:
                raise ValueError(str(error)) from error
            size += len(pieces[-1])
        return b"".join(pieces)


_UNPACKERS: dict[str, Callable[[], _Unpacker]] = {
    "gzip": _Gzip,
    "bzip2": bz2.BZ2Decompressor,
    "xz": lambda: lzma.LZMADecompressor(format=lzma.FORMAT_XZ, memlimit=_XZ_MEMORY),
    "zstd": _Zstd,
}


def find_packing(start: bytes) -> str | None:
    """The packing whose files start like this."""
    for name, magic in PACKINGS.items():
        if start.startswith(magic):
            return name
    return "zstd" if start.startswith(_SKIPPABLE) else None


def unpack(blocks: Iterator[bytes], packing: str, size: int, name: str) -> Iterator[bytes]:
    """The content of a packed file, about `size` bytes at a time.

    Parameters
    ----------
    blocks : iterator of bytes
        The packed file.
    packing : str
        A key of `PACKINGS`.
    size : int
        Bytes to unpack at a time.
    name : str
        The file, for errors.

    Yields
    ------
    content : bytes
        Of all members, one after the other.
    """
    done = 0
    unpacker: _Unpacker | None = None
    waiting = b""
    while True:
        if unpacker is None or unpacker.eof:
            is_padded = unpacker is not None and packing in ("gzip", "xz")
            waiting = _next_member(unpacker.unused_data if unpacker else b"", blocks, is_padded)
            if not waiting:
                return
            if find_packing(waiting) != packing:
                raise DataError(
                    f"something else follows after {done} bytes of content in the {packing} file; "
                    "it may be damaged: get it again, or unpack it and look",
                    path=name,
                )
            unpacker = _UNPACKERS[packing]()
        if not waiting and unpacker.needs_input:
            waiting = next(blocks, b"")
            if not waiting:
                raise DataError(
                    f"the {packing} file ends too early, after {done} bytes of content; "
                    "get or pack it again",
                    path=name,
                )
        try:
            content = unpacker.decompress(waiting, size)
        except _DAMAGE as error:
            raise DataError(
                f"the {packing} file is damaged after {done} bytes of content ({error}); "
                "get or pack it again",
                path=name,
            ) from error
        waiting = b""
        done += len(content)
        if content:
            yield content


def _next_member(rest: bytes, blocks: Iterator[bytes], is_padded: bool) -> bytes:
    """What follows a member, enough to tell the next one by; zeros before it may be padding."""
    rest = rest.lstrip(b"\0") if is_padded else rest
    while len(rest) < _MAGIC_SIZE and (block := next(blocks, b"")):
        rest += block
        rest = rest.lstrip(b"\0") if is_padded else rest
    return rest
