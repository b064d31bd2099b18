"""What second-order steps are predicted to cost, in operations, before any is taken."""

from typing import TYPE_CHECKING

import numpy as np

from polymargin.second_order._projection import Projected, make_projection
from polymargin.second_order._space import Space
from polymargin.second_order._step import step_cost
from polymargin.second_order._variables import Variables

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

MOST_VARIABLES = 1 << 23  # n k up to which arrays of all dual variables are made
_STEPS = 60.0
_PRODUCTS = 6.0  # with all rows in a step
_PASSES = 100.0  # over arrays of all variables in a step


def overhead(space: Space, variables: Variables) -> float:
    """Operations of a step besides the direction."""
    n, k = variables.shape
    return _PRODUCTS * space.product_cost(k) + _PASSES * n * k + 1e6


def predict_cost(space: Space, variables: Variables, beta: "Floats | None" = None) -> float:
    """Of all steps, where as many variables are free as in `beta`; None: one of each example."""
    if beta is None:
        is_free = np.zeros(variables.shape, np.bool_)
        is_free[:, 0] = True
        at = Projected(is_free * 1.0, is_free, np.zeros(len(is_free), np.bool_))
    else:
        at = make_projection(variables).project(beta)
    return _STEPS * (step_cost(space, variables, at)[0] + overhead(space, variables))
