"""Rows dealt to processes that have all weights, or read by them.

Each process improves the dual variables of its rows against weights that the others change as
well (cpp/include/polymargin/linear/local_descent.hpp has the problem that it solves), then the
changes V of all are added up. That raises the dual objective where sigma is at least
|sum V|^2 / sum |V|^2, at most the number of processes: sigma follows what was measured last, until
a check finds that the objective fell, and is the number of processes from then on.

The certificate is that of the whole problem: losses and margins are sums over the rows of all
processes, the weights are the same everywhere.
"""

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from polymargin import core
from polymargin.distributed._certificate import certify_rows, squared_norm
from polymargin.distributed._local import LocalPart
from polymargin.distributed._parts import class_range
from polymargin.distributed._ranks import Ranks
from polymargin.fit import Problem, join_duals, restrict_duals
from polymargin.solvers import Choice, LinearLoop, LocalDescent

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polymargin.core import Duals, LinearOptions

_MOST_PARTS = 4
_FEWEST_ROWS = 64  # of a process in a part
_EXCHANGE = 8  # visits that take as long as to exchange weights, for rows without zeros


def deal_rows(n: int, size: int, rank: int, seed: int) -> "NDArray[np.int64]":
    """The rows of one of `size` processes, ascending; they are drawn, so that order means nothing.

    Examples
    --------
    >>> from polymargin.distributed._by_rows import deal_rows
    >>> sorted(row for rank in range(3) for row in deal_rows(8, 3, rank, seed=0).tolist())
    [0, 1, 2, 3, 4, 5, 6, 7]
    """
    return np.sort(np.random.default_rng(seed).permutation(n)[rank::size])


def count_parts(n: int, entries: int, d: int, size: int) -> int:
    """How many parts of a pass pay, by the work in it and the weights to exchange after each.

    The oftener `size` processes meet, the less their changes get in each other's way.
    """
    by_work = entries // (_EXCHANGE * size * (d + 1))
    by_rows = n // (_FEWEST_ROWS * size)
    return int(min(max(min(by_work, by_rows), 1), _MOST_PARTS))


class RowsHere(LocalPart):
    """Rows with all classes; those of all processes are the problem."""

    def __init__(
        self,
        ranks: Ranks,
        problem: Problem,
        choice: Choice[LinearLoop],
        options: "LinearOptions",
        warm: "Duals | None",
    ) -> None:
        assert isinstance(choice.solver, LocalDescent)
        self._k, X, d = len(problem.classes), problem.X, problem.rows.n_features
        own = len(problem), X.nnz if sparse.issparse(X) else X.size
        n, entries = map(sum, zip(*ranks.meet("numbers of rows", own), strict=True))
        self.passes, self.epochs = choice.solver.passes, choice.solver.epochs
        self.parts = count_parts(n, entries, d, ranks.size)
        self.n = self.visits = n
        local = core.LocalDescent(
            problem.rows,
            problem.labels,
            problem.upper,
            self._k,
            choice.machine.name,
            options,
            warm,
        )
        super().__init__(ranks, local, self._k)
        self._before = np.zeros_like(self._weights)
        self._change = np.empty_like(self._weights)
        self._set_sigma(float(ranks.size))
        self._is_safe = False  # whether it stays there

    def begin(self, all_rows: bool) -> None:
        super().begin(all_rows)
        self._before[:] = self._weights

    def change(self) -> float:
        """|V|^2."""
        np.subtract(self._weights, self._before, out=self._change)
        self._change /= self._sigma
        return squared_norm(self._change)

    def exchange(self, changes: list[float]) -> None:
        self._ranks.add_up(self._change, "weights")
        self._before += self._change
        self._weights[:] = self._before
        alone = math.fsum(changes)
        if alone > 0 and not self._is_safe:
            wanted = max(1.1 * squared_norm(self._change) / alone, 0.95 * self._sigma)
            self._set_sigma(min(max(wanted, 1.0), self._ranks.size))

    def measure(self) -> tuple[float, float, float]:
        figures, self._of_duals = certify_rows(self._ranks, self._local, self._k)
        return figures

    def go_on(self, dual_fell: bool) -> None:
        if dual_fell:  # the steps were too long
            self._is_safe = True
            self._set_sigma(float(self._ranks.size))

    def collect_weights(self) -> "NDArray[np.floating]":
        return self._weights[:, : self._k].copy()

    def own_weights(self) -> "tuple[NDArray[np.int64], NDArray[np.floating]]":
        own = class_range(self._k, self._ranks.size, self._ranks.rank)
        return own, self._weights[:, own]

    def collect_duals(self) -> "Duals":
        """Of the rows that are here: no process knows others."""
        return self.own_duals()

    def _set_sigma(self, sigma: float) -> None:
        self._sigma = sigma
        self._local.set_sigma(sigma)


class RowsDealt(RowsHere):
    """Some of the rows that all processes have."""

    def __init__(
        self,
        ranks: Ranks,
        problem: Problem,
        choice: Choice[LinearLoop],
        options: "LinearOptions",
        warm: "Duals | None",
    ) -> None:
        self._rows = deal_rows(len(problem), ranks.size, ranks.rank, options.seed)
        own = None if warm is None else restrict_duals(warm, self._rows)
        super().__init__(ranks, problem.part(self._rows), choice, options, own)

    def collect_duals(self) -> "Duals":
        parts = self._ranks.gather((self.own_duals(), self._rows))
        return join_duals([duals for duals, _ in parts], [rows for _, rows in parts])
