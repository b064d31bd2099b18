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
    """Kernels by gamma, made when first used and given up after the last use."""

    def __init__(self, pairs: Pairs, uses: Iterable[float]) -> None:
        self._pairs = pairs
        self._left = Counter(uses)
        self._locks = {gamma: threading.Lock() for gamma in self._left}
        self._made: dict[float, GramKernel] = {}

    @contextmanager
    def use(self, gamma: float) -> Iterator[GramKernel]:
        """One of the uses announced."""
        lock = self._locks[gamma]
        with lock:
            if gamma not in self._made:
                self._made[gamma] = self._pairs.gram(gamma)
            kernel = self._made[gamma]
        try:
            yield kernel
        finally:
            with lock:
                self._left[gamma] -= 1
                if self._left[gamma] == 0:
                    del self._made[gamma]


def fit_on_gram(
    model: "KernelSVM",
    kernel: GramKernel,
    y: "NDArray[Any]",
    sample_weight: "NDArray[np.float64] | None",
) -> None:
    """`model.fit` of all rows of the matrix on one thread."""
    kernel = replace(kernel, bias=bool(model.fit_intercept))
    numbers = row_numbers(kernel.matrix)
    problem = make_problem(numbers, y, model._upper(numbers, y, sample_weight))
    with unchanged_on_failure(model) as attempt:
        model._train(problem, kernel, numbers, y, sample_weight, 1, attempt)


def predict_on_gram(
    model: "KernelSVM",
    kernel: GramKernel,
    train: "NDArray[np.int64]",
    rows: "NDArray[np.int64]",
) -> "NDArray[Any]":
    """`model.predict` of these rows after `fit_on_gram` of the rows `train`."""
    support = train[model.support_]
    values = np.empty((len(rows), len(support)), model.dual_coef_.dtype)
    kernel.evaluate(kernel.points(rows), kernel.points(support), values, 1)
    scores = values @ model.dual_coef_.T + model.intercept_
    predicted: NDArray[Any] = model.classes_[scores.argmax(axis=1)]
    return predicted
