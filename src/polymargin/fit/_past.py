"""What lies behind a fit that goes on where another one was interrupted."""

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from polymargin.fit._progress import RECORD

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Past:
    """Effort and checks so far; nothing, by default."""

    seconds: float = 0.0
    epochs: float = 0.0
    history: "NDArray[Any]" = field(default_factory=lambda: np.empty(0, RECORD))
    data_hash: str | None = None  # of the rows to come, where it is known

    @classmethod
    def of(cls, history: "NDArray[Any]") -> "Past":
        """What lies behind the last of these checks."""
        last = history[-1]
        return cls(float(last["seconds"]), float(last["epoch"]), history)

    def passes_with(self, n_iter: int, history: "NDArray[Any]") -> int:
        """All passes, the last one rounded up once."""
        if not self.epochs or not len(history):
            return n_iter
        return math.ceil(self.epochs + float(history["epoch"][-1]))

    def followed_by(self, history: "NDArray[Any]") -> "NDArray[Any]":
        """All checks, where those of the later fit count epochs and seconds from its own start."""
        later = history.copy()
        later["epoch"] += self.epochs
        later["seconds"] += self.seconds
        return np.concatenate([self.history, later])

    def and_then(self, later: "Past") -> "Past":
        """This, and what came after it."""
        return Past(
            self.seconds + later.seconds,
            self.epochs + later.epochs,
            self.followed_by(later.history),
        )
