"""What rows and classes dealt to processes share: one descent of the core on what is here."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from polymargin import core
from polymargin.distributed._ranks import Ranks

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from polymargin.core import Duals


class LocalPart(ABC):
    """A part of a problem that stays with a process."""

    parts: int

    def __init__(self, ranks: Ranks, local: core.LocalDescent, width: int) -> None:
        """`width` is the number of classes whose weights count here."""
        self._ranks, self._local, self._width = ranks, local, width
        self._weights = local.weights
        self._of_duals: NDArray[np.float64] | None = None  # weights in double, after a check

    @abstractmethod
    def measure(self) -> tuple[float, float, float]:
        """Objectives and largest violation of the whole problem; sets the weights of the duals."""

    def load(self) -> None:
        self._ranks.meet("a warm start", None)
        self.measure()
        self._take_weights_of_duals()

    def begin(self, all_rows: bool) -> None:
        self._take_weights_of_duals()
        self._local.begin(all_rows)

    def _take_weights_of_duals(self) -> None:
        """From which rounding errors of many steps have moved the others away."""
        if self._of_duals is not None:
            self._weights[:, : self._width] = self._of_duals
            self._of_duals = None

    def descend(
        self, part: int, negligible: float, poll: "Callable[[], None]"
    ) -> tuple[float, float, BaseException | None]:
        return self._local.descend(part, self.parts, negligible, poll)

    def end(self) -> None:
        self._local.end()

    def take_back(self) -> None:
        self._local.take_back()

    def own_duals(self) -> "Duals":
        return self._local.duals()
