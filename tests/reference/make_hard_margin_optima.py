"""Compute `hard_margin_optima.json`: hard-margin optima of all machines on small problems.

The primal is written with CVXPY as half the squared norm under the constraints that the margins
are, the dual separately as a maximum over dual variables that have no upper bound. Both solutions
are made exactly feasible and evaluated in NumPy, so the two objectives bracket the optimum. Kernels
are features, as in `make_kernel_optima`.

Run from the folder `tests`:  python -m reference.make_hard_margin_optima
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import cvxpy as cp
import numpy as np

from .hard_margin_optima import HARD_MARGIN_OPTIMA, KERNELS, gram
from .make_kernel_optima import features
from .make_optima import TOLERANCES, compact, hinge_rows
from .optima import MACHINES, ZERO_SUM, Floats, Ints

# name: n, d, k, distance of the classes in units of their width
DATASETS = {"k2": (10, 3, 2, 5.0), "k3": (12, 6, 3, 4.0), "k5": (15, 9, 5, 4.0)}
MAX_GAP = 1e-8


def make_dataset(name: str, seed: int) -> dict[str, Any]:
    """Draw distant Gaussian classes with two decimals; one row on the wrong side has no weight."""
    n, d, k, distance = DATASETS[name]
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    X = np.round(distance * rng.normal(size=(k, d))[y] + rng.normal(size=(n, d)), 2)
    weight = np.round(rng.uniform(0.2, 3.0, size=n), 2)
    X[n - 1], weight[n - 1] = X[0], 0.0  # a row with another label, which only its weight allows
    return {"X": X.tolist(), "y": y.tolist(), "sample_weight": weight.tolist()}


def solve(machine: str, X: Floats, y: Ints) -> tuple[float, Floats]:
    """The optimum and its weights (k, d)."""
    k = int(y.max()) + 1
    blocks = [hinge_rows(machine, k, int(c)) for c in y]
    centre = np.eye(k) - (1.0 / k if machine in ZERO_SUM else 0.0)
    target = np.concatenate([t for _, t, _ in blocks])
    to_W = np.hstack([np.kron(nu @ centre, x).T for (nu, _, _), x in zip(blocks, X, strict=True)])

    W = cp.Variable((k, X.shape[1]))
    constraints = [nu @ (W @ x) >= t for (nu, t, _), x in zip(blocks, X, strict=True)]
    constraints += [cp.sum(W, axis=0) == 0] if machine in ZERO_SUM else []
    cp.Problem(cp.Minimize(0.5 * cp.sum_squares(W)), constraints).solve(
        solver=cp.CLARABEL, **TOLERANCES
    )
    weights = centre @ np.asarray(W.value, dtype=np.float64)
    weights /= (to_W.T @ weights.ravel() / target).min()
    primal = 0.5 * float((weights**2).sum())

    beta = cp.Variable(len(target), nonneg=True)
    objective = target @ beta - 0.5 * cp.sum_squares(to_W @ beta)
    cp.Problem(cp.Maximize(objective)).solve(solver=cp.CLARABEL, **TOLERANCES)
    b = np.maximum(np.asarray(beta.value, dtype=np.float64), 0.0)
    w = to_W @ b
    dual = float(target @ b - 0.5 * w @ w)
    if not -1e-13 <= (primal - dual) / primal <= MAX_GAP:
        raise RuntimeError(f"{machine}: primal {primal!r}, dual {dual!r}")
    return float(f"{0.5 * (primal + dual):.13g}"), weights


def make_records(datasets: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Solve every combination of rows of positive weight."""
    for name, data in datasets.items():
        used = np.array(data["sample_weight"]) > 0
        X, y = np.array(data["X"])[used], np.array(data["y"])[used]
        for kernel in KERNELS:
            for bias in (False, True):
                Phi = features(gram(kernel, X) + bias)
                for machine in MACHINES:
                    objective, W = solve(machine, Phi, y)
                    yield {
                        "dataset": name,
                        "kernel": kernel,
                        "machine": machine,
                        "fit_intercept": bias,
                        "objective": objective,
                        "scores": np.round(Phi @ W.T, 8).tolist(),
                    }


def main() -> None:
    """Solve everything and write the file, one optimum per line."""
    datasets = {name: make_dataset(name, seed) for seed, name in enumerate(DATASETS)}
    records = list(make_records(datasets))
    lines = ",\n".join(compact(record) for record in records)
    text = f'{{"datasets": {json.dumps(datasets)},\n"optima": [\n{lines}\n]}}\n'
    HARD_MARGIN_OPTIMA.write_text(text, encoding="utf-8")
    print(len(records), "optima")


if __name__ == "__main__":
    main()
