"""The examples that a fit works on, on any device: all of them, or those not set aside.

While some are set aside, the others are a problem of their own: a part of the solver with their
dual variables, a part of the device with their scores. Those set aside keep their dual variables;
their scores wait until they are back.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from polymargin.kernel._device import Checked
from polymargin.kernel._indefinite import find_negative

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polymargin.core import Changes, Duals, WorkingSetSolver
    from polymargin.kernel._device import Device


@dataclass
class _Share:
    """Some or all examples, with the work that was done for them."""

    solver: "WorkingSetSolver"
    device: "Device"
    n_used: int = 0  # kernel rows, each time that one was
    n_computed_before: int = 0  # of those that the device has counted

    def update(self, changes: "Changes") -> None:
        """Bring all scores up to date."""
        self.device.add_scores(changes)
        self.n_used += len(changes)

    @property
    def n_computed(self) -> int:
        return self.device.n_computed - self.n_computed_before

    def forget_work(self) -> None:
        self.n_used, self.n_computed_before = 0, self.device.n_computed


@dataclass(frozen=True)
class _Whole:
    """All examples as they were when some were set aside."""

    share: _Share
    active: "NDArray[np.int64]"  # those that were not
    scores: "NDArray[np.float64]"  # of these, then


class ActiveExamples:
    """Those left, which are all that there is for a round of working sets."""

    def __init__(
        self,
        solver: "WorkingSetSolver",
        device: "Device",
        n: int,
        labels: "NDArray[np.int32] | None" = None,
    ) -> None:
        """With their labels where those of a working set are to be neighbours if they share one."""
        self._n = n
        self._labels = labels
        self._now = _Share(solver, device)
        self._whole: _Whole | None = None  # while some are set aside
        self._dual_objective = -np.inf  # of all examples, when they were checked last

    def refresh(self) -> None:
        """Compute scores that are still 0 from the dual variables."""
        solver = self._now.solver
        support = solver.duals().support()
        width = 512
        for first in range(0, len(support), width):
            self._now.update(solver.changes_from_zero(support[first : first + width]))

    def check(self) -> Checked:
        """How far each example that is left and all of them are from the optimum."""
        now, whole = self._now, self._whole
        found = now.device.check(now.solver)
        if whole is None:
            self._dual_objective = found.dual
            return found
        gain = whole.share.solver.gain(now.solver, whole.active, whole.scores, now.device.scores())
        dual = self._dual_objective + gain
        # Those set aside have no gap.
        return found._replace(primal=dual + float(found.gaps.sum()), dual=dual)

    def scores(self) -> "NDArray[np.float64]":
        """Of the examples that are left, not centred; perhaps a view."""
        return self._now.device.scores()

    def improve(self, examples: "NDArray[np.int64]", fraction: float, passes: int) -> int:
        """Solve the problem of a working set, update all scores; the visits it took."""
        now = self._now
        if self._labels is not None:
            labels = self._labels if self._whole is None else self._labels[self._whole.active]
            examples = examples[np.argsort(labels[examples], kind="stable")]
        examples, gram = now.device.gram(examples)
        scores = now.device.scores(examples)
        changes, visits = now.solver.solve(examples, gram, scores, fraction, passes)
        now.update(changes)
        return visits

    def find_negative(self, examples: "NDArray[np.int64]") -> float | None:
        """A negative eigenvalue of their Gram matrix, see the function of that name."""
        _, gram = self._now.device.gram(examples)
        return find_negative(gram)

    def duals(self) -> "Duals":
        """The dual variables of all examples."""
        now, whole = self._now, self._whole
        if whole is None:
            return now.solver.duals()
        return whole.share.solver.duals_with(now.solver, whole.active)

    def pays_to_shrink(self, n_active: int) -> bool:
        """Whether as much work as was done so far, on fewer columns, saves more than `grow` costs.

        That is a use of each row, and to compute those that the device cannot keep meanwhile.
        """
        now = self._now
        share = n_active / self._n
        recompute = now.device.recompute_cost(n_active)
        done = now.n_used + recompute * now.n_computed
        cost = n_active + recompute * n_active
        return share <= 0.5 and done * (1 - share) >= cost

    def shrink(self, active: "NDArray[np.int64]") -> None:
        """Set all other examples aside."""
        share = self._now
        self._whole = _Whole(share, active, share.device.scores(active))
        self._now = _Share(share.solver.part(active), share.device.part(active))

    def grow(self) -> None:
        """Bring the others back, their scores up to date."""
        assert self._whole is not None
        part, whole = self._now, self._whole
        self._now, self._whole = whole.share, None
        self._now.forget_work()
        self._now.update(self._now.solver.absorb(part.solver, whole.active))
