"""Reference optima, computed once per (data set, machine) and kept in ``results/optima.json``.

An entry holds the lowest primal and the highest dual objective met so far, hence a certified
bracket of the optimum, and how each was made. LinearSVM at tol 1e-6 in double precision makes it;
LIBLINEAR at ever smaller -e stands in, or adds to it, where it has the machine.
"""

from __future__ import annotations

import copy
from typing import Any

from benchmarks.datasets import Dataset
from benchmarks.objective import Objective
from benchmarks.provenance import RESULTS, Results
from benchmarks.solvers.liblinear import SOLVER_TYPE, Liblinear
from benchmarks.solvers.polymargin import Polymargin, available
from benchmarks.solvers.sklearn import Sklearn
from benchmarks.timing import now, read_json, timed

GOOD = 1e-5  # relative bracket that needs no further work
TIGHT = 1e-6
BUDGET = 240.0  # seconds that one more run may take, by prediction

Entry = dict[str, Any]


class Optima:
    """The entries in a file; where it has none, those of ``results/`` are taken over."""

    def __init__(self, stored: Results) -> None:
        self.stored = stored
        if not stored.content:
            stored.content |= read_json(RESULTS / "optima.json")

    def optimum(self, data: Dataset, machine: str, C: float = 1.0) -> Entry:
        """The entry of this problem, made or made better when its bracket is wide."""
        key = _key(data, machine, C)
        entry = copy.deepcopy(self.stored.content.get(key, {}))
        tried = entry.setdefault("tried", [])
        if available() and "polymargin" not in tried and bracket(entry) > GOOD:
            _polymargin(entry, data, machine, C)
            tried.append("polymargin")
        if machine in SOLVER_TYPE and "liblinear" not in tried and bracket(entry) > GOOD:
            _liblinear(entry, data, machine, C)
            tried.append("liblinear")
        if machine == "ovr" and "sklearn" not in tried and bracket(entry) > GOOD:
            _sklearn(entry, data, machine, C)
            tried.append("sklearn")
        if "primal" not in entry:
            raise LookupError(f"no solver at hand for the optimum of {key}")
        self._keep(key, entry)
        return entry

    def improve(
        self, data: Dataset, machine: str, C: float, who: str, runs: list[dict[str, Any]]
    ) -> None:
        """Take over a lower primal that a run of the race met."""
        key = _key(data, machine, C)
        entry = copy.deepcopy(self.stored.content[key])
        for run in runs:
            offer(entry, f"a run of {who} in the race", run["primal"])
        self._keep(key, entry)

    def _keep(self, key: str, entry: Entry) -> None:
        if entry != self.stored.content.get(key):
            self.stored.content[key] = self.stored.sign(entry)
            self.stored.write()


def _key(data: Dataset, machine: str, C: float) -> str:
    return f"{data.name}/{machine}/C={C:g}"


def bracket(entry: Entry) -> float:
    """(P − D)/P of an entry; infinite while one side is missing."""
    if "primal" not in entry or "dual" not in entry:
        return float("inf")
    return (entry["primal"] - entry["dual"]) / entry["primal"]


def offer(entry: Entry, how: str, primal: float, dual: float | None = None) -> None:
    """Keep the better of what is there and what is offered, on each side."""
    if primal < entry.get("primal", float("inf")):
        entry.update(primal=primal, primal_by=how, when=now())
    if dual is not None and dual > entry.get("dual", float("-inf")):
        entry.update(dual=dual, dual_by=how, when=now())
    entry["bracket"] = bracket(entry) if "dual" in entry else None
    if "dual" in entry and entry["bracket"] < -1e-7:
        raise ArithmeticError(f"dual above primal: {entry}")


def _polymargin(entry: Entry, data: Dataset, machine: str, C: float) -> None:
    solver = Polymargin(float)
    solver.prepare(data, machine, C)
    solver.setup(TIGHT, 0)
    clock = timed(solver.run)
    how = f"LinearSVM, float64, tol {TIGHT:g}, {clock.cpu:.1f} CPU s"
    objective = Objective(data, machine, C)
    offer(entry, how, objective.primal(solver.coef()), solver.certificate()["dual"])


def _liblinear(entry: Entry, data: Dataset, machine: str, C: float) -> None:
    solver, objective = Liblinear(), Objective(data, machine, C)
    solver.prepare(data, machine, C)
    duals: list[float] = []
    for eps in (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6):
        solver.setup(eps, 0)
        clock = timed(lambda: duals.append(solver.run_certified()))
        how = f"LIBLINEAR -s {SOLVER_TYPE[machine]} -e {eps:g}, {clock.cpu:.1f} CPU s"
        before = bracket(entry)
        offer(entry, how, objective.primal(solver.coef()), duals[-1])
        stuck = len(duals) > 1 and duals[-1] == duals[-2] and bracket(entry) == before
        if stuck or bracket(entry) <= TIGHT or 4.0 * clock.cpu > BUDGET:
            return


def _sklearn(entry: Entry, data: Dataset, machine: str, C: float) -> None:
    """One-vs-rest beyond the 300 passes at which LIBLINEAR's own -s 3 ends."""
    solver, objective = Sklearn(max_iter=3000), Objective(data, machine, C)
    solver.prepare(data, machine, C)
    solver.setup(1e-5, 0)
    clock = timed(solver.run)
    how = f"LinearSVC hinge, tol 1e-5, 3000 passes, {clock.cpu:.1f} CPU s"
    offer(entry, how, objective.primal(solver.coef()))
