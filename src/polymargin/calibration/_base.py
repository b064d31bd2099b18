"""What all calibrators share."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import NDArray


class Calibrator(ABC):
    """A map from the scores of all classes to probabilities."""

    name: ClassVar[str]  # of the parameter `calibration` of an estimator
    by_class: ClassVar[bool]  # whether a class needs rows of its own to learn from

    @classmethod
    @abstractmethod
    def learn(
        cls,
        scores: "NDArray[np.float64]",
        labels: "NDArray[Any]",
        weight: "NDArray[np.float64]",
    ) -> "Self":
        """The best one for scores (n, k) of rows with these labels, numbers 0 .. k - 1, and
        positive weights."""

    @abstractmethod
    def log_probabilities(self, scores: "NDArray[Any]") -> "NDArray[np.float64]":
        """Logarithms of the probabilities (n, k) at finite scores (n, k)."""

    def probabilities(self, scores: "NDArray[Any]") -> "NDArray[np.float64]":
        """Probabilities (n, k), each row of which sums to 1."""
        values: NDArray[np.float64] = np.exp(self.log_probabilities(scores))
        return values


def against_the_rest(scores: "NDArray[Any]") -> "NDArray[np.float64]":
    """A column for each class that says how it stands: its score, of two their difference."""
    scores = scores.astype(np.float64)
    return scores - scores[:, ::-1] if scores.shape[1] == 2 else scores
