"""Conjugate gradients that make the solution of a nearby system that of the system itself."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_PRECISION = 1e-18  # part of the first r^T x that may be left: worse directions cost many steps
_ITERATIONS = 50


class System(ABC):
    """A symmetric positive definite matrix, and about the inverse of it."""

    @abstractmethod
    def multiply(self, values: "Floats") -> "Floats":
        """The matrix times this."""

    @abstractmethod
    def precondition(self, right: "Floats") -> "Floats":
        """About the solution."""


def solve(system: System, right: "Floats") -> "Floats":
    """x, of whatever shape `right` has; as far as rounding lets it be exact."""
    solution = np.zeros_like(right)
    residual, direction = right, system.precondition(right)
    product = first = float(np.vdot(residual, direction))
    for _ in range(_ITERATIONS):
        if not product > _PRECISION * first:
            break
        image = system.multiply(direction)
        length = product / float(np.vdot(direction, image))
        solution = solution + length * direction
        residual = residual - length * image
        solved = system.precondition(residual)
        before, product = product, float(np.vdot(residual, solved))
        if product >= before:
            break  # rounding has the rest
        direction = solved + (product / before) * direction
    return solution
