"""Kernel problems below the estimator: solvers, devices and the examples on them."""

from typing import Any

import numpy as np

from polymargin import core
from polymargin._machines import find_machine
from polymargin.core import Duals, WorkingSetSolver
from polymargin.kernel import Kernel, make_kernel
from polymargin.kernel._active import ActiveExamples
from polymargin.kernel._problem import KernelProblem


def make_problem(machine: str, X: Any, y: Any, kernel: Kernel | None = None) -> KernelProblem:
    """Bounds between 0.5 and 1.5; a radial kernel where none is given."""
    ones = np.ones(len(X))
    if kernel is None:
        kernel = make_kernel("rbf", X, ones, gamma=0.3, degree=1, coef0=0, bias=False)
    points = kernel.prepare(X)
    upper = 0.5 + (np.arange(len(X)) % 3) / 2
    labels = np.asarray(y, np.int32)
    n_classes = int(labels.max()) + 1
    info = find_machine(machine)
    return KernelProblem(kernel, points, kernel.diagonal(points), labels, upper, n_classes, info)


def make_solver(
    problem: KernelProblem, warm: Duals | None = None, by_pairs: bool = False
) -> WorkingSetSolver:
    return core.WorkingSetSolver(
        problem.labels,
        problem.upper,
        problem.n_classes,
        problem.machine.name,
        problem.diagonal,
        core.LinearOptions(),
        by_pairs,
        warm,
    )


def open_examples(kind: Any, problem: KernelProblem, cache_bytes: int = 1 << 20) -> ActiveExamples:
    """Of a new solver on a new device of this kind."""
    device = kind.open(problem, cache_bytes, 1)
    return ActiveExamples(make_solver(problem), device, len(problem))
