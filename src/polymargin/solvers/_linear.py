"""Outer loops of linear machines, and the options that only they have."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from polymargin._options import HISTORIES, check_flag, check_word
from polymargin.solvers._base import OuterLoop
from polymargin.solvers._second_order import SecondOrder

if TYPE_CHECKING:
    from polymargin.core import LinearOptions


@dataclass(frozen=True)
class BlockDescent(OuterLoop):
    """Dual block coordinate descent, one example at a time.

    Parameters
    ----------
    shrinking : bool, default=True
        Whether examples at rest are set aside until the next check, and those with next to
        nothing to gain are left as they are.
    class_lists : bool, default=True
        Whether, with more than 32 classes, sweeps over the classes that matter to an example come
        between those over all.
    second_order : bool, default=True
        Whether steps on all free variables at once come between the sweeps where they pay.
    history : {"checks", "passes"}, default="checks"
        What `history_` has a record of. After each pass the objectives are computed while the
        clock stands still, for a curve over time; it leaves the fit as it is.

    Notes
    -----
    Without the three switches a pass visits every example once, with all its classes: the plain
    block coordinate descent of the papers, in which ``max_iter=3`` is three such passes.

    Examples
    --------
    >>> from polymargin import BlockDescent, LinearSVM
    >>> plain = BlockDescent(shrinking=False, class_lists=False, second_order=False)
    >>> LinearSVM(solver=plain).solver.shrinking
    False
    """

    name: ClassVar[str] = "block-descent"
    shrinking: bool = True
    class_lists: bool = True
    second_order: bool = True
    history: str = "checks"

    def __post_init__(self) -> None:
        for flag in ("shrinking", "class_lists", "second_order"):
            check_flag(self, flag)
        check_word(self, "history", HISTORIES)

    def apply(self, options: "LinearOptions") -> None:
        """Write this choice into the options of the core."""
        options.shrinking = bool(self.shrinking)
        options.class_lists = bool(self.class_lists)
        options.second_order = bool(self.second_order)
        options.record_passes = self.history == "passes"


@dataclass(frozen=True)
class Automatic(BlockDescent):
    """Descent as long as it is ahead, second-order steps from where they are predicted to be."""

    name: ClassVar[str] = "auto"


LINEAR_SOLVERS: dict[str, type[BlockDescent | SecondOrder]] = {
    Automatic.name: Automatic,
    BlockDescent.name: BlockDescent,
    SecondOrder.name: SecondOrder,
}
