"""Outer loops of linear machines, and the options that only they have."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from polymargin._options import HISTORIES, check_count, check_flag, check_positive, check_word
from polymargin.solvers._base import OuterLoop
from polymargin.solvers._second_order import SecondOrder

if TYPE_CHECKING:
    from polymargin.core import LinearOptions, MachineInfo


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
        Whether steps on all free variables at once come between the sweeps where they pay, and
        weights are repaired once the dual variables are good enough.
    relaxation : float, default=None
        How far a visit goes, from 1, the best step for the example alone, to below 2. Farther is
        faster where examples answer each other's steps. None: 1.5, and 1 without shrinking.
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
    relaxation: float | None = None
    history: str = "checks"

    def __post_init__(self) -> None:
        for flag in ("shrinking", "class_lists", "second_order"):
            check_flag(self, flag)
        if self.relaxation is not None:
            check_positive(self, "relaxation")
            if not 1 <= self.relaxation < 2:
                raise ValueError(
                    "BlockDescent: relaxation must be at least 1 and below 2, "
                    f"got {self.relaxation!r}"
                )
        check_word(self, "history", HISTORIES)

    def apply(self, options: "LinearOptions") -> None:
        """Write this choice into the options of the core."""
        options.shrinking = bool(self.shrinking)
        options.class_lists = bool(self.class_lists)
        options.second_order = bool(self.second_order)
        if self.relaxation is not None:
            options.relaxation = float(self.relaxation)
        elif not self.shrinking:
            options.relaxation = 1.0
        options.record_passes = self.history == "passes"


@dataclass(frozen=True)
class LocalDescent(OuterLoop):
    """Block descent by several processes at once, each on rows of its own.

    For `polymargin.distributed.LinearSVM`, see there. After a few passes over its rows a process
    tells the others what they have changed, and all add it to their weights. The steps are so short
    that this never lowers the dual objective. On one process it is `BlockDescent` without
    second-order steps.

    Parameters
    ----------
    passes : int, default=5
        Bound on the passes of a process over its active rows before it looks at all of them.
    shrinking : bool, default=True
        Whether variables that have not moved in three looks at all rows are left out until a check
        finds that they matter, rows at rest are set aside until the next look, and those with next
        to nothing to gain are left as they are.
    class_lists : bool, default=True
        Whether, with more than 32 classes, passes over the classes that matter to a row follow the
        one over all.
    epochs : int, default=None
        So many passes, whatever the gap is; None: until the fit has converged. One process alone
        makes no more than these, and ends before where it has converged.

    Examples
    --------
    >>> from polymargin import LocalDescent
    >>> LocalDescent(passes=10).passes
    10
    """

    name: ClassVar[str] = "local-descent"
    passes: int = 5
    shrinking: bool = True
    class_lists: bool = True
    epochs: int | None = None

    def __post_init__(self) -> None:
        check_count(self, "passes", 1)
        for flag in ("shrinking", "class_lists"):
            check_flag(self, flag)
        if self.epochs is not None:
            check_count(self, "epochs", 1)

    def apply(self, options: "LinearOptions") -> None:
        """Write this choice into the options of the core."""
        options.shrinking = bool(self.shrinking)
        options.class_lists = bool(self.class_lists)
        options.second_order = False
        if self.epochs is not None:
            options.max_iter = int(self.epochs)


@dataclass(frozen=True)
class DealtClasses(OuterLoop):
    """Classes dealt to several processes. Base of such loops, not one itself.

    Parameters
    ----------
    shrinking : bool, default=True
        Whether variables at rest are left out.
    epochs : int, default=None
        So many passes, whatever the gap is; None: until the fit has converged. One process alone
        makes no more than these, and ends before where it has converged.
    part : float, default=0.1
        Part of a pass between two exchanges.
    """

    shrinking: bool = True
    epochs: int | None = None
    part: float = 0.1

    def __post_init__(self) -> None:
        check_flag(self, "shrinking")
        if self.epochs is not None:
            check_count(self, "epochs", 1)
        check_positive(self, "part")
        if self.part > 1:
            raise ValueError(f"{type(self).__name__}: part must be at most 1, got {self.part!r}")

    @property
    def n_parts(self) -> int:
        """Of a pass."""
        return round(1 / self.part)

    def apply(self, options: "LinearOptions") -> None:
        """Write this choice into the options of the core."""
        options.shrinking = bool(self.shrinking)
        options.second_order = False
        if self.epochs is not None:
            options.max_iter = int(self.epochs)


@dataclass(frozen=True)
class MeanWeights(DealtClasses):
    """Ascent by several processes at once, each on classes of its own, with their mean fixed.

    For `polymargin.distributed.LinearSVM`, see there, and for machines whose problem falls apart
    into one for each class once the mean weights are known (Alber, Zimmert, Doğan and Kloft): the
    processes tell each other the mean of the weights and nothing else. Those of one-vs-rest have
    not even that to tell. On one process it is `BlockDescent` without second-order steps.

    Parameters
    ----------
    shrinking : bool, default=True
        Whether variables that have not moved in three looks at all rows are left out until a check
        finds that they matter, rows at rest are set aside until the next look, and those with next
        to nothing to gain are left as they are.
    epochs : int, default=None
        So many passes, whatever the gap is; None: until the fit has converged. One process alone
        makes no more than these, and ends before where it has converged.
    part : float, default=0.1
        Part of a pass after which the mean is brought up to date.
    overlap : bool, default=False
        Whether the mean is on its way while work goes on: it is brought up to date after every
        second part, to that after the first of both.

    Examples
    --------
    >>> from polymargin import MeanWeights
    >>> MeanWeights(epochs=10, shrinking=False).part
    0.1
    """

    name: ClassVar[str] = "mean-weights"
    overlap: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_flag(self, "overlap")

    def is_defined_for(self, machine: "MachineInfo") -> bool:
        return machine.separable or (
            machine.zero_sum and not machine.simplex and not machine.has_own
        )


@dataclass(frozen=True)
class Leagues(DealtClasses):
    """Leagues of classes that meet in a tournament of several processes.

    For `polymargin.distributed.LinearSVM`, see there, and for Weston and Watkins' machine, whose
    steps need the weights of two classes alone (Alber, Zimmert, Doğan and Kloft). Each process has
    the weights of the two leagues whose matches it hosts, and plays as many of these at a time as
    `n_jobs` has threads. On one process it is `BlockDescent` without
    second-order steps.

    Parameters
    ----------
    shrinking : bool, default=True
        Whether variables that have not moved in three tournaments are left out until a check finds
        that they matter, and rows with next to nothing to gain in a match are left as they are.
    epochs : int, default=None
        So many passes, whatever the gap is; None: until the fit has converged. One process alone
        makes no more than these, and ends before where it has converged.
    part : float, default=1.0
        Part of the rows that are visited in a tournament. Small ones send more and converge more
        slowly.
    sparse : bool, default=True
        Whether of weights that are mostly zero only those that are not, and have changed, travel;
        False: all of them.

    Examples
    --------
    >>> from polymargin import Leagues
    >>> Leagues(part=0.2).n_parts
    5
    """

    name: ClassVar[str] = "leagues"
    part: float = 1.0
    sparse: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_flag(self, "sparse")

    def is_defined_for(self, machine: "MachineInfo") -> bool:
        return machine.relative and not machine.simplex


@dataclass(frozen=True)
class Automatic(BlockDescent):
    """Descent as long as it is ahead, second-order steps from where they are predicted to be."""

    name: ClassVar[str] = "auto"


LinearLoop = BlockDescent | Leagues | LocalDescent | MeanWeights | SecondOrder

LINEAR_SOLVERS: dict[str, type[LinearLoop]] = {
    Automatic.name: Automatic,
    BlockDescent.name: BlockDescent,
    Leagues.name: Leagues,
    LocalDescent.name: LocalDescent,
    MeanWeights.name: MeanWeights,
    SecondOrder.name: SecondOrder,
}
