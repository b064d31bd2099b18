"""A fit of a linear machine, from a problem to a result of the core."""

from typing import TYPE_CHECKING, Any

from polymargin import core
from polymargin._threads import count_threads
from polymargin.fit._callbacks import FitTask
from polymargin.fit._descent import Descent, LinearOutcome
from polymargin.fit._problem import Problem
from polymargin.fit._progress import Check, Display, open_display
from polymargin.fit._random import draw_seed
from polymargin.fit._second_order import SecondOrderSteps, alternate
from polymargin.fit._state import ProblemKeeper
from polymargin.solvers import BlockDescent, Choice, SecondOrder

if TYPE_CHECKING:
    from polymargin.core import Duals, LinearOptions


def make_options(estimator: Any, choice: Choice[BlockDescent | SecondOrder]) -> "LinearOptions":
    """The parameters of `estimator`, whose solvers are chosen, as the core reads them."""
    options = core.LinearOptions()
    options.fit_intercept = bool(estimator.fit_intercept)
    options.tol = float(estimator.tol)
    options.max_iter = int(estimator.max_iter)
    options.stopping = estimator.stopping
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


def solve_linear(
    problem: Problem,
    choice: Choice[BlockDescent | SecondOrder],
    options: "LinearOptions",
    warm: "Duals | None",
    task: FitTask,
    verbose: int,
    keeper: ProblemKeeper | None = None,
    title: str | None = None,
) -> tuple[LinearOutcome, bool]:
    """Run descent, second-order steps or both; the result, and whether a callback stopped it."""
    machine = choice.machine
    with open_display(verbose, title or machine.title, options.tol) as display:
        monitor = Monitor(display, task)
        watched = monitor if verbose > 0 or task.is_watched else None
        descent = Descent(problem, machine, options, watched, keeper)
        second = SecondOrderSteps.plan(problem, machine, options, choice.solver, monitor, keeper)
        if second is None:
            return descent.run(warm), monitor.stopped
        outcome = alternate(descent, second, warm, is_forced=isinstance(choice.solver, SecondOrder))
    return outcome, monitor.stopped
