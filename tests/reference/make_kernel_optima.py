"""Compute `kernel_optima.json`: optima of all machines with kernels on small problems.

A Gram matrix K = V L V^T is the Gram matrix of the rows of V L^(1/2). With these as features the
kernel problem is a linear one, which `make_optima` hands to a general convex solver. Kernel values
come from scikit-learn.

Run from the folder `tests`:  python -m reference.make_kernel_optima
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from .kernel_optima import KERNEL_OPTIMA, KERNELS, gram
from .make_optima import compact, make_dataset, solve_dual, solve_primal
from .optima import MACHINES, Floats, Problem, primal_objective

# name of the data set: seed, C, whether sample weights and a bias are used
CASES = {"k3": (1, 1.0, False, False), "k4-degenerate": (5, 20.0, True, True)}
MAX_GAP = 1e-8


def features(K: Floats) -> Floats:
    """Rows whose inner products are K."""
    values, vectors = np.linalg.eigh(K)
    return vectors * np.sqrt(np.maximum(values, 0.0))


def make_records(datasets: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Solve every combination."""
    for name, (_, C, weighted, bias) in CASES.items():
        data = datasets[name]
        X, y = np.array(data["X"]), np.array(data["y"])
        for kernel in KERNELS:
            Phi = features(gram(kernel, X) + bias)
            for machine in MACHINES:
                weight = np.array(data["sample_weight"]) if weighted else None
                problem = Problem(name, machine, C, False, Phi, y, weight, None)
                yield {
                    "dataset": name,
                    "kernel": kernel,
                    "machine": machine,
                    "C": C,
                    "weighted": weighted,
                    "fit_intercept": bias,
                    **solve(problem),
                }


def solve(problem: Problem) -> dict[str, Any]:
    """Objective and scores of all rows at the optimum."""
    none = np.zeros(problem.k)
    from_dual, dual = solve_dual(problem)
    candidates = [
        (primal_objective(problem, W, none), W) for W in (solve_primal(problem), from_dual)
    ]
    primal, W = min(candidates, key=lambda candidate: candidate[0])
    if not -1e-13 <= (primal - dual) / primal <= MAX_GAP:
        raise RuntimeError(f"{problem.name}: primal {primal!r}, dual {dual!r}")
    return {
        "objective": float(f"{0.5 * (primal + dual):.13g}"),
        "scores": np.round(problem.X @ W.T, 9).tolist(),
    }


def main() -> None:
    """Solve everything and write the file, one optimum per line."""
    datasets = {name: make_dataset(name, case[0]) for name, case in CASES.items()}
    records = list(make_records(datasets))
    lines = ",\n".join(compact(record) for record in records)
    text = f'{{"datasets": {json.dumps(datasets)},\n"optima": [\n{lines}\n]}}\n'
    KERNEL_OPTIMA.write_text(text, encoding="utf-8")
    print(len(records), "optima")


if __name__ == "__main__":
    main()
