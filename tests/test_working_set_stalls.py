"""When the loop of working sets gives up, and what an indefinite kernel changes."""

from collections.abc import Iterable

import numpy as np
import pytest
from working_set_helpers import Script, checked, make_loop, run

from polymargin.kernel._goal import FitProgress
from polymargin.kernel._working_sets import _Stall


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
