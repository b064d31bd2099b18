"""Leagues of classes that meet in a tournament, for Weston and Watkins' machine.

The step in a dual variable beta_ic needs the weights of the classes y_i and c alone: its gradient
is 1 - (w_y - w_c)^T x_i, and w_y and w_c are what it changes. So whoever has the weights of some
classes can solve for all variables among these, and classes that are elsewhere do not matter.
There are two leagues for each process, each of as many teams as a process has threads. In a round
of the tournament each process has two leagues whose teams meet, as many matches at a time as there
are threads; a match visits rows of both teams and solves the block of their classes exactly, as one
process does for all classes. Then leagues travel to where they meet next. After the last round they
are at home.
Alber, Zimmert, Dogan & Kloft (2017), algorithms 3 to 5, with blocks in place of single variables.

With a team travel its weights and the dual variables of its rows among its own classes. Two teams
meet at the same place in each tournament, and there the dual variables between them stay.

A tournament visits a part of the rows of each team, all by default.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from polymargin import core
from polymargin.distributed._by_classes import deal_classes
from polymargin.distributed._certificate import certify_classes
from polymargin.distributed._lines import Changed, Lines, Message
from polymargin.distributed._match import Pair, Result, Rules, Team
from polymargin.distributed._ranks import Ranks
from polymargin.distributed._tournament import Match, matches_of_leagues, tournament
from polymargin.fit import Problem, as_csr, from_csr, join_duals
from polymargin.solvers import Choice, Leagues, LinearLoop

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polymargin.core import Duals, LinearOptions

_PADDING = 32  # classes that a board has room for, so that rows of weights begin at whole packs


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
        self._k = len(problem.classes)
        self.parts, self.epochs = choice.solver.n_parts, choice.solver.epochs
        self._rules = Rules(problem, choice.machine.name, options, once=self.epochs is not None)
        self._rounds = tournament(2 * ranks.size)
        wanted = max(ranks.meet("numbers of threads", int(options.n_threads)))
        self._teams_each = max(1, min(wanted, self._k // (2 * ranks.size)))
        self.n = len(problem)
        # A row meets the classes of all teams but its own, and its own in every match.
        self.visits = self.n * (2 * ranks.size * self._teams_each - 1)
        self._random = np.random.default_rng([options.seed, ranks.rank])
        self._deal()
        self._lines = Lines(choice.solver.sparse)
        self._start(None if warm is None else as_csr(warm))
        self._checked: sparse.csr_array | None = None  # dual variables, at a check
        self._check: core.DealtCheck | None = None  # right after it: has their weights

    # --- who plays whom, and where

    def _deal(self) -> None:
        """The classes of all teams, their rows in parts, and where each match is played."""
        n_teams = 2 * self._ranks.size * self._teams_each
        labels = self._problem.labels
        self._classes = deal_classes(np.bincount(labels, minlength=self._k), n_teams)
        random = np.random.default_rng(self._options.seed)
        self._rows = []
        for classes in self._classes:
            rows = random.permutation(np.flatnonzero(np.isin(labels, classes)))
            self._rows.append([np.sort(part) for part in np.array_split(rows, self.parts)])
        self._home = {  # of a league
            league: host for host, match in enumerate(self._rounds[0]) for league in match
        }
        own = [self._classes[team] for team in range(n_teams) if self._is_home(team)]
        self._own_classes = np.sort(np.concatenate(own))
        self._own_rows = np.flatnonzero(np.isin(labels, self._own_classes))

    def _matches(self, number: int) -> list[list[Match]]:
        """Of the teams that meet here in a round of the tournament, in rounds of their own."""
        leagues = self._rounds[number][self._ranks.rank]
        return matches_of_leagues(leagues, self._teams_each, is_first=number == 0)

    def _home_of(self, team: int) -> int:
        return self._home[team // self._teams_each]

    def _is_home(self, team: int) -> bool:
        return self._home_of(team) == self._ranks.rank

    @contextmanager
    def _open_threads(self) -> "Iterator[Callable[..., Iterable[Any]]]":
        """A map over matches that are played at the same time."""
        n_threads = min(int(self._options.n_threads), self._teams_each)
        if n_threads == 1:
            yield map
            return
        with ThreadPoolExecutor(n_threads) as pool:
            yield pool.map

    # --- the start

    def _start(self, warm: "sparse.csr_array | None") -> None:
        d = self._problem.rows.n_features + self._options.fit_intercept
        dtype = self._problem.rows.dtype
        self._here: dict[int, Team] = {}
        for team in filter(self._is_home, range(len(self._classes))):
            classes = self._classes[team]
            own = [self._duals_of(warm, rows, classes) for rows in self._rows[team]]
            self._here[team] = Team(team, classes, np.zeros((d, len(classes)), dtype), own)
        widest = max(len(classes) for classes in self._classes)
        boards = [np.zeros(d * (2 * widest + _PADDING), dtype) for _ in range(self._teams_each)]
        self._pairs: dict[Match, list[Pair]] = {}
        for number in range(len(self._rounds)):
            for matches in self._matches(number):
                for match, board in zip(matches, boards, strict=True):
                    self._pairs[match] = [
                        self._pair(warm, match, part, board) for part in range(self.parts)
                    ]

    def _pair(
        self, warm: "sparse.csr_array | None", match: Match, part: int, board: "NDArray[Any]"
    ) -> Pair:
        first, second = match
        return Pair(
            self._rules,
            (self._classes[first], self._classes[second]),
            (self._rows[first][part], self._rows[second][part]),
            self._duals_between(warm, match, part),
            board,
        )

    def _duals_of(
        self,
        warm: "sparse.csr_array | None",
        rows: "NDArray[np.int64]",
        classes: "NDArray[np.int64]",
    ) -> sparse.csr_array:
        if warm is None:
            return sparse.csr_array((len(rows), len(classes)), dtype=self._problem.rows.dtype)
        return sparse.csr_array(warm[rows][:, classes])

    def _duals_between(
        self, warm: "sparse.csr_array | None", match: Match, part: int
    ) -> sparse.csr_array:
        rows, classes = ([of[team] for team in match] for of in (self._rows, self._classes))
        chosen = np.concatenate([of_team[part] for of_team in rows])
        matrix = self._duals_of(warm, chosen, np.concatenate(classes)).tocoo()
        between = (matrix.row < len(rows[0][part])) != (matrix.col < len(classes[0]))
        entries = matrix.data[between], (matrix.row[between], matrix.col[between])
        return sparse.csr_array(entries, shape=matrix.shape)

    def load(self) -> None:
        self._ranks.meet("a warm start", None)
        self.measure()
        self._take_weights_of_duals()

    def begin(self, all_rows: bool) -> None:
        self._take_weights_of_duals()
        self._checked = None

    def _take_weights_of_duals(self) -> None:
        """From which rounding errors of many steps have moved the others away.

        What differs by a few roundings may stay, and need not travel once more.
        """
        if self._check is None:
            return
        for team in self._here.values():
            self._check.correct(team.weights, team.classes.astype(np.int32))
        self._check = None

    # --- a tournament

    def descend(
        self, part: int, negligible: float, poll: "Callable[[], None]"
    ) -> tuple[float, float, BaseException | None]:
        """A tournament with a part of the rows; who is interrupted travels on and rests."""
        results: list[Result] = []
        exception: BaseException | None = None
        with self._open_threads() as side_by_side:
            for number in range(len(self._rounds)):
                for matches in self._matches(number):
                    if exception is not None:
                        break
                    plan = self._plan(matches, part, negligible, poll)
                    played = list(side_by_side(lambda play: play(), plan))
                    results += played
                    exception = next((one.exception for one in played if one.exception), None)
                self._travel((number + 1) % len(self._rounds))
        gap = math.fsum(result.gap for result in results)
        return gap, math.fsum(result.visits for result in results), exception

    def _plan(
        self, matches: list[Match], part: int, negligible: float, poll: "Callable[[], None]"
    ) -> "list[Callable[[], Result]]":
        """Matches without a team in common, to be played."""
        return [
            partial(
                self._pairs[first, second][part].play,
                (self._here[first], self._here[second]),
                part,
                int(self._random.integers(2**31)),
                negligible,
                poll,
            )
            for first, second in matches
        ]

    def _travel(self, to_round: int) -> None:
        """Go to where the matches of a round are."""
        hosts = {
            league: host for host, match in enumerate(self._rounds[to_round]) for league in match
        }
        parcels: list[dict[str, Any]] = [{} for _ in range(self._ranks.size)]
        for team in list(self._here.values()):
            to = hosts[team.number // self._teams_each]
            if to == self._ranks.rank:
                continue
            weights = self._lines.pack(to, team.number, team.weights)
            parcels[to].setdefault("weights", {})[team.number] = weights
            duals = self._lines.pack_duals(to, team.number, team.duals)
            parcels[to].setdefault("duals", {})[team.number] = duals
            del self._here[team.number]
        for source, parcel in enumerate(self._ranks.swap(parcels)):
            for number, message in parcel.get("weights", {}).items():
                self._here[number] = self._arrived(source, number, message, parcel["duals"][number])

    def _arrived(self, source: int, number: int, weights: Message, duals: list[Changed]) -> Team:
        d = self._problem.rows.n_features + self._options.fit_intercept
        classes, dtype = self._classes[number], self._problem.rows.dtype
        k = len(classes)
        shapes = [(len(rows), k) for rows in self._rows[number]]
        return Team(
            number,
            classes,
            self._lines.unpack(source, number, weights, (d, k), dtype),
            self._lines.unpack_duals(source, number, duals, shapes, dtype),
        )

    def end(self) -> None:
        pass

    def change(self) -> None:
        pass

    def exchange(self, changes: list[None]) -> None:
        pass

    def take_back(self) -> None:
        for pair in (pair for pairs in self._pairs.values() for pair in pairs):
            pair.take_back()

    def go_on(self, dual_fell: bool) -> None:
        pass  # it does not fall but by rounding

    # --- the certificate, and what is left of a fit

    def measure(self) -> tuple[float, float, float]:
        self._checked = self._collect_own()
        problem = self._problem
        self._check = core.DealtCheck(
            problem.rows,
            problem.labels,
            problem.upper,
            self._k,
            self._rules.machine,
            self._own_classes.astype(np.int32),
            from_csr(self._checked),
            self._options.fit_intercept,
        )
        return certify_classes(self._ranks, self._check)

    def _collect_own(self) -> sparse.csr_array:
        """All dual variables of the rows of the classes here, and in the columns of these classes.

        Those between two teams go to where either is at home.
        """
        for_home: list[list[_Entries]] = [[] for _ in range(self._ranks.size)]
        for match, pairs in self._pairs.items():
            for part, pair in enumerate(pairs):
                sides = zip(match, reversed(match), pair.duals_between(), strict=True)
                for of_rows, of_classes, duals in sides:
                    rows, classes = self._rows[of_rows][part], self._classes[of_classes]
                    entries = _Entries.of(duals, rows, classes)
                    for home in {self._home_of(team) for team in match}:
                        for_home[home].append(entries)
        parcels = [{"certificate": _Entries.joined(entries)} for entries in for_home]
        found = [parcel["certificate"] for parcel in self._ranks.swap(parcels)]
        for team in self._here.values():
            for own, rows in zip(team.duals, self._rows[team.number], strict=True):
                found.append(_Entries.of(own, rows, team.classes))
        every = _Entries.joined(found)
        places = every.rows.astype(np.int64), every.columns
        return sparse.csr_array((every.values, places), shape=(self.n, self._k))

    def own_weights(self) -> "tuple[NDArray[np.int64], NDArray[Any]]":
        assert self._check is not None  # right after it
        return self._own_classes, self._check.weights

    def collect_weights(self) -> "NDArray[Any]":
        parts = self._ranks.gather(self.own_weights())
        weights = np.empty((len(parts[0][1]), self._k), self._problem.rows.dtype)
        for classes, part in parts:
            weights[:, classes] = part
        return weights

    def own_duals(self) -> "Duals":
        assert self._checked is not None  # right after a check
        return from_csr(sparse.csr_array(self._checked[self._own_rows]))

    def collect_duals(self) -> "Duals":
        parts = self._ranks.gather((self.own_duals(), self._own_rows))
        return join_duals([duals for duals, _ in parts], [rows for _, rows in parts])


@dataclass(frozen=True)
class _Entries:
    """Of a matrix of all rows and classes."""

    rows: "NDArray[np.uint32]"  # the core has fewer than 2^32
    columns: "NDArray[np.int32]"
    values: "NDArray[Any]"

    @classmethod
    def of(
        cls, matrix: sparse.csr_array, rows: "NDArray[np.int64]", classes: "NDArray[np.int64]"
    ) -> "_Entries":
        """Those of a part, whose rows and columns have these numbers."""
        part = matrix.tocoo()
        return cls(rows[part.row].astype(np.uint32), classes[part.col].astype(np.int32), part.data)

    @classmethod
    def joined(cls, parts: "list[_Entries]") -> "_Entries":
        if not parts:
            return cls(np.zeros(0, np.uint32), np.zeros(0, np.int32), np.zeros(0, np.float32))
        return cls(
            np.concatenate([part.rows for part in parts]),
            np.concatenate([part.columns for part in parts]),
            np.concatenate([part.values for part in parts]),
        )
