"""A kernel problem as devices see it."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from polymargin.second_order import Variables

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import NDArray

    from polymargin.core import MachineInfo
    from polymargin.kernel._functions import Kernel, Points


@dataclass(frozen=True)
class KernelProblem:
    """Examples with all that is known of them, and the kernel between them."""

    kernel: "Kernel"
    points: "Points"
    diagonal: "NDArray[Any]"  # K_ii
    labels: "NDArray[Any]"  # 0 .. n_classes - 1
    upper: "NDArray[Any]"  # C_i
    n_classes: int
    machine: "MachineInfo"

    def __len__(self) -> int:
        return len(self.points)

    def variables(self) -> Variables:
        """What its dual variables mean."""
        return Variables(self.machine, self.labels, self.upper, self.n_classes)

    def part(self, examples: "NDArray[Any]") -> "Self":
        """Some of the examples alone."""
        return replace(
            self,
            points=self.points[examples],
            diagonal=self.diagonal[examples],
            labels=self.labels[examples],
            upper=self.upper[examples],
        )
