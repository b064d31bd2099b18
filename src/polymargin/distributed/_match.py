"""A match: two teams of classes, and the dual variables that need the weights of no others.

Teams of one match have no class in common with those of another that is played at the same time, so
that matches can be played by several threads and read nothing that another one writes.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from polymargin import core
from polymargin.fit import Problem, from_csr, with_options

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polymargin.core import LinearOptions

_MORE = 4  # passes over the active rows of a match, since the teams are there anyway
_ENOUGH = 0.3  # part of the gap at which they end


@dataclass
class Team:
    """Some classes, and what travels with them."""

    number: int
    classes: "NDArray[np.int64]"
    weights: Any  # (d + 1, number of classes)
    duals: "list[sparse.csr_array]"  # of their rows among themselves, for each part of a pass


@dataclass(frozen=True)
class Result:
    """The gap as it was met, visits, and what has ended a match early."""

    gap: float = 0.0
    visits: float = 0.0
    exception: BaseException | None = None


@dataclass(frozen=True)
class Rules:
    """What all matches of a fit have in common."""

    problem: Problem
    machine: str
    options: "LinearOptions"
    once: bool  # rows are visited no more than once


class Pair:
    """What stays where two teams meet, for a part of their rows: dual variables between them.

    Matches that are not played at the same time may have the same `board`, memory for the weights
    of both teams.
    """

    def __init__(
        self,
        rules: Rules,
        classes: "tuple[NDArray[np.int64], NDArray[np.int64]]",
        rows: "tuple[NDArray[np.int64], NDArray[np.int64]]",
        duals: sparse.csr_array,  # of the rows of both and all classes of the other; else 0
        board: "NDArray[Any]",
    ) -> None:
        self._rules, self._board = rules, board
        self._rows, self._classes = np.concatenate(rows), np.concatenate(classes)
        self._n, self._k = ([len(part) for part in of] for of in (rows, classes))
        self._duals = from_csr(duals)
        self._idle = np.zeros(len(self._rows), np.uint32)  # how long those of each row are at rest
        self._is_at_rest = len(self._classes) < 2 or len(self._rows) == 0

    def take_back(self) -> None:
        """All variables are visited again."""
        self._idle[:] = 0
        self._is_at_rest = len(self._classes) < 2 or len(self._rows) == 0

    def play(
        self,
        teams: tuple[Team, Team],
        part: int,
        seed: int,
        negligible: float,
        poll: Callable[[], None],
    ) -> Result:
        """Descend on all variables of the rows and the classes of both teams."""
        if self._is_at_rest:
            return Result()
        for side, team in enumerate(teams):
            self._duals.set_part(*self._place(side, side), _entries(team.duals[part]))
        local = self._start(seed)
        first, last = self._k[0], sum(self._k)
        lanes = local.weights[:, :first], local.weights[:, first:last]
        for on_board, team in zip(lanes, teams, strict=True):
            on_board[:] = team.weights
        local.weights[:, last:] = 0
        result = _descend_often(local, self._rules.once, negligible, poll)
        self._idle[:] = local.idle
        self._is_at_rest = bool(local.left_out().all())
        self._duals = local.duals()
        for side, team in enumerate(teams):
            team.weights[:] = lanes[side]
            team.duals[part] = self._duals_of(side, side)
        return result

    def _start(self, seed: int) -> core.LocalDescent:
        """Descent on the board."""
        rules = self._rules
        place = np.zeros(len(rules.problem.classes), np.int32)
        place[self._classes] = np.arange(len(self._classes))
        some = rules.problem.part(self._rows)
        local = core.LocalDescent(
            some.rows,
            place[some.labels],
            some.upper,
            len(self._classes),
            rules.machine,
            with_options(rules.options, seed=seed, n_threads=1),
            self._duals,
            memory=self._board,
        )
        local.idle[:] = self._idle
        return local

    def duals_between(self) -> "tuple[sparse.csr_array, sparse.csr_array]":
        """Those of rows of the first team and classes of the second, and the other way round."""
        return self._duals_of(0, 1), self._duals_of(1, 0)

    def _duals_of(self, of_rows: int, of_classes: int) -> sparse.csr_array:
        indptr, columns, values = self._duals.part(*self._place(of_rows, of_classes))
        shape = self._n[of_rows], self._k[of_classes]
        return sparse.csr_array((values, columns, indptr), shape=shape)

    def _place(self, of_rows: int, of_classes: int) -> tuple[tuple[int, int], tuple[int, int]]:
        """Rows and classes of these teams, numbered as here."""
        rows, classes = (
            (side * sizes[0], sizes[0] + side * sizes[1])
            for side, sizes in ((of_rows, self._n), (of_classes, self._k))
        )
        return rows, classes


def _descend_often(
    local: core.LocalDescent, once: bool, negligible: float, poll: Callable[[], None]
) -> Result:
    """A pass over all rows, then over those that are active as long as that pays."""
    first = last = _descend(local, True, negligible, poll)
    for _ in range(0 if once else _MORE):
        if last.exception is not None or last.gap < _ENOUGH * first.gap:
            break
        last = _descend(local, False, negligible, poll)
    return Result(first.gap, first.visits, last.exception)


def _descend(
    local: core.LocalDescent, all_rows: bool, negligible: float, poll: Callable[[], None]
) -> Result:
    local.begin(all_rows)
    result = Result(*local.descend(0, 1, negligible, poll))
    local.end()
    return result


def _entries(matrix: sparse.csr_array) -> "tuple[NDArray[np.int64], NDArray[np.int32], Any]":
    matrix.sort_indices()
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data
