"""Solvers and block solvers, and the options that only they have."""

import math
from dataclasses import dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING, ClassVar, TypeVar

if TYPE_CHECKING:
    from polymargin._core import DecompositionOptions, LinearOptions, MachineInfo


def _check_positive(options: object, field: str) -> None:
    value = getattr(options, field)
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not (is_number and 0 < value < math.inf):
        raise ValueError(
            f"{type(options).__name__}: {field} must be a positive number, got {value!r}"
        )


def _check_count(options: object, field: str, least: int) -> None:
    value = getattr(options, field)
    is_count = isinstance(value, Integral) and not isinstance(value, bool)
    if not (is_count and least <= value < 2**31):
        raise ValueError(
            f"{type(options).__name__}: {field} must be an integer from {least} to 2**31 - 1, "
            f"got {value!r}"
        )


def _check_flag(options: object, field: str) -> None:
    value = getattr(options, field)
    if value not in (True, False):
        raise ValueError(f"{type(options).__name__}: {field} must be True or False, got {value!r}")


def _check_word(options: object, field: str, known: tuple[str, ...]) -> None:
    value = getattr(options, field)
    if value not in known:
        raise ValueError(
            f"{type(options).__name__}: {field} must be one of {', '.join(known)}; got {value!r}"
        )


@dataclass(frozen=True)
class BlockSolver:
    """Way to solve the problem of one example. Base of all block solvers, not one itself."""

    name: ClassVar[str]

    def apply(self, options: "LinearOptions") -> None:
        """Write this choice into the options of the core."""
        options.block_solver = self.name


@dataclass(frozen=True)
class Newton(BlockSolver):
    """Safeguarded Newton steps on the scalar root function: exact, and the default.

    Examples
    --------
    >>> from polymargin import LinearSVM, Newton
    >>> LinearSVM(block_solver=Newton())
    LinearSVM(block_solver=Newton())
    """

    name: ClassVar[str] = "newton"


@dataclass(frozen=True)
class Sort(BlockSolver):
    """Projection onto the simplex by sorting: exact."""

    name: ClassVar[str] = "sort"


@dataclass(frozen=True)
class Pivot(BlockSolver):
    """Projection onto the simplex by pivoting, expected linear in the classes: exact."""

    name: ClassVar[str] = "pivot"


@dataclass(frozen=True)
class Bisection(BlockSolver):
    """Bisection of the block's root function, for every machine; not exact.

    Parameters
    ----------
    tol : float, default=1e-3
        Error left in the root function, relative to the bound of a variable. A loose one may stall
        above a tight gap.

    Examples
    --------
    >>> from polymargin import Bisection
    >>> Bisection(tol=1e-2)
    Bisection(tol=0.01)
    """

    name: ClassVar[str] = "bisection"
    tol: float = 1e-3

    def __post_init__(self) -> None:
        _check_positive(self, "tol")

    def apply(self, options: "LinearOptions") -> None:
        super().apply(options)
        options.block_tol = float(self.tol)


@dataclass(frozen=True)
class FixedPoint(BlockSolver):
    """Fixed-point iteration of Crammer and Singer.

    Parameters
    ----------
    tol : float, default=1e-3
        Relative change at which the iteration stops.
    max_iter : int, default=0
        Bound on the steps in one block; 0 leaves it to the solver.
    """

    name: ClassVar[str] = "fixed-point"
    tol: float = 1e-3
    max_iter: int = 0

    def __post_init__(self) -> None:
        _check_positive(self, "tol")
        _check_count(self, "max_iter", 0)

    def apply(self, options: "LinearOptions") -> None:
        super().apply(options)
        options.block_tol = float(self.tol)
        options.block_max_iter = int(self.max_iter)


@dataclass(frozen=True)
class SMO(BlockSolver):
    """Sequential minimal optimisation: one or two variables of the block at a time.

    Parameters
    ----------
    max_iter : int, default=0
        Bound on the steps in one block; 0 leaves it to the solver.
    """

    name: ClassVar[str] = "smo"
    max_iter: int = 0

    def __post_init__(self) -> None:
        _check_count(self, "max_iter", 0)

    def apply(self, options: "LinearOptions") -> None:
        super().apply(options)
        options.block_max_iter = int(self.max_iter)


@dataclass(frozen=True)
class FrankWolfe(BlockSolver):
    """Frank–Wolfe steps with exact line search.

    Parameters
    ----------
    max_iter : int, default=1
        Steps in one block.
    """

    name: ClassVar[str] = "frank-wolfe"
    max_iter: int = 1

    def __post_init__(self) -> None:
        _check_count(self, "max_iter", 1)

    def apply(self, options: "LinearOptions") -> None:
        super().apply(options)
        options.block_max_iter = int(self.max_iter)


@dataclass(frozen=True)
class Walrus(BlockSolver):
    """Exact solution by sorting break points (Wang and Scott), for machines joined by a sum."""

    name: ClassVar[str] = "walrus"


@dataclass(frozen=True)
class Greedy(BlockSolver):
    """Greedy ascent over pairs of variables, for machines joined by a sum; not exact.

    Parameters
    ----------
    threshold : float, default=1e-3
        Fraction of the starting violation at which a block is left.
    max_iter : int, default=0
        Bound on the steps in one block; 0 leaves it to the solver.
    """

    name: ClassVar[str] = "greedy"
    threshold: float = 1e-3
    max_iter: int = 0

    def __post_init__(self) -> None:
        _check_positive(self, "threshold")
        _check_count(self, "max_iter", 0)

    def apply(self, options: "LinearOptions") -> None:
        super().apply(options)
        options.block_tol = float(self.threshold)
        options.block_max_iter = int(self.max_iter)


@dataclass(frozen=True)
class BlockDescent:
    """Dual block coordinate descent, one example at a time: what ``solver="auto"`` means.

    Parameters
    ----------
    shrinking : bool, default=True
        Whether passes over the violating examples only alternate with full passes.

    Examples
    --------
    >>> from polymargin import BlockDescent, LinearSVM
    >>> LinearSVM(solver=BlockDescent(shrinking=False)).solver.shrinking
    False
    """

    name: ClassVar[str] = "block-descent"
    shrinking: bool = True

    def __post_init__(self) -> None:
        _check_flag(self, "shrinking")

    def apply(self, options: "LinearOptions") -> None:
        """Write this choice into the options of the core."""
        options.shrinking = bool(self.shrinking)


@dataclass(frozen=True)
class Blocks:
    """Two-level working sets, the loop of kernel machines that ``solver="auto"`` means.

    Parameters
    ----------
    size : int, default=0
        Examples in a working set; 0 leaves it to the solver.
    fraction : float, default=0.1
        Part of its gap at which a working set is left.
    passes : int, default=20
        Bound on the passes over a working set.

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

    def __post_init__(self) -> None:
        _check_count(self, "size", 0)
        _check_positive(self, "fraction")
        _check_count(self, "passes", 1)

    def size_for(self, n_classes: int) -> int:
        """Examples in a working set of this many classes."""
        if self.size:
            return max(self.size, 2)
        return 1024 if n_classes <= 16 else 512


@dataclass(frozen=True)
class Decomposition:
    """Few dual variables at a time. Base of such loops of kernel machines, not one itself."""

    name: ClassVar[str]

    def apply(self, options: "DecompositionOptions") -> None:
        """Write this choice into the options of the core."""
        options.solver = self.name

    def is_defined_for(self, machine: "MachineInfo") -> bool:
        """Whether the solver can train this machine."""
        return True


@dataclass(frozen=True)
class SMOSolver(Decomposition):
    """One dual variable of the whole problem at a time (Doğan, Glasmachers and Igel).

    The variable is chosen by the largest gain without bounds. Machines joined by a maximum move
    mass between two variables of one example instead.

    Parameters
    ----------
    shrinking : bool, default=True
        Whether variables that stay at a bound are left out, and examples that have no others.

    Examples
    --------
    >>> from polymargin import KernelSVM, SMOSolver
    >>> KernelSVM(solver=SMOSolver(shrinking=False)).solver.shrinking
    False
    """

    name: ClassVar[str] = "smo"
    shrinking: bool = True

    def __post_init__(self) -> None:
        _check_flag(self, "shrinking")

    def apply(self, options: "DecompositionOptions") -> None:
        super().apply(options)
        options.shrinking = bool(self.shrinking)


@dataclass(frozen=True)
class S2DO(Decomposition):
    """Two dual variables of the whole problem at a time (Doğan, Glasmachers and Igel).

    The first is the one with the largest gradient, the second the one with which it gains most
    without bounds; both move to the optimum inside their bounds. For machines joined by a maximum
    the same as `SMOSolver`.

    Parameters
    ----------
    shrinking : bool, default=True
        Whether variables that stay at a bound are left out, and examples that have no others.
    """

    name: ClassVar[str] = "s2do"
    shrinking: bool = True

    def __post_init__(self) -> None:
        _check_flag(self, "shrinking")

    def apply(self, options: "DecompositionOptions") -> None:
        super().apply(options)
        options.shrinking = bool(self.shrinking)


@dataclass(frozen=True)
class CrammerSinger(Decomposition):
    """One example at a time by a fixed-point iteration (Crammer and Singer).

    Parameters
    ----------
    selection : {"kkt", "cyclic", "random"}, default="kkt"
        The next example: the one that violates the optimality conditions most, or each in turn.
    active_set : bool, default=True
        Whether examples in use come first; others wait until those are accurate.
    cooling : {"log", "exponential", "linear", "none"}, default="log"
        How that accuracy falls from step to step.
    cache : {"lru", "none"}, default="lru"
        Whether kernel rows are kept.
    tol : float, default=1e-3
        Relative change at which the fixed-point iteration stops. It falls where that leaves an
        example less accurate than the others have to be.

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
    tol: float = 1e-3

    def __post_init__(self) -> None:
        _check_word(self, "selection", ("kkt", "cyclic", "random"))
        _check_flag(self, "active_set")
        _check_word(self, "cooling", ("log", "exponential", "linear", "none"))
        _check_word(self, "cache", ("lru", "none"))
        _check_positive(self, "tol")

    def apply(self, options: "DecompositionOptions") -> None:
        super().apply(options)
        options.selection = self.selection
        options.active_set = bool(self.active_set)
        options.cooling = self.cooling
        options.cached = self.cache == "lru"
        options.block_tol = float(self.tol)

    def is_defined_for(self, machine: "MachineInfo") -> bool:
        return FixedPoint.name in machine.block_solvers


BLOCK_SOLVERS: dict[str, type[BlockSolver]] = {
    cls.name: cls
    for cls in (Newton, Sort, Pivot, Bisection, FixedPoint, SMO, FrankWolfe, Walrus, Greedy)
}
SOLVERS: dict[str, type[BlockDescent]] = {BlockDescent.name: BlockDescent}
KERNEL_SOLVERS: dict[str, type[Blocks] | type[Decomposition]] = {
    Blocks.name: Blocks,
    SMOSolver.name: SMOSolver,
    S2DO.name: S2DO,
    CrammerSinger.name: CrammerSinger,
}

_Options = TypeVar("_Options")


def _by_name(kind: str, name: str, known: dict[str, type[_Options]]) -> _Options:
    if name not in known:
        raise ValueError(f"unknown {kind} {name!r}; known are auto, {', '.join(known)}")
    return known[name]()


def find_solver(solver: str | BlockDescent) -> BlockDescent:
    """The options object meant by the parameter `solver` of an estimator."""
    if not isinstance(solver, str):
        return solver
    return BlockDescent() if solver == "auto" else _by_name("solver", solver, SOLVERS)


def find_kernel_solver(
    solver: str | Blocks | Decomposition, machine: "MachineInfo", machines: "list[MachineInfo]"
) -> Blocks | Decomposition:
    """The same for kernel machines; ValueError where `machine` has no such solver."""
    if isinstance(solver, str):
        solver = Blocks() if solver == "auto" else _by_name("solver", solver, KERNEL_SOLVERS)
    if isinstance(solver, Decomposition) and not solver.is_defined_for(machine):
        defined = [info.name for info in machines if solver.is_defined_for(info)]
        raise ValueError(
            f"solver {solver.name!r} is not defined for machine {machine.name!r}; it is defined "
            f"for {', '.join(defined)}"
        )
    return solver


def find_block_solver(block_solver: str | BlockSolver, machine: "MachineInfo") -> BlockSolver:
    """The options object meant by `block_solver`; ValueError where `machine` has no such."""
    if block_solver == "auto":
        return BLOCK_SOLVERS[machine.block_solvers[0]]()
    if isinstance(block_solver, str):
        block_solver = _by_name("block_solver", block_solver, BLOCK_SOLVERS)
    if block_solver.name not in machine.block_solvers:
        raise ValueError(
            f"block solver {block_solver.name!r} is not defined for machine {machine.name!r}; "
            f"defined are {', '.join(machine.block_solvers)}"
        )
    return block_solver
