"""Rows of a stream in another order than they are read in, through a buffer of bounded memory."""

from collections.abc import Iterable, Iterator

import numpy as np

from polymargin.fit import Problem, join_problems

_PILES = 16


class ShuffleBuffer:
    """Mixes batches: each row goes to one of several piles at random.

    When all of them together are too large, the rows of the largest one leave in random order. The
    same batches come out in the same order each time, so that dual variables that are kept from one
    pass to the next find their rows.
    """

    def __init__(self, n_bytes: float, seed: int) -> None:
        self._n_bytes = n_bytes
        self._seed = seed

    def mixed(self, batches: Iterable[Problem]) -> Iterator[Problem]:
        """All rows, in batches that are no longer than the longest one that came in."""
        if self._n_bytes <= 0:
            yield from batches
            return
        random = np.random.default_rng(self._seed)
        piles = [_Pile() for _ in range(_PILES)]
        width = 1
        for batch in batches:
            drawn = random.integers(_PILES, size=len(batch))
            for number, pile in enumerate(piles):
                pile.add(batch, np.flatnonzero(drawn == number))
            width = max(width, len(batch))
            while sum(pile.n_bytes for pile in piles) > self._n_bytes:
                yield from max(piles, key=lambda pile: pile.n_bytes).taken(random, width)
        for pile in piles:
            yield from pile.taken(random, width)


class _Pile:
    """Rows that leave together."""

    def __init__(self) -> None:
        self._parts: list[Problem] = []
        self.n_bytes = 0

    def add(self, batch: Problem, rows: "np.ndarray[tuple[int], np.dtype[np.int64]]") -> None:
        """Take some rows of a batch."""
        if len(rows):
            self._parts.append(batch.part(rows))
            self.n_bytes += _size(self._parts[-1])

    def taken(self, random: np.random.Generator, width: int) -> Iterator[Problem]:
        """All rows in random order; the pile is empty at once."""
        parts, self._parts, self.n_bytes = self._parts, [], 0
        if not parts:
            return
        rows = join_problems(parts)
        order = random.permutation(len(rows))
        for first in range(0, len(order), width):
            yield rows.part(order[first : first + width])


def _size(batch: Problem) -> int:
    X = batch.X
    if hasattr(X, "indptr"):
        return int(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes)
    return int(X.nbytes)
