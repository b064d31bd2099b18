"""Scores of rows by models that have not seen them.

For each fold the machine is fitted to all other rows. It starts from the dual variables of the fit
to all rows: those of the rows that are left satisfy beta_ip <= C_i, or sum_p beta_ip <= C_i, as
before, so that they are feasible, and near the optimum since few rows have gone.

A row counts in the calibrator with its sample weight, not with that of its class: probabilities are
those of the rows as they came. Where the weights add up to less than the number of rows that
differ, they are raised to it, so that their scale is not taken for a lack of rows.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from polymargin.calibration._base import Calibrator
from polymargin.calibration._folds import FoldPlan
from polymargin.fit import restrict_duals

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polymargin.core import Duals

# Fits the machine to the first rows from these dual variables, under this title, and scores the
# second ones; also whether it converged.
FitPart = Callable[
    ["NDArray[np.int64]", "NDArray[np.int64]", "Duals", str], "tuple[NDArray[Any], bool]"
]


@dataclass(frozen=True)
class CrossFit:
    """The fits that a calibrator needs beside the one to all rows."""

    kind: type[Calibrator]
    plan: FoldPlan
    weight: "NDArray[np.float64]"  # of each row
    classes: "NDArray[Any]"

    def run(self, fit_part: FitPart, duals: "Duals", seed: int) -> Calibrator:
        """Fit each fold, and learn from the scores of all."""
        self.plan.warn(self.classes, self.kind.by_class)
        fold = self.plan.deal(seed)
        held = np.flatnonzero(fold >= 0)
        scores = np.empty((len(fold), len(self.classes)))
        n_missed = 0
        for number in range(self.plan.n_folds):
            rows, others = np.flatnonzero(fold == number), np.flatnonzero(fold != number)
            title = f"calibration {number + 1}/{self.plan.n_folds}"
            scores[rows], converged = fit_part(others, rows, restrict_duals(duals, others), title)
            n_missed += not converged
        if n_missed:
            warnings.warn(
                f"calibration: {n_missed} of {self.plan.n_folds} fits of the cross-fit stopped "
                "above tol. Raise max_iter, lower C, scale the features or loosen tol.",
                ConvergenceWarning,
                stacklevel=5,
            )
        weight = self.weight[held]
        weight = weight * max(1.0, self.plan.n_held_out / float(weight.sum()))
        return self.kind.learn(scores[held], self.plan.labels[held], weight)
