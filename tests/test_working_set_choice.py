"""Which examples the loop of working sets solves, and how far."""

import numpy as np
import pytest
from working_set_helpers import Script, checked, make_loop, run


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
