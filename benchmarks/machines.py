"""Test accuracy of every machine with linear scores: bundled sets, and two of no linear structure.

``python -m benchmarks.machines [--datasets NAME ...]`` writes ``results/machines.json`` and
``results/machines.md``, the table of ``docs/guide/machines.md``. C is the best of a few on the test
part itself: the table shows what each loss can reach, it estimates nothing. Data sets that are not
named keep their stored figures.
"""

from __future__ import annotations

import argparse
import lzma
import warnings
from statistics import mean
from typing import Any

import numpy as np
from rich.console import Console
from sklearn.datasets import load_svmlight_file
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import MinMaxScaler

from benchmarks.datasets import data_folder
from benchmarks.provenance import add_options, note, open_results
from benchmarks.provenance import machines as machines_used
from benchmarks.report import table
from polymargin import LinearSVM
from polymargin.datasets import Split, load_letter, load_satimage

MACHINES = ("ww", "cs", "ovr", "mmr", "rm", "llw", "ats", "adm", "atm")
LOG2_C = (-6, -3, 0, 3)
SEEDS = range(5)
TOL = 1e-3
PASSES = 200
STEADY = 2.0  # seeds that differ by more get their range in place of a mean, in per cent
console = Console(soft_wrap=True)


def load_abalone() -> Split:
    """The age of a shell from its size: neighbouring classes differ by noise."""
    with lzma.open(data_folder() / "abalone.svm.xz") as file:
        X, y = load_svmlight_file(file, n_features=10)
    parts = train_test_split(X.toarray(), y.astype(np.int64), test_size=0.5, random_state=0)
    X_train, X_test, y_train, y_test = parts
    scaler = MinMaxScaler((-1, 1)).fit(X_train)
    return Split(scaler.transform(X_train), y_train, scaler.transform(X_test), y_test)


def make_rings() -> Split:
    """Four rings around each other: no linear score tells any of them from the others."""
    random = np.random.default_rng(0)
    y = random.integers(4, size=3000)
    angle = random.uniform(0, 2 * np.pi, len(y))
    radius = (y + 1 + random.uniform(-0.3, 0.3, len(y))) / 4.3
    X = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    return Split(X[:1000], y[:1000], X[1000:], y[1000:])


DATASETS = {
    "satimage": load_satimage,
    "letter": load_letter,
    "abalone": load_abalone,
    "rings": make_rings,
}


def measure(split: Split, machine: str) -> dict[str, Any]:
    """Test accuracies in per cent of all seeds, by log2 of C."""
    accuracies: dict[str, list[float]] = {}
    for log2_C in LOG2_C:
        models = (
            LinearSVM(machine, 2.0**log2_C, tol=TOL, max_iter=PASSES, random_state=seed)
            for seed in SEEDS
        )
        accuracies[str(log2_C)] = [
            100 * float(model.fit(split.X_train, split.y_train).score(split.X_test, split.y_test))
            for model in models
        ]
    d, k = split.X_train.shape[1], len(set(split.y_train))
    return {"d": d, "k": k, "accuracies": accuracies}


def best(record: dict[str, Any]) -> list[float]:
    """The accuracies of the seeds at the C of the largest mean."""
    return max(record["accuracies"].values(), key=mean)


def cell(record: dict[str, Any] | None) -> str:
    """The mean of the seeds, or their range where they differ much."""
    if record is None:
        return "—"
    found = best(record)
    low, high = min(found), max(found)
    return f"{mean(found):.1f}" if high - low <= STEADY else f"{low:.0f}–{high:.0f}"


def report(content: dict[str, Any]) -> str:
    """The stored accuracies as a page."""
    records = content["records"]
    rows = []
    for name in DATASETS:
        own = {machine: records.get(f"{name}/{machine}") for machine in MACHINES}
        if first := next(filter(None, own.values()), None):
            title = f"{name} ({first['d']} features, {first['k']} classes)"
            rows.append([title, *(cell(record) for record in own.values())])
    values = ", ".join(f"2^{e}" for e in LOG2_C)
    return "\n".join(
        [
            "# The machines with linear scores",
            "",
            machines_used(content),
            "",
            f"Test accuracy in per cent, best of C = {values} on the test part itself; `LinearSVM`",
            f"at tol {TOL:g}, at most {PASSES} passes, mean of {len(SEEDS)} seeds, or their range",
            f"where it is wider than {STEADY:g}.",
            "",
            table(["", *(f"`{machine}`" for machine in MACHINES)], rows),
            "",
            note(content, ((key.partition("/")[0], record) for key, record in records.items())),
            "",
        ]
    )


def main() -> None:
    """Fit, store after each machine, write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.machines", description=__doc__)
    parser.add_argument(
        "--datasets", nargs="+", choices=DATASETS, default=list(DATASETS), metavar="NAME"
    )
    add_options(parser)
    options = parser.parse_args()
    results = open_results("machines", options)
    records = results.content.setdefault("records", {})
    warnings.simplefilter("ignore", ConvergenceWarning)  # the passes are bounded on purpose
    for name in () if options.report else options.datasets:
        split = DATASETS[name]()
        for machine in MACHINES:
            records[f"{name}/{machine}"] = results.sign(measure(split, machine))
            console.print(f"{name}/{machine}: {cell(records[f'{name}/{machine}'])}")
            results.write()
    results.write_page(report(results.content))


if __name__ == "__main__":
    main()
