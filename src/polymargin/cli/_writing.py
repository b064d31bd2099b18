"""What goes wrong with output is told apart from what goes wrong with input."""

import os
from collections.abc import Iterator
from contextlib import contextmanager


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
