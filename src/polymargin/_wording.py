"""Numbers and names in sentences."""

import shlex
from collections.abc import Sequence

_LONGEST_NAME = 40  # characters
_SHOWN_NAMES = 10


def counted(n: int, noun: str, plural: str | None = None) -> str:
    """So many of something: ``1 pass``, ``2 passes``."""
    return f"{n:,} {noun if n == 1 else plural or f'{noun}s'}"


def listed(words: Sequence[str], most: int = _SHOWN_NAMES) -> str:
    """The first of some words, and how many there are beyond them: ``a, b, … (3 more)``."""
    more = len(words) - most
    return ", ".join(words[:most]) + (f", … ({more:,} more)" if more > 0 else "")


def listed_names(names: Sequence[str], most: int = _SHOWN_NAMES) -> str:
    """The same of names, each in quotes."""
    return listed([repr(name[:_LONGEST_NAME]) for name in names], most)


def column_option(column: str, kind: str) -> str:
    """What to say on the command line of a column, whatever its name: ``--column a=drop``."""
    return f"--column {shlex.quote(f'{column}={kind}')}"
