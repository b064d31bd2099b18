"""The kernel that the parameters of an estimator mean."""

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from polymargin.kernel._functions import CallableKernel, Kernel, PrecomputedKernel
from polymargin.kernel._named import NAMED_KERNELS

if TYPE_CHECKING:
    from numpy.typing import NDArray

KERNELS = (*NAMED_KERNELS, "precomputed")  # what `kernel` may be, apart from a function


def has_gamma(kernel: Any) -> bool:
    """Whether the kernel that this parameter means depends on gamma."""
    return kernel in NAMED_KERNELS and "gamma" in NAMED_KERNELS[kernel].parameters


def make_kernel(
    name: Any,
    X: Any,
    weight: "NDArray[np.float64]",
    *,
    gamma: Any,
    degree: int,
    coef0: float,
    bias: bool,
    any_gamma: bool = False,
) -> Kernel:
    """The kernel meant by the parameters of an estimator on these weighted rows.

    With `any_gamma` it serves for every gamma in place of its own, and nothing is said of digits.
    """
    if callable(name):
        return CallableKernel(name, bias=bias)
    if name == "precomputed":
        return PrecomputedKernel(X, bias=bias)
    given: dict[str, Any] = {"coef0": float(coef0), "degree": int(degree)}
    given["gamma"] = find_gamma(gamma, X, weight) if has_gamma(name) else 1.0
    for parameter in ("gamma", "coef0"):
        if abs(given[parameter]) > float(np.finfo(X.dtype).max):
            raise ValueError(f"{parameter}={given[parameter]:g} is beyond the range of {X.dtype}.")
    return NAMED_KERNELS[name].of_rows(X, given, bias, any_gamma)


def find_gamma(gamma: Any, X: Any, weight: "NDArray[np.float64]") -> float:
    """The number meant by `gamma`, as in scikit-learn; a row of weight two counts twice."""
    if gamma == "auto":
        return 1.0 / float(X.shape[1])
    if gamma != "scale":
        return float(gamma)
    variance = _variance(X, weight)
    return 1.0 / (float(X.shape[1]) * variance) if variance > 0 else 1.0


def _variance(X: Any, weight: "NDArray[np.float64]") -> float:
    """Of all entries, in double and in little memory."""
    count = float(weight.sum()) * X.shape[1]
    if sparse.issparse(X):
        values = X.data.astype(np.float64)
        each = np.repeat(weight, np.diff(X.indptr))
        mean = each @ values / count
        n_zeros = count - each.sum()
        return float((each @ (values - mean) ** 2 + n_zeros * mean**2) / count)
    parts = [slice(first, first + 1024) for first in range(0, X.shape[0], 1024)]
    mean = sum(weight[part] @ X[part].sum(axis=1, dtype=np.float64) for part in parts) / count
    squares = [weight[part] @ ((X[part] - mean) ** 2).sum(axis=1) for part in parts]
    return float(sum(squares) / count)
