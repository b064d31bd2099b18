"""Compute `linear_optima.json`: the optima of all nine linear machines on small problems.

Each primal is written directly from its loss and handed to a general convex solver. The dual is
written separately, from hinge rows in a box or a simplex, and solved as well. Both solutions are
made exactly feasible and evaluated in NumPy, so the two objectives bracket the optimum.

Run from the folder `tests`:  python -m reference.make_optima
"""

from __future__ import annotations

import json
import platform
from collections.abc import Iterator
from typing import Any

import clarabel
import cvxpy as cp
import numpy as np

from .optima import (
    LINEAR_OPTIMA,
    MACHINES,
    ZERO_SUM,
    Floats,
    Problem,
    primal_objective,
)

CS = (0.05, 1.0, 20.0)
# name: n, d, k, whether it has a row of zeros, repeated rows and a weight of zero
DATASETS = {
    "k2": (12, 3, 2, False),
    "k3": (15, 3, 3, False),
    "k4": (16, 4, 4, False),
    "k5": (20, 4, 5, False),
    "k2-degenerate": (12, 3, 2, True),
    "k4-degenerate": (16, 3, 4, True),
}
CLASS_WEIGHTED = "k4"
JOINED_BY_MAX = frozenset({"cs", "adm", "atm"})
MAX_GAP = 1e-8
TOLERANCES = {
    "tol_gap_abs": 1e-13,
    "tol_gap_rel": 1e-12,
    "tol_feas": 1e-12,
    "max_iter": 500,
}


def make_dataset(name: str, seed: int) -> dict[str, Any]:
    """Draw overlapping Gaussian classes with two decimals, so that the file is exact."""
    n, d, k, degenerate = DATASETS[name]
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    X = np.round(rng.normal(size=(k, d))[y] + rng.normal(scale=0.8, size=(n, d)), 2)
    weight = np.round(rng.uniform(0.2, 3.0, size=n), 2)
    if degenerate:
        X[2] = 0.0
        X[3 + k] = X[3]  # repeated, same label
        X[5 + k + 1] = X[5]  # repeated, other label
        weight[n - 1] = 0.0
    factors = np.round(n / (k * rng.integers(1, 6, size=k)), 2)
    data = {"X": X, "y": y, "sample_weight": weight, "class_weight": factors}
    return {key: value.tolist() for key, value in data.items()}


def make_problems(datasets: dict[str, Any]) -> Iterator[tuple[str, Problem]]:
    """Yield every combination, with a word for its weights."""
    for name, data in datasets.items():
        kinds = ["none", "sample"] + ["class", "sample+class"] * (name == CLASS_WEIGHTED)
        for machine in MACHINES:
            for weights in kinds:
                for fit_intercept in (False, True):
                    for C in CS:
                        yield (
                            weights,
                            Problem(
                                dataset=name,
                                machine=machine,
                                C=C,
                                fit_intercept=fit_intercept,
                                X=np.array(data["X"]),
                                y=np.array(data["y"]),
                                sample_weight=np.array(data["sample_weight"])
                                if "sample" in weights
                                else None,
                                class_weight=dict(enumerate(data["class_weight"]))
                                if "class" in weights
                                else None,
                            ),
                        )


def solve_primal(problem: Problem) -> Floats:
    """Minimise the primal as its definition reads; return W (k, d or d + 1), centred."""
    X, k, machine = problem.features, problem.k, problem.machine
    W = cp.Variable((X.shape[1], k))
    F = X @ W
    is_own = np.eye(k)[problem.y]
    is_other = 1.0 - is_own
    own = cp.sum(cp.multiply(is_own, F), axis=1, keepdims=True)
    relative = cp.multiply(is_other, cp.pos(1.0 - (own @ np.ones((1, k)) - F)))
    absolute = cp.multiply(is_other, cp.pos(1.0 + F))
    own_hinge = cp.pos(1.0 - own[:, 0])
    losses = {
        "ww": lambda: cp.sum(relative, axis=1),
        "cs": lambda: cp.max(relative, axis=1),
        "llw": lambda: cp.sum(absolute, axis=1),
        "adm": lambda: cp.max(absolute, axis=1),
        "ats": lambda: cp.sum(absolute, axis=1) + own_hinge,
        "atm": lambda: cp.maximum(cp.max(absolute, axis=1), own_hinge),
        "mmr": lambda: own_hinge,
        "rm": lambda: 0.5 * cp.sum(absolute, axis=1) + 0.5 * cp.pos(k - 1.0 - own[:, 0]),
        "ovr": lambda: cp.sum(absolute, axis=1) + own_hinge,
    }
    objective = 0.5 * cp.sum_squares(W) + problem.penalties @ losses[machine]()
    constraints = [cp.sum(W, axis=1) == 0] if machine in ZERO_SUM else []
    cp.Problem(cp.Minimize(objective), constraints).solve(solver=cp.CLARABEL, **TOLERANCES)
    solution = np.asarray(W.value, dtype=np.float64).T
    return solution - solution.mean(axis=0) if machine in ZERO_SUM else solution


def hinge_rows(machine: str, k: int, y: int) -> tuple[Floats, Floats, Floats]:
    """Rows nu (p, k), target margins (p,) and weights (p,) of the hinges of one example."""
    unit = np.eye(k)
    others = np.delete(unit, y, axis=0)
    own = unit[y : y + 1]
    rows = {
        "relative": own - others,
        "absolute": -others,
        "total": np.vstack([-others, own]),
        "own": own,
    }
    kind = {"ww": "relative", "cs": "relative", "llw": "absolute", "adm": "absolute", "mmr": "own"}
    nu = rows[kind.get(machine, "total")]
    target, weight = np.ones(len(nu)), np.ones(len(nu))
    if machine == "rm":
        target[-1] = k - 1.0
        weight[:] = 0.5
    return nu, target, weight


def solve_dual(problem: Problem) -> tuple[Floats, float]:
    """Maximise the dual over its boxes or simplices; return W and the dual objective."""
    X, k, machine = problem.features, problem.k, problem.machine
    used = np.flatnonzero(problem.penalties)
    C = problem.penalties[used]
    blocks = [hinge_rows(machine, k, int(c)) for c in problem.y[used]]
    p = len(blocks[0][1])
    target = np.concatenate([t for _, t, _ in blocks])
    centre = np.eye(k) - (1.0 / k if machine in ZERO_SUM else 0.0)
    to_W = np.hstack(
        [np.kron(nu @ centre, x).T for (nu, _, _), x in zip(blocks, X[used], strict=True)]
    )
    upper = np.concatenate([c * w for (_, _, w), c in zip(blocks, C, strict=True)])
    beta = cp.Variable(len(target), nonneg=True)
    if machine in JOINED_BY_MAX:
        constraint = cp.sum(cp.reshape(beta, (len(C), p), order="C"), axis=1) <= C
    else:
        constraint = beta <= upper
    objective = target @ beta - 0.5 * cp.sum_squares(to_W @ beta)
    cp.Problem(cp.Maximize(objective), [constraint]).solve(solver=cp.CLARABEL, **TOLERANCES)
    b = np.clip(np.asarray(beta.value, dtype=np.float64), 0.0, upper)
    if machine in JOINED_BY_MAX:
        totals = b.reshape(len(C), p).sum(axis=1)
        b *= np.repeat(np.minimum(1.0, C / np.maximum(totals, C)), p)
    w = to_W @ b
    return w.reshape(k, X.shape[1]), float(target @ b - 0.5 * w @ w)


def split(problem: Problem, W: Floats) -> tuple[Floats, Floats]:
    """Separate the weights of the constant feature from the others."""
    if problem.fit_intercept:
        return W[:, :-1], W[:, -1]
    return W, np.zeros(len(W))


def solve(weights: str, problem: Problem) -> tuple[dict[str, Any], float, float]:
    """Return the record to store, the relative gap and the distance of the two solutions."""
    from_primal = solve_primal(problem)
    from_dual, dual = solve_dual(problem)
    candidates = [
        (primal_objective(problem, *split(problem, W)), i, W)
        for i, W in enumerate((from_primal, from_dual))
    ]
    primal, _, W = min(candidates)
    gap = (primal - dual) / primal
    if not -1e-13 <= gap <= MAX_GAP:
        raise RuntimeError(f"{problem.name}: primal {primal!r}, dual {dual!r}")
    coef, intercept = split(problem, W)
    record = {
        "dataset": problem.dataset,
        "machine": problem.machine,
        "C": problem.C,
        "fit_intercept": problem.fit_intercept,
        "weights": weights,
        "objective": float(f"{0.5 * (primal + dual):.13g}"),
        "coef": np.round(coef, 9).tolist(),
    }
    if problem.fit_intercept:
        record["intercept"] = np.round(intercept, 9).tolist()
    return record, gap, float(np.abs(from_primal - from_dual).max())


def write(datasets: dict[str, Any], records: list[dict[str, Any]], summary: dict[str, Any]) -> None:
    """Write one line per data set column and one line per optimum."""
    newline = ",\n"
    columns = [
        f"{compact(name)}: {{\n"
        + newline.join(f"  {compact(key)}: {compact(value)}" for key, value in data.items())
        + "}"
        for name, data in datasets.items()
    ]
    text = (
        f'{{"made_with": {json.dumps(summary)},\n'
        f'"datasets": {{\n{newline.join(columns)}}},\n'
        f'"optima": [\n{newline.join(compact(record) for record in records)}\n]}}\n'
    )
    LINEAR_OPTIMA.write_text(text, encoding="utf-8")


def compact(value: Any) -> str:
    """JSON without spaces."""
    return json.dumps(value, separators=(",", ":"))


def main() -> None:
    """Solve everything, check it and write the file."""
    datasets = {name: make_dataset(name, seed) for seed, name in enumerate(DATASETS)}
    solved = [solve(*item) for item in make_problems(datasets)]
    summary = {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "cvxpy": cp.__version__,
        "clarabel": clarabel.__version__,
        "largest_relative_gap": float(f"{max(gap for _, gap, _ in solved):.2g}"),
        "largest_weight_difference": float(f"{max(diff for _, _, diff in solved):.2g}"),
    }
    write(datasets, [record for record, _, _ in solved], summary)
    print(len(solved), "optima", summary)


if __name__ == "__main__":
    main()
