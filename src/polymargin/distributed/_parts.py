"""Prediction by processes each of which has the weights of some classes.

The best classes of a row are among the best ones of each process, so that these and their scores
are all that travels. All processes have the same rows.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from polymargin.distributed._agreement import agree_on_rows
from polymargin.distributed._ranks import Ranks, known_to_all
from polymargin.estimators import best_classes, score_blocks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Score = Callable[[slice], NDArray[Any]]


def class_range(k: int, size: int, rank: int) -> "NDArray[np.int64]":
    """The classes of one of `size` processes, where any would do.

    Examples
    --------
    >>> from polymargin.distributed._parts import class_range
    >>> [class_range(5, 3, rank).tolist() for rank in range(3)]
    [[0, 1], [2, 3], [4]]
    """
    return np.array_split(np.arange(k, dtype=np.int64), size)[rank]


class Parts:
    """The numbers of the classes of each process, together all `k`."""

    def __init__(self, ranks: Ranks, own: "NDArray[np.int64]", k: int) -> None:
        self.ranks, self.own, self._k = ranks, own, k
        self._dealt = ranks.meet("the classes of each", own)
        together = np.concatenate(self._dealt)
        if not np.array_equal(np.sort(together), np.arange(k)):
            raise known_to_all(
                ValueError(
                    f"the model is in parts, and those of the {ranks.size} processes here have "
                    f"{len(np.unique(together))} of its {k} classes. All processes that fitted it "
                    "with gather=False have to call this together, or load what they saved."
                )
            )

    def best(self, rows: Any, score: "Score", m: int) -> "tuple[NDArray[np.intp], NDArray[Any]]":
        """(n, m) each: numbers of the classes of the m largest scores, best first, and these."""
        found = [self._best_of(scores, m) for scores in self._blocks(rows, score)]
        classes, values = zip(*found, strict=True)
        return np.concatenate(classes), np.concatenate(values)

    def scores(self, rows: Any, score: "Score") -> "NDArray[Any]":
        """(n, k): the scores of all classes."""
        return np.concatenate([self.join(scores) for scores in self._blocks(rows, score)])

    def _blocks(self, rows: Any, score: "Score") -> "Iterator[NDArray[Any]]":
        """Scores of the classes that are here; as many rows at a time on all processes."""
        agree_on_rows(self.ranks, rows)
        most = max(map(len, self._dealt))
        for _, scores in score_blocks(rows, score, most):
            yield scores

    def _best_of(self, scores: "NDArray[Any]", m: int) -> "tuple[NDArray[np.intp], NDArray[Any]]":
        here = np.zeros((len(scores), 0), np.intp)  # there may be no class
        if len(self.own):
            here = best_classes(scores, min(m, len(self.own)))
        told = self.ranks.gather((self.own[here], np.take_along_axis(scores, here, axis=1)))
        classes, values = (np.hstack(parts) for parts in zip(*told, strict=True))
        order = np.argsort(classes, axis=1)  # of equal scores that of the first class comes first
        values = np.take_along_axis(values, order, axis=1)
        best = best_classes(values, m)
        order = np.take_along_axis(order, best, axis=1)
        return np.take_along_axis(classes, order, axis=1), np.take_along_axis(values, best, axis=1)

    def join(self, scores: "NDArray[Any]") -> "NDArray[Any]":
        """(n, k) of what the processes have for their own classes."""
        joined = np.empty((len(scores), self._k), scores.dtype)
        for classes, part in zip(self._dealt, self.ranks.gather(scores), strict=True):
            joined[:, classes] = part
        return joined
