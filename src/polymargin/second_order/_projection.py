"""Projection of all examples onto their feasible sets, and its Jacobian.

A box, 0 <= beta_ic <= u_ic, where hinges are summed: the Jacobian is 1 for each free variable.
A simplex, beta_i >= 0 with sum_c beta_ic <= C_i, where the largest hinge counts: with the free
variables F_i of an example it is I on F_i, less 1 1^T / |F_i| where the sum is at its bound.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from polymargin.second_order._variables import Variables

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


class Moves(NamedTuple):
    """How much moves at once."""

    n_free: int  # dimension
    n_moving: int  # examples with free variables
    n_tied: int  # of them, examples with more than one whose sum is at its bound


@dataclass(frozen=True)
class Projected:
    """The nearest feasible point and the derivative there."""

    beta: "Floats"
    is_free: "NDArray[np.bool_]"  # (n, k)
    is_tied: "NDArray[np.bool_]"  # (n,) free variables whose sum is at its bound

    @property
    def moves(self) -> Moves:
        """What the derivative lets move."""
        counts = self.is_free.sum(axis=1)
        is_moving = counts > 0
        tied = counts[self.is_tied & is_moving]
        return Moves(
            int(counts.sum()) - len(tied),
            int(np.count_nonzero(is_moving)),
            int(np.count_nonzero(tied > 1)),
        )


class Box:
    """Of machines that sum hinges."""

    def __init__(self, variables: Variables) -> None:
        self._bounds = variables.bounds
        self._never = np.zeros(len(variables.labels), np.bool_)

    def nearest(self, values: "Floats") -> "Floats":
        return np.clip(values, 0.0, self._bounds)

    def project(self, values: "Floats") -> Projected:
        is_free = (values > 0) & (values < self._bounds)
        return Projected(self.nearest(values), is_free, self._never)


class Simplex:
    """Of machines that take the largest hinge."""

    def __init__(self, variables: Variables) -> None:
        self._bound = variables.upper
        self._is_there = variables.is_there

    def nearest(self, values: "Floats") -> "Floats":
        return self._project(values)[0]

    def project(self, values: "Floats") -> Projected:
        beta, is_tied = self._project(values)
        return Projected(beta, beta > 0, is_tied)

    def _project(self, values: "Floats") -> "tuple[Floats, NDArray[np.bool_]]":
        beta = np.maximum(values, 0.0) * self._is_there
        is_tied = beta.sum(axis=1) > self._bound
        if np.any(is_tied):
            beta[is_tied] = _onto_sum(beta[is_tied], self._bound[is_tied])
        return beta, is_tied


def _onto_sum(values: "Floats", total: "Floats") -> "Floats":
    """The nearest points with this sum to values >= 0 that exceed it: [values - theta]_+."""
    descending = -np.sort(-values, axis=1)
    excess = np.cumsum(descending, axis=1) - total[:, None]
    thetas = excess / np.arange(1, values.shape[1] + 1)
    last = np.count_nonzero(descending > thetas, axis=1) - 1
    theta = thetas[np.arange(len(values)), last]
    nearest: Floats = np.maximum(values - theta[:, None], 0.0)
    return nearest


def make_projection(variables: Variables) -> Box | Simplex:
    return Simplex(variables) if variables.machine.simplex else Box(variables)
