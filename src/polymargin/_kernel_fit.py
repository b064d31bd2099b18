"""A fit of a kernel machine, from a problem to what was reached."""

import math
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from polymargin._callbacks import FitTask
from polymargin._fit import Monitor, Problem
from polymargin._interrupts import held_interrupts
from polymargin._processor import Processor
from polymargin._progress import Check, open_display
from polymargin._simd import core
from polymargin._working_sets import Goal, WorkingSets

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polymargin._core import Duals, MachineInfo
    from polymargin._kernels import Kernel
    from polymargin._options import Blocks, BlockSolver


@dataclass
class KernelOutcome:
    """What a fit reached."""

    duals: "Duals"
    n_iter: int
    primal_objective: float
    dual_objective: float
    dual_gap: float
    violation: float
    converged: bool
    history: "NDArray[Any]"
    exception: BaseException | None


def train_kernel(
    problem: Problem,
    machine: "MachineInfo",
    kernel: "Kernel",
    options: "Blocks",
    block_solver: "BlockSolver",
    *,
    warm: "Duals | None",
    goal: Goal,
    seed: int,
    cache_bytes: int,
    n_threads: int,
    task: FitTask,
    verbose: int,
) -> tuple[KernelOutcome, bool]:
    """Run the loop; its result, and whether a callback stopped it."""
    points = kernel.prepare(problem.X)
    diagonal = kernel.diagonal(points)
    core_options = core.LinearOptions()
    core_options.seed = seed
    core_options.n_threads = n_threads
    block_solver.apply(core_options)
    dual = core.KernelDual(
        problem.labels,
        problem.upper,
        len(problem.classes),
        machine.name,
        np.maximum(diagonal, 0),
        core_options,
        warm,
    )
    device = Processor(dual, kernel, points, diagonal, cache_bytes, n_threads)
    shape = (len(problem.labels), len(problem.classes))
    precision = float(np.finfo(points.dtype).eps)
    loop = WorkingSets(device, goal, options, shape, kernel.is_positive, precision)
    exception: BaseException | None = None
    with open_display(verbose, machine.title, goal.tol) as display, held_interrupts() as interrupts:
        monitor = Monitor(display, task)
        try:
            if warm is not None:
                device.refresh()
            loop.run(interrupts, monitor)
        except KeyboardInterrupt as interrupt:
            exception = interrupt
    progress = loop.progress
    if progress.negative is not None:
        warnings.warn(
            "The kernel is not positive semi-definite: the Gram matrix of a working set has an "
            f"eigenvalue of {progress.negative:.3g} times the largest one. Objectives and gap are "
            "no bounds then; the fit stops by the KKT conditions.",
            UserWarning,
            stacklevel=4,
        )
    result = KernelOutcome(
        duals=device.duals(),
        n_iter=math.ceil(progress.visits / len(problem.labels)),
        primal_objective=progress.primal,
        dual_objective=progress.dual,
        dual_gap=progress.gap,
        violation=progress.violation,
        converged=progress.converged,
        history=np.array(progress.history, _RECORD),
        exception=exception,
    )
    return result, monitor.stopped


_RECORD = [(name, "i8" if name == "active" else "f8") for name in Check._fields]
