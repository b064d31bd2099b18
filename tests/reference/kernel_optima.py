"""Load the stored optima of small kernel problems. Kernel values come from scikit-learn."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import laplacian_kernel, polynomial_kernel, rbf_kernel

from .optima import Floats, Ints

KERNEL_OPTIMA = Path(__file__).with_name("kernel_optima.json")

# Parameters of the estimator for each kernel.
KERNELS: dict[str, dict[str, Any]] = {
    "linear": {},
    "rbf": {"gamma": 0.5},
    "laplacian": {"gamma": 0.4},
    "poly": {"gamma": 0.7, "coef0": 1.0, "degree": 3},
    "normalized-poly": {"gamma": 0.7, "coef0": 1.0, "degree": 9},
}


def gram(kernel: str, X: Floats) -> Floats:
    """The Gram matrix of the rows of X."""
    params = KERNELS[kernel]
    if kernel == "linear":
        return X @ X.T
    if kernel == "rbf":
        return np.asarray(rbf_kernel(X, **params))
    if kernel == "laplacian":
        return np.asarray(laplacian_kernel(X, **params))
    K = np.asarray(polynomial_kernel(X, **params))
    if kernel == "poly":
        return K
    root = np.sqrt(K.diagonal())
    return K / np.outer(root, root)


@dataclass(frozen=True, eq=False)
class KernelProblem:
    """A training problem with its optimum."""

    dataset: str
    kernel: str
    machine: str
    C: float
    fit_intercept: bool
    X: Floats  # (n, d)
    y: Ints  # (n,)
    sample_weight: Floats | None
    objective: float
    scores: Floats  # (n, k), of all rows

    @property
    def name(self) -> str:
        """A short, unique name, for test ids and messages."""
        return f"{self.machine}-{self.kernel}-{self.dataset}"


def load_kernel_optima() -> list[KernelProblem]:
    """Every stored problem, in the order of the file."""
    stored = json.loads(KERNEL_OPTIMA.read_text(encoding="utf-8"))
    problems = []
    for optimum in stored["optima"]:
        data = stored["datasets"][optimum["dataset"]]
        weight = np.array(data["sample_weight"]) if optimum["weighted"] else None
        problems.append(
            KernelProblem(
                dataset=optimum["dataset"],
                kernel=optimum["kernel"],
                machine=optimum["machine"],
                C=optimum["C"],
                fit_intercept=optimum["fit_intercept"],
                X=np.array(data["X"]),
                y=np.array(data["y"]),
                sample_weight=weight,
                objective=optimum["objective"],
                scores=np.array(optimum["scores"]),
            )
        )
    return problems
