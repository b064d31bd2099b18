"""The command line: ``polymargin`` or ``python -m polymargin``."""

import sys
from collections.abc import Sequence
from typing import NoReturn

from polymargin.cli._codes import NOTHING_WRITTEN, Exit

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and leave with its exit code."""
    try:
        from polymargin.cli._app import run
    except KeyboardInterrupt:
        print(f"error: {NOTHING_WRITTEN}", file=sys.stderr)
        sys.exit(Exit.INTERRUPTED)
    run(arguments)
