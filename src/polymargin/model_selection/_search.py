"""Choice of machine, C and gamma by nested grid search with cross-validation."""

import itertools
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold, check_cv
from sklearn.utils.multiclass import check_classification_targets

from polymargin._machines import find_machine
from polymargin._sklearn import validate_parameters
from polymargin._threads import blas_threads, count_threads
from polymargin.estimators import KernelSVM, LinearSVM
from polymargin.fit import check_sample_weight, check_X, make_problem
from polymargin.kernel import IndefiniteKernelWarning, has_gamma
from polymargin.model_selection._axes import Axis, make_axis
from polymargin.model_selection._fits import (
    Chain,
    Data,
    Fits,
    Gate,
    GramFits,
    RowFits,
    Score,
)
from polymargin.model_selection._result import GridPoint, GridSearch, preference
from polymargin.solvers import choose

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["GridPoint", "GridSearch", "nested_grid_search"]

_LINEAR_C = (-10.0, 6.0, 2.0)
_KERNEL_C = (-5.0, 15.0, 2.0)
_GAMMA = (-15.0, 3.0, 2.0)


def nested_grid_search(
    estimator: LinearSVM | KernelSVM,
    X: Any,
    y: Any,
    *,
    machines: str | Iterable[str] | None = None,
    log2_C: tuple[float, float, float] | None = None,
    log2_gamma: tuple[float, float, float] | str | None = "auto",
    refinements: int = 1,
    cv: Any = 5,
    sample_weight: Any = None,
    refit: bool = True,
    matrix_size: float = 2048,
    n_jobs: int | None = None,
    random_state: int | np.random.RandomState | None = 0,
    verbose: int = 0,
) -> GridSearch:
    """Choose machine, C and gamma by cross-validated accuracy on nested logarithmic grids.

    First all points of a coarse grid are evaluated. Each refinement then halves the step and
    evaluates, for each machine, the points at most one step of the grid before it away from the
    best point so far, inside the ranges given. Of points of equal mean accuracy that of the
    smallest C is the best, then that of the smallest gamma.

    Nested grid search with five folds is how Doğan, Glasmachers and Igel (2011, section 6.1)
    compare machines.

    Parameters
    ----------
    estimator : LinearSVM or KernelSVM
        All parameters but `machine`, `C`, `gamma`, `n_jobs`, `warm_start` and `verbose` are used
        as they are; `checkpoint` and `calibration` by the last fit, that of `refit`.
    X : array-like or sparse of shape (n, d), or (n, n) with a precomputed kernel
        Rows.
    y : array-like of shape (n,)
        Labels.
    machines : str or sequence of str, default=None
        The machines to compare; None is the machine of the estimator.
    log2_C : (first, last, step), default=None
        Coarse grid of the binary logarithm of C, `last` included. None is (-5, 15, 2) for
        `KernelSVM` and (-10, 6, 2) for `LinearSVM`.
    log2_gamma : (first, last, step), "auto" or None, default="auto"
        The same for gamma. ``"auto"`` is (-15, 3, 2) where the kernel has a gamma; None leaves
        gamma as it is in the estimator.
    refinements : int, default=1
        How many times the step is halved.
    cv : int, splitter or iterable, default=5
        The folds: a number of stratified, shuffled folds (None is 5), or what scikit-learn takes.
        Of a splitter by groups pass its folds, ``list(splitter.split(X, y, groups))``.
    sample_weight : array-like of shape (n,), default=None
        Factors of C, which also weigh the accuracy.
    refit : bool, default=True
        Whether to fit the estimator at the best point on all rows.
    matrix_size : float, default=2048
        Memory in MiB for matrices of all pairs of rows, which the fits of a `KernelSVM` share.
        Where they do not fit, each fit computes its kernel values from the rows.
    n_jobs : int, default=None
        Threads, each of which runs fits on its own. None is 1 unless in a joblib context, -1 all
        cores.
    random_state : int, RandomState or None, default=0
        Seed of the folds.
    verbose : int, default=0
        1 or more shows a progress bar.

    Returns
    -------
    search : GridSearch
        Every point with its accuracy, the best ones, the fitted estimator.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.preprocessing import scale
    >>> from polymargin import KernelSVM
    >>> from polymargin.model_selection import nested_grid_search
    >>> X, y = load_iris(return_X_y=True)
    >>> search = nested_grid_search(
    ...     KernelSVM(random_state=0),
    ...     scale(X),
    ...     y,
    ...     machines=["ww", "cs"],
    ...     log2_C=(-2, 4, 2),
    ...     log2_gamma=(-6, 0, 2),
    ... )
    >>> sorted(search.best_params)
    ['C', 'gamma', 'machine']
    >>> search.best_score > 0.9
    True
    >>> search.best_estimator_.C == search.best.C
    True
    """
    if not isinstance(estimator, LinearSVM | KernelSVM):
        raise TypeError(
            "nested_grid_search takes a LinearSVM or a KernelSVM, got "
            f"{type(estimator).__name__}; for pipelines there is scikit-learn's GridSearchCV"
        )
    if not isinstance(refinements, Integral) or not 0 <= refinements <= 16:
        raise ValueError(f"refinements has to be an integer from 0 to 16, got {refinements!r}")
    if not isinstance(matrix_size, Real) or not matrix_size >= 0:
        raise ValueError(f"matrix_size has to be a number, zero or positive, got {matrix_size!r}")
    if not isinstance(refit, bool | np.bool_):
        raise ValueError(f"refit has to be True or False, got {refit!r}")
    names = _find_machines(estimator.machine if machines is None else machines)
    for name in names:
        choose(estimator, name)  # what is not defined is refused before any work
    if log2_C is None:
        log2_C = _LINEAR_C if isinstance(estimator, LinearSVM) else _KERNEL_C
    axis_C = make_axis("log2_C", log2_C, int(refinements))
    range_gamma = _gamma_range(estimator, log2_gamma)
    axis_gamma = None
    if range_gamma is not None:
        axis_gamma = make_axis("log2_gamma", range_gamma, int(refinements))
    n_threads = count_threads(n_jobs)
    data = _make_data(estimator, X, y, sample_weight, cv, random_state)

    grid = _Grid(names, axis_C, axis_gamma, len(data.folds))
    # The limit on the threads of matrix products belongs to the whole process: set here, it is
    # not set and lifted by fits that run at the same time.
    with blas_threads(1), warnings.catch_warnings():
        # One at the end says it for all.
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", IndefiniteKernelWarning)
        fits = _make_fits(estimator, data, grid.n_gammas, n_threads, float(matrix_size))
        for level in range(int(refinements) + 1):
            planned = grid.plan(level)
            fits.plan([chain for chain, _ in planned])
            title = f"refinement {level}" if level else "coarse grid"
            grid.add(level, planned, _run(fits, planned, n_threads, title, verbose))
    search = GridSearch(
        machines=names,
        points=grid.points(),
        log2_C=axis_C.range,
        log2_gamma=axis_gamma and axis_gamma.range,
        best_estimator_=None,
        n_fits=grid.n_fits,
    )
    _warn_not_converged(search, estimator)
    if not refit:
        return search
    best = clone(estimator).set_params(**search.best_params).fit(X, y, sample_weight)
    return replace(search, best_estimator_=best, n_fits=search.n_fits + 1)


class _Planned(NamedTuple):
    chain: Chain
    at: list[tuple[int, int]]  # of each C of the chain: the point on both axes


class _Grid:
    """The points of all machines and what is known of them."""

    def __init__(
        self, machines: tuple[str, ...], axis_C: Axis, axis_gamma: Axis | None, n_folds: int
    ) -> None:
        self._axis_C = axis_C
        self._axis_gamma = axis_gamma
        self._n_folds = n_folds
        self._points: dict[str, dict[tuple[int, int], GridPoint]] = {name: {} for name in machines}

    @property
    def n_gammas(self) -> int:
        """Values of gamma that the fits of the coarse grid have between them, at most."""
        return len(self._axis_gamma.coarse()) if self._axis_gamma else self._n_folds

    @property
    def n_fits(self) -> int:
        return self._n_folds * sum(map(len, self._points.values()))

    def points(self) -> tuple[GridPoint, ...]:
        """All points by machine, C and gamma."""
        return tuple(point for known in self._points.values() for _, point in sorted(known.items()))

    def plan(self, level: int) -> list[_Planned]:
        """The chains of a level, those of one gamma after each other."""
        Cs: dict[tuple[int, str], list[int]] = defaultdict(list)
        for machine in self._points:
            for i_C, i_gamma in self._new_points(machine, level):
                Cs[i_gamma, machine].append(i_C)
        planned: list[_Planned] = []
        for (i_gamma, machine), indices in sorted(Cs.items()):
            gamma = self._axis_gamma.value(i_gamma) if self._axis_gamma else None
            values = tuple(self._axis_C.value(i) for i in indices)
            at = [(i, i_gamma) for i in indices]
            planned += [
                _Planned(Chain(machine, gamma, fold, values), at) for fold in range(self._n_folds)
            ]
        return planned

    def _new_points(self, machine: str, level: int) -> list[tuple[int, int]]:
        """Ascending, without those that are known."""
        known = self._points[machine]
        if level == 0:
            Cs = self._axis_C.coarse()
            gammas = self._axis_gamma.coarse() if self._axis_gamma else [0]
        else:
            i_C, i_gamma = min(known, key=lambda at: preference(known[at]))
            Cs = self._axis_C.around(i_C, level)
            gammas = self._axis_gamma.around(i_gamma, level) if self._axis_gamma else [0]
        return [at for at in itertools.product(Cs, gammas) if at not in known]

    def add(self, level: int, planned: list[_Planned], results: list[list[Score]]) -> None:
        """Take in the scores of chains."""
        scores: dict[tuple[str, float | None, float, tuple[int, int]], list[Score]]
        scores = defaultdict(list)
        for (chain, at), result in zip(planned, results, strict=True):
            for C, place, score in zip(chain.Cs, at, result, strict=True):
                scores[chain.machine, chain.gamma, C, place].append(score)
        for (machine, gamma, C, place), folds in scores.items():
            accuracies = [score.accuracy for score in folds]
            self._points[machine][place] = GridPoint(
                machine=machine,
                C=C,
                gamma=gamma,
                level=level,
                mean_score=float(np.mean(accuracies)),
                std_score=float(np.std(accuracies)),
                scores=tuple(accuracies),
                converged=all(score.converged for score in folds),
            )


def _run(
    fits: Fits, planned: list[_Planned], n_threads: int, title: str, verbose: int
) -> list[list[Score]]:
    """The scores of all chains; whatever ends this early also ends the chains under way."""
    gate = Gate()
    total = sum(len(chain.Cs) for chain, _ in planned)
    with _progress(verbose, title, total) as on_fit:
        try:
            results: list[list[Score]] = Parallel(n_jobs=n_threads, require="sharedmem")(
                delayed(fits.run)(chain, gate, on_fit) for chain, _ in planned
            )
        finally:
            gate.close()
    return results


@contextmanager
def _progress(verbose: int, title: str, total: int) -> Iterator[Callable[[], None]]:
    """What to call after each fit."""
    if verbose <= 0:
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
    )

    progress = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("fits"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
    )
    with progress:
        task = progress.add_task(title, total=total)
        yield lambda: progress.advance(task)


def _find_machines(given: Any) -> tuple[str, ...]:
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, Iterable) or not (names := list(names)):
        raise ValueError(f"machines has to name at least one machine, got {given!r}")
    return tuple(dict.fromkeys(find_machine(name).name for name in names))


def _gamma_range(estimator: LinearSVM | KernelSVM, given: Any) -> Any:
    kernel = getattr(estimator, "kernel", None)
    if has_gamma(kernel):
        return _GAMMA if isinstance(given, str) and given == "auto" else given
    if given is None or (isinstance(given, str) and given == "auto"):
        return None
    owner = "LinearSVM" if kernel is None else f"the kernel {kernel!r}"
    raise ValueError(f"log2_gamma: {owner} has no gamma")


def _make_data(
    estimator: LinearSVM | KernelSVM,
    X: Any,
    y: Any,
    sample_weight: Any,
    cv: Any,
    random_state: Any,
) -> Data:
    """Validate what the fits take for granted, and split it."""
    reader = clone(estimator)
    validate_parameters(reader)
    X, y = check_X(reader, X, y)
    check_classification_targets(y)
    pairwise = getattr(estimator, "kernel", None) == "precomputed"
    make_problem(X, y, np.ones(len(y)), pairwise=pairwise)  # of all rows, for its checks
    weight = None if sample_weight is None else check_sample_weight(sample_weight, X)
    data = Data(X, y, weight, _make_folds(y, 5 if cv is None else cv, random_state))
    for _, validation in data.folds:
        if weight is not None and not np.any(weight[validation] > 0):
            raise ValueError("All validation rows of a fold have weight zero.")
    return data


def _make_folds(
    y: "NDArray[Any]", cv: Any, random_state: Any
) -> "tuple[tuple[NDArray[np.int64], NDArray[np.int64]], ...]":
    """Numbers of the training and of the validation rows of each fold."""
    if isinstance(cv, Integral):
        _check_counts(y, int(cv))
        splitter = StratifiedKFold(int(cv), shuffle=True, random_state=random_state)
    else:
        splitter = check_cv(cv, y, classifier=True)
    numbers = np.arange(len(y))
    folds = tuple(
        (numbers[np.asarray(train)], numbers[np.asarray(validation)])  # masks as well
        for train, validation in splitter.split(np.zeros(len(y)), y)
    )
    if not folds or any(len(rows) == 0 for fold in folds for rows in fold):
        raise ValueError("cv has to give at least one fold, with training and validation rows")
    return folds


def _check_counts(y: "NDArray[Any]", n_folds: int) -> None:
    classes, counts = np.unique(y, return_counts=True)
    rarest = int(np.argmin(counts))
    if counts[rarest] < n_folds:
        label = classes.tolist()[rarest]
        raise ValueError(
            f"Class {label!r} has {counts[rarest]} examples, fewer than the {n_folds} folds of "
            "cv. Lower cv or leave the class out."
        )


def _make_fits(
    estimator: LinearSVM | KernelSVM, data: Data, n_gammas: int, n_threads: int, matrix_size: float
) -> Fits:
    """Fits on shared kernel values where there is room for them, else on rows."""
    if isinstance(estimator, LinearSVM):
        return RowFits(estimator, data)
    # One of products or distances, others of a gamma, and for each thread that of a fold.
    n_matrices = 1 + min(n_threads, n_gammas) + n_threads
    n_bytes = n_matrices * data.X.shape[0] ** 2 * data.X.dtype.itemsize
    if estimator.kernel != "precomputed" and n_bytes > matrix_size * 2**20:
        return RowFits(estimator, data)
    return GramFits(estimator, data, n_threads)


def _warn_not_converged(search: GridSearch, estimator: LinearSVM | KernelSVM) -> None:
    missed = sum(not point.converged for point in search.points)
    if missed:
        warnings.warn(
            f"At {missed} of {len(search.points)} points of the grid a fit stopped above "
            f"tol={estimator.tol:g}. Raise max_iter, lower the largest C or loosen tol.",
            ConvergenceWarning,
            stacklevel=3,
        )
