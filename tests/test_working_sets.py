"""The loop of working sets, on examples that answer by a script."""

from collections.abc import Callable, Iterable
from itertools import chain, repeat
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray

from polymargin import Blocks
from polymargin.fit._interrupts import Interrupts
from polymargin.fit._progress import Check
from polymargin.kernel import _working_sets
from polymargin.kernel._device import Checked
from polymargin.kernel._goal import FitProgress, Goal
from polymargin.kernel._working_sets import WorkingSets, _Stall

Floats = NDArray[np.float64]


def checked(
    violations: Any, gap: float = 0.5, *, gaps: Any = None, violation: float = 1.0
) -> Checked:
    """What a check finds: a primal objective of 1 and this relative gap."""
    found = np.asarray(violations, float)
    return Checked(found if gaps is None else np.asarray(gaps, float), found, 1, 1 - gap, violation)


class Script:
    """Examples of which checks find one after the other, the last one for ever."""

    def __init__(
        self,
        found: Iterable[Checked],
        *,
        pays: bool = False,
        negative: float | None = None,
        visits: int | None = None,
    ) -> None:
        found = list(found)
        self._found = chain(found, repeat(found[-1]))
        self._pays = pays
        self._negative = negative
        self._visits = visits
        self._active: NDArray[np.int64] | None = None
        self.calls: list[tuple[Any, ...]] = []

    def check(self) -> Checked:
        now = next(self._found)
        if self._active is None:
            return now
        return now._replace(gaps=now.gaps[self._active], violations=now.violations[self._active])

    def improve(self, examples: NDArray[np.int64], fraction: float, passes: int) -> int:
        self.calls.append(("improve", examples.tolist(), fraction, passes))
        return len(examples) if self._visits is None else self._visits

    def refresh(self) -> None:
        self.calls.append(("refresh",))

    def pays_to_shrink(self, n_active: int) -> bool:
        self.calls.append(("pays", n_active))
        return self._pays

    def shrink(self, active: NDArray[np.int64]) -> None:
        self.calls.append(("shrink", active.tolist()))
        self._active = active

    def grow(self) -> None:
        self.calls.append(("grow",))
        self._active = None

    def duals(self) -> Any:
        return "duals"

    def find_negative(self, examples: NDArray[np.int64]) -> float | None:
        self.calls.append(("negative", examples.tolist()))
        return self._negative

    def called(self, name: str) -> list[tuple[Any, ...]]:
        return [rest for word, *rest in self.calls if word == name]  # type: ignore[misc]

    @property
    def sets(self) -> list[list[int]]:
        return [examples for examples, *_ in self.called("improve")]


def make_loop(examples: Script, n: int, size: int, **given: Any) -> WorkingSets:
    goal = Goal(given.pop("tol", 1e-3), given.pop("max_iter", 1000), given.pop("by_gap", True))
    rest = {"is_positive": True, "precision": 1e-16, "is_warm": False} | given
    options = Blocks(size=size, fraction=rest.pop("fraction", 0.1), passes=rest.pop("passes", 20))
    return WorkingSets(cast(Any, examples), goal, options, (n, 3), **rest)


def run(
    loop: WorkingSets,
    on_check: Callable[[Check], bool] = lambda check: False,
    keeper: Any = None,
    interrupts: Any = None,
) -> list[Check]:
    loop.run(interrupts or Interrupts(), on_check, keeper)
    return loop.progress.history


# Progress


@pytest.mark.parametrize(
    ("primal", "dual", "gap"),
    [(4.0, 3.0, 0.25), (4.0, -4.0, 2.0), (2.0, 2.0, 0.0), (2.0, 2.5, 0.0), (0.0, 0.0, 0.0)],
)
def test_gap_is_relative_to_the_primal_objective(primal: float, dual: float, gap: float) -> None:
    assert FitProgress(primal=primal, dual=dual).gap == gap


@pytest.mark.parametrize(
    "progress",
    [
        FitProgress(primal=4, dual=3, negative=-0.1),
        FitProgress(primal=-1, dual=-2),
        FitProgress(np.nan),
    ],
)
def test_objectives_that_bound_nothing_have_no_gap(progress: FitProgress) -> None:
    assert np.isnan(progress.gap)


def test_nothing_is_known_at_first() -> None:
    progress = FitProgress()
    assert (progress.visits, progress.rounds, progress.converged) == (0, 0, False)
    assert (progress.primal, progress.dual, progress.violation) == (np.inf, -np.inf, np.inf)
    assert progress.negative is None


# Ends


@pytest.mark.parametrize(("gap", "n_checks"), [(0.1, 2), (0.1001, 3)])
def test_it_ends_where_the_gap_is_reached(gap: float, n_checks: int) -> None:
    gap = 1 - (1 - gap)  # as the objectives have it
    found = [checked([1, 1], 0.5), checked([1, 1], gap), checked([1, 1], 0.0)]
    loop = make_loop(Script(found), 2, 2, tol=1 - 0.9)
    assert len(run(loop)) == n_checks
    assert loop.progress.converged


def test_it_ends_by_violations_where_asked() -> None:
    found = [checked([1, 1], 0.0, violation=2.0), checked([1, 1], 0.5, violation=0.25)]
    loop = make_loop(Script(found), 2, 2, tol=0.25, by_gap=False)
    history = run(loop)
    assert [check.violation for check in history] == [2.0, 0.25]
    assert loop.progress.converged


def test_it_ends_where_nobody_gains() -> None:
    loop = make_loop(Script([checked([1, 1]), checked([0, 0])]), 2, 2)
    assert len(run(loop)) == 2
    assert not loop.progress.converged


def test_it_ends_where_the_callback_says_so() -> None:
    answers = iter([False, False, True])
    loop = make_loop(Script([checked([1, 1], gap) for gap in (0.5, 0.4, 0.3)]), 2, 2)
    assert len(run(loop, lambda check: next(answers))) == 3
    assert not loop.progress.converged


def test_passes_are_counted_by_visits() -> None:
    script = Script([checked([1] * 10, 0.5 / (i + 1)) for i in range(9)], visits=15)
    loop = make_loop(script, 10, 4, max_iter=5)
    history = run(loop)
    assert [check.epoch for check in history] == [0.0, 1.5, 3.0, 4.5, 6.0]
    assert loop.progress.visits == 60
    assert loop.progress.rounds == 4


def test_the_last_round_takes_what_is_left() -> None:
    script = Script([checked([1] * 10, 0.5 / (i + 1)) for i in range(9)], visits=8)
    run(make_loop(script, 10, 4, max_iter=1, passes=3))
    sets = script.called("improve")
    assert [len(examples) for examples, *_ in sets] == [4, 2]  # of the last ten visits
    assert [passes for *_, passes in sets] == [2, 1]


def test_history_has_what_the_device_found(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([100.0, 250.0])
    monkeypatch.setattr(_working_sets, "time", SimpleNamespace(perf_counter=lambda: next(clock)))
    found = Checked(np.ones(2), np.ones(2), 8.0, 6.0, 0.125)
    (check,) = run(make_loop(Script([found]), 2, 2, tol=0.5))
    assert check == Check(0.0, 150.0, 8.0, 6.0, 0.25, 0.125, 2)


def test_warm_starts_compute_the_scores_anew() -> None:
    for is_warm in (False, True):
        script = Script([checked([1, 1], 0.0)])
        run(make_loop(script, 2, 2, is_warm=is_warm))
        assert script.calls == [("refresh",)] * is_warm


def test_keepers_are_asked_at_every_check() -> None:
    class Keeper:
        kept: list[Any] = []  # noqa: RUF012
        due = iter([True, False, True])

        def is_due(self) -> bool:
            return next(self.due)

        def keep(self, duals: Any, history: Any) -> None:
            self.kept.append((duals, history["gap"].tolist()))

    loop = make_loop(Script([checked([1, 1], gap) for gap in (0.5, 0.25, 0.0)]), 2, 2)
    run(loop, keeper=Keeper())
    assert Keeper.kept == [("duals", [0.5]), ("duals", [0.5, 0.25, 0.0])]
    assert loop.duals() == "duals"


# Stalls


def stalls_after(stall: _Stall, values: Iterable[FitProgress]) -> list[bool]:
    return [stall(value) for value in values]


def test_no_progress_for_long_is_a_stall() -> None:
    stall = _Stall(2, 0.1)
    duals = [1.0, 1.05, 1.2, 1.2, 1.3, 1.31]
    expected = [False, False, False, False, True, True]
    assert stalls_after(stall, [FitProgress(dual=dual) for dual in duals]) == expected


def test_what_just_counts_is_no_progress() -> None:
    values = [FitProgress(dual=dual) for dual in (1.0, 1.25)]
    assert stalls_after(_Stall(1, 0.25), values) == [False, True]


def test_progress_starts_the_patience_anew() -> None:
    stall = _Stall(2, 0.1)
    values = [FitProgress(dual=dual) for dual in (-1.0, -0.95, -0.8, -0.79, -0.5, -0.5, -0.5)]
    assert stalls_after(stall, values) == [False] * 6 + [True]


def test_violations_are_what_an_indefinite_kernel_has_left() -> None:
    stall = _Stall(1, 0.1)
    values = [FitProgress(violation=v, dual=7, negative=-1.0) for v in (4.0, 3.0, 2.9, 2.0)]
    assert stalls_after(stall, values) == [False, False, True, False]


@pytest.mark.parametrize(("n", "size"), [(4, 4), (50, 7)])
def test_patience_grows_with_the_sets_that_a_problem_has(n: int, size: int) -> None:
    loop = make_loop(Script([checked([1] * n)]), n, size, max_iter=10**9)
    assert len(run(loop)) == 1 + 100 + 10 * n // size


@pytest.mark.parametrize(
    ("precision", "step", "stalls"),
    [(6.4e-6, 1.005e-7, False), (6.4e-6, 0.995e-7, True), (1e-16, 2e-15, False), (1e-16, 0, True)],
)
def test_what_counts_as_progress_depends_on_the_precision(
    precision: float, step: float, stalls: bool
) -> None:
    """A 64th of it, at least 1e-15, relative to the dual objective."""
    found = [checked([1] * 4, 0.5 - 0.5 * step * (i // 80)) for i in range(160)]
    loop = make_loop(Script([*found, checked([1] * 4, 0.0)]), 4, 4, precision=precision)
    run(loop)
    assert loop.progress.converged != stalls


# What is chosen


def test_every_fourth_round_goes_by_gaps() -> None:
    found = checked([3, 2, 1, 0, 0, 0], gaps=[0, 0, 0, 1, 2, 3])
    for by_gap in (True, False):
        script = Script([found._replace(dual=i / 100) for i in range(8)])
        run(make_loop(script, 6, 3, by_gap=by_gap, max_iter=4))
        ends = [{0, 1, 2} if not by_gap or i % 4 != 3 else {3, 4, 5} for i in range(8)]
        assert [set(chosen) for chosen in script.sets] == ends


@pytest.mark.parametrize(
    ("fraction", "expected"), [(0.1, 0.1), (0.01, 0.05), (0.8, 0.8), (0.95, 0.9)]
)
def test_sets_are_left_at_a_part_of_what_the_others_have(fraction: float, expected: float) -> None:
    # Inside 4 + 4, outside 4 times 1: the others have half of it.
    script = Script([checked([4, 1, 1, 4, 1, 1])])
    run(make_loop(script, 6, 2, fraction=fraction, max_iter=1))
    assert script.called("improve")[0][1:] == [pytest.approx(expected), 3]


def test_sets_of_little_gain_are_left_at_nine_tenths() -> None:
    gains = np.ones(100)
    script = Script([checked(gains)])
    run(make_loop(script, 100, 2, max_iter=1))
    _, fraction, passes = script.called("improve")[0]
    assert (fraction, passes) == (0.9, 20)  # 0.1 * 98 / 2 would be more


@pytest.mark.parametrize(
    ("n", "passes", "expected"), [(4, 20, 1000), (1000, 20, 200), (1000, 300, 300)]
)
def test_the_whole_problem_is_worth_more(n: int, passes: int, expected: int) -> None:
    script = Script([checked(np.ones(n), 0.5)])
    run(
        make_loop(script, n, 1000, tol=0.125, passes=passes, max_iter=10**6),
        lambda check: check.epoch > 0,
    )
    assert script.called("improve")[0][1:] == [pytest.approx(0.3 * 0.125 / 0.5), expected]


def test_the_whole_problem_is_left_at_the_fraction_where_the_goal_is_near() -> None:
    script = Script([checked([1, 1], 0.5), checked([1, 1], 0.0)])
    run(make_loop(script, 2, 2, tol=0.4))
    assert script.called("improve")[0][1] == 0.1
    script = Script([checked([1, 1], 0.5, violation=0.5), checked([1, 1], violation=0.0)])
    run(make_loop(script, 2, 2, tol=0.01, by_gap=False))
    assert script.called("improve")[0][1] == pytest.approx(0.3 * 0.01 / 0.5)


def test_a_distance_of_zero_is_solved_exactly() -> None:
    """Violations, by which the rule goes, are zero while gains are left."""
    script = Script([checked([1, 1], 0.0, violation=0.0)])
    loop = make_loop(script, 2, 2, tol=-1.0, max_iter=1)
    run(loop)
    assert script.called("improve")[0][1] == 0.0


def test_a_set_cut_off_before_its_gains_takes_the_plain_fraction() -> None:
    # One visit is left, and the first example of the set by number has nothing to gain by gaps.
    found = checked([0, 1, 1, 1], gaps=[1, 1, 1, 1])
    script = Script([found], visits=0)
    loop = make_loop(script, 4, 4, max_iter=1)
    loop.progress.visits = 3
    loop._selection.next = lambda gains: np.arange(4)  # type: ignore[method-assign]
    run(loop, lambda check: len(script.calls) > 0)
    assert script.called("improve") == [[[0], 0.1, 1]]


def test_a_distance_that_is_not_known_is_solved_exactly() -> None:
    """A primal objective below zero shows an indefinite kernel before its eigenvalues do."""
    script = Script([checked([1, 1])._replace(primal=-1.0)])
    run(make_loop(script, 2, 2), lambda check: len(script.calls) > 0)
    assert script.called("improve")[0][1] == 0.0


# Examples at rest

GAINS = [1.0, 1.0, 1.0, 0.0, 0.0, 0.0]


def test_examples_at_rest_are_set_aside_where_that_pays() -> None:
    found = [checked(GAINS, 0.5 / (i + 1)) for i in range(30)]
    script = Script([*found, checked(GAINS, 1e-9)], pays=True)
    history = run(make_loop(script, 6, 2, tol=1e-6))
    assert script.called("shrink") == [[[0, 1, 2]]]
    assert script.called("pays") == [[3]]
    shrunk_at = [i for i, check in enumerate(history) if check.active == 3]
    assert shrunk_at == list(range(10, 31))  # the tenth check finds them at rest
    assert script.calls[-1] == ("grow",)
    assert history[-1].active == 6


def test_examples_at_rest_stay_where_it_does_not_pay() -> None:
    found = [checked(GAINS, 0.5 / (i + 1)) for i in range(12)]
    script = Script([*found, checked(GAINS, 0.0)])
    history = run(make_loop(script, 6, 2))
    assert script.called("pays") == [[3]] * 3
    assert {check.active for check in history} == {6}
    assert script.called("grow") == []


def test_nothing_is_set_aside_where_all_gain() -> None:
    found = [checked([1] * 6, 0.5 / (i + 1)) for i in range(12)]
    script = Script([*found, checked([1] * 6, 0.0)], pays=True)
    run(make_loop(script, 6, 2))
    assert script.called("pays") == []


@pytest.mark.parametrize(("dual", "grows"), [(999.4, False), (999.5, True), (999.6, True)])
def test_they_come_back_at_a_thousandth_of_the_gap(dual: float, grows: bool) -> None:
    found = checked(GAINS)._replace(primal=1000.0)
    duals = [500.0] * 10 + [dual, 1000.0]
    script = Script([found._replace(dual=value) for value in duals], pays=True)
    history = run(make_loop(script, 6, 2, tol=1e-6))
    assert [check.active for check in history[10:]] == ([3, 6] if grows else [3, 3, 6])


def test_the_tolerance_is_tighter_while_some_are_aside() -> None:
    start = [checked(GAINS, 0.9 - 0.01 * i) for i in range(10)]
    script = Script([*start, checked(GAINS, 0.0095), checked(GAINS, 0.0089)], pays=True)
    history = run(make_loop(script, 6, 2, tol=0.01))
    assert [check.active for check in history[10:]] == [3, 3, 6]


def test_sets_are_of_those_left() -> None:
    gains = [0.0, 0.0, 0.0, 5.0, 6.0, 7.0]
    start = [checked(gains, 0.9 - 0.01 * i) for i in range(12)]
    script = Script([*start, checked(gains, 0.0)], pays=True)
    run(make_loop(script, 6, 2))
    at = script.calls.index(("shrink", [3, 4, 5]))
    shrunk = [call[1] for call in script.calls[at:] if call[0] == "improve"]
    assert shrunk
    assert all(len(chosen) == 2 and max(chosen) < 3 for chosen in shrunk)
    # A new selection begins with the largest.
    assert shrunk[0] == [1, 2]


def test_rest_begins_anew_when_all_are_back() -> None:
    start = [checked(GAINS, 0.9 - 0.01 * i) for i in range(10)]
    back = [checked(GAINS, 1e-5)] + [checked(GAINS, 0.5 - 0.01 * i) for i in range(25)]
    script = Script([*start, *back, checked(GAINS, 0.0)], pays=True)
    history = run(make_loop(script, 6, 2, tol=1e-6))
    active = [check.active for check in history]
    assert active[:12] == [6] * 10 + [3, 6]
    # Nine more checks, then they are aside again: the tenth after they came back finds them so.
    assert active[12:22] == [6] * 9 + [3]


# Indefinite kernels


def test_eigenvalues_are_looked_at_in_rounds_that_double() -> None:
    script = Script([checked(np.ones(400), 0.9 - 0.01 * i) for i in range(20)])
    run(make_loop(script, 400, 300, is_positive=False), lambda check: check.gap < 0.75)
    rounds, asked = 0, []
    for name, *_ in script.calls:
        asked += [rounds] * (name == "negative")
        rounds += name == "improve"
    assert asked == [0, 1, 2, 4, 8]
    assert [len(examples) for (examples,) in script.called("negative")] == [256] * 5


def test_known_kernels_are_not_looked_at() -> None:
    script = Script([checked([1, 1]), checked([1, 1], 0.0)])
    run(make_loop(script, 2, 2))
    assert script.called("negative") == []


def test_violations_decide_once_a_kernel_is_indefinite() -> None:
    found = [checked([1, 1], 0.5, violation=v) for v in (4.0, 2.0, 1.0)]
    script = Script([*found, checked([1, 1], 0.5, violation=0.0)], negative=-0.25)
    loop = make_loop(script, 2, 2, is_positive=False)
    history = run(loop)
    assert loop.progress.negative == -0.25
    assert loop.progress.converged
    assert len(script.called("negative")) == 1
    assert [np.isnan(check.gap) for check in history] == [False, True, True, True]


# Interrupts


class Pending:
    """An interrupt that comes after some checks."""

    def __init__(self, after: int, is_urgent: bool = False) -> None:
        self._left = after
        self.is_urgent = is_urgent

    def raise_pending(self) -> None:
        self._left -= 1
        if self._left == 0:
            raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("after", "is_urgent", "end"),
    [(3, False, (3, 6, 0)), (11, False, (12, 6, 1)), (11, True, (11, 3, 0))],
)
def test_interrupts_bring_back_those_aside_if_there_is_time(
    after: int, is_urgent: bool, end: tuple[int, int, int]
) -> None:
    script = Script([checked(GAINS, 0.9 - 0.01 * i) for i in range(30)], pays=True)
    loop = make_loop(script, 6, 2)
    with pytest.raises(KeyboardInterrupt):
        run(loop, interrupts=Pending(after, is_urgent))
    history = loop.progress.history
    assert (len(history), history[-1].active, len(script.called("grow"))) == end
