"""A^T J A over all d k weights of a linear machine: sum_i S_i (x) x_i x_i^T.

S_i says how a_i answers to f_i. Its pairs of classes are added one by one. Where margins are
absolute and most variables are free, fewer sums will do: with the signs z_ic of free margins, 0 for
others, and w_i = 1 / |F_i| where the sum of F_i is at its bound, else 0, S_i is diag(|z_i|) -
w_i z_i z_i^T, and with e = z + 1, which is 0 for all other classes that are free,

    z_c z_c' = 1 - e_c - e_c' + e_c e_c'.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from polymargin.second_order._projection import Projected
from polymargin.second_order._space import RowSpace
from polymargin.second_order._variables import Variables

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_CHUNK = 1 << 22  # entries of temporary arrays


def make_hessian(space: RowSpace, variables: Variables, at: Projected) -> "Floats":
    """(k, d, k, d); before means over the classes are taken off."""
    moving = np.flatnonzero(at.is_free.any(axis=1))
    d, k = space.n_features, variables.n_classes
    hessian = np.zeros((k, d, k, d))
    at_once = max(1, _CHUNK // (k * max(k, d)))
    for first in range(0, len(moving), at_once):
        examples = moving[first : first + at_once]
        sums = _Sums(np.asarray(space.rows[examples]))
        if not variables.machine.relative and _mostly_free(at.is_free[examples]):
            parts = _by_complement(sums, variables, at, examples)
        else:
            parts = _by_pairs(sums, _answers(variables, at, examples))
        for c, other, part in parts:
            hessian[c, :, other] += part
    for c in range(k):
        for other in range(c):
            hessian[other, :, c] = hessian[c, :, other]  # symmetric themselves
    return hessian


class _Sums:
    """sum_i v_i x_i x_i^T."""

    def __init__(self, rows: "Floats") -> None:
        self._rows = rows

    def __call__(self, values: "Floats") -> "Floats":
        used = np.flatnonzero(values)
        chosen = self._rows if len(used) == len(values) else self._rows[used]
        return (values[used, None] * chosen).T @ chosen


def _mostly_free(is_free: "NDArray[np.bool_]") -> bool:
    """Whether sums over the complement are fewer; the own class counts as if it were in it."""
    free = is_free.sum(axis=1)
    others = is_free.shape[1] - free + 1
    by_pairs = np.sum(free * (free + 1) / 2)
    return bool(np.sum(2 + 2 * others + others * (others - 1) / 2) < by_pairs)


def _by_pairs(sums: _Sums, answers: "Floats") -> "Iterator[tuple[int, int, Floats]]":
    for c in range(answers.shape[1]):
        for other in range(c + 1):
            if np.any(answers[:, c, other]):
                yield c, other, sums(answers[:, c, other])


def _by_complement(
    sums: _Sums, variables: Variables, at: Projected, examples: "NDArray[np.int64]"
) -> "Iterator[tuple[int, int, Floats]]":
    free = at.is_free[examples]
    z = np.where(free, variables.sign[examples], 0.0)
    w = np.where(at.is_tied[examples], 1.0 / free.sum(axis=1), 0.0)
    e = z + 1
    all_single, all_pairs = sums(1 - w), sums(w)
    of_class = [sums(w * e[:, c]) for c in range(e.shape[1])]
    for c in range(e.shape[1]):
        yield c, c, all_single - sums((1 - w) * ~free[:, c])
        for other in range(c):
            both = sums(w * e[:, c] * e[:, other])
            yield c, other, of_class[c] + of_class[other] - all_pairs - both


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
