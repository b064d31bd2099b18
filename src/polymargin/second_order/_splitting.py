"""A start for second-order steps where too many variables are free: alternating directions.

The dual problem max_beta t^T beta - beta^T Q beta / 2, Q = A A^T, is split into its quadratic part,
whose x may be anywhere, and the feasible set, in which z is. With the scaled multipliers u,

    x = (Q + rho I)^-1 (t + rho (z - u)),    z = Proj(x' + u),    u <- u + x' - z,

where x' = 1.6 x - 0.6 z (over-relaxation). Where margins are absolute, nu_ic = +-e_c, Q is the
kernel matrix for each class up to signs S and the mean over the classes: S (K (x) M) S with M = I,
or M = I - 1 1^T / k where the machine is zero-sum. So one n x n inverse serves all variables, free
or not. The weights of x are close to the best ones long before z is; single precision is enough
for x, since second-order steps only start from it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import linalg

from polymargin.second_order._projection import make_projection
from polymargin.second_order._space import KernelSpace
from polymargin.second_order._variables import Variables

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_RHO = 0.01  # in units of the mean kernel value of an example with itself
_RELAXED = 1.6
_BETWEEN = 25  # iterations from look to look
_FEWEST, _MOST = 100, 400  # iterations
_GROWTH = 64.0  # of sigma after it, whose value here would be 1 / rho


@dataclass(frozen=True)
class Start:
    """Where second-order steps begin."""

    center: "Floats"  # feasible
    beta: "Floats"  # of the first weights, seldom feasible
    sigma: float
    n_iterations: int


def can_split(variables: Variables, passes: int) -> bool:
    """Whether the inverse serves this machine, and as many passes are left as may be needed."""
    return not variables.machine.relative and passes > _MOST


def split(
    space: KernelSpace, variables: Variables, max_free: int, look: Callable[[], None]
) -> Start | None:
    """Iterate until few enough variables are free; None where they stay too many."""
    rho = _RHO * float(np.mean(np.diagonal(space.kernel)))
    sigma = min(_GROWTH / rho, float(np.max(variables.upper)))
    solve = _Quadratic(space.kernel, variables, rho)
    projection = make_projection(variables)
    z = np.zeros(variables.shape)
    u = np.zeros(variables.shape)
    for iteration in range(1, _MOST + 1):
        x = solve(variables.targets + rho * (z - u))
        ahead = _RELAXED * x + (1 - _RELAXED) * z + u
        z = projection.nearest(ahead)
        u = ahead - z
        if iteration % _BETWEEN == 0:
            look()
            margins = variables.margins(space.scores(space.weights(variables.alphas(x))))
            first = projection.project(z + sigma * (variables.targets - margins))
            if iteration >= _FEWEST and first.moves.n_free <= max_free:
                return Start(z, x, sigma, iteration)
    return None


class _Quadratic:
    """v -> (Q + rho I)^-1 v."""

    def __init__(self, kernel: "Floats", variables: Variables, rho: float) -> None:
        matrix = kernel.astype(np.float32)
        matrix.flat[:: len(matrix) + 1] += np.float32(rho)
        self._inverse = linalg.inv(matrix, overwrite_a=True, check_finite=False)
        self._variables, self._rho = variables, rho

    def __call__(self, values: "Floats") -> "Floats":
        signed = self._variables.sign * values
        mean = np.zeros((len(values), 1))
        if self._variables.machine.zero_sum:
            mean = signed.mean(axis=1, keepdims=True)
        solved = self._inverse @ (signed - mean).astype(np.float32)
        solution: Floats = self._variables.sign * (solved + mean / self._rho)
        return solution
