"""NumPy archives: arrays ``X`` and ``y``, or what `scipy.sparse.save_npz` writes and ``y``."""

import math
import zipfile
import zlib
from collections.abc import Iterator
from os import PathLike, fspath
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray
from scipy.sparse import coo_array, csc_array, csr_array

from polymargin.errors import DataError
from polymargin.readers._labels import label_kind_of, labels_from_array
from polymargin.readers._options import Options
from polymargin.readers._table import Table

__all__ = ["npz_batches", "read_label_array", "read_npz"]

_MOST_PACKED = 1032  # deflate packs at most this many bytes into one
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, ValueError, OSError, NotImplementedError,
           RuntimeError, KeyError, SyntaxError, TypeError, OverflowError)  # fmt: skip


def read_npz(path: str, options: Options) -> Table:
    """All rows of the archive."""
    with _Archive(path) as archive:
        X = archive.read_sparse() if archive.is_sparse else archive.read_dense()
        return _table(X, archive.read_labels(X.shape[0], options), options)


def npz_batches(path: str, rows: int, options: Options) -> Iterator[Table]:
    """Tables of at most `rows` rows.

    A dense `X` stored row by row is read in pieces. Any other is read as a whole and cut.
    """
    with _Archive(path) as archive:
        pieces: Iterator[Any]
        if archive.is_sparse:
            X = archive.read_sparse()
            n, pieces = X.shape[0], (X[i : i + rows] for i in range(0, X.shape[0], rows))
        else:
            n, pieces = archive.dense_pieces(rows)
        y = archive.read_labels(n, options)
        start = 0
        for piece in pieces:
            stop = start + piece.shape[0]
            yield _table(piece, None if y is None else y[start:stop], options)
            start = stop


def _table(X: Any, y: NDArray[Any] | None, options: Options) -> Table:
    reading: dict[str, Any] = {"format": "npz", "n_features": int(X.shape[1])}
    kind = options.label_kind if y is None else label_kind_of(y)
    if kind is not None:
        reading["label_kind"] = kind
    return Table(X, y, reading)


class _Archive:
    """Members of a zip file that are arrays; none is trusted to be as large as it says."""

    def __init__(self, path: str) -> None:
        self._path = path
        file = Path(path).open("rb")  # noqa: SIM115
        try:
            self._zip = zipfile.ZipFile(file)
        except _DAMAGE as error:
            file.close()
            raise self._error(
                f"not a NumPy archive, or a damaged one ({error}); get it again, or name its true "
                "format with format="
            ) from error
        self._file = file
        self._names = set(self._zip.namelist())

    def __enter__(self) -> "_Archive":
        return self

    def __exit__(self, *details: object) -> None:
        self._zip.close()
        self._file.close()

    def _error(self, message: str) -> DataError:
        return DataError(message, path=self._path)

    def has(self, key: str) -> bool:
        return f"{key}.npy" in self._names

    @property
    def is_sparse(self) -> bool:
        if self.has("X"):
            return False
        if all(map(self.has, ("format", "shape", "data"))):
            return True
        keys = ", ".join(sorted(name.removesuffix(".npy")[:40] for name in self._names)[:10])
        raise self._error(
            f"no array X and no matrix of scipy.sparse.save_npz; it holds: {keys or 'nothing'}"
        )

    def _open(self, key: str) -> tuple[IO[bytes], tuple[int, ...], bool, np.dtype[Any]]:
        """The stream of a member, behind its header, and what the header says."""
        if not self.has(key):
            raise self._error(f"there is no array {key}")
        info = self._zip.getinfo(f"{key}.npy")
        if info.file_size > _MOST_PACKED * info.compress_size + 1024:
            raise self._error(f"array {key} claims to be larger than it can be; get the file again")
        try:
            stream = self._zip.open(info)
            shape, fortran, dtype = _read_header(stream)
        except _DAMAGE as error:
            raise self._error(f"array {key} is damaged ({error})") from error
        if dtype.hasobject:
            raise self._error(
                f"array {key} holds Python objects, which are not read; save numbers or strings"
            )
        size = math.prod(shape) * dtype.itemsize
        if not 0 <= info.file_size - size <= 1 << 17 or min(shape, default=0) < 0:
            raise self._error(
                f"array {key} says it has {size} bytes, but {info.file_size} are there"
            )
        return stream, shape, fortran, dtype

    def _array(self, key: str) -> NDArray[Any]:
        stream, shape, fortran, dtype = self._open(key)
        with stream:
            return self._fill(stream, key, shape, fortran, dtype)

    def _fill(
        self, stream: IO[bytes], key: str, shape: tuple[int, ...], fortran: bool, dtype: Any
    ) -> NDArray[Any]:
        flat = np.empty(math.prod(shape), dtype=dtype)
        if flat.nbytes:
            self._read_into(stream, key, flat.view(np.uint8).data)
        if fortran:
            return flat.reshape(shape[::-1]).T
        return flat.reshape(shape)

    def _read_into(self, stream: IO[bytes], key: str, target: memoryview) -> None:
        done = 0
        try:
            while done < len(target):
                block = stream.read(min(len(target) - done, 1 << 22))
                if not block:
                    raise EOFError("it ends too early")
                target[done : done + len(block)] = block
                done += len(block)
        except _DAMAGE as error:
            raise self._error(f"array {key} is damaged ({error})") from error

    def _check_dense(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        if len(shape) != 2:
            raise self._error(f"X has {len(shape)} dimensions instead of 2")
        if dtype.kind not in "biuf":
            raise self._error(f"X is of type {dtype}; save numbers")

    def read_dense(self) -> NDArray[np.float64]:
        stream, shape, fortran, dtype = self._open("X")
        with stream:
            self._check_dense(shape, dtype)
            X = self._fill(stream, "X", shape, fortran, dtype)
        return np.ascontiguousarray(X, dtype=np.float64)

    def dense_pieces(self, rows: int) -> tuple[int, Iterator[NDArray[np.float64]]]:
        stream, shape, fortran, dtype = self._open("X")
        self._check_dense(shape, dtype)
        if fortran:
            stream.close()
            X = self.read_dense()
            return shape[0], (X[i : i + rows] for i in range(0, shape[0], rows))
        return shape[0], self._stream_pieces(stream, shape, dtype, rows)

    def _stream_pieces(
        self, stream: IO[bytes], shape: tuple[int, ...], dtype: Any, rows: int
    ) -> Iterator[NDArray[np.float64]]:
        with stream:
            for start in range(0, shape[0], rows):
                part = (min(rows, shape[0] - start), shape[1])
                yield self._fill(stream, "X", part, False, dtype).astype(np.float64, copy=False)

    def read_sparse(self) -> csr_array:
        form = self._array("format")
        kind = form.item() if form.size == 1 else None
        kind = kind.decode("ascii", "replace") if isinstance(kind, bytes) else kind
        shape = self._array("shape")
        data = self._array("data")
        if shape.shape != (2,) or shape.dtype.kind not in "iu" or (shape < 0).any():
            raise self._error("the shape of the sparse matrix is not two whole numbers")
        if (shape >= 2**31).any():
            raise self._error("the sparse matrix is too large: 2147483647 rows or columns at most")
        if data.dtype.kind not in "biuf" or data.ndim != 1:
            raise self._error("the data of the sparse matrix are not numbers")
        size = (int(shape[0]), int(shape[1]))
        X = self._build(kind, data.astype(np.float64, copy=False), size)
        X.sum_duplicates()
        if X.indices.dtype != np.int32 and X.nnz < 2**31:
            X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
        return X

    def _build(self, kind: Any, data: NDArray[np.float64], shape: tuple[int, int]) -> csr_array:
        if kind not in ("csr", "csc", "coo"):
            raise self._error(f"sparse matrices in the form {kind!r} are not read; save CSR")
        keys = ("row", "col") if kind == "coo" else ("indices", "indptr")
        first, second = (self._array(key) for key in keys)
        if any(part.dtype.kind not in "iu" or part.ndim != 1 for part in (first, second)):
            raise self._error("the indices of the sparse matrix are not whole numbers")
        major = shape[1 if kind == "csc" else 0]
        if kind != "coo" and len(second) != major + 1:
            raise self._error(f"the sparse matrix has {len(second)} borders for {major} rows")
        try:
            if kind == "coo":
                return coo_array((data, (first, second)), shape=shape).tocsr()
            build = csr_array if kind == "csr" else csc_array
            X = build((data, first, second), shape=shape)
            X.check_format(full_check=True)
        except (ValueError, IndexError, TypeError, OverflowError) as error:
            raise self._error(f"the sparse matrix is damaged ({error})") from error
        return X.tocsr()

    def read_labels(self, n: int, options: Options) -> NDArray[Any] | None:
        if options.labels_path is not None:
            return None
        if not self.has("y"):
            if options.has_labels:
                raise self._error(
                    "there are no labels: no array y; others are read with has_labels=False"
                )
            return None
        labels = labels_from_array(self._array("y"), options.label_kind, self._path)
        if len(labels) != n:
            raise self._error(f"X has {n} rows, y has {len(labels)}")
        return labels


def _read_header(stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    version = npy.read_magic(stream)
    if version == (1, 0):
        return npy.read_array_header_1_0(stream)
    if version == (2, 0):
        return npy.read_array_header_2_0(stream)
    raise ValueError(f"version {version} of the format is not known")


def read_label_array(path: str | PathLike[str], kind: str | None) -> NDArray[Any]:
    """The labels of a ``.npy`` file."""
    name = fspath(path)
    try:
        values = np.load(name, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError, SyntaxError, TypeError) as error:
        raise DataError(f"not an array of labels, or a damaged one ({error})", path=name) from error
    if not isinstance(values, np.ndarray):
        raise DataError("an archive of several arrays; name one of labels", path=name)
    return labels_from_array(np.array(values), kind, name)
