"""Kernel values of all pairs of rows, computed once and shared by the fits of a search."""

import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from polymargin._attempt import unchanged_on_failure
from polymargin._threads import blas_threads
from polymargin.fit import make_problem
from polymargin.kernel import (
    GramKernel,
    NamedKernel,
    PrecomputedKernel,
    make_kernel,
    row_numbers,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polymargin.estimators import KernelSVM
    from polymargin.fit import DualState, Keeper
    from polymargin.kernel import Kernel, Points


@dataclass(frozen=True)
class Pairs:
    """What the kernel measures between all rows, from which kernel values for any gamma follow."""

    values: Any  # (n, n)
    points: "Points"
    kernel: "Kernel"

    @classmethod
    def of(cls, estimator: "KernelSVM", X: Any, n_threads: int) -> "Pairs":
        """Those of validated rows, or of the matrix that a precomputed kernel is."""
        kernel = make_kernel(
            estimator.kernel,
            X,
            np.ones(X.shape[0]),
            gamma=1.0,
            degree=estimator.degree,
            coef0=estimator.coef0,
            bias=False,
            any_gamma=True,
        )
        points = kernel.prepare(X)
        if isinstance(kernel, PrecomputedKernel):
            return cls(X, points, kernel)
        values = np.empty((len(points), len(points)), X.dtype)
        with blas_threads(n_threads):
            if isinstance(kernel, NamedKernel):
                kernel.measure(points, points, values, n_threads)
            else:
                kernel.evaluate(points, points, values, n_threads)
        return cls(values, points, kernel)

    def gram(self, gamma: float) -> GramKernel:
        """The kernel with this gamma."""
        if not isinstance(self.kernel, NamedKernel):
            return GramKernel(self.values)
        kernel = replace(self.kernel, gamma=gamma)
        values = self.values.copy()
        norms = self.points.norms
        kernel.apply(values, norms, norms, 1)
        np.fill_diagonal(values, kernel.diagonal(self.points))
        return GramKernel(values, positive=kernel.is_positive)


class SharedGrams:
    """Kernels by gamma, made when first used and given up after the last use.

    As many as `n_kept` stay beyond it, the last ones, for uses that are announced later.
    """

    def __init__(self, pairs: Pairs, n_kept: int = 0) -> None:
        self._pairs, self._n_kept = pairs, n_kept
        self._left: Counter[float] = Counter()
        self._lock, self._locks = threading.Lock(), dict[float, threading.Lock]()
        self._made: dict[float, GramKernel] = {}

    def announce(self, uses: Iterable[float]) -> None:
        """Those to come, when all before have ended."""
        self._left = Counter(uses)
        self._locks = {gamma: threading.Lock() for gamma in self._left}

    @contextmanager
    def use(self, gamma: float) -> Iterator[GramKernel]:
        """One of the uses announced."""
        with self._locks[gamma]:
            kernel = self._made.get(gamma) or self._pairs.gram(gamma)
            with self._lock:
                self._made.pop(gamma, None)
                self._made[gamma] = kernel  # the last one now
        try:
            yield kernel
        finally:
            with self._lock:
                self._left[gamma] -= 1
                self._give_up()

    def _give_up(self) -> None:
        """The oldest without a use to come, until there is room again."""
        idle = [gamma for gamma in self._made if self._left[gamma] == 0]
        for gamma in idle[: max(0, len(idle) - self._n_kept)]:
            del self._made[gamma]


def fit_on_gram(
    model: "KernelSVM",
    kernel: GramKernel,
    y: "NDArray[Any]",
    sample_weight: "NDArray[np.float64] | None",
    watch: "Keeper | None" = None,
) -> None:
    """`model.fit` of all rows of the matrix on one thread."""
    kernel = replace(kernel, bias=bool(model.fit_intercept))
    numbers = row_numbers(kernel.matrix)
    problem = make_problem(numbers, y, model._upper(numbers, y, sample_weight))
    with unchanged_on_failure(model) as attempt:
        model._train(problem, kernel, numbers, y, sample_weight, 1, attempt, watch=watch)


def predict_on_gram(
    model: "KernelSVM",
    kernel: GramKernel,
    train: "NDArray[np.int64]",
    rows: "NDArray[np.int64]",
) -> "NDArray[Any]":
    """`model.predict` of these rows after `fit_on_gram` of the rows `train`."""
    scores = _scores(kernel, rows, train[model.support_], model.dual_coef_.T)
    scores += model.intercept_
    predicted: NDArray[Any] = model.classes_[scores.argmax(axis=1)]
    return predicted


def predict_with_duals(
    state: "DualState",
    fit_intercept: bool,
    kernel: GramKernel,
    train: "NDArray[np.int64]",
    rows: "NDArray[np.int64]",
) -> "NDArray[Any]":
    """The same in the course of the fit, from its dual variables."""
    alphas = state.csr.astype(state.dtype, copy=False)
    support = np.flatnonzero(np.diff(alphas.indptr))
    coef = alphas[support].toarray()
    scores = _scores(kernel, rows, train[support], coef)
    if fit_intercept:
        scores += coef.sum(axis=0)
    predicted: NDArray[Any] = state.classes[scores.argmax(axis=1)]
    return predicted


def _scores(
    kernel: GramKernel,
    rows: "NDArray[np.int64]",
    support: "NDArray[np.int64]",
    coef: "NDArray[Any]",
) -> "NDArray[Any]":
    values = np.empty((len(rows), len(support)), coef.dtype)
    kernel.evaluate(kernel.points(rows), kernel.points(support), values, 1)
    scores: NDArray[Any] = values @ coef
    return scores
