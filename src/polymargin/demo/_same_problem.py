"""Crammer and Singer's linear machine is in both libraries: a certificate judges both solutions.

``LinearSVM("cs")`` and ``LinearSVC(multi_class="crammer_singer")`` minimise the same

    P(W, b) = ½ Σ_c (‖w_c‖² + b_c²) + C Σ_i max_c (1 − δ_{c, y_i} + f_c(x_i) − f_{y_i}(x_i)).
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from polymargin.datasets import Split
from polymargin.demo._outcomes import EntrantOutcome, run

PRECISE = 1e-6  # the gap at which the optimum is known well enough to judge another solution


@dataclass(frozen=True)
class Judgement:
    """Another library's solution by the certificate of ours."""

    theirs: EntrantOutcome
    ours: EntrantOutcome
    excess: float  # its objective lies at most this far above the optimum, relative


def judge(outcomes: list[EntrantOutcome], data: Split) -> Judgement:
    """LinearSVC's solution, by a certificate that is precise."""
    by_name = {outcome.entrant.name: outcome for outcome in outcomes}
    theirs, entrant = by_name["LinearSVC CS"], by_name["CS"].entrant
    precise = clone(entrant.estimator).set_params(C=theirs.model.C, tol=PRECISE)
    ours = run(replace(entrant, estimator=precise), data)
    optimum = ours.model.dual_objective_
    return Judgement(theirs, ours, crammer_singer_objective(theirs.model, data) / optimum - 1)


def crammer_singer_objective(model: Any, data: Split) -> float:
    """P at the weights of a model, on the training part."""
    scores = data.X_train @ model.coef_.T + model.intercept_
    rows, own = np.arange(len(scores)), np.searchsorted(model.classes_, data.y_train)
    hinges = 1 + scores - scores[rows, own][:, None]
    hinges[rows, own] = 0
    squares = np.vdot(model.coef_, model.coef_) + np.vdot(model.intercept_, model.intercept_)
    return float(squares / 2 + model.C * hinges.max(axis=1).sum())
