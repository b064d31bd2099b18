"""From validated data to a result of the core."""

import warnings
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from polymargin._block_solvers import find_block_solver
from polymargin._callbacks import FitTask
from polymargin._past import Past
from polymargin._progress import Check, Display, open_display
from polymargin._simd import core
from polymargin._solvers import find_solver
from polymargin._sparse import duals_to_csr
from polymargin._threads import count_threads
from polymargin._validation import (
    as_rows,
    check_bounds,
    check_features,
    check_finite_norms,
    check_square,
    check_symmetric,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polymargin._core import Duals, LinearOptions, LinearResult, MachineInfo, Rows


@dataclass(frozen=True)
class Problem:
    """The rows of positive weight, and where they were in what the user passed."""

    X: Any
    rows: "Rows"
    labels: "NDArray[np.int32]"
    upper: "NDArray[np.float64]"  # C_i
    classes: "NDArray[Any]"
    kept: "NDArray[np.int64] | None"  # None: all rows
    n_given: int


def make_problem(
    X: Any, y: "NDArray[Any]", upper: "NDArray[np.float64]", pairwise: bool = False
) -> Problem:
    """Drop the rows of weight zero, then number the classes that are left.

    Where `X` is `pairwise`, a matrix of kernel values, its columns are rows as well.
    """
    n_given = X.shape[0]
    rows = as_rows(X)
    check_finite_norms(rows, X)
    if pairwise:
        check_square(X)
    kept: NDArray[np.int64] | None = None
    if not np.all(upper > 0):
        kept = np.flatnonzero(upper > 0)
        X = X[kept][:, kept] if pairwise else X[kept]
        rows, y, upper = as_rows(X), y[kept], upper[kept]
    classes, labels = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        among = "" if kept is None else " among the rows of positive weight"
        raise ValueError(
            f"The number of classes has to be at least two; got {len(classes)} class(es){among}."
        )
    if pairwise:
        check_symmetric(X)
    else:
        check_features(rows, X)
    check_bounds(upper, rows.dtype)
    return Problem(X, rows, labels.astype(np.int32), upper, classes, kept, n_given)


class Outcome(Protocol):
    """What a fit reached, whoever ran it."""

    duals: "Duals"
    n_iter: int
    primal_objective: float
    dual_objective: float
    dual_gap: float
    violation: float
    converged: bool
    history: "NDArray[Any]"
    exception: BaseException | None


@dataclass(frozen=True)
class DualState:
    """The dual variables of a fit with all that is needed to read them or to go on from them."""

    duals: "Duals"
    labels: "NDArray[np.int32]"
    classes: "NDArray[Any]"
    kept: "NDArray[np.int64] | None"
    n_given: int
    n_features: int
    dtype: "np.dtype[Any]"
    machine: str
    past: Past = field(default_factory=Past)  # what a fit that goes on from here has behind it

    @classmethod
    def of(cls, duals: "Duals", problem: Problem, machine: "MachineInfo") -> "DualState":
        return cls(
            duals=duals,
            labels=problem.labels,
            classes=problem.classes,
            kept=problem.kept,
            n_given=problem.n_given,
            n_features=problem.rows.n_features,
            dtype=problem.rows.dtype,
            machine=machine.name,
        )

    @cached_property
    def csr(self) -> sparse.csr_array:
        """The vectors a_i, one row for each row that was given."""
        return duals_to_csr(self.duals, self.machine, self.labels, self.kept, self.n_given)

    def difference(self, problem: Problem, machine: "MachineInfo") -> str | None:
        """What makes these duals useless for `problem`, if anything."""
        if (self.n_given, self.n_features) != (problem.n_given, problem.rows.n_features):
            return "the shape of X"
        if not _same_rows(self.kept, problem.kept):
            return "the set of rows of positive weight"
        if not np.array_equal(self.classes, problem.classes):
            return "the set of classes"
        if not np.array_equal(self.labels, problem.labels):
            return "y"
        if self.machine != machine.name:
            return "the machine"
        if self.dtype != problem.rows.dtype:
            return "the dtype of X"
        return None


class Keeper(Protocol):
    """Stores what a fit has reached from time to time, so that another one can go on."""

    def is_due(self) -> bool:
        """Whether it wants that now; asked after each check."""
        ...

    def keep(self, state: DualState, history: "NDArray[Any]") -> None:
        """Take the dual variables and all checks so far."""
        ...


@dataclass(frozen=True)
class ProblemKeeper:
    """Adds to dual variables and history what is needed to read them and what was before."""

    keeper: Keeper
    problem: Problem
    machine: "MachineInfo"
    past: Past

    def is_due(self) -> bool:
        return self.keeper.is_due()

    def keep(self, duals: "Duals", history: "NDArray[Any]") -> None:
        state = DualState.of(duals, self.problem, self.machine)
        self.keeper.keep(state, self.past.followed_by(history))


def make_keeper(
    estimator: Any, problem: Problem, machine: "MachineInfo", past: Past
) -> ProblemKeeper | None:
    """What keeps the dual variables of this fit, None where nobody asked for it."""
    keeper = estimator._keeper
    return None if keeper is None else ProblemKeeper(keeper, problem, machine, past)


def _same_rows(one: "NDArray[np.int64] | None", other: "NDArray[np.int64] | None") -> bool:
    if one is None or other is None:
        return one is other
    return np.array_equal(one, other)


def find_start(
    state: DualState | None, problem: Problem, machine: "MachineInfo"
) -> tuple["Duals | None", Past]:
    """The duals to start from, None for a cold start, and what lies behind them."""
    if state is None:
        return None, Past()
    difference = state.difference(problem, machine)
    if difference is None:
        return state.duals, state.past
    warnings.warn(
        f"warm_start: {difference} differs from the last fit, so this one starts cold.",
        UserWarning,
        stacklevel=4,
    )
    return None, Past()


def make_options(estimator: Any, machine: "MachineInfo") -> "LinearOptions":
    """The parameters of `estimator` as the core reads them."""
    options = core.LinearOptions()
    options.fit_intercept = bool(estimator.fit_intercept)
    options.tol = float(estimator.tol)
    options.max_iter = int(estimator.max_iter)
    options.stopping = estimator.stopping
    options.seed = int(check_random_state(estimator.random_state).randint(2**31 - 1))
    options.n_threads = count_threads(estimator.n_jobs)
    find_solver(estimator.solver).apply(options)
    find_block_solver(estimator.block_solver, machine).apply(options)
    return options


class Monitor:
    """Passes each check of the core on to the display and to the callbacks."""

    def __init__(self, display: Display, task: FitTask) -> None:
        self._display = display
        self._task = task
        self.stopped = False  # by a callback

    def __call__(self, record: tuple[float, float, float, float, float, float, int]) -> bool:
        self._display(Check(*record))
        self.stopped = self._task.check_done() or self.stopped
        return self.stopped


def train(
    problem: Problem,
    machine: "MachineInfo",
    options: "LinearOptions",
    warm: "Duals | None",
    task: FitTask,
    verbose: int,
    keeper: ProblemKeeper | None = None,
) -> tuple["LinearResult", bool]:
    """Run the core; its result, and whether a callback stopped it."""
    with open_display(verbose, machine.title, options.tol) as display:
        monitor = Monitor(display, task)
        result = core.train_linear(
            problem.rows,
            problem.labels,
            problem.upper,
            len(problem.classes),
            machine.name,
            options,
            warm,
            monitor if verbose > 0 or task.is_watched else None,
            keeper,
        )
    return result, monitor.stopped


def warn_not_converged(result: Outcome, estimator: Any, precision: str) -> None:
    """Say how far the fit came and what to change."""
    if estimator.stopping == "gap" and not np.isnan(result.dual_gap):
        reached = f"a relative duality gap of {result.dual_gap:.3g}"
    else:
        reached = f"a largest KKT violation of {result.violation:.3g}"
    remedy = "Raise max_iter, lower C, scale the features or loosen tol."
    if result.n_iter < estimator.max_iter or result.dual_gap < 10 * np.finfo(precision).eps:
        solver = getattr(estimator.solver, "name", estimator.solver)
        owner = precision if solver in ("auto", "blocks") else f"solver={solver!r} in {precision}"
        other = " or pass float64" if precision == "float32" else ""
        remedy = f"{owner} gets no further: loosen tol{other}."
    warnings.warn(
        f"The fit stopped after {result.n_iter} passes at {reached}, above "
        f"tol={estimator.tol:g}. {remedy}",
        ConvergenceWarning,
        stacklevel=4,
    )
