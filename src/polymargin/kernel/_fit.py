"""A fit of a kernel machine, from a problem to what was reached."""

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from polymargin import core
from polymargin.block_solvers import Newton
from polymargin.fit import (
    RECORD,
    DualState,
    FitTask,
    HardMargin,
    Interrupts,
    Monitor,
    Problem,
    ProblemKeeper,
    Stage,
    check_kernel,
    held_interrupts,
    open_display,
    scale_duals,
)
from polymargin.kernel._active import ActiveExamples
from polymargin.kernel._decomposition import Decomposer, KernelRows
from polymargin.kernel._goal import FitProgress, Goal
from polymargin.kernel._indefinite import negative_part
from polymargin.kernel._problem import KernelProblem
from polymargin.kernel._processor import Processor
from polymargin.kernel._scores import wide_scores
from polymargin.kernel._second_order import SecondOrderLoop, has_room
from polymargin.kernel._working_sets import WorkingSets
from polymargin.solvers import AutomaticBlocks, Blocks, Decomposition, SecondOrder

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polymargin.block_solvers import BlockSolver
    from polymargin.core import Duals, LinearOptions, MachineInfo
    from polymargin.kernel._device import Device
    from polymargin.kernel._functions import Kernel, Points


class IndefiniteKernelWarning(UserWarning):
    """The kernel is not positive semi-definite: a fit has no certificate."""


@dataclass
class KernelOutcome:
    """What a fit reached."""

    duals: "Duals"
    scoring: "Duals"  # those whose scores have the primal objective, most often the same
    n_iter: int
    primal_objective: float
    dual_objective: float
    dual_gap: float
    violation: float
    converged: bool
    history: "NDArray[Any]"
    exception: BaseException | None

    def scaled(self, factor: float) -> "KernelOutcome":
        """Scores of the dual variables times a factor."""
        duals = scale_duals(self.duals, factor)
        return replace(self, duals=duals, scoring=duals)


class Loop(Protocol):
    """A solver that runs until its goal is reached or the fit is interrupted."""

    @property
    def progress(self) -> FitProgress:
        """How far it has come."""
        ...

    def run(self, interrupts: Interrupts, on_check: Monitor, keeper: ProblemKeeper | None) -> None:
        """An interrupt is raised when scores and dual variables agree."""
        ...

    def duals(self) -> "Duals":
        """What was reached."""
        ...


def train_kernel(
    problem: Problem,
    machine: "MachineInfo",
    kernel: "Kernel",
    options: Blocks | Decomposition | SecondOrder,
    block_solver: "BlockSolver",
    *,
    warm: "Duals | None",
    goal: Goal,
    seed: int,
    cache_bytes: int,
    n_threads: int,
    task: FitTask,
    verbose: int,
    keeper: ProblemKeeper | None = None,
    title: str | None = None,
) -> tuple[KernelOutcome, bool]:
    """Run the loop; its result, and whether a callback stopped it."""
    points = kernel.prepare(problem.X)
    with np.errstate(over="ignore", invalid="ignore"):  # named below
        diagonal = kernel.diagonal(points)
    check_kernel(diagonal, kernel.remedy)
    title = title or machine.title
    train = partial(
        _train,
        machine=machine,
        kernel=kernel,
        points=points,
        diagonal=diagonal,
        options=options,
        block_solver=block_solver,
        seed=seed,
        cache_bytes=cache_bytes,
        n_threads=n_threads,
        task=task,
        verbose=verbose,
    )
    if not problem.is_hard_margin:
        return train(problem, warm=warm, goal=goal, keeper=keeper, title=title)

    def solve(stage: Stage) -> tuple[KernelOutcome, bool]:
        return train(
            stage.problem,
            warm=stage.warm,
            goal=replace(goal, tol=stage.tol),
            keeper=stage.keeper,
            title=f"{title}, C = {stage.C:.2g}",
        )

    def score(reached: KernelOutcome) -> "Iterator[tuple[slice, NDArray[Any]]]":
        alphas = DualState.of(reached.duals, problem, machine).csr
        if problem.kept is not None:
            alphas = alphas[problem.kept]
        return wide_scores(kernel, points, alphas, n_threads)

    return HardMargin(
        problem, machine, diagonal, goal.tol, goal.by_gap, goal.max_iter, solve, score, score
    ).run(warm, keeper)


def _train(
    problem: Problem,
    machine: "MachineInfo",
    kernel: "Kernel",
    points: "Points",
    diagonal: "NDArray[Any]",
    options: Blocks | Decomposition | SecondOrder,
    block_solver: "BlockSolver",
    *,
    warm: "Duals | None",
    goal: Goal,
    seed: int,
    cache_bytes: int,
    n_threads: int,
    task: FitTask,
    verbose: int,
    keeper: ProblemKeeper | None,
    title: str,
) -> tuple[KernelOutcome, bool]:
    loop: Loop
    if isinstance(options, Decomposition):
        rows = KernelRows(kernel, points, diagonal, n_threads)
        loop = Decomposer(problem, machine, rows, options, goal, warm, seed, cache_bytes)
    else:
        n_classes = len(problem.classes)
        kernel_problem = KernelProblem(
            kernel, points, diagonal, problem.labels, problem.upper, n_classes, machine
        )
        device = Processor.open(kernel_problem, cache_bytes, n_threads)
        core_options = core.LinearOptions()
        core_options.seed = seed
        core_options.tol = goal.tol
        block_solver.apply(core_options)
        takes_pairs = isinstance(block_solver, Newton) and machine.relative and not machine.simplex

        def make(start: "Duals | None", progress: FitProgress) -> WorkingSets:
            device.forget_scores()
            blocks = options if isinstance(options, Blocks) else Blocks()
            by_pairs = blocks.pairs and takes_pairs
            return _make_working_sets(
                kernel_problem, device, blocks, core_options, goal, start, progress, by_pairs
            )

        loop = make(warm, FitProgress())
        wants_second = isinstance(options, AutomaticBlocks | SecondOrder)
        if wants_second and goal.by_gap and has_room(kernel_problem, cache_bytes):
            second = options if isinstance(options, SecondOrder) else SecondOrder()
            forced = isinstance(options, SecondOrder)
            loop = SecondOrderLoop(kernel_problem, goal, second, make, warm, n_threads, forced)
    if not kernel.is_positive:
        loop.progress.negative = negative_part(diagonal)  # an eigenvalue of a single example
    exception: BaseException | None = None
    with (
        open_display(verbose, title, goal.tol) as display,
        held_interrupts() as interrupts,
    ):
        monitor = Monitor(display, task)
        try:
            loop.run(interrupts, monitor, keeper)
        except KeyboardInterrupt as interrupt:
            # A kernel function's own, or one too many to wait: nothing is in order.
            if not loop.progress.history or interrupts.is_urgent:
                raise
            exception = interrupt
    progress = loop.progress
    if progress.negative is not None:
        warnings.warn(
            "The kernel is not positive semi-definite: the Gram matrix of a working set has an "
            f"eigenvalue of {progress.negative:.3g} times the largest one. Objectives and gap are "
            "no bounds then; the fit stops by the KKT conditions.",
            IndefiniteKernelWarning,
            stacklevel=5,
        )
    duals, lowest = loop.duals(), progress.lowest
    result = KernelOutcome(
        duals=duals,
        scoring=duals if lowest is None or progress.primal <= lowest.primal else lowest.duals,
        n_iter=math.ceil(progress.visits / len(problem.labels)),
        primal_objective=progress.best_primal,
        dual_objective=progress.dual,
        dual_gap=progress.gap,
        violation=progress.violation,
        converged=progress.converged,
        history=np.array(progress.history, RECORD),
        exception=exception,
    )
    return result, monitor.stopped


def _make_working_sets(
    problem: KernelProblem,
    device: "Device",
    options: Blocks,
    core_options: "LinearOptions",
    goal: Goal,
    warm: "Duals | None",
    progress: FitProgress,
    by_pairs: bool,
) -> WorkingSets:
    solver = core.WorkingSetSolver(
        problem.labels,
        problem.upper,
        problem.n_classes,
        problem.machine.name,
        np.maximum(problem.diagonal, 0),
        core_options,
        by_pairs,
        warm,
    )
    labels = problem.labels if by_pairs else None
    examples = ActiveExamples(solver, device, len(problem), labels)
    shape = (len(problem), problem.n_classes)
    precision = float(np.finfo(problem.points.dtype).eps)
    is_positive, is_warm = problem.kernel.is_positive, warm is not None
    return WorkingSets(
        examples,
        goal,
        options,
        shape,
        is_positive,
        precision,
        is_warm,
        progress,
        problem.variables,
        by_pairs,
    )
