"""The certificate of a problem that is dealt to processes: sums over the parts of all."""

import hashlib
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from polymargin.distributed._ranks import Ranks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polymargin.core import DealtCheck, LocalDescent

_NUMBERS_AT_ONCE = 1 << 16
_Figures = tuple[float, float, float]  # objectives and largest violation


def certify_rows(
    ranks: Ranks, local: "LocalDescent", k: int
) -> "tuple[_Figures, NDArray[np.float64]]":
    """Where rows are dealt and all processes have the same weights; the weights of the duals.

    P is that of the weights as they are, those of rank 0 on all; D that of the dual variables.
    """
    weights = local.weights
    digest = hashlib.blake2b(weights.data, digest_size=16).digest()
    if len(set(ranks.meet("weights before a check", digest))) > 1:  # added up in another order
        ranks.copy_first(weights, "certificate")
    loss, margins, violation, of_duals = local.check()
    own = (loss, margins, violation, squared_norm(weights[:, :k]))
    losses, all_margins, violations, norms = zip(*ranks.meet("sums over rows", own), strict=True)
    ranks.add_up(of_duals, "certificate")
    norm = ranks.value_of_first(squared_norm(of_duals))
    primal = math.fsum([0.5 * norms[0], *losses])
    dual = math.fsum([*all_margins, -0.5 * norm])
    return (primal, dual, max(violations)), of_duals.reshape(len(weights), k)


def certify_classes(ranks: Ranks, check: "DealtCheck") -> _Figures:
    """Where classes are dealt, with their weights, and all processes have the same rows.

    What is added up is a score for each row.
    """
    own_scores = check.own_scores()
    ranks.meet("scores of own classes", None)
    ranks.add_up(own_scores, "certificate")
    loss, margins, violation = check.check(own_scores)
    norm, norm_of_duals = check.norms
    own = 0.5 * norm + loss, margins - 0.5 * norm_of_duals, violation
    primals, duals, violations = zip(*ranks.meet("objectives", own), strict=True)
    return math.fsum(primals), math.fsum(duals), max(violations)


def squared_norm(matrix: "NDArray[Any]") -> float:
    """In double, of some numbers at a time: a copy of all in double would be slow."""
    width = 1 if matrix.ndim == 1 else max(1, matrix.shape[1])
    at_once = max(1, _NUMBERS_AT_ONCE // width)
    parts = (matrix[first : first + at_once] for first in range(0, len(matrix), at_once))
    return math.fsum(float(np.square(part, dtype=np.float64).sum()) for part in parts)
