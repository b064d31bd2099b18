"""The best multiple of the scores: s >= 1 with the lowest P(s f).

Where C is large, the loss of margins that are short by little is most of the gap, and the norm is
off by much less. Longer weights have no such loss; they are a primal point like any other. P(s f)
is convex in s.
"""

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from polymargin.second_order._variables import Variables

_SCALES = tuple(1 + 2.0**-e for e in range(16, 1, -1))


class Multiple(NamedTuple):
    """A factor, and the primal objective of scores times it."""

    scale: float
    primal: float


def best_multiple(variables: "Variables", scores: "NDArray[np.float64]", primal: float) -> Multiple:
    """Of scores whose own primal objective is known."""
    margins = variables.margins(scores)
    norm = primal - variables.loss(margins)
    best = Multiple(1.0, primal)
    for scale in _SCALES:
        longer = Multiple(scale, scale * scale * norm + variables.loss(scale * margins))
        if longer.primal >= best.primal:
            break
        best = longer
    return best
