"""Output files, which are complete or absent, and what can be wrong with them."""

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import IO, Any

from polymargin._atomic import replacing

_ESCAPES = str.maketrans({"\\": r"\\", "\t": r"\t", "\r": r"\r", "\n": r"\n"})
_PACKINGS = (".gz", ".bz2", ".xz", ".zst")


class OutputError(Exception):
    """An output file cannot be written."""


@contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[None]:
    """Errors of the operating system in here concern an output file."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise OutputError(f"cannot write {os.fspath(path)}: {reason}") from error


def check_target(path: Path | None, *inputs: Path | None) -> None:
    """Refuse an output file that cannot be, before any work is done for it."""
    if path is None:
        return
    with writing(path):
        with suppress(FileNotFoundError):
            path.stat()  # links in a circle end here
        if path.is_dir():
            raise OutputError(f"cannot write {path}: it is a directory")
        folder = Path(os.path.realpath(path)).parent
        if not folder.is_dir():
            raise OutputError(f"cannot write {path}: there is no directory {folder}")
        if not os.access(path if _is_device(path) else folder, os.W_OK):
            raise OutputError(f"cannot write {path}: no permission")
        for source in inputs:
            if source is not None and path.is_file() and source.exists() and path.samefile(source):
                raise OutputError(f"cannot write {path}: it is read too; name another file")


def _is_device(path: Path) -> bool:
    return path.exists() and not path.is_file()


def is_standard(path: Path | None) -> bool:
    """Whether this stands for standard output."""
    return path is None or str(path) == "-"


@contextmanager
def text_output(path: Path | None) -> Iterator[IO[str]]:
    """A text file; standard output where there is none.

    Both are UTF-8, whatever the terminal shows: this is data.
    """
    if path is None or is_standard(path):
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(encoding="utf-8")
        with writing("standard output"):
            yield sys.stdout
        return
    with writing(path), replacing(path, "w", encoding="utf-8") as file:
        yield file


def escaped(label: Any) -> str:
    """A label as one field of one line: tabs, line ends and backslashes as in files of texts."""
    return str(label).translate(_ESCAPES)


def without_packing(path: Path) -> Path:
    """The name without ``.gz`` and the like."""
    return path.with_suffix("") if path.suffix in _PACKINGS else path


@contextmanager
def packed_output(path: Path) -> Iterator[IO[bytes]]:
    """A file that is compressed on the way, by the last suffix of its name."""
    with replacing(path, "wb") as file, _packer(file, path.suffix) as packed:
        yield packed


def _packer(file: IO[bytes], suffix: str) -> Any:
    match suffix:
        case ".gz":
            import gzip

            return gzip.GzipFile("", "wb", fileobj=file, mtime=0)
        case ".bz2":
            import bz2

            return bz2.BZ2File(file, "wb")
        case ".xz":
            import lzma

            return lzma.LZMAFile(file, "wb")
        case ".zst":
            import zstandard

            return zstandard.ZstdCompressor().stream_writer(file, closefd=False)
    return nullcontext(file)
