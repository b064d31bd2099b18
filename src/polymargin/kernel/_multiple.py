"""The best multiple of the scores: s >= 1 with the lowest P(s f).

Where C is large, the loss of margins that are short by little is most of the gap, and the norm is
off by much less. Longer weights have no such loss; they are a primal point like any other.
"""

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from polymargin.second_order import Variables

_SCALES = tuple(1 + 2.0**-e for e in range(2, 17))


class Multiple(NamedTuple):
    """A factor, and the primal objective of scores times it."""

    scale: float
    primal: float


def best_multiple(variables: "Variables", scores: "NDArray[np.float64]", primal: float) -> Multiple:
    """Of scores whose own primal objective is known."""
    margins = variables.margins(scores)
    norm = primal - variables.loss(margins)
    others = [Multiple(s, s * s * norm + variables.loss(s * margins)) for s in _SCALES]
    return min(Multiple(1.0, primal), *others, key=lambda multiple: multiple.primal)
