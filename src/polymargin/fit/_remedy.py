"""What to change about a fit that ended above its tolerance, by why it ended there."""

import math
from collections.abc import Iterator
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from polymargin.fit._handover import FEWEST, passes_to_go
from polymargin.fit._second_order import has_room
from polymargin.second_order import (
    MOST_VARIABLES,
    KernelSpace,
    RowSpace,
    Space,
    Variables,
    count_rows,
    to_array,
)
from polymargin.solvers import Automatic, AutomaticBlocks, DealtClasses, LocalDescent, SecondOrder

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polymargin.fit._outcome import Outcome
    from polymargin.fit._problem import Problem
    from polymargin.solvers import Choice

_FEW = 1000.0  # passes that are worth waiting for before anything else
_FACTOR = 10.0  # times `max_iter` that are as well
_MANY = 1000.0  # times `max_iter`: more is no fall
_AT_ONCE = 1 << 13  # entries
_UNEVEN = 100.0  # times that values of one column may be larger than those of another


def find_remedy(
    result: "Outcome", estimator: Any, problem: "Problem", choice: "Choice[Any]"
) -> str:
    """One or two sentences about a fit with these solvers, the parameters of the estimator."""
    precision = problem.rows.dtype.name
    by_gap = estimator.stopping == "gap" and not np.isnan(result.dual_gap)
    distances = result.history["gap" if by_gap else "violation"]
    is_rounded = by_gap and result.dual_gap < 10 * np.finfo(precision).eps
    floor = result.dual_gap if by_gap else result.violation
    if result.n_iter < estimator.max_iter or is_rounded:
        return _loosen(floor, choice, precision)
    scaling = _scaling(problem, estimator)
    if problem.is_hard_margin:
        return f"{scaling}Raise max_iter, set a finite C or loosen tol."
    epochs = result.history["epoch"]
    if len(epochs) > 1 and epochs[-1] == epochs[-2]:  # other weights of the same dual variables
        epochs, distances = epochs[:-1], distances[:-1]
    passes = passes_to_go(epochs.tolist(), distances.tolist(), estimator.tol)
    if passes <= max(_FEW, _FACTOR * estimator.max_iter):
        return f"{scaling}Raise max_iter: {_estimate(result.n_iter + passes)}."
    has_rate = result.n_iter >= FEWEST
    falls = passes <= _MANY * estimator.max_iter
    if fields(choice.block_solver) and has_rate and not falls:
        return _loosen(floor, choice, precision)
    steps = _second_order(result, estimator, problem, choice)
    if steps is not None:
        return scaling + steps
    if has_rate and falls:
        return f"{scaling}Lower C or loosen tol: {_estimate(result.n_iter + passes)}."
    return f"{scaling}Raise max_iter, lower C or loosen tol."


def _loosen(floor: float, choice: "Choice[Any]", precision: str) -> str:
    """Rounding ended the fit, or a block solver that is not exact got stuck."""
    owner = precision
    if fields(choice.block_solver):  # it is not exact: those that are have no options
        owner = f"block_solver={choice.block_solver.name!r} in {precision}"
    elif choice.solver.name not in ("auto", "blocks", "block-descent"):
        owner = f"solver={choice.solver.name!r} in {precision}"
    other = " or pass float64" if precision == "float32" else ""
    return f"{owner} gets no further than {floor:.2g}: loosen tol{other}."


def _estimate(passes: float) -> str:
    digits = max(0, math.floor(math.log10(passes)) - 1)
    about = math.ceil(passes / 10**digits) * 10**digits
    return f"at the rate of late, tol takes about {about:,} passes"


def _scaling(problem: "Problem", estimator: Any) -> str:
    """A sentence where columns are of very different size, else nothing."""
    if getattr(estimator, "kernel", None) == "precomputed":
        return ""
    ratio = _ratio_of_columns(problem.X)
    if ratio < _UNEVEN:
        return ""
    return f"Scale the features: values of one are {ratio:.2g} times as large as of another. "


def has_uneven_columns(X: Any) -> bool:
    """Whether features are of so different size that they should be scaled."""
    return _ratio_of_columns(X) >= _UNEVEN


def _ratio_of_columns(X: Any) -> float:
    """How many times larger values that are not 0 are in one column than in another."""
    squares, counts = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    for columns, values in _parts(X):
        with np.errstate(over="ignore", under="ignore"):
            squares += np.bincount(columns, np.square(values, dtype=np.float64), len(squares))
        counts += np.bincount(columns, values != 0, len(counts))
    means = squares[squares > 0] / counts[squares > 0]
    return math.sqrt(means.max() / means.min()) if len(means) else 1.0


def _parts(X: Any) -> "Iterator[tuple[NDArray[Any], NDArray[Any]]]":
    """Columns and values of some entries at a time, so that no copy of all is made."""
    if sparse.issparse(X):
        for first in range(0, X.nnz, _AT_ONCE):
            yield X.indices[first : first + _AT_ONCE], X.data[first : first + _AT_ONCE]
        return
    height = max(1, _AT_ONCE // X.shape[1])
    for first in range(0, len(X), height):
        rows = X[first : first + height]
        yield np.tile(np.arange(X.shape[1]), len(rows)), np.ravel(rows)


def _second_order(
    result: "Outcome", estimator: Any, problem: "Problem", choice: "Choice[Any]"
) -> str | None:
    """What keeps the fit from second-order steps, and how to have them; None: nothing does."""
    n, k, solver = len(problem), len(problem.classes), choice.solver
    is_linear = hasattr(estimator, "coef_")
    if n * k > MOST_VARIABLES or (is_linear and not has_room(problem)):
        return None
    if not isinstance(solver, Automatic | AutomaticBlocks | SecondOrder):
        alone = "on one process " if isinstance(solver, DealtClasses | LocalDescent) else ""
        without = f"solver={solver.name!r}"
        return f"solver='auto' {alone}would go on with second-order steps; {without} has none."
    if estimator.stopping != "gap":
        return "stopping='gap' would go on with second-order steps; stopping='kkt' has none."
    if not is_linear and 8 * n * n > estimator.cache_size * 2**20:
        size = math.ceil(8 * n * n / 2**20)
        return (
            f"Raise cache_size to {size:,}: second-order steps, which would go on from here, need "
            "the whole kernel matrix."
        )
    most = solver.max_free if isinstance(solver, SecondOrder) else SecondOrder().max_free
    variables = Variables(choice.machine, problem.labels, problem.upper, k)
    d = problem.rows.n_features + estimator.fit_intercept
    space: Space = RowSpace(_of_size(n, d)) if is_linear else KernelSpace(_of_size(n, n))
    n_rows = count_rows(space, variables, to_array(result.duals))
    if n_rows <= most:
        return None
    return (
        f"Lower C: second-order steps would factorise matrices of {n_rows:,} rows, and {most:,} "
        f"are the most; in Python solver=SecondOrder(max_free={n_rows}) takes larger ones."
    )


def _of_size(n: int, d: int) -> "NDArray[np.float64]":
    """For costs alone: takes no memory."""
    return np.broadcast_to(np.float64(0), (n, d))
