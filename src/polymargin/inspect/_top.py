"""How often a label is among the best classes of its row."""

from typing import TYPE_CHECKING, Any

import numpy as np

from polymargin.estimators import best_classes
from polymargin.inspect._subject import Subject, label_indices

if TYPE_CHECKING:
    from numpy.typing import NDArray

TOP = 5  # classes of a row


class TopCounter:
    """Takes the scores of rows, some at a time."""

    def __init__(self, subject: Subject, y: Any) -> None:
        self._own = label_indices(subject.classes, y)
        self._hits = 0

    def add(self, part: slice, scores: "NDArray[Any]") -> None:
        """Consecutive rows."""
        found = best_classes(scores, TOP) == self._own[part][:, None]
        self._hits += int(np.count_nonzero(found))

    @property
    def share(self) -> float:
        return self._hits / len(self._own)
