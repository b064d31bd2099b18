"""Outer loops of kernel machines, and the options that only they have."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from polymargin._options import (
    HISTORIES,
    check_count,
    check_flag,
    check_positive,
    check_word,
)
from polymargin.block_solvers import FixedPoint
from polymargin.solvers._base import OuterLoop
from polymargin.solvers._second_order import SecondOrder

if TYPE_CHECKING:
    from polymargin.core import DecompositionOptions, MachineInfo


@dataclass(frozen=True)
class Blocks(OuterLoop):
    """Two-level working sets: kernel machines by blocks of examples.

    A working set is solved two variables at a time or, an example after the other, by the block
    solver.

    Parameters
    ----------
    size : int, default=0
        Examples in a working set; 0 leaves it to the solver.
    fraction : float, default=0.1
        Part of its gap at which a working set is left.
    passes : int, default=20
        Bound on the passes over a working set; as many steps as it has examples are a pass.
    pairs : bool, default=True
        Whether two variables at a time are moved where that is defined, for the machine ``"ww"``
        with ``block_solver="auto"``.

    Examples
    --------
    >>> from polymargin import Blocks, KernelSVM
    >>> KernelSVM(solver=Blocks(size=256)).solver.size
    256
    """

    name: ClassVar[str] = "blocks"
    size: int = 0
    fraction: float = 0.1
    passes: int = 20
    pairs: bool = True

    def __post_init__(self) -> None:
        check_count(self, "size", 0)
        check_positive(self, "fraction")
        check_count(self, "passes", 1)
        check_flag(self, "pairs")

    def sizes_for(self, n_classes: int, by_pairs: bool) -> tuple[int, int]:
        """Examples in the first working sets of so many classes, and in the last ones."""
        if self.size:
            return max(self.size, 2), max(self.size, 2)
        if by_pairs:
            return 256, 2048
        size = 1024 if n_classes <= 32 else 512
        return size, size


@dataclass(frozen=True)
class AutomaticBlocks(Blocks):
    """Working sets as long as they are ahead, then second-order steps."""

    name: ClassVar[str] = "auto"


@dataclass(frozen=True)
class Decomposition(OuterLoop):
    """Few dual variables at a time. Base of such loops of kernel machines, not one itself."""

    def apply(self, options: "DecompositionOptions") -> None:
        """Write this choice into the options of the core."""
        options.solver = self.name


@dataclass(frozen=True)
class Sequential(Decomposition):
    """One or two variables at a time. Base of such loops, not one itself.

    Parameters
    ----------
    shrinking : bool, default=True
        Whether variables that stay at a bound are left out, and examples that have no others.
    history : {"checks", "passes"}, default="checks"
        What `history_` has a record of; after each n steps the clock stands still for it.
    """

    shrinking: bool = True
    history: str = "checks"

    def __post_init__(self) -> None:
        check_flag(self, "shrinking")
        check_word(self, "history", HISTORIES)

    def apply(self, options: "DecompositionOptions") -> None:
        super().apply(options)
        options.record_passes = self.history == "passes"
        options.shrinking = bool(self.shrinking)


@dataclass(frozen=True)
class SMO(Sequential):
    """One dual variable of the whole problem at a time (Doğan, Glasmachers and Igel).

    The variable is chosen by the largest gain without bounds. Machines joined by a maximum move
    mass between two variables of one example instead.

    Parameters
    ----------
    shrinking : bool, default=True
        Whether variables that stay at a bound are left out, and examples that have no others.
    history : {"checks", "passes"}, default="checks"
        What `history_` has a record of; after each n steps the clock stands still for it.

    Examples
    --------
    >>> from polymargin import KernelSVM, solvers
    >>> KernelSVM(solver=solvers.SMO(shrinking=False)).solver.shrinking
    False
    """

    name: ClassVar[str] = "smo"


@dataclass(frozen=True)
class S2DO(Sequential):
    """Two dual variables of the whole problem at a time (Doğan, Glasmachers and Igel).

    The first is the one with the largest gradient, the second the one with which it gains most
    without bounds; both move to the optimum inside their bounds. For machines joined by a maximum
    the same as `SMO`.

    Parameters
    ----------
    shrinking : bool, default=True
        Whether variables that stay at a bound are left out, and examples that have no others.
    history : {"checks", "passes"}, default="checks"
        What `history_` has a record of; after each n steps the clock stands still for it.
    """

    name: ClassVar[str] = "s2do"


@dataclass(frozen=True)
class CrammerSinger(Decomposition):
    """One example at a time by a fixed-point iteration (Crammer and Singer).

    Parameters
    ----------
    selection : {"kkt", "cyclic", "random"}, default="kkt"
        The next example: the one that violates the optimality conditions most, or every one in
        turn without a look at the conditions, in the order of the rows or in a random one.
    active_set : bool, default=True
        Whether examples in use come first; others wait until those are accurate. Only with
        ``selection="kkt"``.
    cooling : {"log", "exponential", "linear", "none"}, default="log"
        How that accuracy falls from step to step. Only with ``selection="kkt"``.
    cache : {"lru", "none"}, default="lru"
        Whether kernel rows are kept. With ``"none"`` each step computes its row anew, and
        `cache_size` is not used.
    tol : float, default=None
        Relative change at which the fixed-point iteration stops; None is half of the accuracy in
        force. It falls where that leaves an example less accurate than the others have to be.
    history : {"checks", "passes"}, default="checks"
        What `history_` has a record of; after each n steps the clock stands still for it.

    Notes
    -----
    The versions that the paper compares are ``selection="cyclic"``, then ``"kkt"`` without active
    set and cooling, then with both, all with ``cache="none"``, then with a cache. For ``"ovr"``
    each class is trained against all others by this solver, one after the other.

    Examples
    --------
    >>> from polymargin import CrammerSinger, KernelSVM
    >>> KernelSVM("cs", solver=CrammerSinger(cooling="linear")).solver.cooling
    'linear'
    """

    name: ClassVar[str] = "crammer-singer"
    selection: str = "kkt"
    active_set: bool = True
    cooling: str = "log"
    cache: str = "lru"
    tol: float | None = None
    history: str = "checks"

    def __post_init__(self) -> None:
        check_word(self, "selection", ("kkt", "cyclic", "random"))
        check_flag(self, "active_set")
        check_word(self, "cooling", ("log", "exponential", "linear", "none"))
        check_word(self, "cache", ("lru", "none"))
        if self.tol is not None:
            check_positive(self, "tol")
        check_word(self, "history", HISTORIES)

    def apply(self, options: "DecompositionOptions") -> None:
        super().apply(options)
        options.record_passes = self.history == "passes"
        options.selection = self.selection
        options.active_set = bool(self.active_set)
        options.cooling = self.cooling
        options.cached = self.cache == "lru"
        options.block_tol = 0.0 if self.tol is None else float(self.tol)

    def is_defined_for(self, machine: "MachineInfo") -> bool:
        return FixedPoint.name in machine.block_solvers or machine.separable


KERNEL_SOLVERS: dict[str, type[Blocks | Decomposition | SecondOrder]] = {
    AutomaticBlocks.name: AutomaticBlocks,
    Blocks.name: Blocks,
    SMO.name: SMO,
    S2DO.name: S2DO,
    CrammerSinger.name: CrammerSinger,
    SecondOrder.name: SecondOrder,
}
