"""Where results go."""

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from polymargin._atomic import replacing
from polymargin.cli._writing import OutputError, writing

_ESCAPES = str.maketrans({"\\": r"\\", "\t": r"\t", "\r": r"\r", "\n": r"\n"})


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
    """A text file that is complete or absent; standard output where there is none.

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
