"""What all outer loops share."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from polymargin.core import MachineInfo


@dataclass(frozen=True)
class OuterLoop:
    """Way to go through the examples. Base of all outer loops, not one itself."""

    name: ClassVar[str]

    def is_defined_for(self, machine: "MachineInfo") -> bool:
        """Whether it can train this machine."""
        return True
