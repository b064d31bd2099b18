"""One map for each class, learnt from that class against the rest."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from polymargin.calibration._base import against_the_rest

if TYPE_CHECKING:
    from numpy.typing import NDArray

_Map = TypeVar("_Map")
LearnOne = Callable[
    ["NDArray[np.float64]", "NDArray[np.bool_]", "NDArray[np.float64]"],
    _Map,
]


def learn_by_class(
    scores: "NDArray[np.float64]",
    labels: "NDArray[Any]",
    weight: "NDArray[np.float64]",
    learn: LearnOne[_Map],
    mirror: Callable[[_Map], _Map],
) -> list[_Map]:
    """What `learn` makes of each column, of which rows are in the class, and of their weights.

    Of two classes the second one is learnt, and `mirror` makes of p(s) the map 1 - p(-s) of the
    first. Classes that have no row share what all of them give together.
    """
    k = scores.shape[1]
    s = against_the_rest(scores)
    has_rows = np.bincount(labels, minlength=k) > 0
    pooled = None
    if not has_rows.all():
        own = labels[:, None] == np.arange(k)
        pooled = learn(s.ravel(), own.ravel(), np.repeat(weight, k))
    if k == 2:
        if pooled is not None:
            return [pooled, pooled]
        second = learn(s[:, 1], labels == 1, weight)
        return [mirror(second), second]
    return [
        learn(s[:, c], labels == c, weight) if pooled is None or has_rows[c] else pooled
        for c in range(k)
    ]
