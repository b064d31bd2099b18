"""The device that every machine has: its processor, with kernel rows in a cache."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from polymargin import core
from polymargin.kernel._device import Checked
from polymargin.kernel._row_cache import RowCache

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import NDArray

    from polymargin.core import Changes, WorkingSetSolver
    from polymargin.kernel._functions import Points
    from polymargin.kernel._problem import KernelProblem

_BUFFER = 32 << 20  # bytes of kernel values that are used once
_FETCH = 3.5  # what a value costs that is fetched from memory by itself


@dataclass
class Processor:
    """NumPy's matrix products and the compiled core, on the processor."""

    problem: "KernelProblem"
    cache: RowCache
    buffer: "NDArray[Any]"
    all_scores: "NDArray[np.float64]"  # (k, n)
    cost: float  # of a kernel value, where 1 is to add a multiple of it to scores
    n_threads: int
    n_computed: int = 0

    def __post_init__(self) -> None:
        n = len(self.problem)
        self._gaps, self._violations = np.empty(n), np.empty(n)

    @classmethod
    def open(cls, problem: "KernelProblem", cache_bytes: int, n_threads: int) -> "Self":
        """With a cache of kernel rows of so many bytes, what is used once included."""
        kernel, points, n = problem.kernel, problem.points, len(problem)
        dtype = points.dtype
        buffer_bytes = min(_BUFFER, cache_bytes // 4)
        buffer = np.empty(max(1, buffer_bytes // dtype.itemsize), dtype)
        room = (cache_bytes - buffer_bytes) // dtype.itemsize
        cache = RowCache(n, np.empty(min(n * n, room), dtype), kernel.stored(points))
        scores = np.zeros((problem.n_classes, n))
        return cls(problem, cache, buffer, scores, kernel.cost(points), n_threads)

    def gram(self, examples: "NDArray[np.int64]") -> "tuple[NDArray[np.int64], NDArray[Any]]":
        """Out of the cache as far as it goes."""
        points = self.problem.points
        slots = self.cache.find(examples)
        if self.cost <= _FETCH:
            slots[:] = -1
        cached, absent = np.flatnonzero(slots >= 0), np.flatnonzero(slots < 0)
        # Cached examples first, so that the four parts are slices.
        order = np.concatenate([cached, absent])
        m, q = len(cached), len(order)
        gram = np.empty((q, q), points.dtype)
        core.gather(self.cache.store, slots[cached], examples[order], gram[:m])
        gram[m:, :m] = gram[:m, m:].T
        # Two copies: for one NumPy would compute a triangle and mirror it, which takes longer.
        left, right = points[examples[absent]], points[examples[absent]]
        self.problem.kernel.evaluate(left, right, gram[m:, m:], self.n_threads)
        np.fill_diagonal(gram, self.problem.diagonal[examples[order]])
        return examples[order], gram

    def scores(self, examples: "NDArray[np.int64] | None" = None) -> "NDArray[np.float64]":
        if examples is None:
            return self.all_scores.T
        return self.all_scores.take(examples, axis=1).T

    def add_scores(self, changes: "Changes") -> None:
        examples, cache = changes.examples, self.cache
        slots = cache.find(examples)
        absent = np.flatnonzero(slots < 0)
        reserved = cache.reserve(examples[absent])
        self._fill(reserved, examples[absent[: len(reserved)]])
        slots[absent[: len(reserved)]] = reserved
        cached = np.flatnonzero(slots >= 0)
        if len(cached):
            self._add(changes, cached, cache.store, slots[cached])
        self._stream(changes, np.flatnonzero(slots < 0))
        self.n_computed += len(absent)

    def forget_scores(self) -> None:
        """All are 0 again."""
        self.all_scores.fill(0)

    def check(self, solver: "WorkingSetSolver") -> Checked:
        gaps, violations = self._gaps, self._violations
        found = solver.check(self.all_scores.T, gaps, violations, self.n_threads)
        return Checked(gaps, violations, *found)

    def part(self, examples: "NDArray[np.int64]") -> "Self":
        return replace(
            self,
            problem=self.problem.part(examples),
            cache=self.cache.part(examples),
            all_scores=self.all_scores.take(examples, axis=1),
            n_computed=0,
        )

    def recompute_cost(self, n_active: int) -> float:
        return 0.0 if self.cache.has_room_for(n_active) else self.cost

    def _fill(self, slots: "NDArray[np.int64]", examples: "NDArray[np.int64]") -> None:
        """Compute rows of the cache, straight into it where slots are neighbours."""
        points, store = self.problem.points, self.cache.store
        width = max(1, len(self.buffer) // len(points))
        for first in range(0, len(slots), width):
            some = slots[first : first + width]
            left = points[examples[first : first + width]]
            if some[-1] - some[0] == len(some) - 1:
                out = store[some[0] : some[-1] + 1]
                self.problem.kernel.evaluate(left, points, out, self.n_threads)
            else:
                store[some] = self._block(left, points)

    def _stream(self, changes: "Changes", which: "NDArray[np.int64]") -> None:
        """Use kernel values of rows that the cache has no room for, and forget them."""
        points, examples = self.problem.points, changes.examples
        width = 512
        for start in range(0, len(which), width):
            some = which[start : start + width]
            left = points[examples[some]]
            columns = max(1, len(self.buffer) // len(some))
            for first in range(0, len(points), columns):
                block = self._block(left, points[first : first + columns])
                self._add(changes, some, block, np.arange(len(some)), first)

    def _add(
        self,
        changes: "Changes",
        which: "NDArray[np.int64]",
        kernel: "NDArray[Any]",
        rows: "NDArray[np.int64]",
        first: int = 0,
    ) -> None:
        core.add_scores(self.all_scores, changes, which, kernel, rows, first, self.n_threads)

    def _block(self, left: "Points", right: "Points") -> "NDArray[Any]":
        """Their kernel, in the buffer as far as it reaches: the next call overwrites it."""
        size = len(left) * len(right)
        buffer = self.buffer if size <= len(self.buffer) else np.empty(size, left.dtype)
        out = buffer[:size].reshape(len(left), len(right))
        self.problem.kernel.evaluate(left, right, out, self.n_threads)
        return out
