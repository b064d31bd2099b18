"""Newton's direction for the weights of a proximal subproblem.

With A the map from weights to margins and J the Jacobian of the projection, the equation is

    (I + sigma A^T J A) dW = -g,    g = W - A^T beta.                                     (1)

It is solved in one of two spaces, whichever takes fewer operations: that of the d k weights, by a
Cholesky factorisation of (1) itself, or that of the p directions B in which J = B B^T lets
variables move,

    (I / sigma + B^T A A^T B) s = B^T A g,    dW = -g + A^T B s,                          (2)

which needs inner products of examples only. B has a unit vector for each free variable, and for
examples whose sum is at its bound an orthonormal basis of the vectors of sum zero (Helmert's).
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import linalg, sparse

from polymargin.second_order._projection import Projected
from polymargin.second_order._space import RowSpace, Space
from polymargin.second_order._variables import Variables

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_CHUNK = 1 << 22  # entries of temporary arrays


@dataclass(frozen=True)
class Direction:
    """dW, and where (2) was solved the variables that it leads to."""

    weights: "Floats"
    beta: "Floats | None"  # not projected


def step_cost(
    space: Space, n_classes: int, n_free: int, n_moving: int, max_free: int
) -> tuple[float, bool]:
    """Operations of a direction, and whether the weights are the smaller space.

    `n_moving` examples have `n_free` free variables; infinite where both spaces are larger than
    `max_free`.
    """
    p, k = float(n_free), n_classes
    d = space.n_features if isinstance(space, RowSpace) else 1
    dual = p**3 / 3 + p**2 * (k + d + 3.0) if n_free <= max_free else math.inf
    if not isinstance(space, RowSpace) or sparse.issparse(space.rows) or d * k > max_free:
        return dual, False
    primal = float(d * k) ** 3 / 3 + 2.0 * (n_free + n_moving) * d * d * k
    return (primal, True) if primal < dual else (dual, False)


def find_direction(
    space: Space,
    variables: Variables,
    at: Projected,
    sigma: float,
    residual: "Floats",
    residual_scores: "Floats",
    by_weights: bool,
) -> Direction:
    """dW of (1) for the residual g and its scores."""
    if by_weights:
        assert isinstance(space, RowSpace)
        return Direction(_solve_weights(space, variables, at, sigma, residual), None)
    examples, moves = free_moves(at)
    classes = class_moves(variables, examples, moves)
    matrix = space.gram(examples) if len(examples) else np.zeros((0, 0))
    matrix *= classes @ classes.T
    matrix.flat[:: len(matrix) + 1] += 1 / sigma
    right = np.einsum("pc,pc->p", moves, variables.margins(residual_scores)[examples])
    step = _solve(matrix, right)
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
    """By (1): sum_i x_i x_i^T (x) S_i, where S_i says how a_i answers to f_i."""
    d, k = residual.shape
    moving = np.flatnonzero(at.is_free.any(axis=1))
    hessian = np.zeros((d, k, d, k))
    at_once = max(1, _CHUNK // (k * max(k, d)))
    for first in range(0, len(moving), at_once):
        examples = moving[first : first + at_once]
        answers = _answers(variables, at, examples)
        rows = np.asarray(space.rows[examples])
        for c in range(k):
            used = np.flatnonzero(np.any(answers[:, c], axis=1))
            weighted = rows[used][:, :, None] * answers[used, c][:, None, :]
            hessian[:, c] += (rows[used].T @ weighted.reshape(len(used), d * k)).reshape(d, d, k)
    if variables.machine.zero_sum:
        hessian -= hessian.mean(axis=1, keepdims=True)
        hessian -= hessian.mean(axis=3, keepdims=True)
    matrix = hessian.reshape(d * k, d * k)
    matrix *= sigma
    matrix.flat[:: d * k + 1] += 1.0
    return -_solve(matrix, residual.ravel()).reshape(d, k)


def _answers(variables: Variables, at: Projected, examples: "NDArray[np.int64]") -> "Floats":
    """S_i of some examples, (m, k, k): T_i^T J_i T_i, where row c of T_i is nu_ic."""
    machine, k = variables.machine, variables.n_classes
    free = at.is_free[examples].astype(np.float64)
    tied = at.is_tied[examples]
    share = np.where(tied, 1.0 / np.maximum(free.sum(axis=1), 1.0), 0.0)
    jacobian = -free[:, :, None] * (share[:, None] * free)[:, None, :]
    diagonal = np.arange(k)
    jacobian[:, diagonal, diagonal] += free
    labels = variables.labels[examples]
    every = np.arange(len(examples))
    if machine.relative:
        sums = np.where(tied[:, None], 0.0, free)  # of the rows of J
        jacobian[every, labels, :] = jacobian[every, :, labels] = -sums
        jacobian[every, labels, labels] = sums.sum(axis=1)
    else:
        jacobian[every, labels, :] *= -1.0
        jacobian[every, :, labels] *= -1.0
    return jacobian


def _solve(matrix: "Floats", right: "Floats") -> "Floats":
    """By Cholesky; where rounding has made the matrix indefinite, with a little more on it."""
    size = len(matrix)
    if size == 0:
        return right
    ridge = 1e-14 * float(np.trace(matrix)) / size
    while True:
        try:
            factor = linalg.cho_factor(matrix, lower=True, check_finite=False)
        except linalg.LinAlgError:
            matrix.flat[:: size + 1] += ridge
            ridge *= 100
        else:
            return np.asarray(linalg.cho_solve(factor, right, check_finite=False))
