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
_STEPS = 50.0
_PRODUCTS = 6.0  # with all rows in a step
_PASSES = 100.0  # over arrays of all variables in a step


def overhead(space: Space, variables: Variables) -> float:
    """Operations of a step besides the direction."""
    n, k = variables.shape
    return _PRODUCTS * space.product_cost(k) + _PASSES * n * k + 1e6


def predict_cost(space: Space, variables: Variables, beta: "Floats") -> float:
    """Of all steps, where as many variables are free as in `beta`."""
    at = make_projection(variables).project(beta)
    return _STEPS * (step_cost(space, variables, at)[0] + overhead(space, variables))


def guess_cost(space: Space, variables: Variables, share: float) -> float:
    """Of all steps, where this share of the examples has a free variable."""
    is_free = np.zeros(variables.shape, np.bool_)
    is_free[: max(1, int(share * len(is_free))), 0] = True
    at = Projected(is_free.astype(np.float64), is_free, np.zeros(len(is_free), np.bool_))
    return _STEPS * (step_cost(space, variables, at)[0] + overhead(space, variables))


def count_free(variables: Variables, beta: "Floats") -> int:
    return make_projection(variables).project(beta).n_free
