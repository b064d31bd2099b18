"""The classes of the largest scores."""

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def best_classes(scores: "NDArray[Any]", m: int) -> "NDArray[np.intp]":
    """(n, m): the m largest of k finite scores of each row, best first, of equals the first."""
    n, k = scores.shape
    if m == 1:
        first: NDArray[np.intp] = np.argmax(scores, axis=1, keepdims=True)
        return first
    least = np.partition(scores, k - m, axis=1)[:, k - m, None]  # that is among the m
    chosen = scores >= least
    # More than m where several scores are equal to the least: the first of those are in.
    for i in np.flatnonzero(np.count_nonzero(chosen, axis=1) > m):
        equal = np.flatnonzero(scores[i] == least[i])
        n_above = np.count_nonzero(chosen[i]) - len(equal)
        chosen[i, equal[m - n_above :]] = False
    classes = np.nonzero(chosen)[1].reshape(n, m)  # ascending, which the stable order keeps
    order = np.argsort(-np.take_along_axis(scores, classes, axis=1), axis=1, kind="stable")
    return np.take_along_axis(classes, order, axis=1)
