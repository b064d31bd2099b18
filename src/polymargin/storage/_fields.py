"""Reading the parts of a header, each of the type it has to be."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from polymargin.errors import ModelFileError

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MISSING = object()


@dataclass(frozen=True)
class Fields:
    """An object of the header; `place` names it in messages."""

    values: dict[str, Any]
    place: str = "header"

    def __contains__(self, name: str) -> bool:
        return name in self.values

    def _typed(self, name: str, kinds: tuple[type, ...], word: str, default: Any) -> Any:
        value = self.values.get(name, default)
        if value is _MISSING:
            raise ModelFileError(f"{self.place}: {name} is missing")
        if value is not default and type(value) not in kinds:
            raise ModelFileError(f"{self.place}: {name} should be {word}, not {value!r:.60}")
        return value

    def text(self, name: str, default: Any = _MISSING) -> Any:
        return self._typed(name, (str,), "text", default)

    def flag(self, name: str) -> bool:
        value: bool = self._typed(name, (bool,), "true or false", _MISSING)
        return value

    def count(self, name: str, least: int = 0, most: int = 2**62) -> int:
        value: int = self._typed(name, (int,), "an integer", _MISSING)
        if not least <= value <= most:
            raise ModelFileError(f"{self.place}: {name}={value} is outside [{least}, {most}]")
        return value

    def number(self, name: str) -> float:
        """A float; NaN and infinity are the words of `write_number`."""
        value = self._typed(name, (int, float, str), "a number", _MISSING)
        return read_number(value, f"{self.place}: {name}")

    def finite(self, name: str) -> float:
        value = self.number(name)
        if not math.isfinite(value):
            raise ModelFileError(f"{self.place}: {name} is {value}")
        return value

    def items(self, name: str) -> list[Any]:
        values: list[Any] = self._typed(name, (list,), "a list", _MISSING)
        return values

    def part(self, name: str) -> "Fields":
        value = self._typed(name, (dict,), "an object", _MISSING)
        return Fields(value, f"{self.place}: {name}")

    def parts(self, name: str) -> list["Fields"]:
        values = self.items(name)
        if not all(type(value) is dict for value in values):
            raise ModelFileError(f"{self.place}: {name} should be a list of objects")
        return [Fields(value, f"{self.place}: {name} {i}") for i, value in enumerate(values)]


_WORDS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def write_number(value: float) -> float | str:
    """A float as JSON can hold it."""
    value = float(value)
    return value if math.isfinite(value) else str(value)


def read_number(value: Any, what: str) -> float:
    """The float that `write_number` has written."""
    if isinstance(value, str):
        if value not in _WORDS:
            raise ModelFileError(f"{what} should be a number, not {value!r:.60}")
        return _WORDS[value]
    try:
        return float(value)
    except OverflowError:
        raise ModelFileError(f"{what} is beyond the range of numbers") from None


@dataclass(frozen=True)
class Tensors:
    """The arrays of one step, whose names start with `prefix`.

    `trusted` leaves out the search for NaN and infinity, which reads whole arrays.
    """

    values: "dict[str, NDArray[Any]]"
    prefix: str = ""
    trusted: bool = False

    def __contains__(self, name: str) -> bool:
        return self.prefix + name in self.values

    def under(self, prefix: str) -> "Tensors":
        return Tensors(self.values, f"{self.prefix}{prefix}", self.trusted)

    def take(
        self, name: str, dtypes: tuple[Any, ...], shape: tuple[int | None, ...]
    ) -> "NDArray[Any]":
        """The array of this name; None stands for any size."""
        full = self.prefix + name
        if full not in self.values:
            raise ModelFileError(f"tensor {full!r} is missing")
        tensor = self.values[full]
        if tensor.dtype not in dtypes:
            raise ModelFileError(f"tensor {full!r} is of the wrong type {tensor.dtype}")
        fits = len(shape) == tensor.ndim and all(
            wanted in (None, size) for wanted, size in zip(shape, tensor.shape, strict=True)
        )
        if not fits:
            wanted = " x ".join("any" if size is None else str(size) for size in shape)
            raise ModelFileError(f"tensor {full!r} has the shape {tensor.shape}, not {wanted}")
        return tensor

    def floats(self, name: str, shape: tuple[int | None, ...]) -> "NDArray[Any]":
        """Finite float32 or float64."""
        tensor = self.take(name, FLOATS, shape)
        if not self.trusted:
            check_all_finite(tensor, self.prefix + name)
        return tensor

    def alike(self, name: str, shape: tuple[int | None, ...], dtype: Any) -> "NDArray[Any]":
        """Finite floats of this type."""
        self.take(name, (dtype,), shape)
        return self.floats(name, shape)

    def integers(self, name: str, shape: tuple[int | None, ...]) -> "NDArray[np.int64]":
        return self.take(name, (np.dtype(np.int64),), shape)


FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


def check_all_finite(tensor: "NDArray[Any]", name: str) -> None:
    """Refuse NaN and infinity, in little memory."""
    flat, width = tensor.reshape(-1), 1 << 20
    for first in range(0, len(flat), width):
        if not np.all(np.isfinite(flat[first : first + width])):
            raise ModelFileError(f"tensor {name!r} holds NaN or infinity")
