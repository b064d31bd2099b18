"""Reading tables of numbers: `polymargin.readers.read` beside the readers of pandas and pyarrow.

`benchmarks.reading` runs it.
"""

from __future__ import annotations

import lzma
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from sklearn.datasets import load_svmlight_file

from benchmarks.datasets import data_folder
from benchmarks.report import table
from benchmarks.timing import timed

TABLES = ("normal", "shuttle", "usps")
ROUNDS = 5
TARGET = 16e6  # cells a second of the processor
NORMAL_SHAPE = (100_000, 100)


def read_ours(file: Path) -> Any:
    from polymargin.readers import read

    return read(file, label="label")


def read_row_by_row(file: Path) -> Any:
    """As lines are read that are in doubt."""
    from polymargin.readers import _csv_rows

    with patch.object(_csv_rows, "_CERTAIN_DELIMITERS", ()):
        return read_ours(file)


def read_pandas(file: Path) -> Any:
    import pandas

    return pandas.read_csv(file)


def read_pyarrow(file: Path) -> Any:
    from pyarrow import csv

    return csv.read_csv(file, csv.ReadOptions(use_threads=False))


ENTRANTS: dict[str, Callable[[Path], Any]] = {
    "polymargin": read_ours,
    "polymargin, row by row": read_row_by_row,
    "pandas": read_pandas,
    "pyarrow, 1 thread": read_pyarrow,
}


def write_table(name: str, folder: Path) -> tuple[Path, int]:
    """A file with a header, and how many cells it has."""
    if name == "normal":
        random = np.random.default_rng(0)
        X = random.normal(size=NORMAL_SHAPE).round(6)
        y = random.integers(0, 5, NORMAL_SHAPE[0])
    else:
        with lzma.open(data_folder() / f"{name}.train.svm.xz", "rb") as text:
            rows, y = load_svmlight_file(text)
        X = rows.toarray()
    file = folder / f"{name}.csv"
    names = [f"f{j}" for j in range(X.shape[1])]
    with file.open("w") as out:
        out.write(",".join([*names, "label"]) + "\n")
        for row, label in zip(X.tolist(), y.tolist(), strict=True):
            out.write(",".join([*(f"{value:.15g}" for value in row), f"{label:g}"]) + "\n")
    return file, X.shape[0] * (X.shape[1] + 1)


def measure_table(name: str, folder: Path) -> dict[str, Any]:
    """Median seconds of all entrants on one table; they take turns."""
    file, n_cells = write_table(name, folder)
    clocks: dict[str, list[Any]] = {entrant: [] for entrant in ENTRANTS}
    for call in ENTRANTS.values():
        call(file)  # packages are loaded, the file is in the page cache
    for _ in range(ROUNDS):
        for entrant, call in ENTRANTS.items():
            clocks[entrant].append(timed(lambda call=call: call(file)))
    seconds = {
        entrant: {
            "cpu": statistics.median(clock.cpu for clock in runs),
            "wall": statistics.median(clock.wall for clock in runs),
        }
        for entrant, runs in clocks.items()
    }
    return {
        "dataset": name,
        "cells": n_cells,
        "text_bytes": file.stat().st_size,
        "seconds": seconds,
    }


def report_tables(cases: list[dict[str, Any]], origins: str) -> list[str]:
    """The part of the page that is about tables."""
    rows = []
    for case in cases:
        slow = case["seconds"]["polymargin, row by row"]["cpu"]
        for entrant, taken in case["seconds"].items():
            speed = case["cells"] / taken["cpu"]
            verdict = ("yes" if speed >= TARGET else "no") if entrant == "polymargin" else ""
            rows.append(
                [
                    case["dataset"],
                    f"{case['cells'] / 1e6:.2f}",
                    f"{case['text_bytes'] / 1e6:.1f}",
                    entrant,
                    f"{taken['cpu']:.3f}",
                    f"{taken['wall']:.3f}",
                    f"{speed / 1e6:.1f}",
                    f"{slow / taken['cpu']:.1f}",
                    verdict,
                ]
            )
    head = ["data", "million cells", "text MB", "reader", "CPU s", "wall s"]
    head += ["million cells / CPU s", "times row by row", f"{TARGET / 1e6:g} million"]
    return [
        "## Tables of numbers",
        "",
        f"CSV files with a header and a label in the last column: `normal` has {NORMAL_SHAPE[0]:,}",
        f"rows of {NORMAL_SHAPE[1]} numbers with six decimals, the others are the training parts",
        "as tables. Ours tells what columns hold and refuses what is no table, with line and",
        "column; it cuts lines at once unless they are in doubt, which are read row by row.",
        f"pandas and pyarrow guess types. Medians of {ROUNDS} rounds in turns.",
        "",
        table(head, rows),
        "",
        origins,
        "",
    ]
