"""Sources of random numbers: the same state gives the same result, wherever one is taken."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polymargin
from polymargin import KernelSVM, LinearSVM
from polymargin.model_selection import nested_grid_search
from polymargin.streams import fit_stream

SOURCES = [np.random.default_rng, np.random.RandomState, int]


@pytest.fixture
def rows() -> tuple[Any, Any]:
    random = np.random.default_rng(3)
    return random.normal(size=(90, 4)), random.integers(3, size=90)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("cls", [LinearSVM, KernelSVM])
def test_fit(cls: Any, source: Any, rows: tuple[Any, Any]) -> None:
    scores = [
        cls(tol=0.3, random_state=source(5)).fit(*rows).class_scores(rows[0]) for _ in range(2)
    ]
    np.testing.assert_array_equal(*scores)


def test_a_generator_moves_on(rows: tuple[Any, Any]) -> None:
    generator = np.random.default_rng(5)
    model = LinearSVM(tol=0.3, random_state=generator)
    first, second = (model.fit(*rows).coef_ for _ in range(2))
    assert not np.array_equal(first, second)
    assert model.random_state is generator


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("passes", [1, 3])
def test_streams(source: Any, passes: int, rows: tuple[Any, Any]) -> None:
    def batches() -> Iterator[tuple[Any, Any]]:
        for first in range(0, 90, 20):
            yield rows[0][first : first + 20], rows[1][first : first + 20]

    first, second, other = (
        fit_stream(LinearSVM(random_state=source(seed)), batches, [0, 1, 2], passes=passes).coef_
        for seed in (5, 5, 6)
    )
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("source", SOURCES)
def test_search(source: Any, rows: tuple[Any, Any]) -> None:
    def points() -> Any:
        search = nested_grid_search(
            LinearSVM(random_state=source(1)),
            *rows,
            log2_C=(-2, 0, 1),
            refinements=0,
            cv=3,
            random_state=source(7),
        )
        return [point.mean_score for point in search.points], search.best_estimator_.coef_

    (accuracies, coef), (again, coef_again) = points(), points()
    assert accuracies == again
    np.testing.assert_array_equal(coef, coef_again)


def test_path(rows: tuple[Any, Any]) -> None:
    one, other = (
        polymargin.path(*rows, [0.1, 1.0], random_state=np.random.default_rng(5)) for _ in range(2)
    )
    np.testing.assert_array_equal(one.models[1].coef_, other.models[1].coef_)


def test_files_do_not_hold_it(tmp_path: Path, rows: tuple[Any, Any]) -> None:
    model = LinearSVM(random_state=np.random.default_rng(5)).fit(*rows)
    polymargin.save(model, tmp_path / "model.safetensors")
    assert polymargin.load(tmp_path / "model.safetensors").random_state is None


def test_other_sources_are_refused(rows: tuple[Any, Any]) -> None:
    with pytest.raises(ValueError, match="random_state"):
        LinearSVM(random_state="seed").fit(*rows)  # type: ignore[arg-type]
