"""Points that are given up early: the outcome is that of the full table, and says what is not."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from test_model_selection import EXACT, direct_scores, folds_of, small_set

from polymargin import KernelSVM, LinearSVM
from polymargin.model_selection import GridPoint, GridSearch, _fits, nested_grid_search
from polymargin.model_selection._axes import make_axis
from polymargin.model_selection._fits import Chain, Data, Judge, Score
from polymargin.model_selection._grid import Grid
from polymargin.model_selection._odds import Odds
from polymargin.model_selection._race import Race
from polymargin.model_selection._watch import EndedEarlyError, Verdict, Watch

# On made-up accuracies


def made_up_folds(n_rows: int, n_folds: int, side_by_side: int = 1) -> Data:
    """Rows dealt to folds, so many at a time."""
    numbers = np.arange(n_rows)
    fold_of = numbers // side_by_side % n_folds
    folds = [(numbers[fold_of != fold], numbers[fold_of == fold]) for fold in range(n_folds)]
    return Data(None, np.zeros(n_rows), None, tuple(folds))


class MadeUp:
    """Fits whose predictions are drawn, the same for the same place whatever was fitted before."""

    def __init__(self, data: Data, seed: int) -> None:
        self._data, self._seed = data, seed
        self.fitted: list[Any] = []

    def score(self, machine: str, gamma: float | None, fold: int, C: float) -> Score:
        at = [len(machine), round(4 * math.log2(C)) + 100, round(4 * math.log2(gamma or 1)) + 100]
        chance = np.random.default_rng([self._seed, *at]).choice([0.5, 0.8, 0.85, 0.9])
        rng = np.random.default_rng([self._seed, fold, *at])
        is_right = rng.random(len(self._data.folds[fold][1])) < chance
        return Score(float(is_right.mean()), True, is_right)

    def run(self, chains: list[Chain], judge: Judge | None) -> list[list[Score | None]]:
        """Each fit is looked at on its way, when it predicts what it will in the end."""
        results = []
        for chain in chains:
            scores: list[Score | None] = []
            for C in chain.Cs:
                score = self.score(chain.machine, chain.gamma, chain.fold, C)
                known = [other for other in scores if other is not None]
                verdict = judge(chain.at(C), score, known) if judge else Verdict.GO_ON
                self.fitted.append((chain.at(C), verdict))
                rough = score._replace(is_rough=True)
                by_verdict = {Verdict.GIVE_UP: None, Verdict.POSTPONE: rough}
                scores.append(by_verdict.get(verdict, score))
            results.append(scores)
        return results


def made_up_search(
    risk: float | None, data: Data, seed: int, groups: Any = None, goes_ahead: bool = True
) -> tuple[Grid, MadeUp, int]:
    """All points of two machines on grids that are refined once, and may grow before."""
    n_folds = len(data.folds)
    axes = make_axis("log2_C", (-2, 2, 1), 1), make_axis("log2_gamma", (-1, 2, 1), 1)
    grid = Grid(("ww", "llw"), *axes, n_folds, extend=seed % 2 == 0)
    odds = None if risk is None else Odds(risk, data, groups)
    race, fits, skipped = Race(odds, n_folds, goes_ahead=goes_ahead), MadeUp(data, seed), [0]

    def skip(n_fits: int) -> None:
        skipped[0] += n_fits

    for level in range(2):
        planned = grid.plan(level)
        while planned:
            grid.add(level, planned, race.results(planned, fits.run, skip))
            planned = grid.grow(level)
    return grid, fits, skipped[0]


def best_of_machines(grid: Grid) -> list[tuple[str, float, float | None, float]]:
    best = []
    for machine in ("ww", "llw"):
        complete = [p for p in grid.points() if p.machine == machine and p.complete]
        point = min(complete, key=lambda p: (-round(p.mean_score, 12), p.C, p.gamma))
        best.append((machine, point.C, point.gamma, point.mean_score))
    return best


@pytest.mark.parametrize(("n_rows", "n_folds"), [(20, 4), (60, 3), (150, 5)])
@pytest.mark.parametrize("goes_ahead", [True, False])
def test_without_a_risk_the_outcome_is_that_of_the_full_table(
    n_rows: int, n_folds: int, goes_ahead: bool
) -> None:
    data, n_ties, n_saved = made_up_folds(n_rows, n_folds), 0, 0
    for seed in range(40):
        full, all_fits, none = made_up_search(None, data, seed)
        raced, fits, skipped = made_up_search(0.0, data, seed, goes_ahead=goes_ahead)
        assert best_of_machines(raced) == best_of_machines(full)
        assert raced.borders() == full.borders()
        assert raced.ranges() == full.ranges()
        table = {(p.machine, p.C, p.gamma): p for p in full.points()}
        assert {(p.machine, p.C, p.gamma) for p in raced.points()} == set(table)
        best = {machine: mean for machine, _, _, mean in best_of_machines(full)}
        for point in raced.points():
            expected = table[point.machine, point.C, point.gamma]
            if point.complete:
                assert point == expected
            else:
                assert_unfinished(point, expected)
                assert point.bound < best[point.machine]
        n_ties += sum(p.mean_score == best[p.machine] for p in full.points()) > 2
        assert none == 0
        assert len(fits.fitted) == raced.n_fits
        assert raced.n_fits + skipped == full.n_fits == len(all_fits.fitted)
        n_saved += skipped
    assert n_ties > 0 or n_rows > 20
    assert n_saved > 0


def assert_unfinished(point: GridPoint, expected: GridPoint) -> None:
    """What is known is right, what is not is NaN, and no fold that is missing can be better."""
    known = [not math.isnan(score) for score in point.scores]
    assert not all(known)
    assert math.isnan(point.mean_score)
    assert math.isnan(point.std_score)
    for score, other, is_known in zip(point.scores, expected.scores, known, strict=True):
        assert not is_known or score == other
    filled = [1.0 if math.isnan(score) else score for score in point.scores]
    assert point.bound == np.mean(filled)
    assert expected.mean_score <= point.bound


@pytest.mark.parametrize("goes_ahead", [True, False])
def test_at_a_small_risk_most_fits_are_saved_and_the_winner_is_hardly_ever_lost(
    goes_ahead: bool,
) -> None:
    data, n_fits, n_saved, n_lost = made_up_folds(300, 5), 0, 0, 0
    for seed in range(30):
        full, _, _ = made_up_search(None, data, seed)
        raced, fits, skipped = made_up_search(0.001, data, seed, goes_ahead=goes_ahead)
        for found, expected in zip(best_of_machines(raced), best_of_machines(full), strict=True):
            n_lost += found != expected
        ended = [place for place, verdict in fits.fitted if verdict is Verdict.GO_ON]
        assert len(ended) == len(set(ended)) == raced.n_fits
        n_fits, n_saved = n_fits + raced.n_fits, n_saved + skipped
    assert n_lost <= 1
    assert n_saved > n_fits


def test_fits_that_were_postponed_are_made_where_the_point_stays_in_the_race() -> None:
    data, seen = made_up_folds(100, 5), set()
    for seed in range(10):
        raced, fits, _ = made_up_search(0.001, data, seed)
        postponed = {place for place, verdict in fits.fitted if verdict is Verdict.POSTPONE}
        ended = {place for place, verdict in fits.fitted if verdict is Verdict.GO_ON}
        complete = {(p.machine, p.gamma, p.C): p.complete for p in raced.points()}
        for machine, gamma, fold, C in postponed:
            seen.add(complete[machine, gamma, C])
            assert not complete[machine, gamma, C] or (machine, gamma, fold, C) in ended
    assert seen == {True, False}


# The test on pairs


def scores_of(data: Data, is_right: Any) -> list[Score]:
    parts = [is_right[rows] for _, rows in data.folds]
    return [Score(float(part.mean()), True, part) for part in parts]


def rate_of_giving_up(risk: float, data: Data, groups: Any, size: int) -> float:
    """Of points level with the best in the end, from which they differ in blocks of rows."""
    odds, rng, given_up, n = Odds(risk, data, groups), np.random.default_rng(0), 0, 2000
    n_blocks = len(data.y) // size
    signs = np.zeros(n_blocks, int)
    signs[: n_blocks // 4], signs[n_blocks // 4 : 2 * (n_blocks // 4)] = 1, -1
    for _ in range(n):
        behind = np.repeat(rng.permutation(signs), size)
        best, other = scores_of(data, behind >= 0), scores_of(data, behind <= 0)
        after = rng.integers(1, len(data.folds))
        so_far = [*other[:after], *[None] * (len(other) - after)]
        given_up += odds.judge(so_far, best) is Verdict.GIVE_UP
    return given_up / n


@pytest.mark.parametrize("risk", [0.05, 0.2])
def test_a_point_that_is_level_is_given_up_as_seldom_as_the_risk_says(risk: float) -> None:
    data = made_up_folds(400, 5)
    assert risk / 3 < rate_of_giving_up(risk, data, None, 1) < 1.2 * risk


def test_rows_of_a_group_count_as_one() -> None:
    data, groups = made_up_folds(400, 5, side_by_side=2), np.arange(400) // 2
    assert rate_of_giving_up(0.05, data, groups, 2) < 1.2 * 0.05
    assert rate_of_giving_up(0.05, data, None, 2) > 1.5 * 0.05


def test_folds_of_growing_training_parts_tell_nothing_of_each_other() -> None:
    n = np.arange(72)
    alike = made_up_folds(60, 5)
    growing = replace(
        alike, folds=tuple((n[: 12 * f], n[12 * f : 12 * f + 12]) for f in range(1, 6)), y=n
    )
    best, worst = scores_of(alike, np.ones(60, bool)), scores_of(alike, np.zeros(60, bool))
    so_far = [*worst[:4], None]
    assert Odds(0.1, growing, None).judge(so_far, best) is Verdict.GO_ON
    assert Odds(0.1, alike, None).judge(so_far, best) is Verdict.GIVE_UP
    assert Odds(0.0, alike, None).judge(so_far, best) is Verdict.GO_ON


def test_weights_count() -> None:
    data = made_up_folds(400, 5)
    is_right = np.arange(400) >= 60
    best, other = scores_of(data, np.ones(400, bool)), scores_of(data, is_right)
    first = [*other[:2], None, None, None]
    assert Odds(0.001, data, None).judge(first, best) is Verdict.GIVE_UP
    weight = np.where(is_right, 1.0, 1e-6)
    assert Odds(0.001, replace(data, weight=weight), None).judge(first, best) is Verdict.GO_ON


# On data


def assert_same_outcome(raced: GridSearch, full: GridSearch) -> None:
    assert raced.best == full.best
    assert [raced.best_of(m) for m in raced.machines] == [full.best_of(m) for m in full.machines]
    assert raced.borders == full.borders
    assert {(p.machine, p.C, p.gamma, p.level) for p in raced.points} == {
        (p.machine, p.C, p.gamma, p.level) for p in full.points
    }


@pytest.mark.filterwarnings("ignore::polymargin.model_selection.GridBorderWarning")
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("make", [LinearSVM, KernelSVM])
def test_the_winner_is_that_of_the_full_table(make: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(30, 90))
    y = np.concatenate([np.repeat(np.arange(3), 5), rng.integers(3, size=n - 15)])
    X = rng.normal(size=(n, 3)) + rng.uniform(0.5, 3) * np.eye(3)[y]
    options: dict[str, Any] = {"machines": ["ww", "cs"], "log2_C": (-4, 4, 2), "refit": False}
    options |= {"cv": int(rng.integers(2, 6)), "extend": seed % 2 == 0, "random_state": seed}
    options |= {"log2_gamma": (-5, 1, 3)} if make is KernelSVM else {}
    full, raced = (
        nested_grid_search(make(**EXACT), X, y, race=race, **options) for race in (None, 0)
    )
    assert_same_outcome(raced, full)
    assert all(point.complete for point in full.points)
    assert raced.n_fits <= full.n_fits


@pytest.mark.parametrize("matrix_size", [2048, 0])
@pytest.mark.parametrize("name", ["wine", "digits"])
def test_what_is_known_of_points_given_up_is_right(name: str, matrix_size: float) -> None:
    X, y = small_set(name)
    folds, model = folds_of(y, 5), KernelSVM(**EXACT)
    options: dict[str, Any] = {"log2_C": (-4, 6, 2), "log2_gamma": (-9, 1, 2), "refinements": 0}
    search = nested_grid_search(
        model, X, y, cv=folds, race=0.01, matrix_size=matrix_size, refit=False, **options
    )
    full = nested_grid_search(model, X, y, cv=folds, race=None, refit=False, **options)
    assert_same_outcome(search, full)
    given_up = [point for point in search.points if not point.complete]
    assert len(given_up) > 5
    for point in given_up:
        expected = direct_scores(model, X, y, folds, **point.params)
        for score, other in zip(point.scores, expected, strict=True):
            assert math.isnan(score) or score == pytest.approx(other, abs=1e-12)
    assert search.n_fits == sum(not math.isnan(s) for p in search.points for s in p.scores)
    assert search.n_fits <= full.n_fits - len(given_up)


def test_threads_change_nothing_in_a_race() -> None:
    X, y = small_set("digits")
    options: dict[str, Any] = {"machines": ["ww", "llw"], "log2_C": (-3, 5, 2), "refit": False}
    for more in (
        {},
        {"groups": np.arange(len(y)) // 2},
        {"sample_weight": 1.0 + np.arange(len(y)) % 3},
    ):
        alone, together = (
            nested_grid_search(
                KernelSVM(random_state=0, tol=1e-5), X, y, log2_gamma=(-8, 0, 2), race=0.01,
                n_jobs=n_jobs, **options, **more,
            )
            for n_jobs in (1, 3)
        )  # fmt: skip
        assert alone.points == together.points
        assert alone.n_fits == together.n_fits
        assert not all(point.complete for point in alone.points)


# Fits that end early


def test_a_hopeless_fit_ends_on_its_way(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=600)
    X = rng.normal(size=(600, 8)) + 2 * np.eye(8)[y]
    ended: list[Verdict] = []
    fit = _fits.fit_on_gram

    def watching(*args: Any) -> None:
        try:
            fit(*args)
        except EndedEarlyError as early:
            ended.append(early.verdict)
            raise

    monkeypatch.setattr(_fits, "fit_on_gram", watching)
    options: dict[str, Any] = {"log2_C": (-1, 11, 4), "log2_gamma": (-7, -3, 2), "refinements": 0}
    model = KernelSVM(random_state=0)
    raced = nested_grid_search(model, X, y, race=0.01, refit=False, **options)
    assert Verdict.POSTPONE in ended
    assert Verdict.GIVE_UP in ended
    ended.clear()
    full = nested_grid_search(model, X, y, race=None, refit=False, **options)
    nested_grid_search(model, X, y, race=0, refit=False, **options)
    assert ended == []
    assert raced.best.params == full.best.params
    known = {(p.C, p.gamma): p for p in full.points}
    assert raced.best.mean_score == pytest.approx(
        known[raced.best.C, raced.best.gamma].mean_score, abs=0.01
    )


def test_a_watch_looks_once_at_a_long_fit_with_a_small_gap() -> None:
    looks: list[Any] = []

    def judge(predicted: Any) -> Verdict:
        looks.append(predicted)
        return Verdict.GO_ON

    watch = Watch(lambda state: state, judge)
    history = [(5.0, 0.01), (30.0, 0.5), (30.0, np.nan), (40.0, 0.02), (50.0, 0.01)]
    records = np.array(history, [("epoch", float), ("gap", float)])
    for i in range(len(records)):
        if watch.is_due():
            watch.keep(i, records[: i + 1])  # type: ignore[arg-type]
    assert looks == [3]


# What is shown of it


@pytest.fixture(scope="module")
def raced() -> GridSearch:
    X, y = small_set("digits")
    return nested_grid_search(
        KernelSVM(random_state=0), X, y, log2_C=(-4, 6, 2), log2_gamma=(-12, 2, 2), cv=5,
        refit=False, race=0.001,
    )  # fmt: skip


def test_the_table_says_what_was_not_run(raced: GridSearch) -> None:
    pandas = pytest.importorskip("pandas")
    frame = raced.to_pandas()
    assert not frame["complete"].all()
    assert frame["mean_score"].isna().equals(~frame["complete"])
    scores = frame[[f"score_{fold}" for fold in range(5)]]
    assert scores.isna().any(axis=1).equals(~frame["complete"])
    assert int(scores.notna().sum().sum()) == raced.n_fits
    pandas.testing.assert_series_equal(
        frame["bound"], scores.fillna(1.0).mean(axis=1), check_names=False
    )
    assert frame["mean_score"].max() == raced.best_score
    assert raced.best.complete


def test_the_heat_map_crosses_out_what_was_given_up(raced: GridSearch) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    ax = raced.heat_map()
    crosses, star = ax.lines
    assert len(crosses.get_xdata()) == sum(not point.complete for point in raced.points)
    assert star.get_xydata().tolist() == [[np.log2(raced.best.C), np.log2(raced.best.gamma)]]
    (cells,) = ax.collections
    means = [
        np.nanmean(p.scores) if not np.all(np.isnan(p.scores)) else np.nan for p in raced.points
    ]
    np.testing.assert_allclose(np.sort(np.ma.filled(cells.get_array(), np.nan)), np.sort(means))
    X, y = small_set("digits")
    curve = nested_grid_search(
        LinearSVM(random_state=0), X, y, log2_C=(-16, 0, 2), race=0.01, refit=False
    )
    n_given_up = sum(not point.complete for point in curve.points)
    assert n_given_up > 0
    assert len(curve.heat_map().lines[-2].get_xdata()) == n_given_up
    pyplot.close("all")


def test_progress_comes_to_its_end(capsys: pytest.CaptureFixture[str]) -> None:
    X, y = small_set("digits")
    nested_grid_search(
        KernelSVM(random_state=0), X, y, log2_C=(-4, 6, 2), log2_gamma=(-12, 2, 2), refinements=0,
        refit=False, verbose=1,
    )  # fmt: skip
    assert "240/240" in capsys.readouterr().err


@pytest.mark.parametrize("race", [-0.1, 0.5, 1, np.nan, "0.1", True])
def test_bad_risks(race: Any, blobs: tuple[Any, Any]) -> None:
    with pytest.raises(ValueError, match="race has to be None or a number from 0 to below 0.5"):
        nested_grid_search(KernelSVM(), *blobs, race=race)
