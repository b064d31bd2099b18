"""Kernel rows kept in a bounded memory."""

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


class RowCache:
    """Rows of n columns, the least recently used given up first.

    `store` has one row for each slot. Its memory is touched, and so taken, only as slots fill up.
    """

    def __init__(self, n: int, dtype: Any, n_bytes: int) -> None:
        n_slots = min(n, n_bytes // (n * np.dtype(dtype).itemsize))
        self.store = np.empty((n_slots, n), dtype)
        self._slot_of = np.full(n, -1, np.int64)
        self._example_in = np.full(n_slots, -1, np.int64)
        self._last_used = np.full(n_slots, -1, np.int64)
        self._clock = 0

    def find(self, examples: "NDArray[np.int64]") -> "NDArray[np.int64]":
        """Their slots, now the most recently used; -1 for an example without a row."""
        self._clock += 1
        slots = self._slot_of[examples]
        self._last_used[slots[slots >= 0]] = self._clock
        return slots

    def reserve(self, examples: "NDArray[np.int64]") -> "NDArray[np.int64]":
        """Ascending slots for as many of these examples, the first ones, as there is room for.

        Rows found or reserved since the last `find` stay.
        """
        free = np.flatnonzero(self._last_used < self._clock)
        oldest = np.argsort(self._last_used[free], kind="stable")[: len(examples)]
        taken = np.sort(free[oldest])  # neighbours where ages are equal
        placed = examples[: len(taken)]
        evicted = self._example_in[taken]
        self._slot_of[evicted[evicted >= 0]] = -1
        self._example_in[taken] = placed
        self._slot_of[placed] = taken
        self._last_used[taken] = self._clock
        return taken
