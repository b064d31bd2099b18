"""Dual variables of a stream between its passes, in a file that is mapped into memory.

One record for each batch, in the order of the stream: rows and entries, then for each row the
number of its entries, then their classes and values. A pass reads the records of the last one and
writes its own, so that there are two such files; what has been read or written is let go at once.
"""

import mmap
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from polymargin import core
from polymargin.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polymargin.core import Duals

_GROWTH = 2**24  # bytes; files grow by at least this much


class DualScratch:
    """Keeps the dual variables of batches that come again and again in the same order."""

    def __init__(
        self, n_classes: int, dtype: "np.dtype[Any]", directory: str | Path | None = None
    ) -> None:
        self._n_classes = n_classes
        self._dtype = np.dtype(dtype)
        self._class_type = np.min_scalar_type(n_classes - 1)
        self._last = _MappedFile(directory)
        self._next = _MappedFile(directory)
        self.n_passes = 0

    def __enter__(self) -> "DualScratch":
        return self

    def __exit__(self, *exception: object) -> None:
        self._last.close()
        self._next.close()

    @property
    def n_bytes(self) -> int:
        """What the records of the last pass take."""
        return self._last.n_used

    def read(self, n_rows: int) -> "Duals":
        """Those of the next batch, zero in the first pass."""
        if self.n_passes == 0:
            return core.Duals.zeros(n_rows, self._n_classes, self._dtype)
        if self._last.is_at_end or (head := self._last.read(np.int64, 2))[0] != n_rows:
            raise DataError("the rows are not those of the last pass: the file has changed")
        counts = self._last.read(np.uint32, n_rows)
        classes = self._last.read(self._class_type, int(head[1]))
        values = self._last.read(self._dtype, int(head[1]))
        indptr = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
        duals: Duals = core.Duals.__new__(core.Duals)
        duals.__setstate__((self._n_classes, indptr, classes.astype(np.int32), values))
        return duals

    def write(self, duals: "Duals") -> None:
        """Put those of the batch that was read last."""
        _, indptr, classes, values = duals.__getstate__()
        self._next.write(np.array([len(indptr) - 1, len(classes)], np.int64))
        self._next.write(np.diff(indptr).astype(np.uint32))
        self._next.write(classes.astype(self._class_type))
        self._next.write(values)

    def end_pass(self) -> None:
        """What was written is read from now on."""
        self.end_reading()
        self._last, self._next = self._next, self._last
        self._last.rewind()
        self._next.clear()
        self.n_passes += 1

    def end_reading(self) -> None:
        """All that the last pass has written was read; the next batch is its first again."""
        if not self._last.is_at_end:
            raise DataError("there are fewer rows than in the last pass: the file has changed")
        self._last.rewind()


class _MappedFile:
    """A nameless file that is written and read from front to back."""

    def __init__(self, directory: str | Path | None) -> None:
        self._file = tempfile.TemporaryFile(dir=directory)  # noqa: SIM115, closed by close()
        self._map: mmap.mmap | None = None
        self._at = self._dropped = 0
        self.n_used = 0

    @property
    def is_at_end(self) -> bool:
        return self._at >= self.n_used

    def write(self, array: "NDArray[Any]") -> None:
        data = np.ascontiguousarray(array).view(np.uint8).ravel()
        end = self._at + len(data)
        memory = self._reserve(end)
        memory[self._at : end] = data.tobytes()
        self._at = self.n_used = end
        self._let_go()

    def read(self, dtype: Any, count: int) -> "NDArray[Any]":
        end = self._at + count * np.dtype(dtype).itemsize
        assert self._map is not None
        array = np.frombuffer(self._map[self._at : end], dtype)
        self._at = end
        self._let_go()
        return array

    def rewind(self) -> None:
        self._at = self._dropped = 0

    def clear(self) -> None:
        self.rewind()
        self.n_used = 0

    def close(self) -> None:
        if self._map is not None:
            self._map.close()
        self._file.close()

    def _reserve(self, size: int) -> mmap.mmap:
        """The map with room for so many bytes, which the disk has: a full one is an error here."""
        if self._map is None or size > len(self._map):
            room = max(size, (0 if self._map is None else len(self._map)) + _GROWTH)
            os.posix_fallocate(self._file.fileno(), 0, room)
            if self._map is not None:
                self._map.close()
            self._map = mmap.mmap(self._file.fileno(), room)
        return self._map

    def _let_go(self) -> None:
        """Tell the system that what lies behind is not needed in memory."""
        whole = self._at // mmap.PAGESIZE * mmap.PAGESIZE
        if whole - self._dropped < _GROWTH or not hasattr(mmap, "MADV_DONTNEED"):
            return
        assert self._map is not None
        self._map.madvise(mmap.MADV_DONTNEED, self._dropped, whole - self._dropped)
        self._dropped = whole
