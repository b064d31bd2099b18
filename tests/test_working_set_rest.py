"""Examples that the loop of working sets sets aside."""

import pytest
from working_set_helpers import Script, checked, make_loop, run

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
