"""What a grid search found."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from typing import Any

import numpy as np

from polymargin._machines import find_machine
from polymargin.estimators import KernelSVM, LinearSVM


@dataclass(frozen=True)
class GridPoint:
    """Accuracy of one machine at one point of the grid.

    Attributes
    ----------
    machine : str
        The machine.
    C : float
        Its C.
    gamma : float or None
        Its gamma; None where the search was over C alone.
    level : int
        0 for a point of the coarse grid, r for one of the r-th refinement.
    mean_score, std_score : float
        Mean and standard deviation of the accuracy over the folds.
    scores : tuple of float
        The accuracy on each fold.
    converged : bool
        Whether the fits of all folds reached `tol`.
    """

    machine: str
    C: float
    gamma: float | None
    level: int
    mean_score: float
    std_score: float
    scores: tuple[float, ...]
    converged: bool

    @property
    def params(self) -> dict[str, Any]:
        """What `set_params` of the estimator takes."""
        params = {"machine": self.machine, "C": self.C}
        return params if self.gamma is None else params | {"gamma": self.gamma}


@dataclass(frozen=True)
class GridBorder:
    """That the best point of a machine lies on the border of its grid, better than all inside.

    Attributes
    ----------
    machine : str
        The machine.
    parameter : {"C", "gamma"}
        The axis that is too short.
    end : {"smallest", "largest"}
        At which end.
    value : float
        The value there.
    """

    machine: str
    parameter: str
    end: str
    value: float


@dataclass(frozen=True)
class GridSearch:
    """What `nested_grid_search` found.

    Attributes
    ----------
    machines : tuple of str
        The machines, in the order given.
    points : tuple of GridPoint
        All points that were evaluated, by machine, C and gamma.
    log2_C, log2_gamma : tuple of float or None
        The ranges (first, last, step) of the coarse grid, those of all machines together where
        `extend` has made them wider; None for gamma where the search was over C alone.
    borders : tuple of GridBorder
        The best points that lie on the border of the grid: better ones may lie beyond.
    best_estimator_ : LinearSVM, KernelSVM or None
        The estimator fitted on all rows at the best point; None without `refit`.
    n_fits : int
        How many fits the search took, that of `best_estimator_` included.
    """

    machines: tuple[str, ...]
    points: tuple[GridPoint, ...]
    log2_C: tuple[float, float, float]  # noqa: N815
    log2_gamma: tuple[float, float, float] | None
    borders: tuple[GridBorder, ...]
    best_estimator_: LinearSVM | KernelSVM | None
    n_fits: int

    @property
    def best(self) -> GridPoint:
        """The best point of all machines; of equals that of the machine given first."""
        points = [self.best_of(machine) for machine in self.machines]
        return min(points, key=lambda point: preference(point)[0])

    @property
    def best_params(self) -> dict[str, Any]:
        """Machine, C and gamma of the best point."""
        return self.best.params

    @property
    def best_score(self) -> float:
        """Mean accuracy at the best point."""
        return self.best.mean_score

    def best_of(self, machine: str) -> GridPoint:
        """The best point of a machine; of equals that of the smallest C, then gamma.

        Parameters
        ----------
        machine : str
            One of `machines`.

        Returns
        -------
        point : GridPoint
        """
        return min(self._points_of(machine), key=preference)

    def records(self) -> list[dict[str, Any]]:
        """The points as dicts, with the accuracies of the folds as ``score_0``, ``score_1`` ...

        Returns
        -------
        records : list of dict
        """
        return [
            {name: value for name, value in asdict(point).items() if name != "scores"}
            | {f"score_{fold}": score for fold, score in enumerate(point.scores)}
            for point in self.points
        ]

    def to_pandas(self) -> Any:
        """`records` as a data frame. Needs pandas.

        Returns
        -------
        frame : pandas.DataFrame
        """
        return import_module("pandas").DataFrame.from_records(self.records())

    def heat_map(self, machine: str | None = None, ax: Any = None) -> Any:
        """Draw the mean accuracy of a machine over the grid. Needs Matplotlib.

        Points are cells as large as the step of their grid, finer ones on top of coarser ones; a
        star marks the best point. Colours mean the same for all machines; the worst tenth of all
        points shares one. Without gamma it is a curve over C with one standard deviation
        to either side.

        Parameters
        ----------
        machine : str, default=None
            One of `machines`; None is that of the best point.
        ax : matplotlib.axes.Axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        ax : matplotlib.axes.Axes
        """
        machine = self.best.machine if machine is None else machine
        best, points = self.best_of(machine), self._points_of(machine)
        if ax is None:
            from matplotlib import pyplot

            _, ax = pyplot.subplots(layout="constrained")
        ax.set(xlabel="log₂ C", title=f"{find_machine(machine).title}: {best.mean_score:.4f}")
        if self.log2_gamma is None:
            means = [point.mean_score for point in points]
            deviations = [point.std_score for point in points]
            ax.errorbar([math.log2(p.C) for p in points], means, deviations, marker=".", capsize=2)
            ax.plot(math.log2(best.C), best.mean_score, "*", markersize=12, color="black")
            ax.set(ylabel="accuracy")
            return ax
        steps = (self.log2_C[2], self.log2_gamma[2])
        self._draw_cells(ax, sorted(points, key=lambda point: point.level), steps)
        ax.plot(*_place(best), "*", markersize=12, color="black")
        ax.set(ylabel="log₂ γ")
        return ax

    def _draw_cells(self, ax: Any, points: Sequence[GridPoint], steps: tuple[float, float]) -> None:
        from matplotlib.collections import PolyCollection

        corners = np.array([[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]]) * steps
        cells = PolyCollection(
            [np.array(_place(point)) + corners / 2**point.level for point in points],
            array=np.array([point.mean_score for point in points]),
            edgecolors="face",
        )
        scores = [point.mean_score for point in self.points]
        cells.set_clim(float(np.quantile(scores, 0.1)), max(scores))
        ax.add_collection(cells)
        ax.autoscale_view()
        ax.figure.colorbar(cells, ax=ax, label="accuracy", extend="min")

    def _points_of(self, machine: str) -> list[GridPoint]:
        name = find_machine(machine).name
        if name not in self.machines:
            raise ValueError(f"machine {machine!r} was not searched, only {self.machines}")
        return [point for point in self.points if point.machine == name]


def _place(point: GridPoint) -> tuple[float, float]:
    return math.log2(point.C), math.log2(point.gamma or 1.0)


def preference(point: GridPoint) -> tuple[float, float, float]:
    """Smallest for the best; means that differ by rounding are equal."""
    return -round(point.mean_score, 12), point.C, point.gamma or 0.0
