"""The container: named arrays and a header in one safetensors file, read by mapping it.

Eight bytes give the length of the header, a JSON object of tensors and a text-to-text mapping; the
bytes of all tensors follow without gaps. Nothing in a file is trusted: see `_checked_directory`.
"""

import hashlib
import math
import mmap
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from polymargin._atomic import replacing
from polymargin._wording import counted
from polymargin.errors import ModelFileError
from polymargin.storage._json import read_json, write_json

if TYPE_CHECKING:
    from numpy.typing import NDArray

_DTYPES: dict[str, np.dtype[Any]] = {
    "F64": np.dtype("<f8"),
    "F32": np.dtype("<f4"),
    "F16": np.dtype("<f2"),
    "I64": np.dtype("<i8"),
    "I32": np.dtype("<i4"),
    "U8": np.dtype("u1"),
}
_CODES = {dtype: code for code, dtype in _DTYPES.items()}
_MOST_HEADER = 4 << 20  # bytes; arrays of any size are tensors
_MOST_TENSORS = 10_000
_MOST_ITEMS = 1 << 48  # more than any machine can address
_METADATA, _DOCUMENT, _DIGEST = "__metadata__", "polymargin", "polymargin.digest"


@dataclass(frozen=True)
class Container:
    """What a file holds."""

    document: dict[str, Any]
    tensors: dict[str, "NDArray[Any]"]  # read-only, mapped
    directory: dict[str, Any]  # of the tensors, as the file has it
    n_bytes: int
    digest: str  # of the document, which has that of the tensors

    def verify(self) -> None:
        """Compare the bytes of the tensors with their digest, for which all are read."""
        if self.document.get("tensors") != _digest(self.directory, self.tensors):
            raise ModelFileError("the arrays were altered: their digest does not match")


@contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Put the name of the file before the message of an error in it."""
    try:
        yield
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)}: {error}") from error.__cause__


@dataclass(frozen=True)
class Sealed:
    """A file before it is written."""

    digest: str  # as in `Container`
    header: bytes
    tensors: "list[NDArray[Any]]"

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the file, which is complete or absent."""
        with replacing(path) as file:
            file.write(len(self.header).to_bytes(8, "little"))
            file.write(self.header)
            for tensor in self.tensors:
                file.write(_bytes_of(tensor))


def seal(document: Mapping[str, Any], tensors: Mapping[str, "NDArray[Any]"]) -> Sealed:
    """A file of these contents; equal ones give equal bytes."""
    stored = {name: _storable(tensor) for name, tensor in tensors.items()}
    # Wide types first: all tensors are aligned then.
    names = sorted(stored, key=lambda name: (-stored[name].itemsize, name))
    directory, end = {}, 0
    for name in names:
        first, end = end, end + stored[name].nbytes
        directory[name] = {
            "dtype": _CODES[stored[name].dtype],
            "shape": list(stored[name].shape),
            "data_offsets": [first, end],
        }
    text = write_json(dict(document) | {"tensors": _digest(directory, stored)})
    digest = _text_digest(text)
    metadata = {_DOCUMENT: text, _DIGEST: digest}
    header = write_json({_METADATA: metadata} | directory).encode()
    header += b" " * (-(8 + len(header)) % 64)
    if len(header) > _MOST_HEADER:
        raise ValueError(
            f"the parameters take {len(header)} bytes, more than the {_MOST_HEADER} of a header"
        )
    return Sealed(digest, header, [stored[name] for name in names])


def read_container(path: str | os.PathLike[str]) -> Container:
    """Map a file and check all that can be wrong with its form."""
    memory = _map(path)
    header, start = _read_header(memory)
    metadata = header.pop(_METADATA, None)
    if not isinstance(metadata, dict) or _DOCUMENT not in metadata:
        raise ModelFileError("this is a safetensors file, but not one of polymargin")
    text = metadata[_DOCUMENT]
    digest = _text_digest(text) if isinstance(text, str) else None
    if digest is None or metadata.get(_DIGEST) != digest:
        raise ModelFileError("the header was altered: its digest does not match")
    document = read_json(text, "the header")
    if not isinstance(document, dict):
        raise ModelFileError("the header is not a JSON object")
    directory = _checked_directory(header, len(memory) - start)
    tensors = {}
    for name, (dtype, shape, first, _) in directory.items():
        count = math.prod(shape)
        tensors[name] = np.frombuffer(memory, dtype, count, start + first).reshape(shape)
    return Container(document, tensors, header, len(memory), digest)


def _storable(tensor: "NDArray[Any]") -> "NDArray[Any]":
    tensor = np.ascontiguousarray(tensor)
    return tensor.astype(tensor.dtype.newbyteorder("<"), copy=False)


def _bytes_of(tensor: "NDArray[Any]") -> memoryview:
    return tensor.reshape(-1).view(np.uint8).data


def _text_digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=32).hexdigest()


def _digest(directory: Mapping[str, Any], tensors: Mapping[str, "NDArray[Any]"]) -> str:
    """Of names, types, places and bytes of all tensors."""
    digest = hashlib.blake2b(write_json(directory).encode(), digest_size=32)
    for name in sorted(tensors):
        digest.update(_bytes_of(tensors[name]))
    return digest.hexdigest()


def _map(path: str | os.PathLike[str]) -> mmap.mmap:
    if stat.S_ISFIFO(Path(path).stat().st_mode):  # to open it would wait
        raise ModelFileError("this is a pipe; a model is read from a regular file")
    with Path(path).open("rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise ModelFileError("this is not a regular file")
        if status.st_size < 8:
            raise ModelFileError(
                f"the file has {counted(status.st_size, 'byte')}: it is cut off or empty"
            )
        return mmap.mmap(file.fileno(), status.st_size, access=mmap.ACCESS_READ)


def _read_header(memory: mmap.mmap) -> tuple[dict[str, Any], int]:
    """The header, and where the tensors start."""
    length = int.from_bytes(memory[:8], "little")
    start = 8 + length
    if memory[8:9] != b"{":
        raise ModelFileError("this is not a model file: it is not in the safetensors format")
    if start > len(memory):
        raise ModelFileError(
            f"the header should have {length} bytes and the file has {len(memory)}: "
            "it is cut off or not a model file"
        )
    if length > _MOST_HEADER:
        raise ModelFileError(f"the header has {length} bytes, more than the {_MOST_HEADER} allowed")
    if start % 8:
        raise ModelFileError("the tensors do not start at a multiple of 8 bytes")
    try:
        text = memory[8:start].decode()
    except UnicodeDecodeError as error:
        raise ModelFileError(f"the header is not UTF-8: {error}") from None
    header = read_json(text, "the safetensors header")
    if not isinstance(header, dict):
        raise ModelFileError("the safetensors header is not a JSON object")
    return header, start


_Place = tuple["np.dtype[Any]", tuple[int, ...], int, int]


def _checked_directory(header: dict[str, Any], n_bytes: int) -> dict[str, _Place]:
    """Type, shape and place of each tensor; together they cover the `n_bytes` after the header."""
    if len(header) > _MOST_TENSORS:
        raise ModelFileError(f"the file has {len(header)} tensors, more than {_MOST_TENSORS}")
    places = {name: _checked_place(name, entry) for name, entry in header.items()}
    end = 0
    for name, (dtype, _, first, last) in sorted(places.items(), key=lambda item: item[1][2:]):
        if first != end:
            problem = "overlaps another" if first < end else "leaves a gap before it"
            raise ModelFileError(f"tensor {name!r} {problem}")
        if first % dtype.itemsize:
            raise ModelFileError(f"tensor {name!r} is not aligned")
        end = last
    if end != n_bytes:
        word = "cut off" if end > n_bytes else "too long"
        raise ModelFileError(f"the file is {word}: its tensors take {end} bytes, not {n_bytes}")
    return places


def _checked_place(name: str, entry: Any) -> _Place:
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise ModelFileError(f"tensor {name!r} is not described by dtype, shape and data_offsets")
    code = entry["dtype"]
    dtype = _DTYPES.get(code) if isinstance(code, str) else None
    if dtype is None:
        raise ModelFileError(f"tensor {name!r} is of a type that models do not have: {code!r:.40}")
    shape, offsets = entry["shape"], entry["data_offsets"]
    if not (_are_counts(shape) and _are_counts(offsets)) or len(shape) > 2 or len(offsets) != 2:
        raise ModelFileError(f"tensor {name!r} has an impossible shape or place")
    if math.prod(max(size, 1) for size in shape) > _MOST_ITEMS:
        raise ModelFileError(f"tensor {name!r} is too large: {shape}")
    if offsets[1] - offsets[0] != math.prod(shape) * dtype.itemsize:
        raise ModelFileError(f"the place of tensor {name!r} does not fit its shape")
    return dtype, tuple(shape), offsets[0], offsets[1]


def _are_counts(value: Any) -> bool:
    return isinstance(value, list) and all(
        type(item) is int and 0 <= item <= _MOST_ITEMS for item in value
    )
