"""Which points of a grid are fitted on all folds: those that may still be the best."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from polymargin.model_selection._fits import Chain, Judge, Place, Score
from polymargin.model_selection._grid import Planned
from polymargin.model_selection._odds import Odds
from polymargin.model_selection._result import bound_of, mean_of, preference_of
from polymargin.model_selection._watch import Verdict

Run = Callable[[list[Chain], Judge | None], list[list[Score | None]]]


@dataclass(eq=False)
class Runner:
    """A point of the grid on its way through the folds."""

    machine: str
    gamma: float | None
    C: float
    scores: list[Score | None]
    is_out: bool = False

    @property
    def folds_left(self) -> list[int]:
        """Those that it was not fitted on to the end."""
        return [f for f, score in enumerate(self.scores) if score is None or score.is_rough]

    @property
    def is_running(self) -> bool:
        return not self.is_out and bool(self.folds_left)

    @property
    def next_folds(self) -> list[int]:
        """The first that it was not fitted on at all; else those where fits were postponed."""
        return [self.scores.index(None)] if None in self.scores else self.folds_left

    @property
    def place(self) -> tuple[float, float, float]:
        """By the folds so far; the smallest is the first."""
        known = [score.accuracy for score in self.scores if score is not None]
        return preference_of(mean_of(known), self.C, self.gamma)

    @property
    def best_place(self) -> tuple[float, float, float]:
        """With perfect scores on all folds that are left."""
        accuracies = [
            None if score is None or score.is_rough else score.accuracy for score in self.scores
        ]
        return preference_of(bound_of(accuracies), self.C, self.gamma)

    def after_folds_of(self, other: "Runner") -> "Runner":
        """As it was then."""
        pairs = zip(self.scores, other.scores, strict=True)
        scores = [own if theirs is not None else None for own, theirs in pairs]
        return Runner(self.machine, self.gamma, self.C, scores)

    def with_score(self, fold: int, score: Score) -> list[Score | None]:
        """Its scores with that of one more fold."""
        return [*self.scores[:fold], score, *self.scores[fold + 1 :]]


class Race:
    """All points run the first fold; then one goes ahead, the others follow while they may win.

    Each machine has its own race, against its best point of all grids so far. A round ends when
    all its fits have ended, so that nothing depends on which of them is done first.
    """

    def __init__(self, odds: Odds | None, n_folds: int, *, goes_ahead: bool = True) -> None:
        """Without `odds` all run to the end; where starts along C matter most, none goes ahead."""
        self._odds, self._n_folds, self._goes_ahead = odds, n_folds, goes_ahead
        self._best: dict[str, Runner] = {}  # of those that ran all folds

    def results(
        self, planned: Sequence[Planned], run: Run, skip: Callable[[int], None]
    ) -> list[list[Score | None]]:
        """The scores of chains at each C, None where no fit was needed: so many are skipped."""
        chains = [chain for chain, _ in planned]
        field = _Field(chains, self._n_folds, run, skip)
        if self._odds is None:
            field.fit(((r, fold) for r in field.runners for fold in r.folds_left), None)
            return field.scores(chains)
        for lane in self._lanes(field.runners):
            field.fit(((runner, 0) for runner in lane), self._judge(field, self._odds))
        while running := field.running():
            if self._goes_ahead and (ahead := self._ahead(running)):
                left = [(runner, fold) for runner in ahead for fold in runner.folds_left]
                field.fit(left, None)
            self._take_out_beaten(field, self._odds)
            if running := field.running():
                are_new = any(None in runner.scores for runner in running)
                chosen = [runner for runner in running if (None in runner.scores) == are_new]
                wanted = [(runner, fold) for runner in chosen for fold in runner.next_folds]
                field.fit(wanted, self._judge(field, self._odds) if are_new else None)
        self._find_best(field)
        return field.scores(chains)

    def _lanes(self, runners: list[Runner]) -> list[list[Runner]]:
        """Of a machine without a best point those of the middle gamma first, to compare with."""
        gammas: dict[str, dict[float | None, None]] = {}
        for runner in runners:
            gammas.setdefault(runner.machine, {})[runner.gamma] = None
        middle = {machine: list(own)[len(own) // 2] for machine, own in gammas.items()}
        lanes: tuple[list[Runner], list[Runner]] = ([], [])
        for runner in runners:
            is_first = runner.machine not in self._best and runner.gamma == middle[runner.machine]
            lanes[0 if is_first else 1].append(runner)
        return [lane for lane in lanes if lane]

    def _ahead(self, running: list[Runner]) -> list[Runner]:
        """The first of each machine, unless the best point was better on the same folds."""
        ahead = []
        for machine, first in _first_of_each(running).items():
            best = self._best.get(machine)
            if best is None or first.place < best.after_folds_of(first).place:
                ahead.append(first)
        return ahead

    def _find_best(self, field: "_Field") -> None:
        at_finish = [runner for runner in field.runners if not runner.folds_left]
        self._best = _first_of_each([*self._best.values(), *at_finish])

    def _rivals(self, field: "_Field") -> dict[str, Runner]:
        """The best point of each machine; before there is one, the first on its way."""
        started = [runner for runner in field.running() if runner.scores[0] is not None]
        return _first_of_each(started) | self._best

    def _take_out_beaten(self, field: "_Field", odds: Odds) -> None:
        """Points that may end level with the best one stay: of them, the grid is to know."""
        self._find_best(field)
        rivals = self._rivals(field)
        for runner in field.running():
            rival = rivals[runner.machine]
            is_beaten = not rival.folds_left and runner.best_place[0] > rival.place[0]
            if is_beaten or odds.judge(runner.scores, rival.scores) is Verdict.GIVE_UP:
                field.take_out(runner)

    def _judge(self, field: "_Field", odds: Odds) -> Judge:
        """Who compares a fit under way with a rival, or with fits of the same chain."""
        rivals = self._rivals(field)

        def judge(place: Place, score: Score, at_smaller_C: list[Score]) -> Verdict:
            machine, _, fold, _ = place
            runner, rival = field.at(place), rivals.get(machine)
            if rival is not None:
                return odds.judge(runner.with_score(fold, score), rival.scores)
            if not at_smaller_C:
                return Verdict.GO_ON
            best = max(at_smaller_C, key=lambda known: known.accuracy)
            return odds.judge(runner.with_score(fold, score), runner.with_score(fold, best))

        return judge


def _first_of_each(runners: Iterable[Runner]) -> dict[str, Runner]:
    """The first of each machine, by all that is known of them."""
    first: dict[str, Runner] = {}
    for runner in runners:
        if runner.machine not in first or runner.place < first[runner.machine].place:
            first[runner.machine] = runner
    return first


class _Field:
    """The points that take part, and the fits made for them."""

    def __init__(
        self, chains: list[Chain], n_folds: int, run: Run, skip: Callable[[int], None]
    ) -> None:
        self._chains, self._run, self._skip = chains, run, skip
        self._runners = {
            (chain.machine, chain.gamma, C): Runner(chain.machine, chain.gamma, C, [None] * n_folds)
            for chain in chains
            if chain.fold == 0
            for C in chain.Cs
        }
        self.runners = list(self._runners.values())

    def at(self, place: Place) -> Runner:
        machine, gamma, _, C = place
        return self._runners[machine, gamma, C]

    def running(self) -> list[Runner]:
        """Those that are neither out nor at the finish."""
        return [runner for runner in self.runners if runner.is_running]

    def take_out(self, runner: Runner) -> None:
        runner.is_out = True
        self._skip(len(runner.folds_left))

    def fit(self, wanted: Iterable[tuple[Runner, int]], judge: Judge | None) -> None:
        """Fit points on folds, along C as far as they share a chain."""
        chosen = {(runner.machine, runner.gamma, fold, runner.C) for runner, fold in wanted}
        chains = [
            chain._replace(Cs=Cs)
            for chain in self._chains
            if (Cs := tuple(C for C in chain.Cs if chain.at(C) in chosen))
        ]
        for chain, scores in zip(chains, self._run(chains, judge), strict=True):
            for C, score in zip(chain.Cs, scores, strict=True):
                runner = self.at(chain.at(C))
                runner.scores[chain.fold] = score
                if score is None:
                    self.take_out(runner)

    def scores(self, chains: list[Chain]) -> list[list[Score | None]]:
        """By chain and C, those of fits that ran to their end."""
        found = [[self.at(chain.at(C)).scores[chain.fold] for C in chain.Cs] for chain in chains]
        return [[None if s is None or s.is_rough else s for s in scores] for scores in found]
