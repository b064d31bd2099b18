"""Strings, labels and sparse matrices as tensors."""

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from polymargin.errors import ModelFileError
from polymargin.storage._fields import Tensors, check_all_finite

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

_INDICES = (np.dtype(np.int32), np.dtype(np.int64))
_MOST_LABEL_BYTES = 1 << 28  # of an array of fixed-width text
_LABEL_TYPES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float32", "float64", "str", "object",
)  # fmt: skip

Arrays = dict[str, "NDArray[Any]"]


def put_strings(name: str, strings: "Iterable[str]", what: str) -> Arrays:
    """UTF-8 bytes and where each string starts and the last one ends."""
    try:
        encoded = [string.encode() for string in strings]
    except UnicodeEncodeError as error:
        raise ValueError(f"{what} cannot be saved: a text is not valid Unicode ({error})") from None
    offsets = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum([len(part) for part in encoded], out=offsets[1:])
    data = np.frombuffer(b"".join(encoded), np.uint8)
    return {f"{name}.bytes": data, f"{name}.offsets": offsets}


def take_strings(tensors: Tensors, name: str, count: int | None = None) -> list[str]:
    """What `put_strings` has stored."""
    data = tensors.take(f"{name}.bytes", (np.dtype(np.uint8),), (None,))
    offsets = tensors.integers(f"{name}.offsets", (None if count is None else count + 1,))
    full = tensors.prefix + name
    ascends = len(offsets) > 0 and offsets[0] == 0 and bool(np.all(offsets[1:] >= offsets[:-1]))
    if not ascends or offsets[-1] != len(data):
        raise ModelFileError(f"tensor '{full}.offsets' does not ascend from 0 to the last byte")
    text, ends = data.tobytes(), offsets.tolist()
    try:
        return [text[ends[i] : ends[i + 1]].decode() for i in range(len(ends) - 1)]
    except UnicodeDecodeError as error:
        raise ModelFileError(f"tensor '{full}.bytes' is not UTF-8: {error}") from None


def as_objects(strings: "list[str]") -> "NDArray[Any]":
    """An object array, also of no strings."""
    array = np.empty(len(strings), dtype=object)
    array[:] = strings
    return array


def put_labels(classes: "NDArray[Any]") -> tuple[str, Arrays]:
    """The type of the labels and their tensors; ValueError where they are of no such type."""
    kind = "str" if classes.dtype.kind == "U" else classes.dtype.name
    if kind not in _LABEL_TYPES or (kind == "object" and not _are_strings(classes)):
        found = sorted({type(label).__name__ for label in classes.tolist()})
        raise ValueError(
            f"labels of type {', '.join(found)} cannot be saved; a model file holds integers, "
            "floats, booleans or text, all of one type"
        )
    if kind in ("str", "object"):
        labels = classes.tolist()
        if kind == "str" and classes.nbytes > _MOST_LABEL_BYTES:
            raise ValueError("the labels are too long to be saved; pass them as an object array")
        return kind, put_strings("classes", labels, "classes_")
    if kind == "uint64":
        return kind, {"classes": classes.view(np.int64)}  # the same bits
    wide = classes.dtype if classes.dtype.kind == "f" else np.dtype(np.int64)
    return kind, {"classes": classes.astype(wide)}


def take_labels(tensors: Tensors, kind: str) -> "NDArray[Any]":
    """Two or more labels in ascending order."""
    if kind not in _LABEL_TYPES:
        raise ModelFileError(f"labels are of the unknown type {kind!r:.40}")
    classes: NDArray[Any]
    if kind in ("str", "object"):
        strings = take_strings(tensors, "classes")
        longest = max(map(len, strings), default=0)
        if kind == "str" and 4 * longest * len(strings) > _MOST_LABEL_BYTES:
            raise ModelFileError("the labels are too long for an array of text")
        classes = np.array(strings) if kind == "str" else as_objects(strings)
    elif kind in ("float32", "float64"):
        classes = tensors.take("classes", (np.dtype(kind),), (None,)).copy()
        check_all_finite(classes, "classes")
    else:
        stored = tensors.integers("classes", (None,))
        classes = stored.view(np.uint64) if kind == "uint64" else stored.astype(kind)
        if kind != "uint64" and not np.array_equal(classes.astype(np.int64), stored):
            raise ModelFileError(f"a label is outside the range of {kind}")
    if len(classes) < 2 or not np.all(classes[1:] > classes[:-1]):
        raise ModelFileError("the labels are not two or more in ascending order")
    return classes


def _are_strings(array: "NDArray[Any]") -> bool:
    return all(isinstance(item, str) for item in array.tolist())


def put_csr(name: str, matrix: Any) -> Arrays:
    """The parts of a CSR matrix in canonical form, with the shortest indices that do."""
    matrix = sparse.csr_array(matrix)
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    n_stored = int(matrix.indptr[-1])
    is_small = max(n_stored, *matrix.shape) < 2**31
    index = np.dtype(np.int32 if is_small else np.int64)
    return {
        f"{name}.data": matrix.data[:n_stored],
        f"{name}.indices": matrix.indices[:n_stored].astype(index, copy=False),
        f"{name}.indptr": matrix.indptr.astype(index, copy=False),
    }


def take_csr(tensors: Tensors, name: str, shape: tuple[int, int]) -> sparse.csr_array:
    """What `put_csr` has stored, not copied; all of it is checked."""
    indptr = tensors.take(f"{name}.indptr", _INDICES, (shape[0] + 1,))
    indices = tensors.take(f"{name}.indices", (indptr.dtype,), (None,))
    data = tensors.floats(f"{name}.data", (len(indices),))
    check_compressed(indptr, indices, shape[1], tensors.prefix + name)
    return sparse.csr_array((data, indices, indptr), shape=shape)


def check_compressed(
    indptr: "NDArray[Any]", indices: "NDArray[Any]", n_columns: int, name: str
) -> None:
    """Refuse rows that do not follow each other, and columns that do not ascend in each."""
    if indptr[0] != 0 or indptr[-1] != len(indices) or not np.all(indptr[1:] >= indptr[:-1]):
        raise ModelFileError(f"tensor '{name}.indptr' does not ascend from 0 to the last entry")
    if len(indices) == 0:
        return
    if indices.min() < 0 or indices.max() >= n_columns:
        raise ModelFileError(f"an index of {name!r} is outside [0, {n_columns})")
    starts = np.zeros(len(indices), dtype=bool)
    starts[indptr[:-1][indptr[:-1] < len(indices)]] = True
    if not np.all((indices[1:] > indices[:-1]) | starts[1:]):
        raise ModelFileError(f"indices of {name!r} do not ascend in a row")
