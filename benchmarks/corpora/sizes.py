"""How many rows each class has."""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq


def power_law(n: int, k: int, head: float) -> np.ndarray:
    """n rows over k classes, largest first: none is empty, the largest has about ``head`` of all.

    Sizes are proportional to ``rank ** -a``; a follows from the share of the largest class.
    """
    if not 1.0 / k <= head < 1.0:
        raise ValueError(f"the largest of {k} classes cannot have a share of {head}")
    ranks = np.arange(1, k + 1, dtype=float)
    a = brentq(lambda a: 1.0 / np.sum(ranks**-a) - head, 0.0, 20.0)
    shares = ranks**-a / np.sum(ranks**-a)
    ideal = np.maximum(shares * n, 1.0)
    # Rows beyond the first of each class are scaled, so that the sum is n although none is empty.
    ideal = 1.0 + (ideal - 1.0) * ((n - k) / max(np.sum(ideal - 1.0), 1e-9))
    ends = np.rint(np.cumsum(ideal)).astype(np.int64)
    return np.diff(ends, prepend=0)
