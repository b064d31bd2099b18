"""Files of lines, as they are."""

from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike

from polymargin.readers._source import Source

__all__ = ["open_lines", "read_lines"]


@contextmanager
def open_lines(path: str | PathLike[str]) -> Iterator[Iterator[bytes]]:
    """The lines of a plain or packed file with their line feeds, which the last may lack.

    Parameters
    ----------
    path : str or path-like
        The file; ``"-"`` is standard input.

    Yields
    ------
    lines : iterator of bytes

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from polymargin.readers import open_lines
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "lines.txt")
    ...     _ = file.write_text("one\\ntwo")
    ...     with open_lines(file) as lines:
    ...         list(lines)
    [b'one\\n', b'two']
    """
    with Source(path) as source:
        yield source.lines()


def read_lines(path: str | PathLike[str]) -> list[str]:
    """The lines of a plain or packed UTF-8 file without their ends.

    Parameters
    ----------
    path : str or path-like
        The file; ``"-"`` is standard input.

    Returns
    -------
    lines : list of str

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from polymargin.readers import read_lines
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "names.txt")
    ...     _ = file.write_text("width\\nheight\\n")
    ...     read_lines(file)
    ['width', 'height']
    """
    with Source(path) as source:
        return [line.removesuffix("\n").removesuffix("\r") for line in source.text_lines()]
