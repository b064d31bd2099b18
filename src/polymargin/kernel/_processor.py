"""Where kernel rows and scores live: the interface, and the device that every machine has."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from polymargin import core
from polymargin.kernel._row_cache import RowCache

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polymargin.core import Duals, KernelDual
    from polymargin.kernel._functions import Kernel, Points


class Checked(NamedTuple):
    """How far a problem is from its optimum."""

    gaps: "NDArray[np.float64]"  # each example's part
    violations: "NDArray[np.float64]"  # of the KKT conditions, each example's largest
    primal: float
    dual: float
    violation: float


class Device(Protocol):
    """What the loop needs of the place where kernel and scores live."""

    def check(self) -> "Checked":
        """How far each example and the whole are from the optimum."""
        ...

    def improve(self, examples: "NDArray[np.int64]", fraction: float, passes: int) -> int:
        """Solve the problem of a working set, update all scores; the visits it took."""
        ...

    def refresh(self) -> None:
        """Compute the scores anew from the dual variables."""
        ...

    def pays_to_shrink(self, n_active: int) -> bool:
        """Whether to set all examples but so many aside."""
        ...

    def shrink(self, active: "NDArray[np.int64]") -> None:
        """Set all other examples aside: those that are left are all that there is from now on."""
        ...

    def grow(self) -> None:
        """Bring the others back, their scores up to date."""
        ...

    def duals(self) -> "Duals":
        """The dual variables."""
        ...

    def find_negative(self, examples: "NDArray[np.int64]") -> float | None:
        """A negative eigenvalue of their Gram matrix, see the function of that name."""
        ...


def find_negative(gram: "NDArray[Any]") -> float | None:
    """Smallest eigenvalue over the largest one's size, if it is negative beyond rounding."""
    return negative_part(np.linalg.eigvalsh(gram.astype(np.float64)))


def negative_part(values: "NDArray[Any]") -> float | None:
    """The least of these over the largest one's size, if it is negative beyond rounding."""
    least, largest = float(values.min()), float(np.abs(values).max())
    return least / largest if least < -1e-5 * largest else None


@dataclass
class _Part:
    """Some or all examples, with their kernel rows."""

    dual: "KernelDual"
    points: "Points"
    diagonal: "NDArray[Any]"
    cache: RowCache
    gaps: "NDArray[np.float64]"
    violations: "NDArray[np.float64]"
    n_used: int = 0  # kernel rows, each time that one was
    n_computed: int = 0


class Processor:
    """NumPy's matrix products and the compiled core, on the processor."""

    _BUFFER = 32 << 20  # bytes of kernel values that are used once
    _FETCH = 3.5  # what a value costs that is fetched from memory by itself

    def __init__(
        self,
        dual: "KernelDual",
        kernel: "Kernel",
        points: "Points",
        diagonal: "NDArray[Any]",
        cache_bytes: int,
        n_threads: int,
    ) -> None:
        self._kernel = kernel
        self._cost = kernel.cost(points)
        self._n_threads = n_threads
        n, dtype = len(points), points.dtype
        buffer_bytes = min(self._BUFFER, cache_bytes // 4)
        self._buffer = np.empty(max(1, buffer_bytes // dtype.itemsize), dtype)
        room = (cache_bytes - buffer_bytes) // dtype.itemsize
        cache = RowCache(n, np.empty(min(n * n, room), dtype), kernel.stored(points))
        self._now = _Part(dual, points, diagonal, cache, np.empty(n), np.empty(n))
        self._whole: _Part | None = None  # while some examples are set aside
        self._active = np.empty(0, np.int64)
        self._dual_objective = -np.inf  # of the whole

    def check(self) -> Checked:
        now = self._now
        primal, dual, violation = now.dual.check(now.gaps, now.violations)
        if self._whole is None:
            self._dual_objective = dual
        else:  # those set aside have no gap
            dual = self._dual_objective + self._whole.dual.gain(now.dual, self._active)
            primal = dual + float(now.gaps.sum())
        return Checked(now.gaps, now.violations, primal, dual, violation)

    def improve(self, examples: "NDArray[np.int64]", fraction: float, passes: int) -> int:
        examples, gram = self._gram(examples)
        visits = self._now.dual.solve(examples, gram, fraction, passes)
        self._update(examples)
        return visits

    def refresh(self) -> None:
        dual = self._now.dual
        support = dual.duals().support()
        dual.clear_scores()
        width = 512
        for first in range(0, len(support), width):
            examples = support[first : first + width]
            dual.change_from_zero(examples)
            self._update(examples)

    def duals(self) -> "Duals":
        if self._whole is not None:
            return self._whole.dual.duals_with(self._now.dual, self._active)
        return self._now.dual.duals()

    def find_negative(self, examples: "NDArray[np.int64]") -> float | None:
        _, gram = self._gram(examples)
        return find_negative(gram)

    def pays_to_shrink(self, n_active: int) -> bool:
        """Whether as much work as was done so far, on fewer columns, saves more than `grow` costs.

        That is a use of each row, and to compute those that the cache cannot keep meanwhile.
        """
        now = self._now
        share = n_active / len(now.points)
        done, cost = float(now.n_used), float(n_active)
        if not now.cache.has_room_for(n_active):
            done += self._cost * now.n_computed
            cost += self._cost * n_active
        return share <= 0.5 and done * (1 - share) >= cost

    def shrink(self, active: "NDArray[np.int64]") -> None:
        whole = self._now
        self._whole, self._active = whole, active
        self._now = _Part(
            whole.dual.part(active),
            whole.points[active],
            whole.diagonal[active],
            whole.cache.part(active),
            np.empty(len(active)),
            np.empty(len(active)),
        )

    def grow(self) -> None:
        if self._whole is None:
            return
        part, whole = self._now, self._whole
        self._now, self._whole = whole, None
        whole.n_used = whole.n_computed = 0
        whole.dual.absorb(part.dual, self._active)
        self._update(self._active)

    def _gram(self, examples: "NDArray[np.int64]") -> "tuple[NDArray[np.int64], NDArray[Any]]":
        """The examples in some order and their Gram matrix, out of the cache as far as it goes."""
        points = self._now.points
        slots = self._now.cache.find(examples)
        if self._cost <= self._FETCH:
            slots[:] = -1
        cached, absent = np.flatnonzero(slots >= 0), np.flatnonzero(slots < 0)
        # Cached examples first, so that the four parts are slices.
        order = np.concatenate([cached, absent])
        m, q = len(cached), len(order)
        gram = np.empty((q, q), points.dtype)
        core.gather(self._now.cache.store, slots[cached], examples[order], gram[:m])
        gram[m:, :m] = gram[:m, m:].T
        # Two copies: for one NumPy would compute a triangle and mirror it, which takes longer.
        left, right = points[examples[absent]], points[examples[absent]]
        self._kernel.evaluate(left, right, gram[m:, m:], self._n_threads)
        np.fill_diagonal(gram, self._now.diagonal[examples[order]])
        return examples[order], gram

    def _update(self, examples: "NDArray[np.int64]") -> None:
        """Bring all scores up to date with the last changes, which are those of `examples`."""
        dual, cache = self._now.dual, self._now.cache
        which = dual.changed()
        slots = cache.find(examples[which])
        absent = np.flatnonzero(slots < 0)
        reserved = cache.reserve(examples[which[absent]])
        self._fill(reserved, examples[which[absent[: len(reserved)]]])
        slots[absent[: len(reserved)]] = reserved
        cached = slots >= 0
        if np.any(cached):
            dual.add_scores(which[cached], cache.store, slots[cached])
        self._stream(which[~cached], examples)
        self._now.n_used += len(which)
        self._now.n_computed += len(absent)

    def _fill(self, slots: "NDArray[np.int64]", examples: "NDArray[np.int64]") -> None:
        """Compute rows of the cache, straight into it where slots are neighbours."""
        points, store = self._now.points, self._now.cache.store
        width = max(1, len(self._buffer) // len(points))
        for first in range(0, len(slots), width):
            some = slots[first : first + width]
            left = points[examples[first : first + width]]
            if some[-1] - some[0] == len(some) - 1:
                out = store[some[0] : some[-1] + 1]
                self._kernel.evaluate(left, points, out, self._n_threads)
            else:
                store[some] = self._block(left, points)

    def _stream(self, which: "NDArray[np.int64]", examples: "NDArray[np.int64]") -> None:
        """Use kernel values of rows that the cache has no room for, and forget them."""
        points = self._now.points
        width = 512
        for start in range(0, len(which), width):
            some = which[start : start + width]
            left = points[examples[some]]
            columns = max(1, len(self._buffer) // len(some))
            for first in range(0, len(points), columns):
                block = self._block(left, points[first : first + columns])
                self._now.dual.add_scores(some, block, np.arange(len(some)), first)

    def _block(self, left: "Points", right: "Points") -> "NDArray[Any]":
        """Their kernel, in the buffer as far as it reaches: the next call overwrites it."""
        size = len(left) * len(right)
        buffer = self._buffer if size <= len(self._buffer) else np.empty(size, left.dtype)
        out = buffer[:size].reshape(len(left), len(right))
        self._kernel.evaluate(left, right, out, self._n_threads)
        return out
