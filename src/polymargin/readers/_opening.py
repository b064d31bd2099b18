"""What `read`, `read_batches` and `scan` do first: open a file or folder and tell its format."""

from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike, fspath
from pathlib import Path

from polymargin.errors import DataError
from polymargin.readers._encodings import is_utf_8
from polymargin.readers._folder import Folder
from polymargin.readers._formats import find_format, format_by_name
from polymargin.readers._idx import with_labels_beside
from polymargin.readers._options import Options
from polymargin.readers._source import Source

__all__ = ["open_data"]

_NO_TEXT = ("npz", "parquet", "arrow", "idx")


@contextmanager
def open_data(
    path: str | PathLike[str], options: Options
) -> Iterator[tuple[Source | Folder, str, Options]]:
    """The opened file or folder, its format, and the options with what it tells of them itself."""
    if options.format == "folder" or (options.format is None and Path(path).is_dir()):
        yield Folder(path, options.encoding), "folder", options
        return
    form = options.format or format_by_name(fspath(path))
    if form in _NO_TEXT and not is_utf_8(options.encoding):
        raise DataError(
            f"{form} files are no text and have no encoding; leave out encoding=", path=fspath(path)
        )
    with Source(path, options.n_threads, options.encoding) as source:
        form = options.format or find_format(source, options.label)
        if form == "idx":
            options = with_labels_beside(source, options)
        yield source, form, options
