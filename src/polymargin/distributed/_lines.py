"""Numbers on their way between processes: of those that are not zero, the ones that changed.

The weights of some classes come back to a process again and again, and so do dual variables. Both
ends of a line keep which of them were not zero when they last went along it, in either direction,
and what they were. The next time a bit for each of these says whether it has changed; new values
follow, and then the places and values of those that were zero. Weights of which few are zero go as
they are, and nothing is kept.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from numpy.typing import NDArray

_DENSE = 3  # times as many weights in all as are not zero: then they go as they are


@dataclass(frozen=True)
class Known:
    """What both ends know: the places in use, ascending, and the numbers there."""

    places: "NDArray[Any]"
    values: "NDArray[Any]"

    @classmethod
    def nothing(cls, size: int, dtype: Any) -> "Known":
        """Of a line along which none of so many numbers has gone yet."""
        narrow = np.uint32 if size <= 1 << 32 else np.int64
        return cls(np.zeros(0, narrow), np.zeros(0, dtype))

    def followed_by(
        self, values: "NDArray[Any]", places: "NDArray[Any]", added: "NDArray[Any]"
    ) -> "Known":
        """With other values, and some more places; without zeros where they are many."""
        at = np.searchsorted(self.places, places)
        known = Known(np.insert(self.places, at, places), np.insert(values, at, added))
        in_use = known.values != 0
        if 2 * np.count_nonzero(in_use) < len(in_use):
            return Known(known.places[in_use], known.values[in_use])
        return known


@dataclass(frozen=True)
class Dense:
    """All weights."""

    weights: "NDArray[Any]"


@dataclass(frozen=True)
class Changed:
    """What is different from what is known, in bits and values; then what is new."""

    bits: "NDArray[np.uint8]"
    values: "NDArray[Any]"
    places: "NDArray[Any]"
    added: "NDArray[Any]"


Message = Dense | Changed


def encode(weights: "NDArray[Any]", known: Known | None) -> tuple[Message, Known | None]:
    """What to send along a line, and what both ends know then.

    Examples
    --------
    >>> import numpy as np
    >>> from polymargin.distributed._lines import decode, encode
    >>> weights = np.zeros((10, 2))
    >>> weights[3] = 1.0, 2.0
    >>> first, sender = encode(weights, None)
    >>> _, receiver = decode(first, weights.shape, weights.dtype, None)
    >>> weights[3, 1] = weights[7, 0] = 5.0
    >>> message, sender = encode(weights, sender)
    >>> message.values.tolist(), message.added.tolist()
    ([5.0], [5.0])
    >>> again, receiver = decode(message, weights.shape, weights.dtype, receiver)
    >>> bool((again == weights).all())
    True
    """
    flat = np.ascontiguousarray(weights).reshape(-1)
    is_new = flat != 0
    if _DENSE * np.count_nonzero(is_new) >= flat.size:
        return Dense(flat), None
    if known is None:
        known = Known.nothing(flat.size, flat.dtype)
    is_new[known.places] = False
    places = np.flatnonzero(is_new).astype(known.places.dtype)
    return _tell(known, flat[known.places], places, flat[places])


def decode(
    message: Message, shape: tuple[int, int], dtype: Any, known: Known | None
) -> "tuple[NDArray[Any], Known | None]":
    """The weights at the other end, and what both ends know then."""
    if isinstance(message, Dense):
        return message.weights.reshape(shape), None
    size = shape[0] * shape[1]
    known = _hear(Known.nothing(size, dtype) if known is None else known, message)
    weights = np.zeros(size, dtype)
    weights[known.places] = known.values
    return weights.reshape(shape), known


def encode_sparse(matrix: sparse.csr_array, known: Known | None) -> tuple[Changed, Known]:
    """The same for a sparse matrix."""
    if known is None:
        known = Known.nothing(matrix.shape[0] * matrix.shape[1], matrix.dtype)
    entries = matrix.tocoo()
    places = entries.row.astype(np.int64) * matrix.shape[1] + entries.col
    order = np.argsort(places)
    places, values = places[order].astype(known.places.dtype), entries.data[order]
    at = np.searchsorted(known.places, places)
    is_new = np.append(known.places, 0)[at] != places
    is_new |= at == len(known.places)
    now = np.zeros_like(known.values)
    now[at[~is_new]] = values[~is_new]
    return _tell(known, now, places[is_new], values[is_new])


def decode_sparse(
    message: Changed, shape: tuple[int, int], dtype: Any, known: Known | None
) -> tuple[sparse.csr_array, Known]:
    """A sparse matrix at the other end, and what both ends know then."""
    known = _hear(Known.nothing(shape[0] * shape[1], dtype) if known is None else known, message)
    in_use = known.values != 0
    rows, columns = np.divmod(known.places[in_use].astype(np.int64), max(shape[1], 1))
    return sparse.csr_array((known.values[in_use], (rows, columns)), shape=shape), known


def _tell(
    known: Known, now: "NDArray[Any]", places: "NDArray[Any]", added: "NDArray[Any]"
) -> tuple[Changed, Known]:
    has_changed = now != known.values
    message = Changed(np.packbits(has_changed), now[has_changed], places, added)
    return message, known.followed_by(now, places, added)


def _hear(known: Known, message: Changed) -> Known:
    values = known.values.copy()
    has_changed = np.unpackbits(message.bits, count=len(values)).view(bool)
    values[has_changed] = message.values
    return known.followed_by(values, message.places, message.added)


class Lines:
    """All lines of a process that weights and dual variables of numbered teams travel along."""

    def __init__(self, is_sparse: bool = True) -> None:
        """Weights go as they are where `is_sparse` is false."""
        self._is_sparse = is_sparse
        self._known: dict[tuple[int, int], Known | None] = {}
        self._duals: dict[tuple[int, int, int], Known] = {}  # those of each part of the rows

    def pack(self, to: int, team: int, weights: "NDArray[Any]") -> Message:
        """For another process."""
        if not self._is_sparse:
            return Dense(weights)
        message, known = encode(weights, self._known.get((to, team)))
        self._known[to, team] = known
        return message

    def unpack(
        self, source: int, team: int, message: Message, shape: tuple[int, int], dtype: Any
    ) -> "NDArray[Any]":
        """Of another process."""
        known = self._known.get((source, team))
        weights, self._known[source, team] = decode(message, shape, dtype, known)
        return weights

    def pack_duals(self, to: int, team: int, duals: "list[sparse.csr_array]") -> list[Changed]:
        """For another process."""
        messages = []
        for part, matrix in enumerate(duals):
            message, known = encode_sparse(matrix, self._duals.get((to, team, part)))
            self._duals[to, team, part] = known
            messages.append(message)
        return messages

    def unpack_duals(
        self,
        source: int,
        team: int,
        messages: list[Changed],
        shapes: list[tuple[int, int]],
        dtype: Any,
    ) -> "list[sparse.csr_array]":
        """Of another process."""
        duals = []
        for part, (message, shape) in enumerate(zip(messages, shapes, strict=True)):
            known = self._duals.get((source, team, part))
            matrix, self._duals[source, team, part] = decode_sparse(message, shape, dtype, known)
            duals.append(matrix)
        return duals
