"""The fits of a grid search: chains along C, on rows or on shared kernel values."""

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.base import clone

from polymargin.fit import DualState
from polymargin.kernel import find_gamma, has_gamma
from polymargin.model_selection._gram import Pairs, SharedGrams, fit_on_gram, predict_on_gram

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polymargin.estimators import KernelSVM, LinearSVM


@dataclass(frozen=True)
class Data:
    """Validated rows with their folds, pairs of training and validation rows."""

    X: Any
    y: "NDArray[Any]"
    weight: "NDArray[np.float64] | None"
    folds: "tuple[tuple[NDArray[np.int64], NDArray[np.int64]], ...]"

    def weight_of(self, rows: "NDArray[np.int64]") -> "NDArray[np.float64] | None":
        """Sample weights of some rows."""
        return None if self.weight is None else self.weight[rows]


class Chain(NamedTuple):
    """Fits along ascending C that share all else; gamma is None where the estimator's counts.

    The first starts from the dual variables at C = `start` where those were kept; `keeps_ends`
    keeps them at the smallest and at the largest C.
    """

    machine: str
    gamma: float | None
    fold: int
    Cs: tuple[float, ...]
    start: float | None = None
    keeps_ends: bool = False

    def at(self, C: float) -> "Place":
        """One of its fits."""
        return self.machine, self.gamma, self.fold, C


Place = tuple[str, float | None, int, float]


class Score(NamedTuple):
    """Accuracy on the validation rows, and whether the fit converged."""

    accuracy: float
    converged: bool


class CancelledError(Exception):
    """The search has ended; nobody waits for this chain."""


class Gate:
    """Lets chains run until it is closed, which waits for the fits under way."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._running = 0
        self._closed = False

    @contextmanager
    def chain(self) -> Iterator[None]:
        """Around a chain."""
        with self._condition:
            self.check()
            self._running += 1
        try:
            yield
        finally:
            with self._condition:
                self._running -= 1
                self._condition.notify_all()

    def check(self) -> None:
        """Before each fit."""
        if self._closed:
            raise CancelledError

    def close(self) -> None:
        with self._condition:
            self._closed = True
            self._condition.wait_for(lambda: self._running == 0)


class Fits(ABC):
    """Runs chains of fits of one estimator."""

    def __init__(self, estimator: Any, data: Data) -> None:
        self._estimator = estimator
        self._data = data
        self._kept: dict[Place, DualState] = {}

    @abstractmethod
    def plan(self, chains: Sequence[Chain]) -> None:
        """Announce the chains that will be run before the next plan."""

    def run(self, chain: Chain, gate: Gate, on_fit: Callable[[], None]) -> list[Score]:
        """Fit for each C, starting from the fit before, and score on the validation rows."""
        start = None if chain.start is None else self._kept.pop(chain.at(chain.start), None)
        validation = self._data.folds[chain.fold][1]
        y, weight = self._data.y[validation], self._data.weight_of(validation)
        model = clone(self._estimator).set_params(
            machine=chain.machine,
            warm_start=True,
            n_jobs=1,
            verbose=0,
            checkpoint=None,
            calibration=None,
        )
        if chain.gamma is not None:
            model.set_params(gamma=chain.gamma)
        if hasattr(model, "set_callbacks"):  # scikit-learn 1.9
            model.set_callbacks()
        if start is not None:
            model._dual_state = start
        scores = []
        with gate.chain(), self._opened(chain) as fit_and_predict:
            for C in chain.Cs:
                gate.check()
                predicted = fit_and_predict(model.set_params(C=C))
                accuracy = float(np.average(predicted == y, weights=weight))
                scores.append(Score(accuracy, bool(model.converged_)))
                if chain.keeps_ends and C in (chain.Cs[0], chain.Cs[-1]):
                    self._kept[chain.at(C)] = model._dual_state
                on_fit()
        return scores

    @abstractmethod
    def _opened(self, chain: Chain) -> "AbstractContextManager[Callable[[Any], NDArray[Any]]]":
        """Fit of a model on the training rows, which answers with its predictions."""


class RowFits(Fits):
    """Each fit reads the rows themselves."""

    def plan(self, chains: Sequence[Chain]) -> None:
        pass  # chains share nothing

    @contextmanager
    def _opened(self, chain: Chain) -> "Iterator[Callable[[Any], NDArray[Any]]]":
        data = self._data
        train, validation = data.folds[chain.fold]
        X, y, weight = data.X[train], data.y[train], data.weight_of(train)
        X_validation = data.X[validation]

        def fit_and_predict(model: "LinearSVM | KernelSVM") -> "NDArray[Any]":
            model.fit(X, y, weight)
            return model.predict(X_validation)

        yield fit_and_predict


class GramFits(Fits):
    """All fits of one gamma read the same matrix of kernel values."""

    def __init__(self, estimator: "KernelSVM", data: Data, n_threads: int) -> None:
        super().__init__(estimator, data)
        self._pairs = Pairs.of(estimator, data.X, n_threads)

    def plan(self, chains: Sequence[Chain]) -> None:
        self._grams = SharedGrams(self._pairs, map(self._gamma, chains))

    @contextmanager
    def _opened(self, chain: Chain) -> "Iterator[Callable[[Any], NDArray[Any]]]":
        data = self._data
        train, validation = data.folds[chain.fold]
        y, weight = data.y[train], data.weight_of(train)
        with self._grams.use(self._gamma(chain)) as kernel:
            own = kernel.part(train)

            def fit_and_predict(model: "KernelSVM") -> "NDArray[Any]":
                fit_on_gram(model, own, y, weight)
                return predict_on_gram(model, kernel, train, validation)

            yield fit_and_predict

    def _gamma(self, chain: Chain) -> float:
        """A number also where the estimator's gamma depends on the training rows."""
        if chain.gamma is not None:
            return chain.gamma
        if not has_gamma(self._estimator.kernel):
            return 1.0
        train, _ = self._data.folds[chain.fold]
        X, y, weight = self._data.X[train], self._data.y[train], self._data.weight_of(train)
        kept = self._estimator._upper(X, y, weight) > 0
        weight = np.ones(len(train)) if weight is None else weight
        return find_gamma(self._estimator.gamma, X[kept], weight[kept])
