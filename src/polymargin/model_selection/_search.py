"""Choice of machine, C and gamma by nested grid search with cross-validation."""

import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets

from polymargin._machines import find_machine
from polymargin._sklearn import validate_parameters
from polymargin._threads import blas_threads, count_threads
from polymargin.estimators import KernelSVM, LinearSVM
from polymargin.fit import RandomSource, check_sample_weight, check_X, make_problem
from polymargin.kernel import IndefiniteKernelWarning, LostDigitsWarning, has_gamma
from polymargin.model_selection._axes import make_axis
from polymargin.model_selection._fits import (
    Chain,
    Data,
    Fits,
    Gate,
    GramFits,
    Judge,
    RowFits,
    Score,
)
from polymargin.model_selection._folds import make_folds
from polymargin.model_selection._grid import MOST_STEPS, Grid
from polymargin.model_selection._odds import Odds
from polymargin.model_selection._race import Race
from polymargin.model_selection._result import GridBorder, GridSearch
from polymargin.solvers import choose

_LINEAR_C = (-10.0, 6.0, 2.0)
_KERNEL_C = (-5.0, 15.0, 2.0)
_GAMMA = (-15.0, 3.0, 2.0)


class GridBorderWarning(UserWarning):
    """The best point of a search lies on the border of the grid."""


def nested_grid_search(
    estimator: LinearSVM | KernelSVM,
    X: Any,
    y: Any,
    *,
    machines: str | Iterable[str] | None = None,
    log2_C: tuple[float, float, float] | None = None,
    log2_gamma: tuple[float, float, float] | str | None = "auto",
    refinements: int = 1,
    extend: bool = False,
    race: float | None = 0.001,
    cv: Any = 5,
    groups: Any = None,
    split_params: Mapping[str, Any] | None = None,
    sample_weight: Any = None,
    refit: bool = True,
    matrix_size: float = 2048,
    n_jobs: int | None = None,
    random_state: RandomSource = 0,
    verbose: int = 0,
) -> GridSearch:
    """Choose machine, C and gamma by cross-validated accuracy on nested logarithmic grids.

    First all points of a coarse grid are evaluated. Each refinement then halves the step and
    evaluates, for each machine, the points at most one step of the grid before it away from the
    best point so far, inside the ranges given. Of points of equal mean accuracy that of the
    smallest C is the best, then that of the smallest gamma. A best point on the border of the
    grid, better than all points inside, is warned of (`GridBorderWarning`), or with `extend` the
    grid grows there. Points that cannot become the best any more are given up before all folds
    were run, see `race`.

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
    extend : bool, default=False
        Whether the grid of a machine whose best point is on its border grows there, a coarse step
        at a time, until the best point is inside or 10 steps were added on that side. Points
        that are known stay, and fits at a new C start from those at the border. A range of one
        point does not grow.
    race : float or None, default=0.001
        When a point is given up before all folds were run. 0: when it could not become the best of
        its machine even without an error on the folds that are left, which never changes the
        outcome. A larger number, below 0.5: also when it is so far behind the best point, counted
        by the rows that one of them alone has right, that chance would do this to a point of equal
        accuracy with that probability only. None: never, all folds of all points are run.
    cv : int, splitter or iterable, default=5
        The folds: a number of stratified, shuffled folds (None is 5), or what scikit-learn takes.
    groups : array-like of shape (n,), default=None
        What `split` of the splitter takes as `groups`, as in scikit-learn's `GridSearchCV`. A
        number of folds is then that of a `StratifiedGroupKFold`: rows of a group are never
        trained on and validated with at once.
    split_params : dict, default=None
        Other metadata for the splitter by name, with scikit-learn's metadata routing, which also
        decides about `groups` where it is enabled.
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
    random_state : int, RandomState, Generator or None, default=0
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
    if not isinstance(extend, bool | np.bool_):
        raise ValueError(f"extend has to be True or False, got {extend!r}")
    is_risk = isinstance(race, Real) and not isinstance(race, bool) and 0 <= race < 0.5
    if race is not None and not is_risk:
        raise ValueError(f"race has to be None or a number from 0 to below 0.5, got {race!r}")
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
    data = _make_data(estimator, X, y, sample_weight)
    folds = make_folds(data.X, data.y, 5 if cv is None else cv, groups, split_params, random_state)
    data = replace(data, folds=folds)
    _check_weights(data)

    grid = Grid(names, axis_C, axis_gamma, len(folds), extend=bool(extend))
    odds = None if race is None else Odds(float(race), data, groups)
    races = Race(odds, len(folds), goes_ahead=isinstance(estimator, KernelSVM))
    n_gammas = len(folds) if axis_gamma is None else len(axis_gamma.coarse(axis_gamma.span))
    # The limit on the threads of matrix products belongs to the whole process: set here, it is
    # not set and lifted by fits that run at the same time.
    with blas_threads(1), warnings.catch_warnings():
        # One at the end says it for all.
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", IndefiniteKernelWarning)
        warnings.simplefilter("ignore", LostDigitsWarning)
        fits = _make_fits(estimator, data, n_gammas, n_threads, float(matrix_size))
        for level in range(int(refinements) + 1):
            title = f"refinement {level}" if level else "coarse grid"
            planned = grid.plan(level)
            while planned:
                total = sum(len(chain.Cs) for chain, _ in planned)
                with _progress(verbose, title, total) as advance:
                    run = partial(_run, fits, n_threads, advance)
                    grid.add(level, planned, races.results(planned, run, advance))
                fits.forget_postponed()
                planned, title = grid.grow(level), "extended grid"
    range_C, range_gamma = grid.ranges()
    assert range_C is not None
    search = GridSearch(
        machines=names,
        points=grid.points(),
        log2_C=range_C,
        log2_gamma=range_gamma,
        borders=grid.borders(),
        best_estimator_=None,
        n_fits=grid.n_fits,
    )
    _warn_not_converged(search, estimator)
    if search.borders:
        warnings.warn(_border_message(search.borders, extend), GridBorderWarning, stacklevel=2)
    if not refit:
        return search
    best = clone(estimator).set_params(**search.best_params).fit(X, y, sample_weight)
    return replace(search, best_estimator_=best, n_fits=search.n_fits + 1)


def _run(
    fits: Fits,
    n_threads: int,
    advance: Callable[[int], None],
    chains: list[Chain],
    judge: Judge | None,
) -> list[list[Score | None]]:
    """The scores of all chains; whatever ends this early also ends the chains under way."""
    gate = Gate()
    fits.plan(chains)
    try:
        results: list[list[Score | None]] = Parallel(n_jobs=n_threads, require="sharedmem")(
            delayed(fits.run)(chain, gate, advance, judge) for chain in chains
        )
    finally:
        gate.close()
    return results


@contextmanager
def _progress(verbose: int, title: str, total: int) -> Iterator[Callable[[int], None]]:
    """What to call with the number of fits that were made or need not be made."""
    if verbose <= 0:
        yield lambda n_fits: None
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
        yield lambda n_fits: progress.advance(task, n_fits)


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


def _make_data(estimator: LinearSVM | KernelSVM, X: Any, y: Any, sample_weight: Any) -> Data:
    """Validate what the fits take for granted; the folds are still to be cut."""
    reader = clone(estimator)
    validate_parameters(reader)
    X, y = check_X(reader, X, y)
    check_classification_targets(y)
    pairwise = getattr(estimator, "kernel", None) == "precomputed"
    make_problem(X, y, np.ones(len(y)), pairwise=pairwise)  # of all rows, for its checks
    return Data(X, y, None if sample_weight is None else check_sample_weight(sample_weight, X), ())


def _check_weights(data: Data) -> None:
    for _, validation in data.folds:
        weight = data.weight_of(validation)
        if weight is not None and not np.any(weight > 0):
            raise ValueError("All validation rows of a fold have weight zero.")


def _make_fits(
    estimator: LinearSVM | KernelSVM, data: Data, n_gammas: int, n_threads: int, matrix_size: float
) -> Fits:
    """Fits on shared kernel values where there is room for them, else on rows."""
    if isinstance(estimator, LinearSVM):
        return RowFits(estimator, data)
    # One of products or distances, others of a gamma, and for each thread that of a fold.
    n_matrices = 1 + min(n_threads, n_gammas) + n_threads
    n_room = matrix_size * 2**20 / (data.X.shape[0] ** 2 * data.X.dtype.itemsize)
    if estimator.kernel != "precomputed" and n_matrices > n_room:
        return RowFits(estimator, data)
    return GramFits(estimator, data, n_threads, n_kept=max(0, int(n_room - n_matrices)))


def _warn_not_converged(search: GridSearch, estimator: LinearSVM | KernelSVM) -> None:
    missed = sum(not point.converged for point in search.points)
    if missed:
        warnings.warn(
            f"At {missed} of {len(search.points)} points of the grid a fit stopped above "
            f"tol={estimator.tol:g}. Raise max_iter, lower the largest C or loosen tol.",
            ConvergenceWarning,
            stacklevel=3,
        )


def _border_message(borders: tuple[GridBorder, ...], extend: bool) -> str:
    """Where best points lie on the border, and what to do."""
    places = [
        f"{border.machine} at the {border.end} {border.parameter}, 2^{math.log2(border.value):g}"
        for border in borders
    ]
    ranges = " and ".join(dict.fromkeys(f"log2_{border.parameter}" for border in borders))
    subject = "The best point lies" if len(borders) == 1 else "Best points lie"
    way_out = (
        f"Widen {ranges}; extend=True adds at most {MOST_STEPS} steps to a side."
        if extend
        else f"Widen {ranges}, or pass extend=True."
    )
    return (
        f"{subject} on the border of the grid, where better ones may lie beyond: "
        f"{'; '.join(places)}. {way_out}"
    )
