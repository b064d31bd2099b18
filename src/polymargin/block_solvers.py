"""Block solvers, and the options that only they have."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from polymargin._options import by_name, check_count, check_positive

if TYPE_CHECKING:
    from polymargin.core import LinearOptions, MachineInfo

__all__ = [
    "SMO",
    "Bisection",
    "FixedPoint",
    "FrankWolfe",
    "Greedy",
    "GreedyPairs",
    "Newton",
    "Pivot",
    "Sort",
    "Walrus",
]


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
        check_positive(self, "tol")

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
        check_positive(self, "tol")
        check_count(self, "max_iter", 0)

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
        check_count(self, "max_iter", 0)

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
        check_count(self, "max_iter", 1)

    def apply(self, options: "LinearOptions") -> None:
        super().apply(options)
        options.block_max_iter = int(self.max_iter)


@dataclass(frozen=True)
class Walrus(BlockSolver):
    """Exact solution by sorting break points (Wang and Scott), for machines joined by a sum."""

    name: ClassVar[str] = "walrus"


@dataclass(frozen=True)
class Greedy(BlockSolver):
    """Greedy ascent, one variable at a time, as Shark does it, for machines joined by a sum.

    Not exact: the variable that violates the optimality conditions most moves until none violates
    them by more than the threshold.

    Parameters
    ----------
    threshold : float, default=None
        Violation at which a block is left, where margins are 1; None is a tenth of the
        estimator's `tol`. A loose one may stall above a tight gap.
    max_iter : int, default=0
        Bound on the steps in one block; 0 is ten for each class.

    Examples
    --------
    >>> from polymargin import Greedy, LinearSVM
    >>> model = LinearSVM(block_solver=Greedy(), stopping="kkt", random_state=0)
    >>> model.fit([[0.0, 0.0], [1.0, 0.0]], [0, 1]).converged_
    True
    """

    name: ClassVar[str] = "greedy"
    threshold: float | None = None
    max_iter: int = 0

    def __post_init__(self) -> None:
        if self.threshold is not None:
            check_positive(self, "threshold")
        check_count(self, "max_iter", 0)

    def apply(self, options: "LinearOptions") -> None:
        super().apply(options)
        options.block_tol = 0.1 * options.tol if self.threshold is None else float(self.threshold)
        options.block_max_iter = int(self.max_iter)


@dataclass(frozen=True)
class GreedyPairs(BlockSolver):
    """Greedy ascent over pairs of variables, for machines joined by a sum; not exact.

    Parameters
    ----------
    threshold : float, default=1e-3
        Fraction of the starting violation at which a block is left.
    max_iter : int, default=0
        Bound on the steps in one block; 0 leaves it to the solver.
    """

    name: ClassVar[str] = "greedy-pairs"
    threshold: float = 1e-3
    max_iter: int = 0

    def __post_init__(self) -> None:
        check_positive(self, "threshold")
        check_count(self, "max_iter", 0)

    def apply(self, options: "LinearOptions") -> None:
        super().apply(options)
        options.block_tol = float(self.threshold)
        options.block_max_iter = int(self.max_iter)


BLOCK_SOLVERS: dict[str, type[BlockSolver]] = {
    cls.name: cls
    for cls in (
        Newton,
        Sort,
        Pivot,
        Bisection,
        FixedPoint,
        SMO,
        FrankWolfe,
        Walrus,
        Greedy,
        GreedyPairs,
    )
}


def find_block_solver(block_solver: str | BlockSolver, machine: "MachineInfo") -> BlockSolver:
    """The options object meant by `block_solver`; ValueError where `machine` has no such."""
    if block_solver == "auto":
        return BLOCK_SOLVERS[machine.block_solvers[0]]()
    if isinstance(block_solver, str):
        block_solver = by_name("block_solver", block_solver, BLOCK_SOLVERS)
    if block_solver.name not in machine.block_solvers:
        raise ValueError(
            f"block solver {block_solver.name!r} is not defined for machine {machine.name!r}; "
            f"defined are {', '.join(machine.block_solvers)}"
        )
    return block_solver
