"""The papers' own solvers of kernel machines: one example or two at a time, rows from a cache."""

from typing import TYPE_CHECKING, Any

import numpy as np

from polymargin import core
from polymargin.fit import Check, Interrupts
from polymargin.kernel._goal import FitProgress, Goal
from polymargin.kernel._indefinite import find_negative

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polymargin.core import DecompositionOptions, DecompositionResult, Duals, MachineInfo
    from polymargin.fit import Monitor, Problem, ProblemKeeper
    from polymargin.kernel._functions import Kernel, Points
    from polymargin.solvers import Decomposition

_SAMPLE = 256  # examples whose Gram matrix shows a kernel to be indefinite


class KernelRows:
    """Rows of the kernel matrix, one at a time."""

    def __init__(
        self, kernel: "Kernel", points: "Points", diagonal: "NDArray[Any]", n_threads: int
    ) -> None:
        self._kernel = kernel
        self._points = points
        self._n_threads = n_threads
        self.diagonal = diagonal

    def fill(self, i: int, out: "NDArray[Any]") -> None:
        """Write row `i` into `out`."""
        self._kernel.evaluate(self._points[i : i + 1], self._points, out[None], self._n_threads)
        out[i] = self.diagonal[i]

    def find_negative(self, seed: int) -> float | None:
        """An eigenvalue, as a fraction of the largest one, that shows the kernel to be indefinite.

        Looked for in the Gram matrix of some examples drawn at random.
        """
        if self._kernel.is_positive:
            return None
        sample = np.random.default_rng(seed).permutation(len(self._points))[:_SAMPLE]
        points = self._points[sample]
        gram = np.empty((len(points), len(points)), points.dtype)
        self._kernel.evaluate(points, points, gram, self._n_threads)
        np.fill_diagonal(gram, self.diagonal[sample])
        return find_negative(gram)


class Decomposer:
    """A solver of the core, run until the goal is reached."""

    def __init__(
        self,
        problem: "Problem",
        machine: "MachineInfo",
        rows: KernelRows,
        solver: "Decomposition",
        goal: Goal,
        warm: "Duals | None",
        seed: int,
        cache_bytes: int,
    ) -> None:
        self._problem = problem
        self._machine = machine
        self._rows = rows
        self._solver = solver
        self._goal = goal
        self._warm = warm
        self._seed = seed
        self._cache_bytes = cache_bytes
        self._result: DecompositionResult | None = None
        self.progress = FitProgress()

    def run(
        self, interrupts: Interrupts, on_check: "Monitor", keeper: "ProblemKeeper | None"
    ) -> None:
        """An interrupt is raised at the end, when the whole problem has been checked."""
        progress = self.progress
        if progress.negative is None:
            progress.negative = self._rows.find_negative(self._seed)
        self._result = result = core.train_decomposition(
            self._problem.labels,
            self._problem.upper,
            len(self._problem.classes),
            self._machine.name,
            np.maximum(self._rows.diagonal, 0),
            self._rows.fill,
            self._options(),
            self._warm,
            on_check,
            interrupts.raise_pending,
            keeper,
        )
        progress.primal = result.primal_objective
        progress.dual = result.dual_objective
        progress.violation = result.violation
        progress.visits = result.n_steps
        progress.converged = result.converged
        progress.history = [Check(*record) for record in result.history.tolist()]
        if result.exception is not None:
            raise result.exception

    def duals(self) -> "Duals":
        """The dual variables."""
        assert self._result is not None
        return self._result.duals

    def _options(self) -> "DecompositionOptions":
        options = core.DecompositionOptions()
        options.tol = self._goal.tol
        options.max_iter = self._goal.max_iter
        options.stopping = "gap" if self._goal.by_gap else "kkt"
        options.has_gap = self.progress.negative is None
        options.seed = self._seed
        options.cache_bytes = self._cache_bytes
        self._solver.apply(options)
        return options
