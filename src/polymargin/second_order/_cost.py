"""What second-order steps are predicted to cost, in operations, before any is taken."""

from typing import TYPE_CHECKING

import numpy as np

from polymargin.second_order._projection import Moves, make_projection
from polymargin.second_order._space import Space
from polymargin.second_order._step import fewest_rows, find_way
from polymargin.second_order._variables import Variables

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polymargin.core import MachineInfo

    Floats = NDArray[np.float64]

MOST_VARIABLES = 1 << 23  # n k up to which arrays of all dual variables are made
_STEPS = 50.0
_PRODUCTS = 6.0  # with all rows in a step
_PASSES = 100.0  # over arrays of all variables in a step


def predict_cost(space: Space, variables: Variables, beta: "Floats", max_free: int) -> float:
    """Of all steps, where as many variables are free as in `beta`."""
    at = make_projection(variables).project(beta)
    return _all_steps(space, variables.machine, variables.shape, at.moves, max_free)


def count_rows(space: Space, variables: Variables, beta: "Floats") -> int:
    """Of the largest matrix that a step cannot do without."""
    moves = make_projection(variables).project(beta).moves
    return fewest_rows(space, variables.machine, variables.n_classes, moves)


def guess_cost(
    space: Space, machine: "MachineInfo", shape: tuple[int, int], n_free: float, max_free: int
) -> float:
    """Of all steps, where an example has so many free variables."""
    free = min(max(1, int(n_free * shape[0])), max_free)
    moving = min(free, shape[0])
    moves = Moves(free, moving, moving if machine.simplex else 0)
    return _all_steps(space, machine, shape, moves, max_free)


def _all_steps(
    space: Space,
    machine: "MachineInfo",
    shape: tuple[int, int],
    moves: Moves,
    max_free: int,
) -> float:
    n, k = shape
    direction, _ = find_way(space, machine, k, moves, max_free)
    return _STEPS * (direction + _PRODUCTS * space.product_cost(k) + _PASSES * n * k + 1e6)
