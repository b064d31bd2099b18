"""The dual variables of a machine as an (n, k) array, and what they mean for scores and weights.

The variable of example i and class c belongs to a hinge: that of another class, with the row
nu = e_y - e_c (relative) or -e_c (absolute), or that of the own class, with e_y. Then

    a_i = sum_c beta_ic nu_ic,    margins m_ic = nu_ic^T f_i,    loss of a hinge [t_ic - m_ic]_+,

and where the machine is zero-sum, a_i and f_i are meant less their means over the classes.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from polymargin import core

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polymargin.core import Duals, MachineInfo

    Floats = NDArray[np.float64]


class Variables:
    """All beta_ic of a problem; those of hinges that a machine does not have stay 0."""

    def __init__(
        self,
        machine: "MachineInfo",
        labels: "NDArray[np.int32]",
        upper: "Floats",
        n_classes: int,
    ) -> None:
        self.machine = machine
        self.labels = labels
        self.upper = np.asarray(upper, np.float64)  # C_i
        self.n_classes = n_classes
        self.examples = np.arange(len(labels))
        self.is_own = np.zeros((len(labels), n_classes), np.bool_)
        self.is_own[self.examples, labels] = True
        self.is_there = np.where(self.is_own, machine.has_own, machine.has_others)
        self.targets = self.is_there * np.where(self.is_own, machine.own_margin(n_classes), 1.0)
        self.sign = np.where(self.is_own, 1.0, -1.0)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.labels), self.n_classes

    def alphas(self, beta: "Floats") -> "Floats":
        """a_i of each example."""
        if self.machine.relative:
            alphas = -beta
            alphas[self.examples, self.labels] = beta.sum(axis=1)
        else:
            alphas = self.sign * beta
        return self.centred(alphas)

    def margins(self, scores: "Floats") -> "Floats":
        if self.machine.relative:
            own = scores[self.examples, self.labels]
            return own[:, None] - scores
        return self.sign * self.centred(scores)

    def loss(self, margins: "Floats") -> float:
        """sum_i C_i times the sum or the maximum of the hinges."""
        hinges = np.maximum(self.targets - margins, 0.0)
        hinges *= self.is_there
        if self.machine.simplex:
            return float(self.upper @ hinges.max(axis=1))
        return float(np.vdot(self.bounds, hinges))

    @property
    def bounds(self) -> "Floats":
        """Largest values where hinges are summed."""
        machine = self.machine
        weights = np.where(self.is_own, machine.weight_own, machine.weight_other)
        bounds: Floats = self.upper[:, None] * (weights * self.is_there)
        return bounds

    def centred(self, values: "Floats") -> "Floats":
        """Less their means over the classes, where the machine is zero-sum."""
        if not self.machine.zero_sum:
            return values
        centred: Floats = values - values.mean(axis=1, keepdims=True)
        return centred


def to_array(duals: "Duals") -> "Floats":
    """The dual variables of the core as an (n, k) array."""
    _, indptr, indices, values = duals.__getstate__()
    beta = np.zeros(duals.shape)
    beta[np.repeat(np.arange(len(indptr) - 1), np.diff(indptr)), indices] = values
    return beta


def to_duals(beta: "Floats", dtype: "np.dtype[Any]") -> "Duals":
    """An (n, k) array as dual variables of the core."""
    examples, classes = np.nonzero(beta)
    indptr = np.searchsorted(examples, np.arange(len(beta) + 1)).astype(np.int64)
    values = beta[examples, classes].astype(dtype)
    duals = core.Duals.__new__(core.Duals)
    duals.__setstate__((beta.shape[1], indptr, classes.astype(np.int32), values))
    return duals
