"""Axes of a nested grid: coarse points, and finer ones around a point."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

_LARGEST = 1000  # |log2| of values that float64 holds with room to spare


@dataclass(frozen=True)
class Span:
    """The part of an axis that a grid covers, from point `low` to point `high`."""

    low: int
    high: int


@dataclass(frozen=True)
class Axis:
    """Points `first` + i `step`, of which every `stride`-th is coarse.

    The range asked for is i = 0 ... `last`. The lattice is that of the finest grid, so that a
    point has the same i in every grid; it goes on beyond both ends.
    """

    first: float
    step: float
    last: int
    stride: int

    @property
    def span(self) -> Span:
        """What was asked for."""
        return Span(0, self.last)

    @property
    def is_fixed(self) -> bool:
        """Whether there is but one coarse point, which is a choice and no range."""
        return self.last < self.stride

    def range(self, span: Span) -> tuple[float, float, float]:
        """The coarse grid as (first, last, step), of which refinements may reach `last`."""
        return self.log2(span.low), self.log2(span.high), self.step * self.stride

    def log2(self, i: int) -> float:
        """The logarithm at point i."""
        return self.first + i * self.step

    def value(self, i: int) -> float:
        """The value at point i."""
        return float(2.0 ** self.log2(i))

    def coarse(self, span: Span) -> list[int]:
        """The points of the coarse grid."""
        return list(range(span.low, span.high + 1, self.stride))

    def around(self, i: int, level: int, span: Span) -> list[int]:
        """Points of grid `level` at most one step of the grid before it away from i."""
        step = self.stride >> level
        points = range(i - 2 * step, i + 2 * step + 1, step)
        return [j for j in points if span.low <= j <= span.high]

    def widened(self, span: Span, upward: bool, most_steps: int) -> Span | None:
        """One coarse step more to one side; None beyond `most_steps` of them."""
        if upward:
            wider = Span(span.low, (span.high // self.stride + 1) * self.stride)
            steps = wider.high // self.stride - self.last // self.stride
        else:
            wider = Span(span.low - self.stride, span.high)
            steps = -wider.low // self.stride
        ends = abs(self.log2(wider.low)), abs(self.log2(wider.high))
        return wider if steps <= most_steps and max(ends) <= _LARGEST else None


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
