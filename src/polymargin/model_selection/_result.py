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
        Mean and standard deviation of the accuracy over the folds; NaN where not all were run.
    scores : tuple of float
        The accuracy on each fold; NaN for those that were not run, as the point could not become
        the best one any more.
    converged : bool
        Whether all fits reached `tol`.
    complete : bool
        Whether all folds were run.
    bound : float
        The mean accuracy if all folds that were not run were without an error: `mean_score` of a
        complete point is at most that.
    """

    machine: str
    C: float
    gamma: float | None
    level: int
    mean_score: float
    std_score: float
    scores: tuple[float, ...]
    converged: bool
    complete: bool
    bound: float

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
        to either side. Points that were given up show the mean of the folds that were run; a
        small cross marks them.

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
            means = [_mean_so_far(point) for point in points]
            deviations = [0.0 if math.isnan(p.std_score) else p.std_score for p in points]
            ax.errorbar([math.log2(p.C) for p in points], means, deviations, marker=".", capsize=2)
            _cross_out(ax, [(math.log2(p.C), _mean_so_far(p)) for p in points if not p.complete])
            ax.plot(math.log2(best.C), best.mean_score, "*", markersize=12, color="black")
            ax.set(ylabel="accuracy")
            return ax
        steps = (self.log2_C[2], self.log2_gamma[2])
        self._draw_cells(ax, sorted(points, key=lambda point: point.level), steps)
        _cross_out(ax, [_place(point) for point in points if not point.complete])
        ax.plot(*_place(best), "*", markersize=12, color="black")
        ax.set(ylabel="log₂ γ")
        return ax

    def _draw_cells(self, ax: Any, points: Sequence[GridPoint], steps: tuple[float, float]) -> None:
        from matplotlib.collections import PolyCollection

        corners = np.array([[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]]) * steps
        cells = PolyCollection(
            [np.array(_place(point)) + corners / 2**point.level for point in points],
            array=np.array([_mean_so_far(point) for point in points]),
            edgecolors="face",
        )
        scores = [_mean_so_far(point) for point in self.points]
        cells.set_clim(float(np.nanquantile(scores, 0.1)), float(np.nanmax(scores)))
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


def _mean_so_far(point: GridPoint) -> float:
    known = [score for score in point.scores if not math.isnan(score)]
    return mean_of(known) if known else math.nan


def _cross_out(ax: Any, places: Sequence[tuple[float, float]]) -> None:
    if places:
        ax.plot(*zip(*places, strict=True), "x", markersize=4, color="grey", linestyle="none")


def make_point(
    machine: str,
    C: float,
    gamma: float | None,
    level: int,
    accuracies: Sequence[float | None],
    *,
    converged: bool,
) -> GridPoint:
    """A point with its accuracy on each fold, None for those that were not run."""
    scores = tuple(math.nan if accuracy is None else accuracy for accuracy in accuracies)
    complete = None not in accuracies
    return GridPoint(
        machine=machine,
        C=C,
        gamma=gamma,
        level=level,
        mean_score=mean_of(scores) if complete else math.nan,
        std_score=float(np.std(scores)) if complete else math.nan,
        scores=scores,
        converged=converged,
        complete=complete,
        bound=bound_of(accuracies),
    )


def mean_of(accuracies: Sequence[float]) -> float:
    """Over folds."""
    return float(np.mean(accuracies))


def bound_of(accuracies: Sequence[float | None]) -> float:
    """The mean with no error on folds that are unknown."""
    return mean_of([1.0 if accuracy is None else accuracy for accuracy in accuracies])


def preference(point: GridPoint) -> tuple[float, float, float]:
    """Smallest for the best, infinite for a point that was given up."""
    mean = point.mean_score if point.complete else -math.inf
    return preference_of(mean, point.C, point.gamma)


def preference_of(mean: float, C: float, gamma: float | None) -> tuple[float, float, float]:
    """Smallest for the best; means that differ by rounding are equal."""
    return (-round(mean, 12) if math.isfinite(mean) else math.inf), C, gamma or 0.0
