"""The loop of working sets: what is counted, when it ends, whom it tells."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from working_set_helpers import Script, checked, make_loop, run

from polymargin.fit._progress import Check
from polymargin.kernel import _working_sets
from polymargin.kernel._device import Checked
from polymargin.kernel._goal import FitProgress


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
