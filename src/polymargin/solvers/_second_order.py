"""Second-order steps, of linear and of kernel machines."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from polymargin._options import check_count
from polymargin.solvers._base import OuterLoop

if TYPE_CHECKING:
    from polymargin.core import LinearOptions


@dataclass(frozen=True)
class SecondOrder(OuterLoop):
    """Newton steps on all free dual variables, stage by stage of a proximal point method.

    It takes a few dozen steps whatever `C` is, each of which factorises a matrix: over the weights,
    where features times classes are few, or over the free variables.

    Parameters
    ----------
    max_free : int, default=4000
        Rows up to which a matrix is factorised: free variables or weights, where margins are
        absolute those of a class, or examples with a free variable. Beyond, descent goes on from
        the best dual variables that were found.

    Examples
    --------
    >>> from polymargin import LinearSVM, solvers
    >>> LinearSVM(C=1e4, solver=solvers.SecondOrder()).solver.max_free
    4000
    """

    name: ClassVar[str] = "second-order"
    max_free: int = 4000

    def __post_init__(self) -> None:
        check_count(self, "max_free", 1)

    def apply(self, options: "LinearOptions") -> None:
        """Options of the core are those of descent, which takes over where the steps end."""
