"""Where kernel rows and scores live: the interface, and the device that every machine has."""

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from polymargin._row_cache import RowCache
from polymargin._simd import core

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polymargin._core import Duals, KernelDual
    from polymargin._kernels import Kernel, Points


class Device(Protocol):
    """What the loop needs of the place where kernel and scores live."""

    def check(self) -> "tuple[NDArray[np.float64], float, float, float]":
        """Each example's part of the gap; primal and dual objective, largest KKT violation."""
        ...

    def improve(self, examples: "NDArray[np.int64]", fraction: float, passes: int) -> int:
        """Solve the problem of a working set, update all scores; the visits it took."""
        ...

    def refresh(self) -> None:
        """Compute the scores anew from the dual variables."""
        ...

    def duals(self) -> "Duals":
        """The dual variables."""
        ...

    def find_negative(self, examples: "NDArray[np.int64]") -> float | None:
        """A negative eigenvalue of their Gram matrix, see the function of that name."""
        ...


def find_negative(gram: "NDArray[Any]") -> float | None:
    """Smallest eigenvalue over the largest one's size, if it is negative beyond rounding."""
    values = np.linalg.eigvalsh(gram.astype(np.float64))
    largest = np.abs(values).max()
    return float(values[0] / largest) if values[0] < -1e-5 * largest else None


class Processor:
    """NumPy's matrix products and the compiled core, on the processor."""

    _BUFFER = 32 << 20  # bytes of kernel values that are used once

    def __init__(
        self,
        dual: "KernelDual",
        kernel: "Kernel",
        points: "Points",
        diagonal: "NDArray[Any]",
        cache_bytes: int,
        n_threads: int,
    ) -> None:
        self._dual = dual
        self._kernel = kernel
        self._points = points
        self._diagonal = diagonal
        self._n_threads = n_threads
        self._buffer_bytes = min(self._BUFFER, cache_bytes // 4)
        n = len(points)
        self._cache = RowCache(n, points.dtype, cache_bytes - self._buffer_bytes)
        self._gaps = np.empty(n)

    def check(self) -> "tuple[NDArray[np.float64], float, float, float]":
        return (self._gaps, *self._dual.check(self._gaps))

    def improve(self, examples: "NDArray[np.int64]", fraction: float, passes: int) -> int:
        examples, gram = self._gram(examples)
        visits = self._dual.solve(examples, gram, fraction, passes)
        self._update(examples)
        return visits

    def refresh(self) -> None:
        support = self._dual.duals().support()
        self._dual.clear_scores()
        width = 512
        for first in range(0, len(support), width):
            examples = support[first : first + width]
            self._dual.change_from_zero(examples)
            self._update(examples)

    def duals(self) -> "Duals":
        return self._dual.duals()

    def find_negative(self, examples: "NDArray[np.int64]") -> float | None:
        _, gram = self._gram(examples)
        return find_negative(gram)

    def _gram(self, examples: "NDArray[np.int64]") -> "tuple[NDArray[np.int64], NDArray[Any]]":
        """The examples in some order and their Gram matrix, out of the cache as far as it goes."""
        slots = self._cache.find(examples)
        if self._kernel.is_cheap(self._points):
            slots[:] = -1
        cached, absent = np.flatnonzero(slots >= 0), np.flatnonzero(slots < 0)
        # Cached examples first, so that the four parts are slices.
        order = np.concatenate([cached, absent])
        m, q = len(cached), len(order)
        gram = np.empty((q, q), self._points.dtype)
        core.gather(self._cache.store, slots[cached], examples[order], gram[:m])
        gram[m:, :m] = gram[:m, m:].T
        # Two copies: for one NumPy would compute a triangle and mirror it, which takes longer.
        left, right = self._points[examples[absent]], self._points[examples[absent]]
        self._kernel.evaluate(left, right, gram[m:, m:], self._n_threads)
        np.fill_diagonal(gram, self._diagonal[examples[order]])
        return examples[order], gram

    def _update(self, examples: "NDArray[np.int64]") -> None:
        """Bring all scores up to date with the last changes, which are those of `examples`."""
        which = self._dual.changed()
        slots = self._cache.find(examples[which])
        absent = np.flatnonzero(slots < 0)
        reserved = self._cache.reserve(examples[which[absent]])
        self._fill(reserved, examples[which[absent[: len(reserved)]]])
        slots[absent[: len(reserved)]] = reserved
        cached = slots >= 0
        if np.any(cached):
            self._dual.add_scores(which[cached], self._cache.store, slots[cached])
        self._stream(which[~cached], examples)

    def _fill(self, slots: "NDArray[np.int64]", examples: "NDArray[np.int64]") -> None:
        """Compute rows straight into the cache where slots are neighbours."""
        for run in np.split(np.arange(len(slots)), np.flatnonzero(np.diff(slots) != 1) + 1):
            if len(run) == 0:
                continue
            out = self._cache.store[slots[run[0]] : slots[run[-1]] + 1]
            self._kernel.evaluate(self._points[examples[run]], self._points, out, self._n_threads)

    def _stream(self, which: "NDArray[np.int64]", examples: "NDArray[np.int64]") -> None:
        """Use kernel values of rows that the cache has no room for, and forget them."""
        if len(which) == 0:
            return
        left = self._points[examples[which]]
        width = max(1, self._buffer_bytes // (len(which) * self._points.dtype.itemsize))
        rows = np.arange(len(which))
        for first in range(0, len(self._points), width):
            block = self._block(left, self._points[first : first + width])
            self._dual.add_scores(which, block, rows, first)

    def _block(self, left: "Points", right: "Points") -> "NDArray[Any]":
        out = np.empty((len(left), len(right)), left.dtype)
        self._kernel.evaluate(left, right, out, self._n_threads)
        return out
