"""A sigmoid for each class against the rest.

    q_c(x) = 1 / (1 + exp(-(a_c s_c(x) + b_c))),      p_c = q_c / sum_e q_e

where s_c is the score of class c and, of two classes, its score less that of the other one; then
one sigmoid serves both, and p_c = q_c. (a_c, b_c) minimise

    sum_i w_i [log(1 + exp(z_i)) - t_i z_i],      z_i = a_c s_c(x_i) + b_c,

over rows whose scores come from models that have not seen them, with Platt's targets (1999, section
2.2): t_i = (N+ + 1) / (N+ + 2) for rows of class c and 1 / (N- + 2) for all others, where N+ and N-
are the sums of their weights w_i. The problem is convex, with a minimum inside unless all s_c are
equal. A class without such rows takes the sigmoid that all classes have together, learnt from the
pairs of all rows and all classes.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_expit, log_softmax

from polymargin.calibration._base import Calibrator, against_the_rest
from polymargin.calibration._classes import learn_by_class

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import NDArray

_LARGEST = 1e300  # of z: sums stay finite, and so do differences


@dataclass(frozen=True, eq=False)
class Sigmoid(Calibrator):
    """A sigmoid for each class, normalised over the classes.

    Attributes
    ----------
    slope, offset : ndarray of shape (k,)
        a and b of each class.
    """

    name: ClassVar[str] = "sigmoid"
    by_class: ClassVar[bool] = True

    slope: "NDArray[np.float64]"
    offset: "NDArray[np.float64]"

    @classmethod
    def learn(
        cls,
        scores: "NDArray[np.float64]",
        labels: "NDArray[Any]",
        weight: "NDArray[np.float64]",
    ) -> "Self":
        lines = learn_by_class(scores, labels, weight, learn_line, lambda line: (line[0], -line[1]))
        slope, offset = np.array(lines).T
        return cls(slope, offset)

    def log_probabilities(self, scores: "NDArray[Any]") -> "NDArray[np.float64]":
        with np.errstate(over="ignore"):
            z = self.slope * against_the_rest(scores) + self.offset
        logs: NDArray[np.float64] = log_softmax(log_expit(z.clip(-_LARGEST, _LARGEST)), axis=1)
        return logs


def learn_line(
    s: "NDArray[np.float64]", is_own: "NDArray[np.bool_]", weight: "NDArray[np.float64]"
) -> tuple[float, float]:
    """a and b of one class."""
    positive, negative = float(weight[is_own].sum()), float(weight[~is_own].sum())
    t = np.where(is_own, (positive + 1) / (positive + 2), 1 / (negative + 2))
    centre, spread = float(s.mean()), float(s.std()) or 1.0
    features = np.stack([(s - centre) / spread, np.ones(len(s))])
    total = positive + negative

    def loss_and_gradient(line: "NDArray[np.float64]") -> "tuple[float, NDArray[np.float64]]":
        z = line @ features
        loss = weight @ (np.logaddexp(0, z) - t * z)
        return float(loss) / total, features @ (weight * (expit(z) - t)) / total

    def curvature(line: "NDArray[np.float64]") -> "NDArray[np.float64]":
        p = expit(line @ features)
        matrix: NDArray[np.float64] = (features * (weight * p * (1 - p))) @ features.T / total
        return matrix

    start = np.array([0.0, np.log((positive + 1) / (negative + 1))])
    found = minimize(
        loss_and_gradient, start, jac=True, hess=curvature, method="trust-exact",
        options={"gtol": 1e-11, "maxiter": 200},
    )  # fmt: skip
    a, b = found.x.tolist()
    return a / spread, b - a * centre / spread
