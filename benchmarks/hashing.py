"""Texts as hashed features: `preprocessing.HashingVectorizer` beside scikit-learn's class.

``python -m benchmarks.hashing [NAME ...]`` writes ``results/hashing.json`` and
``results/hashing.md``: texts in memory, files of label and text from the disk to the matrix, and a
whole pass of ``train --stream`` over wordlang18. Entrants take turns, medians count. Each matrix is
compared with scikit-learn's, bit for bit, and each model of a pass with the other.
"""

from __future__ import annotations

import argparse
import hashlib
import lzma
import os
import re
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sklearn.feature_extraction import text as peer

from benchmarks.datasets import data_folder
from benchmarks.provenance import add_options, machines, note, open_results
from benchmarks.report import table
from benchmarks.streams import FEATURES, run, shuffled_part
from benchmarks.timing import Clock, timed
from polymargin.preprocessing import HashingVectorizer
from polymargin.readers import read

CASES: dict[str, tuple[str, dict[str, Any]]] = {  # data set and settings
    "wordlang18, characters 1-4 of words": (
        "wordlang18",
        {
            "analyzer": "char_wb",
            "ngram_range": (1, 4),
            "n_features": 2**18,
            "alternate_sign": False,
        },
    ),
    "news20, words": ("news20", {}),
    "news20, words 1-2": ("news20", {"ngram_range": (1, 2)}),
    "wordnet45, words 1-2": ("wordnet45", {"ngram_range": (1, 2)}),
}
ENTRANTS = ("scikit-learn", "polymargin", "polymargin, 2 threads")
ROUNDS = 3
TARGET = 5.0
PASS = "stream"

# The command line with the step that hashes left to scikit-learn's code.
_WITHOUT = """
from polymargin.preprocessing import HashingVectorizer
HashingVectorizer.is_compiled = False
from polymargin.cli import main
main()
"""
_WAYS = {
    "scikit-learn": ("-c", _WITHOUT),
    "polymargin": ("-m", "polymargin"),
    "polymargin, 2 threads": ("-m", "polymargin"),
}
_ESCAPE = re.compile(r"\\([\\trn])")
_MEANING = {"\\": "\\", "t": "\t", "r": "\r", "n": "\n"}


def hasher(entrant: str, options: dict[str, Any]) -> Any:
    if entrant == "scikit-learn":
        return peer.HashingVectorizer(**options)
    return HashingVectorizer(**options, n_jobs=threads(entrant))


def threads(entrant: str) -> int:
    return 2 if "2 threads" in entrant else 1


def read_lines(file: Path) -> tuple[list[str], list[str]]:
    """Labels and texts by a loop over lines, as one would write it."""
    labels, texts = [], []
    with file.open(encoding="utf-8", newline="\n") as lines:
        for line in lines:
            label, _, text = line.rstrip("\n").partition("\t")
            labels.append(label)
            if "\\" in text:
                text = _ESCAPE.sub(lambda found: _MEANING[found[1]], text)
            texts.append(text)
    return labels, texts


def from_file(entrant: str, file: Path, options: dict[str, Any]) -> Any:
    """Labels, and the matrix of a file."""
    if entrant == "scikit-learn":
        labels, texts = read_lines(file)
    else:
        found = read(file, format="text", n_jobs=threads(entrant))
        labels, texts = found.y, found.X
    return labels, hasher(entrant, options).transform(texts)


def measure(file: Path, options: dict[str, Any]) -> dict[str, Any]:
    """Median seconds of all entrants, with texts in memory and from the file."""
    load = os.getloadavg()[0]
    texts = read_lines(file)[1]
    if texts != read(file, format="text").X:
        raise RuntimeError(f"the texts of {file} differ")
    seconds: dict[str, Any] = {}
    tasks: dict[str, Callable[[str], Any]] = {
        "memory": lambda entrant: hasher(entrant, options).transform(texts),
        "file": lambda entrant: from_file(entrant, file, options)[1],
    }
    for name, task in tasks.items():
        clocks: dict[str, list[Clock]] = {entrant: [] for entrant in ENTRANTS}
        for _ in range(ROUNDS):
            for entrant in ENTRANTS:
                clocks[entrant].append(timed(lambda entrant=entrant, task=task: task(entrant)))
        seconds[name] = {
            entrant: {
                "cpu": statistics.median(clock.cpu for clock in runs),
                "wall": statistics.median(clock.wall for clock in runs),
            }
            for entrant, runs in clocks.items()
        }
        wanted, *others = (digest(task(entrant)) for entrant in ENTRANTS)
        if any(other != wanted for other in others):
            raise RuntimeError(f"the matrices of {file} differ")
    megabytes = file.stat().st_size / 1e6
    return {"n": len(texts), "megabytes": megabytes, "load": load, "seconds": seconds}


def digest(X: Any) -> str:
    """Of all bits of a matrix."""
    found = hashlib.sha256(repr((type(X), X.shape)).encode())
    for part in (X.data, X.indices, X.indptr):
        found.update(repr(part.dtype).encode())
        found.update(memoryview(part))
    return found.hexdigest()


def unpack(name: str, folder: Path) -> Path:
    """The training part of a set as a plain file."""
    file = folder / f"{name}.tsv"
    if not file.exists():
        with lzma.open(data_folder() / f"{name}.train.tsv.xz") as packed, file.open("wb") as plain:
            shutil.copyfileobj(packed, plain)
    return file


def measure_pass(folder: Path) -> dict[str, Any]:
    """One pass over the shuffled wordlang18, the command as a whole."""
    labels = str(data_folder() / "wordlang18.labels.txt")
    source = str(shuffled_part(folder, None))
    model = folder / "model.safetensors"
    options = ["--stream", "--classes", labels, "--json", "--quiet", "--model", str(model)]
    options += ["--scratch", str(folder), *FEATURES]
    load = os.getloadavg()[0]
    runs: dict[str, list[dict[str, Any]]] = {entrant: [] for entrant in ENTRANTS}
    models: dict[str, str] = {}
    for _ in range(ROUNDS):
        for entrant in ENTRANTS:
            jobs = ["--jobs", str(threads(entrant))]
            runs[entrant].append(run("train", source, *options, *jobs, through=_WAYS[entrant]))
            models[entrant] = hashlib.sha256(model.read_bytes()).hexdigest()
    if models["polymargin"] != models["scikit-learn"]:
        raise RuntimeError("the models of a pass differ")
    return {
        "load": load,
        "n": runs["polymargin"][0]["answer"]["n"],
        "seconds": {
            entrant: {
                kind: statistics.median(figures[kind] for figures in found)
                for kind in ("cpu", "wall", "peak_mb")
            }
            for entrant, found in runs.items()
        },
    }


def rows_of(cases: dict[str, Any], task: str) -> list[list[str]]:
    """A line of a table for each case."""
    rows = []
    for name, case in cases.items():
        theirs, ours, two = (case["seconds"][task][entrant] for entrant in ENTRANTS)
        ratios = [theirs["cpu"] / ours["cpu"], theirs["wall"] / ours["wall"]]
        figures = [theirs["cpu"], ours["cpu"], two["cpu"]]
        figures += [theirs["wall"], ours["wall"], two["wall"]]
        rows.append(
            [name, f"{case['n']:,}", f"{case['megabytes']:.1f}"]
            + [f"{figure:.3f}" for figure in figures]
            + [f"{ratio:.1f}" for ratio in (*ratios, theirs["wall"] / two["wall"])]
            + ["yes" if min(ratios) >= TARGET else "no"]
        )
    return rows


def report(content: dict[str, Any]) -> str:
    """The measured times as a page."""
    stored = content.get("cases", {})
    cases = {name: stored[name] for name in CASES if name in stored}
    loads = [case["load"] for case in (*cases.values(), content.get(PASS)) if case]
    head = ["texts", "rows", "MB", "CPU s, sklearn", "CPU s", "CPU s, 2 threads"]
    head += [
        "wall s, sklearn",
        "wall s",
        "wall s, 2 threads",
        "CPU ratio",
        "wall ratio",
        "wall ratio, 2 threads",
    ]
    head += [f"{TARGET:g} times"]
    origins = note(content, cases.items())
    page = [
        "# Hashing texts",
        "",
        machines(content),
        "",
        "`polymargin.preprocessing.HashingVectorizer` on one thread and two beside scikit-learn's",
        f"class with the same settings; median of {ROUNDS} rounds in turns. All matrices are the",
        "same, bit for bit.",
        "",
        f"The load average before a case was {min(loads):.1f} to {max(loads):.1f}: above 1, other",
        "work has part of the two cores, wall seconds count waiting, and a second thread may find",
        "no core of its own. CPU seconds count all threads.",
        "",
        "## Texts in memory",
        "",
        table(head, rows_of(cases, "memory")),
        "",
        origins,
        "",
        "## From a file",
        "",
        "Lines of label and text, plain, in the page cache: to labels and the matrix. For",
        "scikit-learn they are read by a loop over the lines.",
        "",
        table(head, rows_of(cases, "file")),
        "",
        origins,
        "",
    ]
    if PASS in content:
        found = content[PASS]
        base = found["seconds"]["scikit-learn"]
        lines = [
            [
                entrant,
                f"{figures['cpu']:.1f}",
                f"{figures['wall']:.1f}",
                f"{figures['peak_mb']:.0f}",
                f"{base['cpu'] / figures['cpu']:.1f}",
                f"{base['wall'] / figures['wall']:.1f}",
            ]
            for entrant, figures in found["seconds"].items()
        ]
        page += [
            "## A pass of a stream",
            "",
            f"`polymargin train --stream` over wordlang18, shuffled, {found['n']:,} rows, WW,",
            "C = 1, as a whole: start, reading, hashing, visits, model file. In the first line",
            "texts are hashed by scikit-learn's code, all else is the same; so is the model file,",
            "each byte of it, on one thread. Two threads visit rows in another order.",
            "",
            table(["hashed by", "CPU s", "wall s", "peak MB", "CPU ratio", "wall ratio"], lines),
            "",
            note(content, [("the pass", found)]),
            "",
        ]
    return "\n".join(page)


def main() -> None:
    """Unpack, measure, store after each case, write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hashing", description=__doc__)
    names = (*dict.fromkeys(name for name, _ in CASES.values()), PASS)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(names))
    add_options(parser)
    options = parser.parse_args()
    results = open_results("hashing", options)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        # First, while this process is small: its peak counts as that of a command it starts.
        if not options.report and PASS in (options.names or names):
            results.content[PASS] = results.sign(measure_pass(folder))
            results.write()
        for title, (name, settings) in CASES.items():
            if not options.report and name in (options.names or names):
                case = measure(unpack(name, folder), settings)
                results.content.setdefault("cases", {})[title] = results.sign(case)
                results.write()
    page = report(results.content)
    results.write_page(page)
    sys.stdout.write(page)


if __name__ == "__main__":
    main()
