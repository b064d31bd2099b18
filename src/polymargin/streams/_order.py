"""Whether the labels of a stream come in runs."""

import warnings
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LEAST, _FIRST = 100, 1024  # rows in all, and at the first look, that say something
_RUNS = 0.1  # of what a label could follow itself more often than by chance
_DEVIATIONS = 6.0  # of chance that are not taken for runs


class SortedStreamWarning(UserWarning):
    """The rows of a stream come in runs of the same label, which spoils what few passes learn."""


class OrderMeter:
    """Compares how often a label follows itself with what the frequencies of the labels predict."""

    def __init__(self, n_classes: int) -> None:
        self._counts = np.zeros(n_classes, np.int64)
        self._n_same = 0
        self._last = -1
        self._next_look = _FIRST
        self._has_warned = False

    def add(self, labels: "NDArray[np.int32]", stacklevel: int = 1) -> None:
        """Take in the next rows, and look at 1,024 of them, and again whenever they have doubled.

        `stacklevel` says whose line a warning names: 1 that of the call of this method.
        """
        if len(labels) == 0:
            return
        self._counts += np.bincount(labels, minlength=len(self._counts))
        self._n_same += int(labels[0] == self._last) + int(np.sum(labels[1:] == labels[:-1]))
        self._last = int(labels[-1])
        if self.n_rows >= self._next_look:
            self._next_look = 2 * self.n_rows
            self.look(stacklevel + 1)

    @property
    def n_rows(self) -> int:
        return int(self._counts.sum())

    @property
    def same(self) -> float:
        """The part of the rows that have the label of the row before."""
        return self._n_same / max(1, self.n_rows - 1)

    @property
    def by_chance(self) -> float:
        """The same in random order."""
        return float(np.square(self._counts / max(1, self.n_rows)).sum())

    @property
    def has_runs(self) -> bool:
        if self.n_rows < _LEAST:
            return False
        if np.count_nonzero(self._counts) == 1:
            return self.n_rows >= _FIRST
        excess, chance = self.same - self.by_chance, self.by_chance
        deviation = np.sqrt(chance * (1 - chance) / self.n_rows)
        return bool(excess > _RUNS * (1 - chance) and excess > _DEVIATIONS * deviation)

    def look(self, stacklevel: int) -> None:
        """Warn of runs, once; `stacklevel` as in `add`."""
        if self._has_warned or not self.has_runs:
            return
        self._has_warned = True
        warnings.warn(
            f"The rows come in runs of the same label, which spoils what few passes learn: in "
            f"{self.same:.0%} of the {self.n_rows:,} rows so far the label is that of the row "
            f"before, where their frequencies predict {self.by_chance:.0%}. Shuffle the rows "
            "(polymargin convert --shuffle), or raise shuffle_size (--shuffle-size).",
            SortedStreamWarning,
            stacklevel=stacklevel + 1,
        )
