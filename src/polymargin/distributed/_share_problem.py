"""The problem of a fit to rows of which each process has some and none has all."""

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from polymargin.distributed._ranks import Ranks, known_to_all
from polymargin.fit import Problem, make_problem

if TYPE_CHECKING:
    from numpy.typing import NDArray


def refuse_what_needs_all_rows(estimator: Any) -> None:
    """ValueError for parameters that a fit to shares cannot have."""
    remedies = {
        "calibration": (estimator.calibration is not None, "leave it out"),
        "checkpoint": (estimator.checkpoint is not None, "leave it out"),
        "class_weight": (estimator.class_weight == "balanced", "pass a dict of weights"),
        "C": (estimator.C in {math.inf}, "pass a finite one"),
    }
    for name, (is_wanted, remedy) in remedies.items():
        if is_wanted:
            raise ValueError(
                f"{name}={getattr(estimator, name)!r:.60} needs all rows, and no process has them: "
                f"{remedy}, or call fit with all rows"
            )


def make_problem_of_shares(
    ranks: Ranks, X: Any, y: "NDArray[Any]", upper: "NDArray[np.float64]"
) -> Problem:
    """The rows of this process, with the classes of all; there may be none of positive weight."""
    kept = np.flatnonzero(upper > 0)
    classes = _classes_of_all(ranks, np.unique(y[kept]))
    if len(kept) == len(y):
        return make_problem(X, y if len(y) else y.astype(classes.dtype), upper, classes=classes)
    own = y[kept].astype(classes.dtype, copy=False)
    problem = make_problem(X[kept], own, upper[kept], classes=classes)
    return replace(problem, kept=kept, n_given=len(y))


def _classes_of_all(ranks: Ranks, own: "NDArray[Any]") -> "NDArray[Any]":
    """The labels that occur anywhere."""
    told = [labels for labels in ranks.meet("the classes of shares", own) if len(labels)]
    kinds = sorted({str(labels.dtype) for labels in told if labels.dtype.kind != "U"})
    kinds += ["text"] * any(labels.dtype.kind == "U" for labels in told)
    if len(kinds) > 1:
        raise known_to_all(
            ValueError(f"the labels of the processes are of several types: {', '.join(kinds)}")
        )
    classes: NDArray[Any] = np.unique(np.concatenate(told)) if told else own
    if len(classes) < 2:
        raise known_to_all(
            ValueError(
                f"The number of classes has to be at least two; got {len(classes)} class(es) among "
                "the rows of all processes."
            )
        )
    return classes
