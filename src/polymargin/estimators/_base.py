"""What the linear and the kernel estimator share."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from polymargin.calibration import CALIBRATIONS, Calibrator, CrossFit, FitPart, FoldPlan
from polymargin.estimators._best import best_classes
from polymargin.estimators._blocks import score_blocks
from polymargin.fit import (
    CallbackSupportMixin,
    DualState,
    Keeper,
    Outcome,
    Past,
    Problem,
    apply_class_weight,
    check_sample_weight,
    check_scores,
    draw_seed,
)
from polymargin.storage import Checkpoint, CheckpointWriter, as_checkpoint, data_hash

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

    from polymargin.core import MachineInfo

_LARGEST = float(np.finfo(np.float64).max)  # a finite C beyond is refused with this one


def check_whole(model: Any) -> None:
    """Refuse a model of which this process has a part."""
    if isinstance(model, BaseSVM) and model._is_part:
        raise ValueError(
            "this process has the weights of some classes only, since the model was fitted with "
            "gather=False: let all processes save it, and load that"
        )


def _has_probabilities(estimator: "BaseSVM") -> bool:
    return estimator.calibration is not None


class BaseSVM(CallbackSupportMixin, ClassifierMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """Bounds of the dual variables, certificate, prediction from scores."""

    C: float
    class_weight: Any
    warm_start: bool
    classes_: "NDArray[Any]"
    checkpoint: "str | os.PathLike[str] | Checkpoint | None"
    calibration: str | None
    calibrator_: Calibrator
    random_state: Any

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @property
    def _is_part(self) -> bool:
        """Whether other processes have the weights of some classes."""
        return False

    def _upper(
        self,
        X: Any,
        y: "NDArray[Any]",
        sample_weight: Any,
        known: "NDArray[Any] | None" = None,
    ) -> "NDArray[np.float64]":
        """C_i of each row; one number that all rows share where there are no weights.

        Infinite where C is, whatever positive weight a row has, and only there. `known` are the
        classes of a stream, in which a batch may be of weight zero.
        """
        try:
            C = float(self.C)
        except OverflowError:
            C = _LARGEST
        if sample_weight is None and self.class_weight is None:
            return np.broadcast_to(np.float64(C), X.shape[:1])
        weights = check_sample_weight(sample_weight, X, allow_zeros=known is not None)
        weights = apply_class_weight(self.class_weight, y, weights, known)
        if math.isinf(C):
            return np.where(weights > 0, np.inf, 0.0)
        with np.errstate(over="ignore"):
            upper: NDArray[np.float64] = np.minimum(C * weights, _LARGEST)
        if np.any((upper == 0) & (weights > 0)):
            raise ValueError(
                "C times sample and class weight is too small for float64. Raise C or the weights."
            )
        return upper

    def _start_state(self) -> DualState | None:
        """The dual variables that `fit` starts from: those of the last fit, or of one resumed."""
        state: DualState | None = vars(self).get("_dual_state")
        is_used = state is not None and (self.warm_start or state.past is not None)
        return state if is_used else None

    def _open_writer(self, X: Any, y: Any, problem: Problem, past: Past) -> Keeper | None:
        """What writes the parameter `checkpoint` while a fit runs, and at its end."""
        if self.checkpoint is None:
            return None
        options = as_checkpoint(self.checkpoint)
        digest = data_hash(X, y) if past.data_hash is None else past.data_hash
        return CheckpointWriter(options, self, problem, digest, past.seconds)

    def _plan_cross_fit(self, problem: Problem, sample_weight: Any, X: Any) -> CrossFit | None:
        """The fits that the parameter `calibration` asks for; what cannot be is refused here."""
        if self.calibration is None:
            return None
        plan = FoldPlan.of(problem.X, problem.labels, self.calibration)
        weight = check_sample_weight(sample_weight, X)
        if problem.kept is not None:
            weight = weight[problem.kept]
        return CrossFit(CALIBRATIONS[self.calibration], plan, weight, problem.classes)

    def _calibrate(self, cross_fit: CrossFit, fit_part: FitPart) -> None:
        """Learn the calibrator; all else that is fitted stays as it is."""
        seed = draw_seed(self.random_state)
        self.calibrator_ = cross_fit.run(fit_part, self._dual_state.duals, seed)

    def _store_certificate(
        self, result: Outcome, problem: Problem, machine: "MachineInfo", past: Past
    ) -> None:
        self.__dict__.pop("calibrator_", None)
        self.classes_ = problem.classes
        self.n_iter_ = past.passes_with(result.n_iter, result.history)
        self.dual_gap_ = result.dual_gap
        self.primal_objective_ = result.primal_objective
        self.dual_objective_ = result.dual_objective
        self.converged_ = result.converged
        self.history_ = past.followed_by(result.history)
        self._dual_state = DualState.of(result.duals, problem, machine)

    @property
    def duals_(self) -> sparse.csr_array:
        """Dual vectors a_i of the rows given to `fit`, not centred; rows of weight zero are 0.

        The weights are ``duals_.T @ X``, less the mean over the classes where the machine is
        zero-sum; a fit that took long may have met weights with a lower objective, and ends with
        those. In single precision a variable may be beyond its bound by a rounding error; the
        dual objective is that of the variables moved back inside.
        """
        if "_dual_state" not in self.__dict__:
            raise AttributeError(
                "there are no dual variables: the model was not fitted by fit, or was loaded from "
                "a file without them"
            )
        return self._dual_state.csr

    @abstractmethod
    def _scorer(self, X: Any) -> "tuple[Any, Callable[[slice], NDArray[Any]]]":
        """The validated rows, and what gives the scores of consecutive ones, finite or not."""

    @abstractmethod
    def class_scores(self, X: Any) -> "NDArray[Any]":
        """Scores of all classes."""

    def _all_scores(self, X: Any) -> "NDArray[Any]":
        rows, score = self._scorer(X)
        scores = score(slice(0, rows.shape[0]))
        check_scores(scores, rows)
        return scores

    def _score_blocks(self, X: Any) -> "Iterator[tuple[slice, NDArray[Any]]]":
        """Consecutive rows and their (rows, k) scores, in bounded memory."""
        yield from score_blocks(*self._scorer(X), len(self.classes_))

    def _best(self, X: Any, m: int) -> "tuple[NDArray[np.intp], NDArray[Any]]":
        """(n, m) each: numbers of the classes of the m largest scores, best first, and these."""
        chosen, values = [], []
        for _, scores in self._score_blocks(X):
            best = best_classes(scores, m)
            chosen.append(best)
            values.append(np.take_along_axis(scores, best, axis=1))
        return np.concatenate(chosen), np.concatenate(values)

    def decision_function(self, X: Any) -> "NDArray[Any]":
        """Scores in the shape that scikit-learn expects.

        Parameters
        ----------
        X : array-like or sparse of shape (n, d)
            Rows.

        Returns
        -------
        scores : ndarray of shape (n, k), or (n,) for two classes
            `class_scores`; for two classes the score of the second less that of the first.
        """
        scores = self.class_scores(X)
        if len(self.classes_) != 2:
            return scores
        with np.errstate(over="ignore"):
            difference: NDArray[Any] = scores[:, 1] - scores[:, 0]
        check_scores(difference)
        return difference

    def predict(self, X: Any) -> "NDArray[Any]":
        """The class of the largest score, the first one of equals.

        Scores are computed for some rows at a time: memory does not grow with n k.

        Parameters
        ----------
        X : array-like or sparse of shape (n, d)
            Rows.

        Returns
        -------
        y : ndarray of shape (n,)
            Labels out of `classes_`.
        """
        best, _ = self._best(X, 1)
        predicted: NDArray[Any] = self.classes_[best[:, 0]]
        return predicted

    def predict_topk(
        self, X: Any, m: int = 5, return_scores: bool = False
    ) -> "NDArray[Any] | tuple[NDArray[Any], NDArray[Any]]":
        """The m classes of the largest scores, best first.

        Of equal scores the class that is first in `classes_` comes first, so that the first column
        is `predict`. Memory does not grow with n k. `polymargin.metrics` tells how good they are.

        Parameters
        ----------
        X : array-like or sparse of shape (n, d)
            Rows.
        m : int, default=5
            Classes for each row, from 1 to k.
        return_scores : bool, default=False
            Whether to return the scores of these classes, too.

        Returns
        -------
        labels : ndarray of shape (n, m)
            Labels out of `classes_`.
        scores : ndarray of shape (n, m)
            Only with `return_scores`; the largest of each row of `class_scores`, descending.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from polymargin import LinearSVM
        >>> X, y = load_iris(return_X_y=True)
        >>> model = LinearSVM("cs", random_state=0).fit(X, y)
        >>> model.predict_topk(X[:2], m=2)
        array([[0, 1],
               [0, 1]])
        """
        check_is_fitted(self)
        k = len(self.classes_)
        if not isinstance(m, Integral) or isinstance(m, bool) or m < 1:
            raise ValueError(f"m has to be an integer from 1 to the number of classes, got {m!r}")
        if m > k:
            raise ValueError(f"m={m} classes of each row, but the model knows {k}: pass m={k}")
        best, scores = self._best(X, int(m))
        labels: NDArray[Any] = self.classes_[best]
        return (labels, scores) if return_scores else labels

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> "NDArray[Any]":
        """Probabilities of all classes; only with the parameter `calibration`.

        They are `calibrator_` of the `class_scores`. `predict` is the class of the largest score,
        which with ``calibration="temperature"`` has the largest probability too; with the others it
        may have not.

        Parameters
        ----------
        X : array-like or sparse of shape (n, d)
            Rows.

        Returns
        -------
        p : ndarray of shape (n, k)
            Also for two classes. Each row sums to 1; columns are in the order of `classes_`.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from polymargin import LinearSVM
        >>> X, y = load_iris(return_X_y=True)
        >>> model = LinearSVM("cs", calibration="temperature", random_state=0).fit(X, y)
        >>> model.predict_proba(X[:2]).shape
        (2, 3)
        """
        calibrator = self._find_calibrator()
        scores = self.class_scores(X)
        return calibrator.probabilities(scores).astype(scores.dtype, copy=False)

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> "NDArray[Any]":
        """Logarithms of the probabilities of all classes; only with the parameter `calibration`.

        Parameters
        ----------
        X : array-like or sparse of shape (n, d)
            Rows.

        Returns
        -------
        log_p : ndarray of shape (n, k)
            Exact where `predict_proba` has rounded to zero; minus infinity where a curve of
            ``calibration="isotonic"`` is zero.
        """
        calibrator = self._find_calibrator()
        scores = self.class_scores(X)
        with np.errstate(over="ignore"):
            return calibrator.log_probabilities(scores).astype(scores.dtype, copy=False)

    def _find_calibrator(self) -> Calibrator:
        """That of the parameter `calibration`; NotFittedError where the last fit has left none."""
        check_is_fitted(self)
        calibrator: Calibrator | None = vars(self).get("calibrator_")
        if calibrator is None or calibrator.name != self.calibration:
            last = "nothing" if calibrator is None else f"calibration={calibrator.name!r}"
            raise NotFittedError(
                f"This {type(self).__name__} has calibration={self.calibration!r}, and its last "
                f"fit has learnt {last} for it: the parameter was set afterwards, or the fit was "
                "interrupted. Call fit again."
            )
        return calibrator
