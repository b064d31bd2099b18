"""How well wrong labels are found: 2 % of the labels are planted wrong, then looked for.

``python -m benchmarks.planted_labels [--experiments NAME ...] [--report]``: rankings of
`polymargin.inspect.suspicious_labels` by ‖tau‖ and by margin beside margins of models that have not
seen the row (cross-validation). Results are stored entry by entry in
``results/planted_labels.json``, from which ``results/planted_labels.md`` and
``results/planted_labels.png`` are made.
"""

from __future__ import annotations

import argparse
import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.console import Console
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import average_precision_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import LinearSVC

from benchmarks import planted_labels_report
from benchmarks.datasets import load
from benchmarks.error_rates import stratified
from benchmarks.provenance import add_options, open_results
from polymargin import KernelSVM, LinearSVM, core
from polymargin.inspect import suspicious_labels

SHARE = 0.02
FOLDS = 5
SEED = 0
MACHINES = ("cs", "ww")
HELD_OUT = "margin, rows held out"
console = Console()


@dataclass(frozen=True)
class Experiment:
    """Data, rows in use, rows that C and gamma are chosen on, and the values tried."""

    data: str
    kernel: bool
    rows: int
    chosen_on: int
    log2_C: tuple[int, ...]  # noqa: N815
    log2_gamma: tuple[int, ...] = ()
    machines: tuple[str, ...] = MACHINES

    @property
    def name(self) -> str:
        return f"{self.data}/{'radial' if self.kernel else 'linear'}"

    def make(self, machine: str) -> LinearSVM | KernelSVM:
        if self.kernel:
            return KernelSVM(machine, cache_size=2048, random_state=0)
        return LinearSVM(machine, max_iter=2000, random_state=0)


EXPERIMENTS = (
    Experiment("letter", False, 15_000, 5_000, (-6, -4, -2, 0, 2, 4, 6)),
    Experiment("letter", True, 15_000, 5_000, (-3, -1, 1, 3), (-1, 0, 1, 2)),
    Experiment("news20", False, 11_314, 11_314, (-6, -4, -2, 0, 2)),
    Experiment("mnist", False, 60_000, 10_000, (-10, -8, -6, -4, -2)),
    Experiment("mnist", True, 10_000, 4_000, (-3, -1, 1, 3, 5), (-7, -6, -5, -4)),
    Experiment(
        "satimage",
        False,
        4_435,
        4_435,
        (-12, -9, -6, -3, 0, 3, 6),
        machines=tuple(info.name for info in core.machines()),
    ),
)


@dataclass(frozen=True)
class Planted:
    """Rows, their labels with the planted ones, the true labels."""

    X: Any
    y: np.ndarray
    truth: np.ndarray

    @property
    def wrong(self) -> np.ndarray:
        return self.y != self.truth


def plant(experiment: Experiment) -> Planted:
    """Replace labels by another class, any with equal chance."""
    data = load(experiment.data)
    rows = stratified(data.y, experiment.rows) if experiment.rows < data.n else np.arange(data.n)
    X, truth = data.X[rows], data.y[rows].astype(np.int64)
    if experiment.kernel and sparse.issparse(X):
        X = X.toarray().astype(np.float32)
    random = np.random.default_rng(SEED)
    n_planted = round(SHARE * len(truth))
    chosen = random.choice(len(truth), n_planted, replace=False)
    y = truth.copy()
    y[chosen] = (truth[chosen] + random.integers(1, data.k, n_planted)) % data.k
    return Planted(X, y, truth)


def choose(experiment: Experiment, model: Any, planted: Planted, gammas: bool) -> dict[str, float]:
    """C, and gamma, of the best accuracy in 3 folds, planted labels and all."""
    rows = stratified(planted.y, min(experiment.chosen_on, len(planted.y)))
    grid = {"C": [2.0**exponent for exponent in experiment.log2_C]}
    if gammas:
        grid["gamma"] = [2.0**exponent for exponent in experiment.log2_gamma]
    folds = StratifiedKFold(3, shuffle=True, random_state=SEED)
    search = GridSearchCV(model, grid, cv=folds, refit=False)
    best: dict[str, float] = search.fit(planted.X[rows], planted.y[rows]).best_params_
    return best


def held_out_margins(model: Any, planted: Planted) -> tuple[np.ndarray, bool]:
    """Margin of each row by a model that was trained without it; whether all fits converged."""
    margin, converged = np.empty(len(planted.y)), True
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=SEED)
    for train, held in folds.split(np.zeros(len(planted.y)), planted.y):
        fitted = clone(model).fit(planted.X[train], planted.y[train])
        converged &= bool(getattr(fitted, "converged_", np.all(fitted.n_iter_ < model.max_iter)))
        scores = fitted.decision_function(planted.X[held])
        own = np.arange(len(held)), planted.y[held]
        own_scores = scores[own].copy()
        scores[own] = -np.inf
        margin[held] = own_scores - scores.max(axis=1)
    return margin, converged


def rank_by(model: Any, planted: Planted, by: Any) -> tuple[np.ndarray, float]:
    """All rows in the order of suspicion, and how often the true label is the suggestion."""
    table = suspicious_labels(model, planted.X, planted.y, by=by, max_rows=None)
    listed = table["row"].to_numpy()
    rest = np.setdiff1d(np.arange(len(planted.y)), listed)
    found = planted.wrong[listed]
    right = table["suggested"].to_numpy()[found] == planted.truth[listed[found]]
    return np.concatenate([listed, rest]), float(right.sum() / planted.wrong.sum())


def measure(order: np.ndarray, planted: Planted) -> dict[str, Any]:
    """Recall after 1, 2 and 5 times the number planted, average precision, the curve."""
    hits = planted.wrong[order]
    n_planted = int(hits.sum())
    found = np.cumsum(hits)
    recall = {
        f"recall_{times}": float(found[times * n_planted - 1]) / n_planted for times in (1, 2, 5)
    }
    position = np.searchsorted(found, np.ceil(np.linspace(0.01, 1.0, 100) * n_planted))
    return recall | {
        "average_precision": float(average_precision_score(hits, -np.arange(len(hits)))),
        "curve": [
            [round(float(found[i]) / n_planted, 4), round(float(found[i]) / (i + 1), 4)]
            for i in position
        ],
    }


def run(experiment: Experiment) -> dict[str, Any]:
    planted = plant(experiment)
    entrants: list[dict[str, Any]] = []

    def add(machine: str, ranking: str, order: np.ndarray, **more: Any) -> None:
        entrants.append({"model": machine, "ranking": ranking} | measure(order, planted) | more)
        console.print(experiment.name, {k: v for k, v in entrants[-1].items() if k != "curve"})

    for machine in experiment.machines:
        model = experiment.make(machine)
        start = time.perf_counter()
        params = choose(experiment, clone(model).set_params(tol=1e-2), planted, experiment.kernel)
        model.set_params(**params)
        chosen, start = time.perf_counter() - start, time.perf_counter()
        model.fit(planted.X, planted.y)
        more = {"params": params, "choice_seconds": chosen, "gap": float(model.dual_gap_)}
        more |= {"converged": bool(model.converged_)}
        more["seconds"] = time.perf_counter() - start
        for by in ("tau", "margin"):
            order, right = rank_by(model, planted, by)
            add(machine, "‖τ‖" if by == "tau" else "margin", order, suggested_right=right, **more)
        if machine in MACHINES:
            start = time.perf_counter()
            margin, converged = held_out_margins(model, planted)
            more |= {"seconds": time.perf_counter() - start, "converged": converged}
            add(machine, HELD_OUT, np.argsort(margin, kind="stable"), **more)
    if not experiment.kernel:
        model = LinearSVC(tol=1e-2, random_state=0)
        start = time.perf_counter()
        params = choose(experiment, model, planted, False)
        chosen, start = time.perf_counter() - start, time.perf_counter()
        margin, converged = held_out_margins(model.set_params(**params), planted)
        add(
            "LinearSVC",
            HELD_OUT,
            np.argsort(margin, kind="stable"),
            params=params,
            choice_seconds=chosen,
            converged=converged,
            seconds=time.perf_counter() - start,
        )
    return {
        "n": len(planted.y),
        "planted": int(planted.wrong.sum()),
        "k": len(np.unique(planted.truth)),
        "entrants": entrants,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.planted_labels", description=__doc__
    )
    names = [experiment.name for experiment in EXPERIMENTS]
    parser.add_argument("--experiments", nargs="+", choices=names, default=names)
    add_options(parser)
    options = parser.parse_args()
    results = open_results("planted_labels", options)
    experiments = results.content.setdefault("experiments", {})
    for experiment in EXPERIMENTS:
        if experiment.name in options.experiments and not options.report:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # the gap is in the results
                experiments[experiment.name] = results.sign(run(experiment))
            results.write()
    planted_labels_report.write(results)


if __name__ == "__main__":
    main()
