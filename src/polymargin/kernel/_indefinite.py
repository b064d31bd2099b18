"""What shows a kernel to be indefinite."""

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def find_negative(gram: "NDArray[Any]") -> float | None:
    """Smallest eigenvalue over the largest one's size, if it is negative beyond rounding."""
    return negative_part(np.linalg.eigvalsh(gram.astype(np.float64)))


def negative_part(values: "NDArray[Any]") -> float | None:
    """The least of these over the largest one's size, if it is negative beyond rounding."""
    least, largest = float(values.min()), float(np.abs(values).max())
    return least / largest if least < -1e-5 * largest else None
