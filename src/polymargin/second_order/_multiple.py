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

_EXPONENTS = range(-16, -1)  # of s - 1
_CLOSER = (0.7, 0.85, 1.2, 1.4)  # times the best s - 1 of these


class Multiple(NamedTuple):
    """A factor, and the primal objective of scores times it."""

    scale: float
    primal: float


def best_multiple(variables: "Variables", scores: "NDArray[np.float64]", primal: float) -> Multiple:
    """Of scores whose own primal objective is known."""
    margins = variables.margins(scores)
    norm = primal - variables.loss(margins)

    def at(more: float) -> Multiple:
        scale = 1 + more
        return Multiple(scale, scale * scale * norm + variables.loss(scale * margins))

    best, more = Multiple(1.0, primal), 0.0
    for e in _EXPONENTS:
        longer = at(2.0**e)
        if longer.primal >= best.primal:
            break
        best, more = longer, 2.0**e
    for factor in _CLOSER if more else ():
        best = min(best, at(factor * more), key=lambda multiple: multiple.primal)
    return best
