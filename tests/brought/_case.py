"""A file that a person might bring."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Brought", "Files", "Score"]

Score = Callable[[Path], float]  # the accuracy on a file


@dataclass(frozen=True)
class Files:
    """What was made: rows to train on, and rows to be judged by."""

    train: Path
    test: Path


@dataclass(frozen=True)
class Brought:
    """How a file is made, the one command that it takes, and what is done by hand instead.

    Parameters
    ----------
    what : str
        The file in a few words.
    source : str
        The data sets that it is made of.
    make : callable
        Writes the files to a folder; FileNotFoundError where a data set is not there.
    options : tuple of str
        What follows ``polymargin train FILE``.
    by_hand : callable
        Trains with scikit-learn on a file, and gives what tells the accuracy on another. It
        imports what it needs itself, so that a process that does nothing else imports nothing else.
    """

    what: str
    source: str
    make: Callable[[Path], Files]
    options: tuple[str, ...]
    by_hand: Callable[[Path], Score]
