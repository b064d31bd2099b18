"""Which examples a round works on, and which ones have nothing to gain."""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Selection:
    """Working sets of n examples, one after the other.

    Some examples of the last set stay: otherwise those that pull at each other would take turns.
    Half of the set if many examples share what there is to gain, a quarter if few have it. The
    others are those with the most, where one that has waited longer counts for more.
    """

    def __init__(self, n: int, size: int, takes_all: bool = True) -> None:
        """Where no more examples are left than a set has, it takes all or those with a gain."""
        self.size = size  # of the next one
        self._takes_all = takes_all
        self._last = np.empty(0, np.int64)
        self._rounds_since = np.ones(n)

    def next(self, gains: "NDArray[np.float64]") -> "NDArray[np.int64]":
        """The examples of the next round, ascending."""
        if len(gains) <= self.size:
            return np.arange(len(gains)) if self._takes_all else np.flatnonzero(gains > 0)
        sharing = gains.sum() ** 2 / np.square(gains).sum()  # n if all are equal, 1 if one is
        n_kept = int(self.size * (0.25 + 0.25 * min(1.0, 2 * sharing / self.size)))
        kept = _largest(gains, self._last, n_kept)
        urgency = gains * np.sqrt(self._rounds_since)
        urgency[kept] = 0
        new = _largest(urgency, np.flatnonzero(urgency > 0), self.size - len(kept))
        self._last = np.sort(np.concatenate([kept, new]))
        self._rounds_since += 1
        self._rounds_since[self._last] = 1
        return self._last


def _largest(
    values: "NDArray[np.float64]", among: "NDArray[np.int64]", count: int
) -> "NDArray[np.int64]":
    """At most `count` of these examples, those with the largest positive values."""
    among = among[values[among] > 0]
    if len(among) <= count:
        return among
    return among[np.argpartition(-values[among], count - 1)[:count]]


class Rest:
    """For how many checks each example has had nothing to gain."""

    _LONG = 10

    def __init__(self, n: int) -> None:
        self._checks = np.zeros(n, np.int64)

    def without(self, gains: "NDArray[np.float64]") -> "NDArray[np.int64]":
        """The examples that have not been at rest for long."""
        self._checks += 1
        self._checks[gains > 1e-9 * gains.mean()] = 0
        return np.flatnonzero(self._checks < self._LONG)
