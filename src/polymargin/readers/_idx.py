"""Images in idx files, the format of MNIST and its relatives, and the labels beside them."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin.errors import DataError
from polymargin.readers._options import Options
from polymargin.readers._source import Source
from polymargin.readers._table import Table

__all__ = ["idx_batches", "is_idx", "read_idx", "read_idx_labels", "with_labels_beside"]

_TYPES = {0x08: "u1", 0x09: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
_MOST_DIMENSIONS = 8
_MOST_FEATURES = 2**31 - 1
_PACKED_ENDINGS = ("", ".gz", ".bz2", ".xz", ".zst")


def is_idx(head: bytes) -> bool:
    """Whether a file that starts like this is an idx file."""
    return (
        len(head) >= 4
        and head[:2] == b"\0\0"
        and head[2] in _TYPES
        and 1 <= head[3] <= _MOST_DIMENSIONS
    )


def read_idx(source: Source, options: Options) -> Table:
    """All images, a row of pixels each."""
    content = _Content(source)
    rows = content.array(_check_images(content.header, options, source.name))
    return _table(rows, content.header, options)


def idx_batches(source: Source, rows: int, options: Options) -> Iterator[Table]:
    """Tables of at most `rows` images."""
    content = _Content(source)
    width = _check_images(content.header, options, source.name)
    for piece in content.pieces(rows, width):
        yield _table(piece, content.header, options)


def read_idx_labels(source: Source) -> NDArray[Any]:
    """The labels of a file of one dimension."""
    content = _Content(source)
    if len(content.header.shape) != 1:
        raise DataError(
            f"an idx file of {len(content.header.shape)} dimensions holds no labels; name the file "
            "of labels, of one dimension",
            path=source.name,
        )
    return content.array(1)[:, 0]


def with_labels_beside(source: Source, options: Options) -> Options:
    """The options with the file of labels that lies beside one of images, unless one is given.

    To ``train-images-idx3-ubyte`` belongs ``train-labels-idx1-ubyte``, packed or not.
    """
    if options.labels_path is not None:
        return options
    if not source.is_standard_input:
        for name in _label_names(Path(source.path).name):
            beside = Path(source.path).with_name(name)
            if beside.is_file():
                return replace(options, labels_path=beside)
    if not options.has_labels:
        return options
    expected = next(_label_names(Path(source.path).name), None)
    searched = f"there is no file {expected} beside it" if expected else "its name tells none"
    raise DataError(
        f"idx images have their labels in another file, and {searched}; name it "
        "(labels_path=, --labels)",
        path=source.name,
    )


def _label_names(name: str) -> Iterator[str]:
    """What the file of labels may be called, the likeliest first."""
    if "images" not in name:
        return
    stem, ending = name, ""
    for packed in _PACKED_ENDINGS[1:]:
        if name.endswith(packed):
            stem, ending = name.removesuffix(packed), packed
    labels = stem.replace("images", "labels").replace("idx3", "idx1")
    yield labels + ending
    yield from (labels + other for other in _PACKED_ENDINGS if other != ending)


@dataclass(frozen=True)
class _Header:
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    size: int  # bytes of the header itself

    @property
    def image_shape(self) -> tuple[int, int] | None:
        return (self.shape[1], self.shape[2]) if len(self.shape) == 3 else None


class _Content:
    """The numbers of a file; no memory is taken for more of them than are there."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.header = _read_header(source)
        self._blocks = source.blocks()
        self._waiting = bytearray()
        self._take(self.header.size)

    def array(self, width: int) -> NDArray[Any]:
        """All numbers in rows of that width."""
        rows = self._rows(self.header.shape[0], width)
        self._check_end()
        return rows

    def pieces(self, rows: int, width: int) -> Iterator[NDArray[Any]]:
        """The same, so many rows at a time."""
        n = self.header.shape[0]
        for start in range(0, n, rows):
            yield self._rows(min(rows, n - start), width)
        self._check_end()

    def _rows(self, n: int, width: int) -> NDArray[Any]:
        content = self._take(n * width * self.header.dtype.itemsize)
        return np.frombuffer(content, dtype=self.header.dtype).reshape(n, width)

    def _take(self, size: int) -> bytes | bytearray:
        while len(self._waiting) < size:
            block = next(self._blocks, b"")
            if not block:
                sizes = " x ".join(map(str, self.header.shape))
                raise DataError(
                    f"the file ends too early: it should hold {sizes} numbers; get it again",
                    path=self._source.name,
                )
            self._waiting += block
        if len(self._waiting) == size:  # all of it without a copy
            taken, self._waiting = self._waiting, bytearray()
            return taken
        taken = self._waiting[:size]
        del self._waiting[:size]
        return taken

    def _check_end(self) -> None:
        if self._waiting or next(self._blocks, b""):
            sizes = " x ".join(map(str, self.header.shape))
            raise DataError(
                f"something follows the {sizes} numbers that the file should hold; get it again",
                path=self._source.name,
            )


def _read_header(source: Source) -> _Header:
    head = source.head
    if not is_idx(head):
        raise DataError("not an idx file, or a damaged one; get it again", path=source.name)
    size = 4 + 4 * head[3]
    if len(head) < size:
        raise DataError("the idx file ends in its header; get it again", path=source.name)
    shape = tuple(int(length) for length in np.frombuffer(head[4:size], dtype=">u4"))
    return _Header(np.dtype(_TYPES[head[2]]), shape, size)


def _check_images(header: _Header, options: Options, name: str) -> int:
    """How many numbers an image is."""
    if len(header.shape) == 1:
        raise DataError(
            "an idx file of one dimension holds labels; name the file of images", path=name
        )
    width = math.prod(header.shape[1:])
    if not 1 <= width <= _MOST_FEATURES:
        sizes = " x ".join(map(str, header.shape[1:]))
        raise DataError(
            f"images of {sizes} pixels; there have to be from 1 to {_MOST_FEATURES}", path=name
        )
    wanted = options.image_shape
    if wanted is not None and header.image_shape != tuple(wanted):
        sizes = " x ".join(map(str, header.shape[1:]))
        raise DataError(
            f"images of {sizes} pixels where {wanted[0]} x {wanted[1]} are expected; check that "
            "the file belongs to the same data",
            path=name,
        )
    return width


def _table(rows: NDArray[Any], header: _Header, options: Options) -> Table:
    """Numbers as they are stored, in the narrowest floating-point type that holds them all."""
    exact = np.float64 if header.dtype.str in (">i4", ">f8") else np.float32
    reading: dict[str, Any] = {"format": "idx", "n_features": rows.shape[1]}
    if header.image_shape is not None:
        reading["image_shape"] = list(header.image_shape)
    if options.label_kind is not None:
        reading["label_kind"] = options.label_kind
    return Table(rows.astype(exact), None, reading)
