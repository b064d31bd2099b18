"""What a fit reached, and what is said where that is not enough."""

import warnings
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from polymargin._wording import counted
from polymargin.fit._remedy import find_remedy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polymargin.core import Duals
    from polymargin.fit._problem import Problem
    from polymargin.solvers import Choice


class Outcome(Protocol):
    """What a fit reached, whoever ran it."""

    duals: "Duals"
    n_iter: int
    primal_objective: float
    dual_objective: float
    dual_gap: float
    violation: float
    converged: bool
    history: "NDArray[Any]"
    exception: BaseException | None


def warn_not_converged(
    result: Outcome, estimator: Any, problem: "Problem", choice: "Choice[Any]"
) -> None:
    """Say how far the fit came and what to change; nothing where a number of passes was wanted."""
    if getattr(choice.solver, "epochs", None) is not None:
        return
    if estimator.stopping == "gap" and not np.isnan(result.dual_gap):
        reached = f"a relative duality gap of {result.dual_gap:.3g}"
    else:
        reached = f"a largest KKT violation of {result.violation:.3g}"
    warnings.warn(
        f"The fit stopped after {counted(result.n_iter, 'pass', 'passes')} at {reached}, above "
        f"tol={estimator.tol:g}. {find_remedy(result, estimator, problem, choice)}",
        ConvergenceWarning,
        stacklevel=4,
    )
