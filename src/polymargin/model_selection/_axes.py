"""Axes of a nested grid: coarse points, and finer ones around a point."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

_LARGEST = 1000  # |log2| of values that float64 holds with room to spare


@dataclass(frozen=True)
class Axis:
    """Points `first` + i `step` for i = 0 ... `last`, of which every `stride`-th is coarse.

    The lattice is that of the finest grid, so that a point has the same i in every grid.
    """

    first: float
    step: float
    last: int
    stride: int

    @property
    def range(self) -> tuple[float, float, float]:
        """The coarse grid as (first, last, step), of which refinements may reach `last`."""
        return self.first, self.log2(self.last), self.step * self.stride

    def log2(self, i: int) -> float:
        """The logarithm at point i."""
        return self.first + i * self.step

    def value(self, i: int) -> float:
        """The value at point i."""
        return float(2.0 ** self.log2(i))

    def coarse(self) -> list[int]:
        """The points of the coarse grid."""
        return list(range(0, self.last + 1, self.stride))

    def around(self, i: int, level: int) -> list[int]:
        """Points of grid `level` at most one step of the grid before it away from i."""
        step = self.stride >> level
        return [j for j in range(i - 2 * step, i + 2 * step + 1, step) if 0 <= j <= self.last]


def make_axis(name: str, given: Any, refinements: int) -> Axis:
    """The axis of a range (first, last, step) of logarithms, last included."""
    form = f"{name} has to be (first, last, step) with first <= last and step > 0"
    if isinstance(given, np.ndarray):
        given = given.tolist()
    if isinstance(given, str) or not isinstance(given, Sequence) or len(given) != 3:
        raise ValueError(f"{form}, got {given!r}")
    if not all(isinstance(x, Real) and math.isfinite(x) for x in given):
        raise ValueError(f"{form}, all finite numbers, got {given!r}")
    first, last, step = (float(x) for x in given)
    if first > last or step <= 0:
        raise ValueError(f"{form}, got {given!r}")
    if max(abs(first), abs(last)) > _LARGEST:
        raise ValueError(f"{name} has to lie between {-_LARGEST} and {_LARGEST}, got {given!r}")
    stride = 1 << refinements
    fine = step / stride
    return Axis(first, fine, math.floor((last - first) / fine + 1e-9), stride)
