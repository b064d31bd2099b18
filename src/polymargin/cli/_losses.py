"""How good probabilities are, added up batch by batch."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass
class Losses:
    """Sums over rows whose label is one of the classes, as scikit-learn's metrics define them.

    The Brier score is sum_c (p_c - [y = c])^2, and half of it for two classes.
    """

    classes: "NDArray[Any]"
    n: int = 0
    log: float = 0.0
    brier: float = 0.0

    def add(self, labels: list[Any], p: "NDArray[Any]") -> None:
        """Rows with these labels, some of which may be no classes."""
        place = {label: c for c, label in enumerate(self.classes.tolist())}
        own = np.array([place.get(label, -1) for label in labels], np.int64)
        known = np.flatnonzero(own >= 0)
        p = p[known].astype(np.float64)
        own_p = p[np.arange(len(known)), own[known]]
        self.n += len(known)
        self.log -= float(np.log(own_p.clip(np.finfo(np.float64).eps, 1)).sum())
        squares = (p**2).sum() - (own_p**2).sum() + ((1 - own_p) ** 2).sum()
        self.brier += float(squares) / (2 if len(self.classes) == 2 else 1)

    def means(self) -> dict[str, float | None]:
        """None where no label is known."""
        n = self.n
        return {"log_loss": self.log / n if n else None, "brier": self.brier / n if n else None}
