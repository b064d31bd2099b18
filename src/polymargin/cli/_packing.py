"""Compressed output, by the last suffix of its name."""

import bz2
import gzip
import lzma
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from polymargin._atomic import replacing

_PACKINGS = (".gz", ".bz2", ".xz", ".zst")


def without_packing(path: Path) -> Path:
    """The name without ``.gz`` and the like."""
    return path.with_suffix("") if path.suffix in _PACKINGS else path


@contextmanager
def packed_output(path: Path) -> Iterator[IO[bytes]]:
    """A file that is complete or absent; what is written to it is compressed on the way."""
    with replacing(path, "wb") as file, _packer(file, path.suffix) as packed:
        yield packed


def _packer(file: IO[bytes], suffix: str) -> Any:
    if suffix == ".gz":
        return gzip.GzipFile("", "wb", fileobj=file, mtime=0)
    if suffix == ".bz2":
        return bz2.BZ2File(file, "wb")
    if suffix == ".xz":
        return lzma.LZMAFile(file, "wb")
    if suffix == ".zst":
        import zstandard

        return zstandard.ZstdCompressor().stream_writer(file, closefd=False)
    return _Plain(file)


class _Plain:
    """The file itself, which somebody else closes."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def __enter__(self) -> IO[bytes]:
        return self._file

    def __exit__(self, *exception: object) -> None:
        pass
