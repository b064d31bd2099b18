"""Newton's direction for the weights of a proximal subproblem.

With A the map from weights to margins and J the Jacobian of the projection, the equation is

    (I + sigma A^T J A) dW = -g,    g = W - A^T beta.                                     (1)

It is solved in one of two spaces, whichever takes fewer operations: that of the d k weights, by a
Cholesky factorisation of (1) itself, or that of the p directions B in which J = B B^T lets
variables move,

    (I / sigma + B^T A A^T B) s = B^T A g,    dW = -g + A^T B s,                          (2)

which needs inner products of examples only. B has a unit vector for each free variable, and for
examples whose sum is at its bound an orthonormal basis of the vectors of sum zero (Helmert's).
Where margins are absolute, both fall apart into a system for each class and one for what joins
them: `_rows_by_class` for weights, `_by_class` for variables.
"""

import math
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from polymargin.second_order._by_class import solve_by_class
from polymargin.second_order._cholesky import factorise
from polymargin.second_order._hessian import make_hessian
from polymargin.second_order._projection import Moves, Projected
from polymargin.second_order._rows_by_class import solve_rows_by_class
from polymargin.second_order._space import KernelSpace, RowSpace, Space
from polymargin.second_order._variables import Variables

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polymargin.core import MachineInfo

    Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Direction:
    """dW, and where (2) was solved the variables that it leads to."""

    weights: "Floats"
    beta: "Floats | None"  # not projected


class Way(Enum):
    """Which systems are solved."""

    VARIABLES = "one over the free variables"
    VARIABLES_BY_CLASS = "one over the free variables of each class"
    WEIGHTS = "one over the weights"
    WEIGHTS_BY_CLASS = "one over the weights of each class"


def find_way(
    space: Space, machine: "MachineInfo", n_classes: int, moves: Moves, max_free: int
) -> tuple[float, Way]:
    """The cheapest, with its operations: infinite where matrices have more than `max_free` rows."""
    ways = _sizes(space, machine, n_classes, moves)
    costs = {way: cost if rows <= max_free else math.inf for way, (rows, cost) in ways.items()}
    best = min(costs, key=costs.__getitem__)
    return costs[best], best


def fewest_rows(space: Space, machine: "MachineInfo", n_classes: int, moves: Moves) -> int:
    """Of the largest matrix, by the way that needs the smallest."""
    return int(min(rows for rows, _ in _sizes(space, machine, n_classes, moves).values()))


def _sizes(
    space: Space, machine: "MachineInfo", n_classes: int, moves: Moves
) -> dict[Way, tuple[float, float]]:
    """Rows of the largest matrix and operations of each way."""
    p, m, t, k = *map(float, moves), n_classes
    ties = t**3 / 3 + t * t * m
    if isinstance(space, KernelSpace) and not machine.relative:
        join = 4 / 3 * m**3 + ties if machine.zero_sum else 0.0
        return {Way.VARIABLES_BY_CLASS: (m, p**3 / k**2 + join)}
    d = float(space.n_features) if isinstance(space, RowSpace) else 1.0
    ways = {Way.VARIABLES: (p, p**3 / 3 + p**2 * (k + d + 3.0))}
    if isinstance(space, RowSpace) and not sparse.issparse(space.rows):
        answers = min((p + t) / max(m, 1.0) + machine.relative, k)  # classes of an example
        sums = answers**2
        if not machine.relative:
            sums = min(sums, 4 * (k - answers + 1) + (k - answers + 1) ** 2 + 4)
        ways[Way.WEIGHTS] = d * k, (d * k) ** 3 / 3 + m * sums * d * d
        if not machine.relative:
            by_class = (k + 1.0) * d**3 + (p + 4 * t) * d * d + ties
            ways[Way.WEIGHTS_BY_CLASS] = max(d, t), by_class
    return ways


def find_direction(
    space: Space,
    variables: Variables,
    at: Projected,
    sigma: float,
    residual: "Floats",
    residual_scores: "Floats",
    way: Way,
) -> Direction:
    """dW of (1) for the residual g and its scores."""
    if way is Way.VARIABLES_BY_CLASS:
        step = solve_by_class(space, variables, at, sigma, variables.margins(residual_scores))
        return Direction(space.weights(variables.alphas(step)) - residual, at.beta + step)
    if way is not Way.VARIABLES:
        assert isinstance(space, RowSpace)
        solve = solve_rows_by_class if way is Way.WEIGHTS_BY_CLASS else _solve_weights
        return Direction(solve(space, variables, at, sigma, residual), None)
    examples, moves = free_moves(at)
    classes = class_moves(variables, examples, moves)
    matrix = space.gram(examples) if len(examples) else np.zeros((0, 0))
    matrix *= classes @ classes.T
    matrix.flat[:: len(matrix) + 1] += 1 / sigma
    right = np.einsum("pc,pc->p", moves, variables.margins(residual_scores)[examples])
    step = factorise(matrix).solve(right)
    alphas = np.zeros(variables.shape)
    np.add.at(alphas, examples, step[:, None] * classes)
    beta = at.beta.copy()
    np.add.at(beta, examples, step[:, None] * moves)
    return Direction(space.weights(alphas) - residual, beta)


def free_moves(at: Projected) -> "tuple[NDArray[np.int64], Floats]":
    """The columns of B: the example of each, and its (k,) part of the variables."""
    examples, classes = np.nonzero(at.is_free)
    moves = np.zeros((len(examples), at.is_free.shape[1]))
    moves[np.arange(len(examples)), classes] = 1.0
    tied = at.is_tied[examples]
    if not np.any(tied):
        return examples, moves
    place = np.cumsum(at.is_free, axis=1) - 1  # of a class among the free ones of its example
    own_place = place[examples, classes]
    rows = np.flatnonzero(tied & (own_place > 0))
    length = own_place[rows].astype(np.float64)
    before = at.is_free[examples[rows]] & (place[examples[rows]] < own_place[rows, None])
    moves[rows] = before
    moves[rows, classes[rows]] = -length
    moves[rows] /= np.sqrt(length * (length + 1))[:, None]
    kept = ~(tied & (own_place == 0))
    return examples[kept], moves[kept]


def class_moves(variables: Variables, examples: "NDArray[np.int64]", moves: "Floats") -> "Floats":
    """How each column of B moves a_i, (p, k)."""
    machine = variables.machine
    places = (np.arange(len(examples)), variables.labels[examples])
    alphas = -moves
    alphas[places] = moves.sum(axis=1) if machine.relative else moves[places]
    if machine.zero_sum:
        alphas -= alphas.mean(axis=1, keepdims=True)
    return alphas


def _solve_weights(
    space: RowSpace, variables: Variables, at: Projected, sigma: float, residual: "Floats"
) -> "Floats":
    """By (1) itself; where the machine is zero-sum, for all classes but the last one."""
    d, k = residual.shape
    hessian = make_hessian(space, variables, at)
    right, of_norm = residual, np.eye(k)
    if variables.machine.zero_sum:
        hessian[:-1] -= hessian[-1:]
        hessian = hessian[:-1, :, :-1] - hessian[:-1, :, -1:]
        right, k = residual[:, :-1] - residual[:, -1:], k - 1
        of_norm = np.eye(k) + 1.0
    hessian *= sigma
    places = np.arange(d)
    hessian[:, places, :, places] += of_norm
    matrix = hessian.reshape(d * k, d * k)
    change = -factorise(matrix.T).solve(right.T.ravel()).reshape(k, d).T
    if variables.machine.zero_sum:
        change = np.column_stack([change, -change.sum(axis=1)])
    return change
