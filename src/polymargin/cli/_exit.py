"""Exit codes, and what they are for: the one place where exceptions become messages."""

import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum

import typer

from polymargin.cli._console import complain
from polymargin.errors import DataError, MissingPackageError, ModelFileError


class Exit(IntEnum):
    """What the command tells its caller."""

    DONE = 0
    BUG = 1  # with a traceback
    USAGE = 2  # options that are wrong or do not go together
    INPUT = 3  # a file that is missing, malformed or not what it should be
    OUTPUT = 4  # a file that cannot be written
    NOT_CONVERGED = 5  # the model was written, its gap is above the tolerance
    INTERRUPTED = 130
    PIPE_CLOSED = 141


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


@contextmanager
def explained() -> Iterator[None]:
    """Turn what goes wrong into a message and an exit code."""
    try:
        yield
    except (typer.Exit, typer.Abort, SystemExit):
        raise
    except KeyboardInterrupt:
        complain("interrupted; nothing was written")
        raise typer.Exit(Exit.INTERRUPTED) from None
    except BrokenPipeError:
        _drop_output()
        raise typer.Exit(Exit.PIPE_CLOSED) from None
    except OutputError as error:
        complain(str(error))
        raise typer.Exit(Exit.OUTPUT) from None
    except (DataError, ModelFileError) as error:
        complain(str(error))
        raise typer.Exit(Exit.INPUT) from None
    except MissingPackageError as error:
        complain(str(error))
        raise typer.Exit(Exit.USAGE) from None
    except OSError as error:
        complain(_describe(error))
        raise typer.Exit(Exit.INPUT) from None
    except MemoryError:
        complain("there is not enough memory; try --precision float32, or --stream")
        raise typer.Exit(Exit.INPUT) from None
    except (ValueError, TypeError) as error:
        if _is_ours(error):
            complain(str(error))
            raise typer.Exit(Exit.USAGE) from None
        raise


def _describe(error: OSError) -> str:
    if error.filename is None or error.strerror is None:
        return str(error)
    return f"{error.filename}: {error.strerror}"


def _is_ours(error: Exception) -> bool:
    """Whether this was raised to refuse a value, here or in scikit-learn's validation."""
    frames = traceback.extract_tb(error.__traceback__)
    last = frames[-1].filename.replace(os.sep, "/") if frames else ""
    return type(error) is not TypeError and ("/polymargin/" in last or "/sklearn/" in last)


def _drop_output() -> None:
    """Whoever read our output has gone: let the interpreter's last flush go nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
