"""What a device is: the place where kernel values and the scores of all examples live.

The dual variables are with the solver, in the core. A round reads the Gram matrix and the scores of
a working set from the device, and gives back how the vectors a_i of its examples changed. Which
examples form a working set and which are set aside is decided above, for all devices alike.
"""

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from typing import Self

    import numpy as np
    from numpy.typing import NDArray

    from polymargin.core import Changes, WorkingSetSolver


class Checked(NamedTuple):
    """How far a problem is from its optimum."""

    gaps: "NDArray[np.float64]"  # each example's part; the next check may overwrite it
    violations: "NDArray[np.float64]"  # of the KKT conditions, each example's largest; likewise
    primal: float
    dual: float
    violation: float


class Device(Protocol):
    """Kernel values and scores of n examples.

    The scores f_i = sum_j K_ij a_j, k for each example and not centred, are 0 at first.
    """

    n_computed: int  # kernel rows so far, each time that one was

    def gram(self, examples: "NDArray[np.int64]") -> "tuple[NDArray[np.int64], NDArray[Any]]":
        """These examples, in an order that suits the device, and their Gram matrix.

        A C-contiguous array in the precision of the points, with K_ii on the diagonal.
        """
        ...

    def scores(self, examples: "NDArray[np.int64] | None" = None) -> "NDArray[np.float64]":
        """Those of some examples, (m, k), as a copy; those of all may be a view."""
        ...

    def add_scores(self, changes: "Changes") -> None:
        """Bring the scores of all examples up to date: f_j += sum_i K_ij (a_i - a_i_old)."""
        ...

    def forget_scores(self) -> None:
        """Scores of all examples are 0 again, as those of dual variables that are 0."""
        ...

    def check(self, solver: "WorkingSetSolver") -> Checked:
        """How far each example and the whole are from the optimum.

        A device that has no use for the dual variables where they are copies those of the examples
        that changed: `solver.betas`.
        """
        ...

    def part(self, examples: "NDArray[np.int64]") -> "Self":
        """A device for some examples, ascending, with their scores and what is known of their rows.

        This one rests while the part is in use, and may leave it the memory of its kernel rows.
        """
        ...

    def recompute_cost(self, n_active: int) -> float:
        """What a kernel value costs anew that gave way to a part of so many examples.

        1 is to add a multiple of a value to scores; 0 where all rows stay.
        """
        ...
