"""Leagues of classes that meet in a tournament, for Weston and Watkins' machine.

The step in a dual variable beta_ic needs the weights of the classes y_i and c alone: its gradient
is 1 - (w_y - w_c)^T x_i, and w_y and w_c are what it changes. So whoever has the weights of some
classes can solve for all variables among these, and classes that are elsewhere do not matter.
There are two leagues for each process. In a round of the tournament each process has one match, in
which it visits rows of both leagues and solves the block of their classes exactly, as one process
does for all classes; then leagues travel to where they meet next. After the last round they are at
home.
Alber, Zimmert, Dogan & Kloft (2017), algorithms 3 to 5, with blocks in place of single variables.

The dual variables of its rows travel with a league. They are sparse: with tens of classes in use a
row they are a small part of what its weights take, and so every match may move all variables among
its classes, and at home a process has all that the rows of its leagues need for the certificate.

A tournament visits a part of the rows of each league, all by default.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from polymargin import core
from polymargin.distributed._by_classes import deal_classes
from polymargin.distributed._certificate import certify_rows
from polymargin.distributed._ranks import Ranks
from polymargin.distributed._tournament import tournament
from polymargin.fit import Problem, as_csr, from_csr, join_duals, with_options
from polymargin.solvers import Choice, Leagues, LinearLoop

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from polymargin.core import Duals, LinearOptions

_MORE = 4  # passes over the active rows of a match, since the leagues are there anyway
_ENOUGH = 0.3  # part of the gap at which they end


@dataclass
class League:
    """Some classes, and all that a match has to know of them."""

    number: int
    classes: "NDArray[np.int64]"
    weights: Any  # (d + 1, number of classes)
    rows: "list[NDArray[np.int64]]"  # of these classes, a list for each part of a pass
    duals: "list[sparse.csr_array]"  # of these rows, for all classes

    def packed(self) -> "League":
        """To be sent: weights that are mostly zero as those that are not."""
        is_sparse = 3 * np.count_nonzero(self.weights) < self.weights.size
        weights = sparse.csr_array(self.weights) if is_sparse else self.weights
        return League(self.number, self.classes, weights, self.rows, self.duals)

    def unpacked(self) -> "League":
        weights = self.weights.toarray() if sparse.issparse(self.weights) else self.weights
        return League(self.number, self.classes, weights, self.rows, self.duals)


class LeaguesDealt:
    """The leagues that are here at the moment; two between tournaments."""

    passes = 1

    def __init__(
        self,
        ranks: Ranks,
        problem: Problem,
        choice: Choice[LinearLoop],
        options: "LinearOptions",
        warm: "Duals | None",
    ) -> None:
        assert isinstance(choice.solver, Leagues)
        self._ranks, self._problem, self._options = ranks, problem, options
        self._machine = choice.machine.name
        self._k = len(problem.classes)
        self.parts, self.epochs = choice.solver.n_parts, choice.solver.epochs
        self._more = 0 if self.epochs is not None else _MORE
        self._rounds = tournament(2 * ranks.size)
        self.n, self.visits = len(problem), len(problem) * len(self._rounds)
        self._random = np.random.default_rng(options.seed)
        self._here = [
            self._make_league(number, classes, warm)
            for number, classes in enumerate(self._deal())
            if number in self._rounds[0][ranks.rank]
        ]
        self._weights: NDArray[Any] | None = None  # of all classes, at a check
        self._of_duals: NDArray[np.float64] | None = None  # the same in double

    def _deal(self) -> "list[NDArray[np.int64]]":
        counts = np.bincount(self._problem.labels, minlength=self._k)
        return deal_classes(counts, 2 * self._ranks.size)

    def _make_league(
        self, number: int, classes: "NDArray[np.int64]", warm: "Duals | None"
    ) -> League:
        problem = self._problem
        rows = np.flatnonzero(np.isin(problem.labels, classes))
        mixed = np.array_split(self._random.permutation(rows), self.parts)
        parts = [np.sort(part) for part in mixed]
        dtype = problem.rows.dtype
        d = problem.rows.n_features + self._options.fit_intercept
        if warm is None:
            duals = [sparse.csr_array((len(part), self._k), dtype=dtype) for part in parts]
        else:
            duals = [as_csr(warm)[part] for part in parts]
        return League(number, classes, np.zeros((d, len(classes)), dtype), parts, duals)

    def load(self) -> None:
        self._ranks.meet("a warm start", None)
        self.measure()
        self._take_weights_of_duals()

    def begin(self, all_rows: bool) -> None:
        self._take_weights_of_duals()

    def _take_weights_of_duals(self) -> None:
        """From which rounding errors of many steps have moved the others away."""
        if self._of_duals is not None:
            for league in self._here:
                league.weights = self._of_duals[:, league.classes].astype(league.weights.dtype)
            self._of_duals = self._weights = None

    def descend(
        self, part: int, negligible: float, poll: "Callable[[], None]"
    ) -> tuple[float, float, BaseException | None]:
        """A tournament with a part of the rows; who is interrupted travels on and rests."""
        gaps, visits, exception = [], 0.0, None
        for i in range(len(self._rounds)):
            if exception is None:
                gap, visited, exception = self._play(part, negligible, poll)
                gaps.append(gap)
                visits += visited
            self._travel((i + 1) % len(self._rounds))
        return math.fsum(gaps), visits, exception

    def _play(
        self, part: int, negligible: float, poll: "Callable[[], None]"
    ) -> tuple[float, float, BaseException | None]:
        """The match of the two leagues that are here."""
        rows = np.concatenate([league.rows[part] for league in self._here])
        classes = np.concatenate([league.classes for league in self._here])
        if len(classes) < 2:
            return 0.0, float(len(rows)), None
        place = np.zeros(self._k, dtype=np.int32)
        place[classes] = np.arange(len(classes))
        some = self._problem.part(rows)
        duals = sparse.vstack([league.duals[part] for league in self._here], format="csr")
        local = core.LocalDescent(
            some.rows,
            place[some.labels],
            some.upper,
            len(classes),
            self._machine,
            with_options(self._options, seed=int(self._random.integers(2**31))),
            from_csr(duals[:, classes]),
        )
        weights = local.weights[:, : len(classes)]
        weights[:] = np.hstack([league.weights for league in self._here])
        gap, visits, exception = _descend(local, True, negligible, poll)
        for _ in range(self._more):
            if exception is not None:
                break
            now, _, exception = _descend(local, False, negligible, poll)
            if now < _ENOUGH * gap:
                break
        self._split(weights, _with_columns(duals, as_csr(local.duals()), classes), part)
        return gap, visits, exception

    def _split(self, weights: "NDArray[Any]", duals: sparse.csr_array, part: int) -> None:
        """Give both leagues what they have after a match."""
        first = len(self._here[0].classes)
        rows = len(self._here[0].rows[part])
        for league, columns, own in zip(
            self._here,
            (weights[:, :first], weights[:, first:]),
            (duals[:rows], duals[rows:]),
            strict=True,
        ):
            league.weights = columns.copy()
            league.duals[part] = own

    def _travel(self, to_round: int) -> None:
        """Go to where the matches of a round are."""
        hosts = {
            number: host for host, match in enumerate(self._rounds[to_round]) for number in match
        }
        leaving: list[list[League]] = [[] for _ in range(self._ranks.size)]
        for league in self._here:
            leaving[hosts[league.number]].append(league)
        stay = leaving[self._ranks.rank]
        leaving[self._ranks.rank] = []
        packed = [[league.packed() for league in leagues] for leagues in leaving]
        arrived = [league.unpacked() for leagues in self._ranks.swap(packed) for league in leagues]
        order = self._rounds[to_round][self._ranks.rank]
        self._here = sorted(stay + arrived, key=lambda league: order.index(league.number))

    def end(self) -> None:
        pass

    def change(self) -> None:
        pass

    def exchange(self, changes: list[None]) -> None:
        pass

    def measure(self) -> tuple[float, float, float]:
        rows = self._own_rows()
        home = self._problem.part(rows)
        local = core.LocalDescent(
            home.rows,
            home.labels,
            home.upper,
            self._k,
            self._machine,
            self._options,
            self.own_duals(),
        )
        self._weights = local.weights[:, : self._k]
        for classes, weights in self._gather_weights():
            self._weights[:, classes] = weights
        figures, self._of_duals = certify_rows(self._ranks, local, self._k)
        return figures

    def _gather_weights(self) -> "list[tuple[NDArray[np.int64], NDArray[Any]]]":
        parts = self._ranks.gather([(league.classes, league.weights) for league in self._here])
        return [league for leagues in parts for league in leagues]

    def _own_rows(self) -> "NDArray[np.int64]":
        return np.concatenate([part for league in self._here for part in league.rows])

    def own_duals(self) -> "Duals":
        parts = [part for league in self._here for part in league.duals]
        return from_csr(sparse.vstack(parts, format="csr"))

    def go_on(self, dual_fell: bool) -> None:
        pass  # it does not fall but by rounding

    def collect_weights(self) -> "NDArray[Any]":
        assert self._weights is not None  # right after a check
        return self._weights.copy()

    def own_weights(self) -> "tuple[NDArray[np.int64], NDArray[Any]]":
        assert self._weights is not None  # right after a check
        own = np.sort(np.concatenate([league.classes for league in self._here]))
        return own, self._weights[:, own]

    def collect_duals(self) -> "Duals":
        parts = self._ranks.gather((self.own_duals(), self._own_rows()))
        return join_duals([duals for duals, _ in parts], [rows for _, rows in parts])


def _descend(
    local: core.LocalDescent, all_rows: bool, negligible: float, poll: "Callable[[], None]"
) -> tuple[float, float, BaseException | None]:
    """A pass over the rows of a match, or over those that are active."""
    local.begin(all_rows)
    met = local.descend(0, 1, negligible, poll)
    local.end()
    return met


def _with_columns(
    matrix: sparse.csr_array, columns: sparse.csr_array, numbers: "NDArray[np.int64]"
) -> sparse.csr_array:
    """The matrix with other values in the columns of these numbers."""
    old, new = matrix.tocoo(), columns.tocoo()
    stays = ~np.isin(old.col, numbers)
    row = np.concatenate([old.row[stays], new.row])
    column = np.concatenate([old.col[stays], numbers[new.col]])
    values = np.concatenate([old.data[stays], new.data])
    return sparse.csr_array((values, (row, column)), shape=matrix.shape)
