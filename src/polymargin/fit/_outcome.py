"""What a fit reached, and what is said where that is not enough."""

import warnings
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from polymargin._wording import counted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polymargin.core import Duals


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


def warn_not_converged(result: Outcome, estimator: Any, precision: str) -> None:
    """Say how far the fit came and what to change."""
    if estimator.stopping == "gap" and not np.isnan(result.dual_gap):
        reached = f"a relative duality gap of {result.dual_gap:.3g}"
    else:
        reached = f"a largest KKT violation of {result.violation:.3g}"
    remedy = "Raise max_iter, lower C, scale the features or loosen tol."
    if result.n_iter < estimator.max_iter or result.dual_gap < 10 * np.finfo(precision).eps:
        solver = getattr(estimator.solver, "name", estimator.solver)
        owner = precision if solver in ("auto", "blocks") else f"solver={solver!r} in {precision}"
        other = " or pass float64" if precision == "float32" else ""
        remedy = f"{owner} gets no further: loosen tol{other}."
    warnings.warn(
        f"The fit stopped after {counted(result.n_iter, 'pass', 'passes')} at {reached}, above "
        f"tol={estimator.tol:g}. {remedy}",
        ConvergenceWarning,
        stacklevel=4,
    )
