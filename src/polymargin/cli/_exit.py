"""The one place where exceptions become messages and exit codes."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from traceback import walk_tb

import typer

from polymargin.cli._codes import NOTHING_WRITTEN, Exit
from polymargin.cli._option_names import in_options
from polymargin.cli._output.files import OutputError
from polymargin.cli._output.terminal import complain
from polymargin.cli._signals import was_terminated
from polymargin.errors import DataError, MissingPackageError, ModelFileError, RankError


def interrupted() -> Exit:
    """The code for the signal that came."""
    return Exit.TERMINATED if was_terminated() else Exit.INTERRUPTED


@contextmanager
def explained() -> Iterator[None]:
    """Turn what goes wrong into a message and an exit code."""
    try:
        yield
    except (typer.Exit, typer.Abort):
        raise
    except SystemExit as error:
        if isinstance(error.__context__, BrokenPipeError):  # Rich and Typer leave so
            _end_without_reader()
        raise
    except KeyboardInterrupt:
        # At once: what makes colours may not be imported yet, and nobody waits for that now.
        print(f"error: {NOTHING_WRITTEN}", file=sys.stderr)
        raise SystemExit(interrupted()) from None
    except BrokenPipeError:
        _end_without_reader()
    except OutputError as error:
        _end(Exit.OUTPUT, str(error))
    except (DataError, ModelFileError, RankError) as error:
        _end(Exit.INPUT, in_options(str(error)))
    except MissingPackageError as error:
        _end(Exit.USAGE, str(error))
    except OSError as error:
        _end(Exit.INPUT, _describe(error))
    except MemoryError:
        _end(Exit.INPUT, "there is not enough memory for this")
    except (ValueError, TypeError) as error:
        if not is_refusal(error):
            raise
        _end(Exit.USAGE, in_options(str(error)))


def _end(code: Exit, message: str) -> None:
    complain(message)
    if code == Exit.OUTPUT:
        _drop_output()
    raise SystemExit(code)


def _end_without_reader() -> None:
    _drop_output()
    raise SystemExit(Exit.PIPE_CLOSED)


def _describe(error: OSError) -> str:
    if error.filename is None or error.strerror is None:
        return str(error)
    return f"{os.fsdecode(error.filename)}: {error.strerror}"


def is_refusal(error: Exception) -> bool:
    """Whether this was raised to refuse a value, here or in scikit-learn's validation.

    Compiled code has no frame of its own: what our core raises is raised where it was called.
    """
    modules = [frame.f_globals.get("__name__", "") for frame, _ in walk_tb(error.__traceback__)]
    package = modules[-1].partition(".")[0] if modules else ""
    return type(error) is not TypeError and package in ("polymargin", "sklearn")


def _drop_output() -> None:
    """Nobody takes our output: let the interpreter's last flush go nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            with suppress(OSError):  # a stream of a test has no number
                os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
