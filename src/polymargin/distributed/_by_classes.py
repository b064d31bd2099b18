"""Classes dealt to processes that have all rows.

Where every hinge looks at one class and they are joined by a sum, the dual problem falls apart into
one for each class, but for the mean weights of zero-sum machines. With U of the dual variables,
k classes and |U - mean|^2 = |U|^2 - k |mean|^2,

    D(beta) = max_v  sum_ic t_c beta_ic - 1/2 sum_c |u_c|^2 + k v^T mean - k/2 |v|^2,

and v = mean is where this maximum is. So each process ascends on the variables of its classes with
v fixed, as one process does with all, and then v follows the mean: a vector of d numbers is all
that travels. Alber, Zimmert, Dogan & Kloft (2017), algorithms 1 and 2; the step in beta_ic is
(1 + (u_c - v)^T x_i) / |x_i|^2.

What all classes have in common moves by no more than v lets it, so that v = mean crawls where C and
the number of rows are large. v runs ahead of the mean instead, by Nesterov's momentum, which starts
anew where it points the wrong way (O'Donoghue & Candes 2015). Where the mean is on its way while
work goes on, v stays for two parts of a pass and then follows the mean after the first of them. To
follow the mean of one part before after every part would swing: with v running ahead, too, the
step that v has not seen yet comes back with the other sign and larger.

Rows of classes that are held elsewhere have a class in common here, whose weights nobody looks at.
"""

import math
from typing import TYPE_CHECKING

import numpy as np

from polymargin import core
from polymargin.distributed._certificate import squared_norm
from polymargin.distributed._local import LocalPart
from polymargin.distributed._ranks import Ranks, Sum
from polymargin.fit import Problem, duals_of_classes, join_classes
from polymargin.solvers import Choice, LinearLoop, MeanWeights

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from polymargin.core import Duals, LinearOptions

_PASSES = 5  # before all rows are looked at again


def deal_classes(counts: "NDArray[np.int64]", size: int) -> "list[NDArray[np.int64]]":
    """The classes of each of `size` processes: as many, and with as many rows, as can be.

    Examples
    --------
    >>> import numpy as np
    >>> from polymargin.distributed._by_classes import deal_classes
    >>> [part.tolist() for part in deal_classes(np.array([5, 1, 9, 4, 7]), 2)]
    [[2, 3], [0, 1, 4]]
    """
    dealt: list[list[int]] = [[] for _ in range(size)]
    rows = [0] * size
    for c in np.argsort(-counts, kind="stable").tolist():
        to = min(range(size), key=lambda rank: (len(dealt[rank]), rows[rank]))
        dealt[to].append(c)
        rows[to] += int(counts[c])
    return [np.array(sorted(part), dtype=np.int64) for part in dealt]


class ClassesDealt(LocalPart):
    """Some classes with all rows."""

    passes = _PASSES

    def __init__(
        self,
        ranks: Ranks,
        problem: Problem,
        choice: Choice[LinearLoop],
        options: "LinearOptions",
        warm: "Duals | None",
    ) -> None:
        assert isinstance(choice.solver, MeanWeights)
        self._k = len(problem.classes)
        if ranks.size > self._k:
            raise ValueError(
                f"solver {choice.solver.name!r} deals classes to processes, and there are "
                f"{self._k} classes for {ranks.size} of them: take 'auto' or 'local-descent'"
            )
        self.parts = choice.solver.n_parts if choice.machine.zero_sum else 1
        self.epochs = choice.solver.epochs
        self.n, self.visits = len(problem), len(problem) * ranks.size
        self._has_mean = choice.machine.zero_sum
        counts = np.bincount(problem.labels, minlength=self._k)
        self._dealt = deal_classes(counts, ranks.size)
        own = self._dealt[ranks.rank]
        self._held = len(own)
        place = np.full(self._k, self._held, dtype=np.int32)  # that of all others
        place[own] = np.arange(self._held)
        local = core.LocalDescent(
            problem.rows,
            place[problem.labels],
            problem.upper,
            self._held + 1,
            choice.machine.name,
            options,
            None if warm is None else duals_of_classes(warm, own, self._held + 1),
            self._held,
            has_mean=False,
        )
        super().__init__(ranks, local, self._held)
        self._sum = np.zeros(len(self._weights))  # of the weights of these classes
        self._ones = np.ones(self._held, self._weights.dtype)
        self._ahead = np.zeros(len(self._weights))  # v less the mean
        self._momentum = 1.0
        self._overlaps = choice.solver.overlap
        self._on_way: Sum | None = None  # the sum after a part of a pass

    def descend(
        self, part: int, negligible: float, poll: "Callable[[], None]"
    ) -> tuple[float, float, BaseException | None]:
        def move_on() -> None:
            poll()
            self._ranks.move_on()

        return super().descend(part, negligible, poll if self._on_way is None else move_on)

    def change(self) -> None:
        if self._has_mean:
            self._sum[:] = self._weights[:, : self._held] @ self._ones

    def exchange(self, changes: list[None]) -> None:
        if not self._has_mean:
            return
        if not self._overlaps:
            self._ranks.add_up(self._sum, "mean")
            self._follow(self._sum)
        elif self._on_way is None:
            self._on_way = self._ranks.begin_sum(self._sum, "mean")
        else:
            self._follow(self._on_way.result())
            self._on_way = None

    def _follow(self, total: "NDArray[np.float64]") -> None:
        """Let v run ahead of the mean."""
        mean = total / self._k
        moved = mean + self._ahead  # the mean, since the last exchange
        if mean @ moved < 0:
            self._momentum = 1.0
            self._local.take_back()
        later = (1 + math.sqrt(1 + 4 * self._momentum**2)) / 2
        self._ahead = (self._momentum - 1) / later * moved
        self._momentum = later
        self._shift(-mean - self._ahead)

    def _shift(self, by: "NDArray[np.float64]") -> None:
        self._weights += by[:, None].astype(self._weights.dtype)

    def _take_mean(self) -> None:
        """For v, whatever is on its way; in double, since certified weights add up to 0."""
        self._ranks.meet("the mean", None)
        if self._on_way is not None:
            self._on_way.result()
            self._on_way = None
        np.sum(self._weights[:, : self._held], axis=1, dtype=np.float64, out=self._sum)
        self._ranks.add_up(self._sum, "mean")
        self._shift(-self._sum / self._k)
        self._ahead = np.zeros_like(self._ahead)

    def measure(self) -> tuple[float, float, float]:
        if self._has_mean:
            self._take_mean()
        loss, margins, violation, of_duals = self._local.check()
        of_duals = of_duals.reshape(len(self._weights), self._held)
        primal = 0.5 * squared_norm(self._weights[:, : self._held]) + loss
        np.sum(of_duals, axis=1, out=self._sum)
        self._ranks.meet("sums over classes", None)
        if self._has_mean:
            self._ranks.add_up(self._sum, "certificate")
            of_duals -= (self._sum / self._k)[:, None]
        dual = margins - 0.5 * squared_norm(of_duals)
        self._of_duals = of_duals
        told = self._ranks.meet("objectives", (primal, dual, violation))
        primals, duals, violations = zip(*told, strict=True)
        return math.fsum(primals), math.fsum(duals), max(violations)

    def go_on(self, dual_fell: bool) -> None:
        if dual_fell:
            self._momentum = 1.0

    def collect_weights(self) -> "NDArray[np.floating]":
        _, own = self.own_weights()
        parts = self._ranks.gather(own)
        weights = np.empty((len(self._weights), self._k), self._weights.dtype)
        for classes, part in zip(self._dealt, parts, strict=True):
            weights[:, classes] = part
        return weights

    def own_weights(self) -> "tuple[NDArray[np.int64], NDArray[np.floating]]":
        return self._dealt[self._ranks.rank], self._weights[:, : self._held].copy()

    def collect_duals(self) -> "Duals":
        return join_classes(self._ranks.gather(self.own_duals()), self._dealt, self._k)
