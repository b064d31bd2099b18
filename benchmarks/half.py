"""What weights in half precision cost: test errors and files of the same models, whole and rounded.

``python -m benchmarks.half`` writes ``results/half.json`` and ``results/half.md``.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from benchmarks.datasets import load as load_dataset
from benchmarks.provenance import add_options, machines, note, open_results
from benchmarks.report import table
from polymargin import KernelSVM, LinearSVM, load, save

MODELS: dict[str, Any] = {
    "ww": LinearSVM("ww", random_state=0),
    "cs": LinearSVM("cs", random_state=0),
    "ww, sparse": LinearSVM("ww", weights="sparse", random_state=0),
    "ww, rbf": KernelSVM("ww", C=16.0, gamma=1.0, random_state=0),
}
SETS = {
    "letter": (np.float64, ("ww", "cs", "ww, rbf")),
    "news20": (np.float32, ("ww", "cs", "ww, sparse")),
    "onet": (np.float32, ("ww, sparse",)),
}
console = Console(soft_wrap=True)


def measure(name: str, model: str) -> dict[str, Any]:
    """Errors and bytes of a model, whole and rounded, and how many labels differ."""
    data, dtype = load_dataset(name), SETS[name][0]
    X, X_test = data.rows(dtype), data.X_test.astype(dtype)
    fitted = MODELS[model].fit(X, data.y)
    with tempfile.TemporaryDirectory() as folder:
        whole, half = Path(folder, "whole"), Path(folder, "half")
        save(fitted, whole, duals=False)
        save(fitted, half, dtype="float16")
        n_bytes = [path.stat().st_size for path in (whole, half)]
        rounded = load(half).predict(X_test)
    exact = fitted.predict(X_test)
    return {
        "dtype": np.dtype(dtype).name,
        "n_test": len(exact),
        "errors": [int(np.sum(labels != data.y_test)) for labels in (exact, rounded)],
        "changed": int(np.sum(exact != rounded)),
        "bytes": n_bytes,
    }


def row(key: str, record: dict[str, Any]) -> list[str]:
    """A line of the table."""
    name, _, model = key.partition("/")
    before, after = record["errors"]
    whole, half = record["bytes"]
    return [
        name,
        f"{model}, {record['dtype']}",
        f"{before / record['n_test']:.2%}",
        f"{after / record['n_test']:.2%}",
        f"{record['changed']} of {record['n_test']:,}",
        f"{whole / 1e3:,.0f}",
        f"{half / 1e3:,.0f}",
    ]


def report(content: dict[str, Any]) -> str:
    """The stored figures as a page."""
    records = content["records"]
    columns = ["", "machine", "error", "rounded", "labels that differ", "kB", "rounded"]
    return "\n".join(
        [
            "# Weights in half precision",
            "",
            machines(content),
            "",
            'Test error of a model and of the same model saved with `dtype="float16"` and loaded,',
            "and the sizes of both files, without dual variables. C = 1; of the Gaussian kernel",
            "C = 16, gamma = 1.",
            "",
            table(columns, [row(key, record) for key, record in records.items()]),
            "",
            note(content, records.items()),
            "",
        ]
    )


def main() -> None:
    """Fit, store after each model, write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.half", description=__doc__)
    add_options(parser)
    options = parser.parse_args()
    results = open_results("half", options)
    records = results.content.setdefault("records", {})
    for name in () if options.report else SETS:
        for model in SETS[name][1]:
            record = records[f"{name}/{model}"] = results.sign(measure(name, model))
            console.print(*row(f"{name}/{model}", record), sep="  ")
            results.write()
    results.write_page(report(results.content))


if __name__ == "__main__":
    main()
