"""Kernel rows kept in a bounded memory."""

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


class RowCache:
    """Rows of n columns, the least recently used given up first.

    `store` has one row for each slot. Its memory is touched, and so taken, only as slots fill up.
    """

    def __init__(self, n: int, memory: "NDArray[Any]", rows: "NDArray[Any] | None" = None) -> None:
        """Slots in this memory; where all `rows` are there already, it is left for parts."""
        n_slots = min(n, len(memory) // n) if rows is None else n
        self.store = memory[: n_slots * n].reshape(n_slots, n) if rows is None else rows
        self._memory = memory
        self._is_given = rows is not None
        self._slot_of = np.full(n, -1, np.int64)
        self._example_in = np.full(n_slots, -1, np.int64)
        self._last_used = np.full(n_slots, -1, np.int64)
        self._clock = 0
        if rows is not None:
            self._place(np.arange(n), np.arange(n))

    def has_room_for(self, n: int) -> bool:
        """Whether all rows of n columns fit into the memory that was never used."""
        return len(self._unused()) >= n * n

    def part(self, examples: "NDArray[np.int64]") -> "RowCache":
        """Rows and columns of some examples, ascending.

        They take over the memory, and all rows here are gone, unless they fit beside.
        """
        beside = self.has_room_for(len(examples))
        part = RowCache(len(examples), self._unused() if beside else self._memory)
        position_of = np.full(len(self._slot_of), -1, np.int64)
        position_of[examples] = np.arange(len(examples))
        slots = np.flatnonzero(self._example_in >= 0)
        slots = slots[position_of[self._example_in[slots]] >= 0]
        slots = slots[: len(part.store)]
        for to, slot in enumerate(slots):  # never ahead of what is still to be read
            part.store[to] = self.store[slot].take(examples)
        part._place(position_of[self._example_in[slots]], np.arange(len(slots)))
        if not beside and not self._is_given:
            self._slot_of[:] = self._example_in[:] = self._last_used[:] = -1
        return part

    def _unused(self) -> "NDArray[Any]":
        if self._is_given:
            return self._memory
        return self._memory[np.count_nonzero(self._example_in >= 0) * len(self._slot_of) :]

    def _place(self, examples: "NDArray[np.int64]", slots: "NDArray[np.int64]") -> None:
        self._example_in[slots] = examples
        self._slot_of[examples] = slots
        self._last_used[slots] = self._clock

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
        self._place(placed, taken)
        return taken
