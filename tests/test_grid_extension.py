"""Best points on the border of a grid: the warning, and a grid that grows."""

import warnings
from typing import Any

import numpy as np
import pytest
from test_model_selection import folds_of, small_set

from polymargin import KernelSVM, LinearSVM
from polymargin.model_selection import (
    GridBorder,
    GridBorderWarning,
    GridSearch,
    _fits,
    nested_grid_search,
)
from polymargin.model_selection._axes import Span, make_axis
from polymargin.model_selection._fits import Chain, Score
from polymargin.model_selection._grid import MOST_STEPS, Grid


def search(*machines: str, extend: bool, **options: Any) -> GridSearch:
    """On a range that ends long before the best C of LLW."""
    X, y = small_set("wine")
    given: dict[str, Any] = {"log2_C": (-10, -6, 2), "refinements": 0, "cv": folds_of(y)}
    given["race"] = None
    return nested_grid_search(
        LinearSVM(random_state=0), X, y, machines=machines, extend=extend, **given | options
    )


def by_place(found: GridSearch) -> dict[tuple[str, float, Any], Any]:
    return {(p.machine, p.C, p.gamma): p for p in found.points}


# What a search does


def test_a_best_point_on_the_border_is_warned_of() -> None:
    with pytest.warns(GridBorderWarning) as caught:
        found = search("llw", extend=False)
    assert found.borders == (GridBorder("llw", "C", "largest", 2.0**-6),)
    (message,) = [str(w.message) for w in caught]
    assert "llw at the largest C, 2^-6. Widen log2_C, or pass extend=True." in message
    assert caught[0].filename == __file__


def test_a_best_point_inside_is_not_warned_of() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert search("llw", extend=False, log2_C=(-10, 6, 2)).borders == ()


def test_the_grid_grows_until_the_best_point_is_inside() -> None:
    with pytest.warns(GridBorderWarning):
        short = search("llw", extend=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        grown = search("llw", extend=True)
    assert grown.borders == ()
    Cs = [point.C for point in grown.points]
    assert Cs[0] == 2.0**-10
    assert Cs[0] < grown.best.C < Cs[-1]
    assert grown.best_score > short.best_score
    np.testing.assert_array_equal(np.diff(np.log2(Cs)), 2.0)
    assert grown.log2_C == (-10.0, np.log2(Cs[-1]), 2.0)
    known = by_place(grown)
    assert all(known[key] == point for key, point in by_place(short).items())
    assert grown.n_fits == 3 * len(grown.points) + 1


def test_both_axes_grow_and_the_result_is_that_of_the_large_grid() -> None:
    X, y = small_set("digits")
    options: dict[str, Any] = {"refinements": 0, "cv": folds_of(y), "refit": False, "race": None}
    model = KernelSVM(random_state=0, tol=1e-6)
    grown = nested_grid_search(
        model, X, y, log2_C=(-8, -6, 2), log2_gamma=(-10, -8, 2), extend=True, **options
    )
    assert grown.log2_C[1] > -6
    assert grown.log2_gamma is not None
    assert grown.log2_gamma[1] > -8
    assert grown.borders == ()
    whole = nested_grid_search(
        model, X, y, log2_C=grown.log2_C, log2_gamma=grown.log2_gamma, **options
    )
    assert by_place(whole) == by_place(grown)


def test_growth_is_the_same_each_time_and_with_threads() -> None:
    once, again, threads = (
        search("llw", "ww", extend=True, refinements=1, n_jobs=n_jobs) for n_jobs in (1, 1, 3)
    )
    assert once.points == again.points == threads.points


def test_fits_beyond_the_border_start_from_those_at_it(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = small_set("digits")
    starts: list[tuple[float, bool]] = []
    fit = _fits.fit_on_gram

    def watching(model: Any, *args: Any) -> None:
        starts.append((model.C, hasattr(model, "_dual_state")))
        fit(model, *args)

    monkeypatch.setattr(_fits, "fit_on_gram", watching)
    nested_grid_search(
        KernelSVM(random_state=0), X, y, log2_C=(-8, -6, 2), log2_gamma=None, refinements=0, cv=3,
        extend=True, refit=False, race=None,
    )  # fmt: skip
    assert len(starts) > 6
    assert [warm for _, warm in starts[:6]] == [False, True] * 3
    assert all(warm for C, warm in starts[6:])


def test_refinements_are_those_of_the_grid_that_has_grown() -> None:
    grown = search("llw", extend=True, refinements=1)
    coarse = [p for p in grown.points if p.level == 0]
    best = min(coarse, key=lambda p: (-p.mean_score, p.C))
    around = {best.C / 2, best.C * 2}
    assert {p.C for p in grown.points if p.level == 1} == around


# Which points come next, on made-up accuracies


def grid_of(accuracy: Any, *ranges: Any, refinements: int = 0, machines: Any = ("ww",)) -> Grid:
    """A grid that may grow, searched to its end; the accuracy is a function of a chain and C."""
    axes = [make_axis("log2_C", given, refinements) for given in ranges]
    grid = Grid(machines, axes[0], axes[1] if axes[1:] else None, 1, extend=True)
    for level in range(refinements + 1):
        planned = grid.plan(level)
        while planned:
            chains = [chain for chain, _ in planned]
            scores = [[Score(accuracy(chain, C), True) for C in chain.Cs] for chain in chains]
            grid.add(level, planned, scores)
            planned = grid.grow(level)
    return grid


def logs(grid: Grid) -> list[float]:
    return [float(np.log2(point.C)) for point in grid.points()]


def test_growth_ends_at_the_limit() -> None:
    grid = grid_of(lambda _, C: 1 - 1 / (1 + C), (0, 2, 1))
    assert logs(grid) == list(range(3 + MOST_STEPS))
    assert grid.borders() == (GridBorder("ww", "C", "largest", 2.0 ** (2 + MOST_STEPS)),)
    down = grid_of(lambda _, C: 1 / (1 + C), (0, 2, 1))
    assert logs(down) == list(range(-MOST_STEPS, 3))
    assert down.ranges() == [(-MOST_STEPS, 2.0, 1.0), None]


def test_only_the_grid_of_the_machine_on_the_border_grows() -> None:
    peaks = {"ww": 1.0, "llw": 4.0}
    grid = grid_of(
        lambda chain, C: -abs(np.log2(C) - peaks[chain.machine]), (0, 2, 1), machines=tuple(peaks)
    )
    reached = {p.machine: p.C for p in grid.points()}  # the largest comes last
    assert reached == {"ww": 4.0, "llw": 32.0}
    assert grid.ranges() == [(0.0, 5.0, 1.0), None]


def test_equal_accuracy_inside_is_no_reason_to_grow() -> None:
    flat = grid_of(lambda _, C: 0.5, (0, 2, 1), (0, 2, 1))
    assert flat.borders() == ()
    assert len(flat.points()) == 9


def test_a_range_of_one_point_is_a_choice() -> None:
    grid = grid_of(
        lambda chain, C: 1 / (1 + C) / (1 + abs(np.log2(chain.gamma) - 4)), (3, 3, 1), (0, 2, 1)
    )
    assert set(logs(grid)) == {3.0}
    assert grid.borders() == ()
    assert max(np.log2(point.gamma or 0) for point in grid.points()) == 5


def test_a_range_that_ends_between_coarse_points_grows_too() -> None:
    grid = grid_of(lambda _, C: 1 / (1 + abs(np.log2(C) - 7)), (0, 4.5, 3), refinements=1)
    coarse = [float(np.log2(p.C)) for p in grid.points() if p.level == 0]
    assert coarse == [0, 3, 6, 9]
    assert [float(np.log2(p.C)) for p in grid.points() if p.level == 1] == [4.5, 7.5]


def test_a_refinement_that_ends_on_the_border_goes_on() -> None:
    # The best coarse point is inside, that of the refinement beyond what was asked for.
    peak = 5.0
    grid = grid_of(
        lambda _, C: 1 / (1 + abs(np.log2(C) - peak)) - (np.log2(C) % 2 == 0), (0, 5, 2),
        refinements=1,
    )  # fmt: skip
    best = min(grid.points(), key=lambda p: -p.mean_score)
    assert np.log2(best.C) == peak
    assert grid.borders() == ()


def test_a_growing_chain_names_the_border_as_its_start() -> None:
    axis = make_axis("log2_C", (0, 1, 1), 0)
    grid = Grid(("ww",), axis, None, 1, extend=True)
    planned = grid.plan(0)
    assert planned[0].chain == Chain("ww", None, 0, (1.0, 2.0), None, (1.0, 2.0))
    grid.add(0, planned, [[Score(0.5, True), Score(0.6, True)]])
    (grown,) = grid.grow(0)
    assert grown.chain == Chain("ww", None, 0, (4.0,), 2.0, (4.0, 4.0))
    grid.add(0, [grown], [[Score(0.55, True)]])
    assert grid.grow(0) == []


def test_axes_do_not_grow_beyond_numbers() -> None:
    axis = make_axis("log2_C", (996, 1000, 4), 0)
    assert axis.widened(axis.span, True, 10) is None
    assert axis.widened(axis.span, False, 10) == Span(-1, 1)
