"""A rising step-free curve for each class against the rest.

    p_c = q_c(s_c(x)) / sum_e q_e(s_e(x))

with s_c as for sigmoids. q_c is the rising function with values in [0, 1] that minimises
sum_i w_i (q_c(s_c(x_i)) - [y_i = c])^2 over rows whose scores come from models that have not seen
them (Zadrozny and Elkan 2002), linear between those rows and constant beyond them: scikit-learn's
IsotonicRegression. Where all q_c are zero, all classes have the same probability. A class without
such rows takes the curve that all classes have together.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.isotonic import IsotonicRegression

from polymargin.calibration._base import Calibrator, against_the_rest
from polymargin.calibration._classes import learn_by_class

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import NDArray

    Curve = tuple[NDArray[np.float64], NDArray[np.float64]]


@dataclass(frozen=True, eq=False)
class Isotonic(Calibrator):
    """A piecewise linear rising curve for each class, normalised over the classes.

    Attributes
    ----------
    curves : tuple of (ndarray, ndarray)
        Scores in ascending order and the values there, of each class.
    """

    name: ClassVar[str] = "isotonic"
    by_class: ClassVar[bool] = True

    curves: "tuple[Curve, ...]"

    @classmethod
    def learn(
        cls,
        scores: "NDArray[np.float64]",
        labels: "NDArray[Any]",
        weight: "NDArray[np.float64]",
    ) -> "Self":
        return cls(tuple(learn_by_class(scores, labels, weight, learn_curve, _mirror)))

    def probabilities(self, scores: "NDArray[Any]") -> "NDArray[np.float64]":
        s = against_the_rest(scores)
        columns = [np.interp(s[:, c], *curve) for c, curve in enumerate(self.curves)]
        values = np.stack(columns, axis=1)
        total = values.sum(axis=1, keepdims=True)
        p: NDArray[np.float64] = np.divide(
            values, total, out=np.full_like(values, 1 / len(columns)), where=total > 0
        )
        return p

    def log_probabilities(self, scores: "NDArray[Any]") -> "NDArray[np.float64]":
        """Minus infinity where a probability is zero."""
        with np.errstate(divide="ignore"):
            logs: NDArray[np.float64] = np.log(self.probabilities(scores))
        return logs


def learn_curve(
    s: "NDArray[np.float64]", is_own: "NDArray[np.bool_]", weight: "NDArray[np.float64]"
) -> "Curve":
    """The curve of one class."""
    regression = IsotonicRegression(y_min=0, y_max=1)
    regression.fit(s, is_own.astype(np.float64), sample_weight=weight)
    return regression.X_thresholds_, regression.y_thresholds_


def _mirror(curve: "Curve") -> "Curve":
    s, values = curve
    return -s[::-1], 1 - values[::-1]
