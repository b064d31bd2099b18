"""Output files that are either complete or absent."""

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any


@contextmanager
def replacing(path: str | os.PathLike[str], mode: str = "wb", **options: Any) -> Iterator[IO[Any]]:
    """A file that takes the place of `path` when the block ends without an error.

    Until then what is written lies beside it under another name; an error or an interrupt removes
    that and leaves what `path` was. What is not a regular file, a pipe or a device, is written
    directly.
    """
    target = Path(path)
    if target.exists() and not target.is_file() and not target.is_dir():
        with target.open(mode, **options) as file:
            yield file
        return
    target = Path(os.path.realpath(path))  # through links, which stay
    if target.is_dir():
        raise IsADirectoryError(f"{path} is a directory; name a file")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"there is no directory {target.parent} to write {path} into")
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    try:
        with os.fdopen(handle, mode, **options) as file:
            yield file
            file.flush()
            os.fchmod(file.fileno(), _permissions(target))
            os.fsync(file.fileno())
        Path(name).replace(target)
    except BaseException:
        with suppress(FileNotFoundError):
            Path(name).unlink()
        raise
    _sync_directory(target.parent)


def _permissions(target: Path) -> int:
    """Those of the file that is replaced, else what a new file gets."""
    with suppress(FileNotFoundError):
        return stat.S_IMODE(target.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _sync_directory(directory: Path) -> None:
    """Make the new name last; some file systems cannot."""
    with suppress(OSError):
        handle = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
