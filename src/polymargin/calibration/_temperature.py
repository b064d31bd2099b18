"""One temperature for all classes.

    p_c(x) = exp(f_c(x) / T) / sum_e exp(f_e(x) / T),      T > 0

T minimises the weighted mean L of -log p_y over rows whose scores f come from models that have not
seen them (Guo, Pleiss, Sun and Weinberger 2017, section 4.2). With b = 1 / T and m_c = f_c - f_y,

    L(b) = mean log sum_c exp(b m_c),     L'(b) = mean sum_c p_c m_c,

and L is convex in b, so that its minimum is where L' changes sign. Two cases have none inside:

- Every row is decided rightly: L falls for ever. After n rows without a mistake Laplace's rule
  gives the next one the chance 1 / (n + 2) to be one, so T is not made smaller than where L is
  log((n + 2) / (n + 1)); n is the sum of the weights.
- Scores that say nothing, L'(0) >= 0: T is 1000 times the largest |m_c|, where all probabilities
  are equal to a part in a thousand.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_softmax

from polymargin.calibration._base import Calibrator

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

    from numpy.typing import NDArray

_FLATTEST, _STEEPEST = 1e-3, 1e12  # b times the largest |m_c|


@dataclass(frozen=True)
class Temperature(Calibrator):
    """Softmax of the scores over a temperature; the largest score stays the largest probability.

    Attributes
    ----------
    T : float
        The temperature.
    """

    name: ClassVar[str] = "temperature"
    by_class: ClassVar[bool] = False

    T: float

    @classmethod
    def learn(
        cls,
        scores: "NDArray[np.float64]",
        labels: "NDArray[Any]",
        weight: "NDArray[np.float64]",
    ) -> "Self":
        own = scores[np.arange(len(labels)), labels]
        m = scores - own[:, None]
        largest = float(np.abs(m).max())
        if largest == 0:
            return cls(1.0)
        loss = _Loss(m / largest, weight / weight.sum())
        floor = math.log1p(1 / (float(weight.sum()) + 1))
        return cls(largest / loss.best(floor))

    def log_probabilities(self, scores: "NDArray[Any]") -> "NDArray[np.float64]":
        scores = scores.astype(np.float64)
        with np.errstate(over="ignore"):
            exponents = (scores - scores.max(axis=1, keepdims=True)) / self.T
        logs: NDArray[np.float64] = log_softmax(exponents, axis=1)
        return logs


class _Loss:
    """L at a given b, of margins |m_c| <= 1 and weights that sum to 1."""

    def __init__(self, m: "NDArray[np.float64]", weight: "NDArray[np.float64]") -> None:
        self._m = m
        self._top = m.max(axis=1)
        self._below = m - self._top[:, None]  # exponents that cannot overflow
        self._weight = weight
        self._powers = np.empty_like(m)

    def _sums(self, b: float) -> "NDArray[np.float64]":
        """sum_c exp(b m_c) over exp of the largest term."""
        np.multiply(self._below, b, out=self._powers)
        np.exp(self._powers, out=self._powers)
        sums: NDArray[np.float64] = self._powers.sum(axis=1)
        return sums

    def value(self, b: float) -> float:
        return float(self._weight @ (np.log(self._sums(b)) + b * self._top))

    def slope(self, b: float) -> float:
        sums = self._sums(b)
        return float(self._weight @ (np.einsum("ic,ic->i", self._powers, self._m) / sums))

    def best(self, floor: float) -> float:
        """Where L is smallest, or falls to `floor` on the way there."""
        low = high = _FLATTEST
        while self.slope(high) < 0 and self.value(high) > floor and high < _STEEPEST:
            low, high = high, 4 * high
        if low < high and self.slope(high) > 0:
            high = _root(self.slope, low, high)
        if low < high and self.value(high) < floor:
            high = _root(lambda b: self.value(b) - floor, low, high)
        return high


def _root(function: "Callable[[float], float]", low: float, high: float) -> float:
    """To all digits that count, between two points of different signs."""
    log_root = brentq(lambda t: function(math.exp(t)), math.log(low), math.log(high), xtol=1e-13)
    return math.exp(log_root)
