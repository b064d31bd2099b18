"""The command line: ``polymargin`` or ``python -m polymargin``."""

TYPE_CHECKING = False  # what is imported here cannot be interrupted in silence
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

__all__ = ["main"]


def main(arguments: "Sequence[str] | None" = None) -> "NoReturn":
    """Run the command line and leave with its exit code."""
    try:
        if arguments is None:
            from polymargin.cli._garbage import put_off_search

            put_off_search()
        from polymargin.cli._app import run
    except KeyboardInterrupt:
        _leave()
    run(arguments)


def _leave() -> "NoReturn":
    """Before there is anything that could explain it."""
    import sys

    from polymargin.cli._codes import NOTHING_WRITTEN, Exit

    print(f"error: {NOTHING_WRITTEN}", file=sys.stderr)
    sys.exit(Exit.INTERRUPTED)
