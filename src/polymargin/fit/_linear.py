"""A fit of a linear machine, from a problem to a result of the core."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from scipy import sparse

from polymargin import core
from polymargin._threads import count_threads
from polymargin.fit._callbacks import FitTask
from polymargin.fit._descent import Descent, LinearOutcome, with_options
from polymargin.fit._hard_margin import HardMargin, Stage
from polymargin.fit._past import Past
from polymargin.fit._problem import Problem
from polymargin.fit._progress import Check, Display, open_display
from polymargin.fit._random import draw_seed
from polymargin.fit._scores import by_feature, sparse_scores
from polymargin.fit._second_order import SecondOrderSteps, alternate
from polymargin.fit._state import ProblemKeeper
from polymargin.fit._weights import total_memory
from polymargin.solvers import Choice, LinearLoop, SecondOrder

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polymargin.core import Duals, LinearOptions

_AT_ONCE = 1 << 22  # entries of rows or of scores


def make_options(estimator: Any, choice: Choice[LinearLoop]) -> "LinearOptions":
    """The parameters of `estimator`, whose solvers are chosen, as the core reads them."""
    options = core.LinearOptions()
    options.fit_intercept = bool(estimator.fit_intercept)
    options.tol = float(estimator.tol)
    options.max_iter = int(estimator.max_iter)
    options.stopping = estimator.stopping
    options.weights = estimator.weights
    options.memory = total_memory()
    options.seed = draw_seed(estimator.random_state)
    options.n_threads = count_threads(estimator.n_jobs)
    choice.solver.apply(options)
    choice.block_solver.apply(options)
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


class Run(Protocol):
    """Fits a machine at finite C."""

    def __call__(
        self,
        problem: Problem,
        choice: Choice[LinearLoop],
        options: "LinearOptions",
        warm: "Duals | None",
        task: FitTask,
        verbose: int,
        keeper: ProblemKeeper | None,
        title: str,
    ) -> tuple[LinearOutcome, bool]: ...


def solve_linear(
    problem: Problem,
    choice: Choice[LinearLoop],
    options: "LinearOptions",
    warm: "Duals | None",
    task: FitTask,
    verbose: int,
    keeper: ProblemKeeper | None = None,
    title: str | None = None,
    run: Run | None = None,
) -> tuple[LinearOutcome, bool]:
    """The result of a fit by `run`, and whether a callback stopped it.

    By default that is descent, second-order steps or both; at infinite C it is called for a row of
    finite ones.
    """
    title = title or choice.machine.title
    run = run or _run
    if not problem.is_hard_margin:
        return run(problem, choice, options, warm, task, verbose, keeper, title)

    def solve(stage: Stage) -> tuple[LinearOutcome, bool]:
        changed = with_options(options, tol=stage.tol)
        name = f"{title}, C = {stage.C:.2g}"
        outcome, stopped = run(
            stage.problem, choice, changed, stage.warm, task, verbose, stage.keeper, name
        )
        # The bounds are on the weights of the dual variables, and a fit may end with others.
        descent = Descent(stage.problem, choice.machine, changed, None, None)
        own = descent.certify(outcome.duals, Past())
        ended_with[:] = [outcome]
        return replace(outcome, coef=own.coef, intercept=own.intercept), stopped

    ended_with: list[LinearOutcome] = []
    reached, stopped = HardMargin(
        problem,
        choice.machine,
        problem.rows.squared_norms() + options.fit_intercept,
        options.tol,
        options.stopping == "gap",
        options.max_iter,
        solve,
        partial(_scores, problem),
        lambda _: _scores(problem, ended_with[-1]),
    ).run(warm, keeper)
    if np.isinf(reached.primal_objective):  # stopped before any weights separate the classes
        last = ended_with[-1]
        reached = replace(reached, coef=last.coef, intercept=last.intercept)
    return reached, stopped


def _scores(problem: Problem, reached: LinearOutcome) -> "Iterator[tuple[slice, NDArray[Any]]]":
    """Of the rows in double, some at a time."""
    coef = reached.coef.astype(np.float64)
    weights = by_feature(coef, problem.X) if sparse.issparse(coef) else coef.T
    width = max(1, _AT_ONCE // max(weights.shape))
    for first in range(0, len(problem), width):
        part = slice(first, min(first + width, len(problem)))
        yield part, sparse_scores(problem.X[part].astype(np.float64), weights, reached.intercept)


def _run(
    problem: Problem,
    choice: Choice[LinearLoop],
    options: "LinearOptions",
    warm: "Duals | None",
    task: FitTask,
    verbose: int,
    keeper: ProblemKeeper | None,
    title: str,
) -> tuple[LinearOutcome, bool]:
    machine = choice.machine
    with open_display(verbose, title, options.tol) as display:
        monitor = Monitor(display, task)
        watched = monitor if verbose > 0 or task.is_watched else None
        descent = Descent(problem, machine, options, watched, keeper)
        second = SecondOrderSteps.plan(problem, machine, options, choice.solver, monitor, keeper)
        if second is None:
            return descent.run(warm), monitor.stopped
        outcome = alternate(descent, second, warm, is_forced=isinstance(choice.solver, SecondOrder))
    return outcome, monitor.stopped
