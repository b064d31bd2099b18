"""Nested grid search beside scikit-learn's GridSearchCV, on the same grid and folds.

``python -m benchmarks.model_selection`` writes ``results/model_selection.json`` and
``results/model_selection.md``. Both search C and gamma of the same `KernelSVM` without refinement
or refit, on one thread, and take turns; the median of the CPU seconds counts.
"""

from __future__ import annotations

import argparse
import statistics
from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from benchmarks.datasets import load
from benchmarks.provenance import add_options, machines, note, open_results
from benchmarks.report import table
from benchmarks.timing import timed
from polymargin import KernelSVM
from polymargin.model_selection import nested_grid_search

N_ROWS = 1500
N_FOLDS = 5
ROUNDS = 3
LOG2_C = (-5, 5, 2)
# Data set and kernel; the ranges of gamma have the best value inside.
SEARCHES: dict[tuple[str, str], tuple[int, int, int]] = {
    ("satimage", "rbf"): (-7, 3, 2),
    ("satimage", "laplacian"): (-9, 1, 2),
    ("usps", "rbf"): (-11, -1, 2),
    ("mnist", "rbf"): (-11, -1, 2),
}


def powers(first: int, last: int, step: int) -> list[float]:
    return [2.0**e for e in range(first, last + 1, step)]


def race(dataset: str, kernel: str, log2_gamma: tuple[int, int, int]) -> dict[str, Any]:
    """CPU seconds of both searches and what they found."""
    data = load(dataset)
    chosen = np.random.default_rng(0).permutation(data.n)[:N_ROWS]
    X, y = data.X[chosen], data.y[chosen]
    folds = list(StratifiedKFold(N_FOLDS, shuffle=True, random_state=0).split(X, y))
    model = KernelSVM("ww", kernel=kernel, random_state=0, n_jobs=1)
    grid = {"C": powers(*LOG2_C), "gamma": powers(*log2_gamma)}
    theirs = GridSearchCV(model, grid, cv=folds, refit=False)
    found: dict[str, Any] = {}

    def search() -> None:
        found["ours"] = nested_grid_search(
            model,
            X,
            y,
            log2_C=LOG2_C,
            log2_gamma=log2_gamma,
            refinements=0,
            cv=folds,
            refit=False,
            n_jobs=1,
        )

    seconds: dict[str, list[float]] = {"nested_grid_search": [], "GridSearchCV": []}
    for _ in range(ROUNDS):
        seconds["nested_grid_search"].append(timed(search).cpu)
        seconds["GridSearchCV"].append(timed(lambda: theirs.fit(X, y)).cpu)
    ours = found["ours"]
    means = theirs.cv_results_["mean_test_score"].tolist()  # by C, then gamma, as ours
    differences = [abs(p.mean_score - m) for p, m in zip(ours.points, means, strict=True)]
    return {
        "seconds": seconds,
        "fits": ours.n_fits,
        "largest_difference": max(differences),
        "best": {"ours": ours.best_params, "theirs": theirs.best_params_},
        "best_score": {"ours": ours.best_score, "theirs": float(theirs.best_score_)},
    }


def report(content: dict[str, Any]) -> str:
    """The stored searches as a page."""
    rows = []
    for key, r in content["searches"].items():
        ours, theirs = (statistics.median(times) for times in r["seconds"].values())
        rows.append(
            [
                *key.split("/"),
                str(r["fits"]),
                f"{theirs:.2f}",
                f"{ours:.2f}",
                f"{theirs / ours:.2f}",
                f"{r['best_score']['theirs']:.4f}",
                f"{r['best_score']['ours']:.4f}",
                f"{r['largest_difference']:.4f}",
            ]
        )
    head = ["data", "kernel", "fits", "GridSearchCV s", "nested_grid_search s", "ratio"]
    head += ["its best accuracy", "ours", "largest difference at a point"]
    return "\n".join(
        [
            "# Grid search",
            "",
            machines(content),
            "",
            f"`KernelSVM` (ww, tol 1e-3) on {N_ROWS:,} rows, {N_FOLDS} folds,",
            f"six values of C from 2^{LOG2_C[0]} to 2^{LOG2_C[1]} and six of gamma. CPU seconds on",
            f"one thread, median of {ROUNDS}, both taking turns on a machine in use. Accuracies at",
            "a point differ because the fits stop at a gap of 1e-3, warm and cold ones not at the",
            "same dual variables.",
            "",
            "Shared are the kernel values. What is left is the work on the dual variables, which",
            "warm starts shorten, most where gamma is large. The ratio is larger the more a kernel",
            "value costs.",
            "",
            table(head, rows),
            "",
            note(content, content["searches"].items()),
            "",
        ]
    )


def main() -> None:
    """Race, store after each search, write the page."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.model_selection", description=__doc__
    )
    add_options(parser)
    options = parser.parse_args()
    results = open_results("model_selection", options)
    searches = results.content.setdefault("searches", {})
    for (dataset, kernel), log2_gamma in () if options.report else SEARCHES.items():
        key = f"{dataset}/{kernel}"
        searches[key] = results.sign(race(dataset, kernel, log2_gamma))
        print(key, searches[key], flush=True)
        results.write()
    results.write_page(report(results.content))


if __name__ == "__main__":
    main()
