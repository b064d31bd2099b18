"""The certificate of a problem whose rows are dealt to processes that all have the same weights."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from polymargin.distributed._ranks import Ranks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polymargin.core import LocalDescent


def certify_rows(
    ranks: Ranks, local: "LocalDescent", k: int
) -> "tuple[tuple[float, float, float], NDArray[np.float64]]":
    """Objectives and largest violation, the same on all processes; the weights of the duals.

    P is that of the weights as they are, those of rank 0 on all; D that of the dual variables.
    """
    weights = local.weights
    ranks.copy_first(weights)
    loss, margins, violation, of_duals = local.check()
    own = (loss, margins, violation, squared_norm(weights[:, :k]))
    losses, all_margins, violations, norms = zip(*ranks.meet("sums over rows", own), strict=True)
    ranks.add_up(of_duals)
    norm = ranks.value_of_first(squared_norm(of_duals))
    primal = math.fsum([0.5 * norms[0], *losses])
    dual = math.fsum([*all_margins, -0.5 * norm])
    return (primal, dual, max(violations)), of_duals.reshape(len(weights), k)


def squared_norm(matrix: "NDArray[Any]") -> float:
    """In double."""
    return float(np.square(matrix, dtype=np.float64).sum())
