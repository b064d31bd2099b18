"""The fits of a grid search: chains along C, on rows or on shared kernel values."""

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.base import clone

from polymargin.fit import DualState
from polymargin.kernel import find_gamma, has_gamma
from polymargin.model_selection._gram import (
    Pairs,
    SharedGrams,
    fit_on_gram,
    predict_on_gram,
    predict_with_duals,
)
from polymargin.model_selection._watch import EndedEarlyError, Verdict, Watch

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

    The first starts from the dual variables at C = `start` where those were kept, as they are
    at each C of `keeps`.
    """

    machine: str
    gamma: float | None
    fold: int
    Cs: tuple[float, ...]
    start: float | None = None
    keeps: tuple[float, ...] = ()

    def at(self, C: float) -> "Place":
        """One of its fits."""
        return self.machine, self.gamma, self.fold, C


Place = tuple[str, float | None, int, float]


class Score(NamedTuple):
    """Accuracy on the validation rows, whether the fit converged, and which rows are right.

    A rough one is that of a fit which was postponed.
    """

    accuracy: float
    converged: bool
    is_right: "NDArray[np.bool_]" = np.empty(0, bool)
    is_rough: bool = False


OwnJudge = Callable[["NDArray[Any]"], Verdict]  # of the predictions of one fit
Fitter = Callable[[Any, OwnJudge | None], "NDArray[Any]"]
Judge = Callable[[Place, Score, list[Score]], Verdict]


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
        self._postponed: dict[Place, DualState] = {}

    @abstractmethod
    def plan(self, chains: Sequence[Chain]) -> None:
        """Announce the chains that will be run before the next plan."""

    def run(
        self, chain: Chain, gate: Gate, on_fit: Callable[[int], None], judge: Judge | None = None
    ) -> list[Score | None]:
        """Fit for each C, starting from the fit before, and score on the validation rows.

        The `judge` of what a fit predicts on the way, who also sees the scores at smaller C, may
        end it without a score, or postpone it: another chain with this C then goes on.
        """
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
        scores: list[Score | None] = []

        def score(predicted: "NDArray[Any]", converged: bool, is_rough: bool = False) -> Score:
            is_right = predicted == y
            accuracy = float(np.average(is_right, weights=weight))
            return Score(accuracy, converged, is_right, is_rough)

        def judge_own(C: float, predicted: "NDArray[Any]") -> Verdict:
            assert judge is not None
            known = [score for score in scores if score is not None]
            return judge(chain.at(C), score(predicted, False), known)

        with gate.chain(), self._opened(chain) as fit_and_predict:
            for C in chain.Cs:
                gate.check()
                postponed = self._postponed.pop(chain.at(C), None)
                if postponed is not None:
                    model._dual_state = postponed
                model.set_params(C=C)
                try:
                    predicted = fit_and_predict(model, judge and partial(judge_own, C))
                except EndedEarlyError as ended:
                    model._dual_state = ended.state
                    is_postponed = ended.verdict is Verdict.POSTPONE
                    if is_postponed:
                        self._postponed[chain.at(C)] = ended.state
                    scores.append(score(ended.predicted, False, True) if is_postponed else None)
                    continue
                scores.append(score(predicted, bool(model.converged_)))
                if C in chain.keeps:
                    self._kept[chain.at(C)] = model._dual_state
                on_fit(1)
        return scores

    def forget_postponed(self) -> None:
        """None of these fits will be asked for again."""
        self._postponed.clear()

    @abstractmethod
    def _opened(self, chain: Chain) -> "AbstractContextManager[Fitter]":
        """Fit of a model on the training rows, which answers with its predictions."""


class RowFits(Fits):
    """Each fit reads the rows themselves."""

    def plan(self, chains: Sequence[Chain]) -> None:
        pass  # chains share nothing

    @contextmanager
    def _opened(self, chain: Chain) -> "Iterator[Fitter]":
        data = self._data
        train, validation = data.folds[chain.fold]
        X, y, weight = data.X[train], data.y[train], data.weight_of(train)
        X_validation = data.X[validation]

        def fit_and_predict(
            model: "LinearSVM | KernelSVM", judge: OwnJudge | None
        ) -> "NDArray[Any]":
            model.fit(X, y, weight)
            return model.predict(X_validation)

        yield fit_and_predict


class GramFits(Fits):
    """All fits of one gamma read the same matrix of kernel values."""

    def __init__(self, estimator: "KernelSVM", data: Data, n_threads: int, n_kept: int) -> None:
        """At most `n_kept` matrices of kernel values wait for chains of a later plan."""
        super().__init__(estimator, data)
        self._grams = SharedGrams(Pairs.of(estimator, data.X, n_threads), n_kept)

    def plan(self, chains: Sequence[Chain]) -> None:
        self._grams.announce(map(self._gamma, chains))

    @contextmanager
    def _opened(self, chain: Chain) -> "Iterator[Fitter]":
        data = self._data
        train, validation = data.folds[chain.fold]
        y, weight = data.y[train], data.weight_of(train)
        with self._grams.use(self._gamma(chain)) as kernel:
            own = kernel.part(train)

            def fit_and_predict(model: "KernelSVM", judge: OwnJudge | None) -> "NDArray[Any]":
                def predict(state: DualState) -> "NDArray[Any]":
                    bias = bool(model.fit_intercept)
                    return predict_with_duals(state, bias, kernel, train, validation)

                watch = None if judge is None else Watch(predict, judge)
                fit_on_gram(model, own, y, weight, watch)
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
