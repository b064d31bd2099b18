"""The race of the linear machines: ``python -m benchmarks.linear``.

Per data set, all entrants of all machines take turns, ``--repeats`` times round, and the median
counts. LinearSVM runs to a relative duality gap of 1e-3; LIBLINEAR to the loosest -e whose primal
is within 1e-3 of the optimum (``calibration``). The objective checks both. Results are written
after every data set, entry by entry, so that a part can be run again by itself.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from benchmarks import calibration, plots, report
from benchmarks.datasets import CACHE, SPECS, Dataset, load
from benchmarks.objective import Objective, suboptimality
from benchmarks.optima import Optima
from benchmarks.provenance import RESULTS, Results, add_options, open_results
from benchmarks.solvers import sklearn as sklearn_solver
from benchmarks.solvers.base import Solver
from benchmarks.solvers.liblinear import SOLVER_TYPE, Liblinear
from benchmarks.solvers.polymargin import Polymargin, available
from benchmarks.timing import now, timed
from benchmarks.worker import measure

TOL = 1e-3
C = 1.0
RACES = ("cs", "ww", "llw", "ovr")
PARTS = (*RACES, "threads", "memory", "curves", "sklearn")
THREADED = ("wordnet45", "clinc150", "onet", "mnist")
QUICK = ("dna", "satimage", "optdigits", "ohsumed23")
console = Console()


@dataclass
class Entrant:
    """A solver at its setting on one machine."""

    key: str
    machine: str
    solver: Solver
    tol: float
    optimum: float


class Race:
    """One run of the command over some data sets and parts."""

    def __init__(self, options: argparse.Namespace, stored: Results) -> None:
        self.options = options
        self.stored = stored
        self.results = stored.content
        self.optima = Optima(open_results("optima", options, stored.path.parent))
        self.ours = available()
        self.results.update(tol=TOL, C=C)

    def run(self) -> None:
        for name in self.options.datasets:
            data = load(name)
            shape = {"n": data.n, "d": data.d, "k": data.k}
            self.results.setdefault("datasets", {})[name] = shape
            console.rule(f"{name}  n={data.n} d={data.d} k={data.k}")
            self.race(data)
            for part in ("threads", "memory", "curves", "sklearn"):
                if part in self.options.only:
                    getattr(self, part)(data)
            self.stored.write()

    def keep(self, part: str, dataset: str, key: str, record: dict[str, Any]) -> None:
        signed = self.stored.sign(record | {"when": now()})
        self.results.setdefault(part, {}).setdefault(dataset, {})[key] = signed

    # -- the interleaved race ---------------------------------------------------------------

    def race(self, data: Dataset) -> None:
        machines = [machine for machine in RACES if machine in self.options.only]
        field = [entrant for machine in machines for entrant in self.entrants(data, machine)]
        runs: dict[str, list[dict[str, Any]]] = {entrant.key: [] for entrant in field}
        for seed in range(self.options.repeats):
            for entrant in field:
                if sum(run["cpu"] for run in runs[entrant.key]) <= self.options.limit:
                    runs[entrant.key].append(_run(entrant, data, seed))
        for entrant in field:
            self.optima.improve(data, entrant.machine, C, entrant.key, runs[entrant.key])
            own = runs[entrant.key]
            self.keep("race", data.name, entrant.key, {"setting": entrant.tol, "runs": own})
            cpu = float(np.median([run["cpu"] for run in own]))
            worst = max(run["suboptimality"] for run in own)
            console.print(f"{entrant.key:24} {cpu:9.3f} s  suboptimality ≤ {worst:.1e}")

    def entrants(self, data: Dataset, machine: str) -> list[Entrant]:
        if not self.ours and machine not in SOLVER_TYPE:
            return []
        optimum = self.optima.optimum(data, machine, C)["primal"]
        field: list[tuple[Solver, float]] = []
        if self.ours:
            field += [(Polymargin(np.float32), TOL), (Polymargin(np.float64), TOL)]
        if machine in SOLVER_TYPE:
            eps = self.calibrated(data, machine, optimum)
            if eps is None:
                console.print(f"LIBLINEAR {machine}: no -e of the grid reaches {TOL:g}")
            field.append((Liblinear(), calibration.GRID[-1] if eps is None else eps))
        for solver, _ in field:
            solver.prepare(data, machine, C)
        return [
            Entrant(f"{machine}/{solver.name}", machine, solver, tol, optimum)
            for solver, tol in field
        ]

    def calibrated(self, data: Dataset, machine: str, optimum: float) -> float | None:
        known = self.results.get("calibration", {}).get(data.name, {}).get(machine, {})
        runs = [] if self.options.recalibrate else known.get("runs", [])
        runs = calibration.search(data, machine, C, optimum, TOL, runs)
        eps = calibration.loosest(runs, optimum, TOL)
        record = {"runs": runs, "eps": eps, "optimum": optimum}
        self.keep("calibration", data.name, machine, record)
        self.stored.write()
        return eps

    # -- the other parts --------------------------------------------------------------------

    def threads(self, data: Dataset) -> None:
        """Wall seconds on one thread and on two, taking turns."""
        if not self.ours or data.name not in THREADED:
            return
        for machine in ("cs", "ww"):
            optimum = self.optima.optimum(data, machine, C)["primal"]
            field = [
                Entrant(str(jobs), machine, Polymargin(np.float32, jobs), TOL, optimum)
                for jobs in (1, 2)
            ]
            runs: dict[str, list[dict[str, Any]]] = {entrant.key: [] for entrant in field}
            for entrant in field:
                entrant.solver.prepare(data, machine, C)
            for seed in range(self.options.repeats):
                for entrant in field:
                    runs[entrant.key].append(_run(entrant, data, seed))
            self.keep("threads", data.name, machine, {"runs": runs})

    def memory(self, data: Dataset) -> None:
        """Peak bytes of a fit above its input, each in a fresh process."""
        jobs: list[tuple[str, str, float]] = []
        if self.ours:
            jobs += [(m, f"polymargin-float{b}", TOL) for m in ("cs", "ww") for b in (32, 64)]
        known = self.results.get("calibration", {}).get(data.name, {}).get("cs", {})
        jobs.append(("cs", "liblinear", known.get("eps") or 0.1))
        for machine, solver, tol in jobs:
            record = measure(solver, data.name, machine, tol, C, limit=self.options.limit)
            self.keep("memory", data.name, f"{machine}/{solver}", record)
            console.print(f"memory {machine}/{solver}: {_brief(record, 'peak_bytes', 2**20)} MiB")

    def curves(self, data: Dataset) -> None:
        """Objective and gap over CPU seconds for Crammer–Singer."""
        optimum = self.optima.optimum(data, "cs", C)["primal"]
        objective = Objective(data, "cs", C)
        record: dict[str, Any] = {"optimum": optimum}
        for dtype, tol in ((np.float32, 1e-4), (np.float64, 1e-5)) if self.ours else ():
            solver = Polymargin(dtype)
            solver.prepare(data, "cs", C)
            solver.setup(tol, 0)
            clock = timed(solver.run)
            primal = objective.primal(solver.coef())
            record[solver.name] = {**solver.history(), "cpu": clock.cpu, "final": primal}
        peer, points = Liblinear(), []
        peer.prepare(data, "cs", C)
        for eps in calibration.GRID[::2]:
            duals: list[float] = []
            peer.setup(eps, 0)
            clock = timed(partial(_append_dual, peer, duals))
            primal = objective.primal(peer.coef())
            gap = (primal - duals[0]) / primal
            points.append({"eps": eps, "cpu": clock.cpu, "primal": primal, "gap": gap})
            if gap <= 1e-5 or clock.cpu > self.options.limit / 5:
                break
        self.keep("curves", data.name, "cs", {**record, "liblinear": points})

    def sklearn(self, data: Dataset) -> None:
        """LinearSVC's Crammer–Singer at its default tolerance: one run with a time limit."""
        tol, limit = sklearn_solver.DEFAULT_TOL, self.options.sklearn_limit
        record = measure("sklearn", data.name, "cs", tol, C, limit=limit)
        if "primal" in record:
            optimum = self.optima.optimum(data, "cs", C)["primal"]
            record["suboptimality"] = suboptimality(record["primal"], optimum)
        self.keep("sklearn", data.name, "cs", record)
        console.print(f"scikit-learn: {_brief(record, 'cpu', 1)} s")


def _run(entrant: Entrant, data: Dataset, seed: int) -> dict[str, Any]:
    """One timed run, scored by the objective."""
    entrant.solver.setup(entrant.tol, seed)
    clock = timed(entrant.solver.run)
    certificate: Callable[[], dict[str, Any]] = getattr(entrant.solver, "certificate", dict)
    extra, W = certificate(), entrant.solver.coef()
    objective = Objective(data, entrant.machine, C)
    primal = objective.primal(W)
    record = {
        "cpu": clock.cpu,
        "wall": clock.wall,
        "primal": primal,
        "suboptimality": suboptimality(primal, entrant.optimum),
        **extra,
    }
    return {**record, "accuracy": objective.accuracy(W)} if seed == 0 else record


def _append_dual(solver: Liblinear, duals: list[float]) -> None:
    duals.append(solver.run_certified())


def _brief(record: dict[str, Any], field: str, unit: float) -> str:
    if field in record:
        return f"{record[field] / unit:.1f}"
    return f"> {record['timeout']:g}" if "timeout" in record else record["error"]


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.linear", description=__doc__)
    parser.add_argument("--datasets", nargs="+", choices=SPECS, default=None, metavar="NAME")
    parser.add_argument("--repeats", type=int, default=None, help="rounds of the race (5)")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), metavar="PART")
    parser.add_argument("--quick", action="store_true", help="four small sets, one round")
    parser.add_argument("--recalibrate", action="store_true", help="search LIBLINEAR's -e anew")
    parser.add_argument("--limit", type=float, default=600.0, help="seconds per entrant (600)")
    parser.add_argument("--sklearn-limit", type=float, default=120.0, help="seconds (120)")
    parser.add_argument("--out", type=Path, default=None, help="folder of the results")
    add_options(parser)
    options = parser.parse_args(arguments)
    options.datasets = options.datasets or list(QUICK if options.quick else SPECS)
    options.repeats = options.repeats or (1 if options.quick else 5)
    options.out = options.out or (CACHE / "quick" if options.quick else RESULTS)
    return options


def main() -> None:
    options = parse()
    results = open_results("linear", options, options.out)
    if not options.report:
        Race(options, results).run()
    report.write(results)
    plots.write(results.path.parent)
    console.print(f"written: {results.path.parent}/linear.md, linear.json and plots")


if __name__ == "__main__":
    main()
