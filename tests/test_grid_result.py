"""Table and heat map of a grid search."""

import pickle
from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.preprocessing import scale

from polymargin import KernelSVM, LinearSVM
from polymargin.model_selection import GridSearch, nested_grid_search


def iris() -> tuple[Any, Any]:
    X, y = load_iris(return_X_y=True)
    return scale(X), y


@pytest.fixture(scope="module")
def found() -> GridSearch:
    X, y = iris()
    return nested_grid_search(
        KernelSVM(random_state=0), X, y, machines=["ww", "cs"], log2_C=(-4, 2, 2),
        log2_gamma=(-6, 0, 2), cv=3, race=None,
    )  # fmt: skip


def test_result_is_frozen_and_pickles(found: GridSearch) -> None:
    with pytest.raises(FrozenInstanceError):
        found.n_fits = 0  # type: ignore[misc]
    again = pickle.loads(pickle.dumps(found))
    assert again.points == found.points
    assert again.best == found.best


def test_table(found: GridSearch) -> None:
    pytest.importorskip("pandas")
    frame = found.to_pandas()
    assert len(frame) == len(found.points) == len(found.records())
    folds = frame[["score_0", "score_1", "score_2"]].to_numpy()
    np.testing.assert_allclose(frame["mean_score"], folds.mean(axis=1))
    np.testing.assert_allclose(frame["std_score"], folds.std(axis=1))
    assert frame.groupby("machine")["mean_score"].max().to_dict() == {
        name: found.best_of(name).mean_score for name in ("ww", "cs")
    }


def test_heat_map(found: GridSearch) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    ax = found.heat_map("cs")
    assert ax.collections[0].get_clim() == found.heat_map("ww").collections[0].get_clim()
    (cells,) = ax.collections
    points = [p for p in found.points if p.machine == "cs"]
    assert sorted(cells.get_array()) == sorted(p.mean_score for p in points)
    widths = {float(np.ptp(path.vertices[:, 0])) for path in cells.get_paths()}
    assert widths == {2.0, 1.0}
    best = found.best_of("cs")
    (star,) = ax.lines
    assert star.get_xydata().tolist() == [[np.log2(best.C), np.log2(best.gamma)]]
    _, other = pyplot.subplots()
    assert found.heat_map(ax=other) is other
    X, y = iris()
    curve = nested_grid_search(LinearSVM(random_state=0), X, y, log2_C=(-6, 0, 2), cv=3)
    assert len(curve.heat_map().lines[0].get_xdata()) == len(curve.points)
    pyplot.close("all")


def test_unknown_machine_of_a_result(found: GridSearch) -> None:
    with pytest.raises(ValueError, match="'llw' was not searched"):
        found.best_of("llw")
