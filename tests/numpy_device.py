"""The simplest device: all kernel values, scores and checks as NumPy arrays in double."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polymargin.core import Changes, WorkingSetSolver
from polymargin.kernel._device import Checked
from polymargin.kernel._problem import KernelProblem

Floats = NDArray[np.float64]
Examples = NDArray[np.int64]


class NumpyDevice:
    """Checks are written down from the formulas of the machines, without the core."""

    def __init__(self, problem: KernelProblem, K: Floats, F: Floats) -> None:
        self.problem = problem
        self.K, self.F = K, F
        self.n_computed = 0

    @classmethod
    def open(cls, problem: KernelProblem, cache_bytes: int, n_threads: int) -> "NumpyDevice":
        points, n = problem.points, len(problem)
        values = np.empty((n, n), points.dtype)
        problem.kernel.evaluate(points, points, values, n_threads)
        np.fill_diagonal(values, problem.diagonal)
        device = cls(problem, values.astype(np.float64), np.zeros((n, problem.n_classes)))
        device.n_computed = n
        return device

    def gram(self, examples: Examples) -> tuple[Examples, NDArray[Any]]:
        return examples, self.K[np.ix_(examples, examples)].astype(self.problem.points.dtype)

    def scores(self, examples: Examples | None = None) -> Floats:
        return self.F if examples is None else self.F[examples]

    def add_scores(self, changes: Changes) -> None:
        indptr, classes, values = changes.arrays()
        shape = (len(changes), self.F.shape[1])
        change = sparse.csr_array((values.astype(np.float64), classes, indptr), shape)
        self.F += self.K[:, changes.examples] @ change.toarray()

    def part(self, examples: Examples) -> "NumpyDevice":
        K = self.K[np.ix_(examples, examples)]
        return NumpyDevice(self.problem.part(examples), K, self.F[examples])

    def recompute_cost(self, n_active: int) -> float:
        return 0.0

    def forget_scores(self) -> None:
        self.F.fill(0)

    def check(self, solver: WorkingSetSolver) -> Checked:
        machine, y = self.problem.machine, self.problem.labels
        n, k = self.F.shape
        beta = solver.betas(np.arange(n))
        full = 1 - 64 * np.finfo(beta.dtype).eps  # of a bound, rounding aside
        C = self.problem.upper[:, None]
        is_own = np.arange(k) == y[:, None]

        t = np.where(is_own, machine.own_margin(k), 1.0)
        F = self.F - self.F.mean(axis=1, keepdims=True) * machine.zero_sum
        f_own = F[np.arange(n), y][:, None]
        g = np.where(is_own, t - f_own, t + F - f_own * machine.relative)
        exists = np.where(is_own, machine.has_own, machine.has_others)
        hinges = np.where(exists, np.maximum(g, 0), 0)
        weight = np.where(is_own, machine.weight_own, machine.weight_other)

        if machine.simplex:
            beta = np.clip(beta.astype(np.float64), 0, C)
            beta /= np.maximum(1, beta.sum(axis=1, keepdims=True) / C)
            loss = hinges.max(axis=1)
            lowest = np.where(beta > 0, g, np.inf).min(axis=1)
            has_slack = beta.sum(axis=1) < C[:, 0] * full
            lowest = np.where(has_slack, np.minimum(lowest, 0), lowest)
            violations = np.maximum(0, loss - lowest)
        else:
            beta = np.clip(beta.astype(np.float64), 0, C * weight)
            loss = (weight * hinges).sum(axis=1)
            falls = np.where(beta > 0, np.maximum(-g, 0), 0)
            rises = np.where(beta < C * weight * full, hinges, 0)
            violations = np.maximum(falls, rises).max(axis=1)

        losses, products = C[:, 0] * loss, (beta * g).sum(axis=1)
        margins = (beta * t).sum()
        norm = margins - products.sum()  # |W|^2
        return Checked(
            losses - products,
            violations,
            norm / 2 + losses.sum(),
            margins - norm / 2,
            violations.max(),
        )
