"""Reading files: `polymargin.readers.read` beside scikit-learn's `load_svmlight_file` and others.

``python -m benchmarks.reading [NAME ...]`` writes ``results/reading.json`` and
``results/reading.md``; names of tables are those of `benchmarks.reading_tables`. The training
parts of the data sets are unpacked into a temporary folder first; gzip and xz figures are of the
same files packed. Entrants take turns, medians count. Peak memory is measured in a process of its
own.
"""

from __future__ import annotations

import argparse
import gzip
import json
import lzma
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sklearn.datasets import load_svmlight_file

from benchmarks.datasets import ROOT, data_folder
from benchmarks.provenance import add_options, machines, note, open_results
from benchmarks.reading_tables import TABLES, measure_table, report_tables
from benchmarks.report import table
from benchmarks.timing import timed

DATASETS = ("letter", "wordnet45", "news20", "mnist")
PACKINGS = ("plain", "gz", "xz")
ROUNDS = 5
TARGET = 5.0
MEMORY_TARGET = 1.5
BUFFER = 32 << 20  # what a reader may hold besides the matrix, bytes


def read_ours(file: Path, n_jobs: int = 1) -> Any:
    from polymargin.readers import read

    return read(file, n_jobs=n_jobs)


def read_peer(file: Path) -> Any:
    if file.suffix == ".xz":  # which it cannot open by itself
        with lzma.open(file, "rb") as text:
            return load_svmlight_file(text)
    return load_svmlight_file(str(file))


ENTRANTS: dict[str, Callable[[Path], Any]] = {
    "polymargin": read_ours,
    "polymargin, 2 threads": lambda file: read_ours(file, 2),
    "scikit-learn": read_peer,
}

_PEAK = """
import json, re, sys
from pathlib import Path
from benchmarks.reading import ENTRANTS
def resident(field):
    return 1024 * int(re.search(field + r":\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
name, file, small = sys.argv[1:]
ENTRANTS[name](Path(small))
Path("/proc/self/clear_refs").write_text("5")
before = resident("VmRSS")
answer = ENTRANTS[name](Path(file))
X = answer.X if hasattr(answer, "X") else answer[0]
matrix = X.data.nbytes + X.indices.nbytes + 8 * (X.shape[0] + 1)
print(json.dumps({"peak": resident("VmHWM") - before, "matrix": matrix}))
"""


def unpack(name: str, folder: Path) -> dict[str, Path]:
    """The training part of a set: plain, gzip, xz."""
    packed = data_folder() / f"{name}.train.svm.xz"
    files = {"plain": folder / f"{name}.svm", "gz": folder / f"{name}.svm.gz", "xz": packed}
    with lzma.open(packed, "rb") as source, files["plain"].open("wb") as target:
        shutil.copyfileobj(source, target)
    with files["plain"].open("rb") as source, gzip.open(files["gz"], "wb", 6) as target:
        shutil.copyfileobj(source, target)
    return files


def measure(file: Path) -> dict[str, dict[str, float]]:
    """Median seconds of all entrants on one file."""
    clocks: dict[str, list[Any]] = {name: [] for name in ENTRANTS}
    for _ in range(ROUNDS):
        for name, call in ENTRANTS.items():
            clocks[name].append(timed(lambda call=call: call(file)))
    return {
        name: {
            "cpu": statistics.median(clock.cpu for clock in runs),
            "wall": statistics.median(clock.wall for clock in runs),
        }
        for name, runs in clocks.items()
    }


def peak_memory(entrant: str, file: Path, folder: Path) -> dict[str, int]:
    """Resident bytes above those before the call, and bytes of the matrix."""
    small = folder / "small.svm"
    small.write_text("1 1:1\n")
    command = [sys.executable, "-c", _PEAK, entrant, str(file), str(small)]
    answer = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return json.loads(answer.stdout)


def report(content: dict[str, Any]) -> str:
    """The measured times as a page."""
    speeds, memory = [], []
    stored = content["cases"]
    keys = (f"{name}/{packing}" for name in DATASETS for packing in PACKINGS)
    cases = [stored[key] for key in keys if key in stored]
    for case in cases:
        ours, peer = case["seconds"]["polymargin"], case["seconds"]["scikit-learn"]
        two = case["seconds"]["polymargin, 2 threads"]
        cpu, wall = peer["cpu"] / ours["cpu"], peer["wall"] / ours["wall"]
        figures = [peer["cpu"], ours["cpu"], peer["wall"], ours["wall"], two["wall"]]
        ratios = [f"{cpu:.1f}", f"{wall:.1f}", f"{peer['wall'] / two['wall']:.1f}"]
        verdict = "yes" if min(cpu, wall) >= TARGET else "no"
        megabytes = f"{case['text_bytes'] / 1e6:.1f}"
        seconds = [f"{figure:.3f}" for figure in figures]
        speeds.append([case["dataset"], case["packing"], megabytes, *seconds, *ratios, verdict])
        if case["packing"] != "plain":
            continue
        for entrant, taken in case["memory"].items():
            bound = MEMORY_TARGET * taken["matrix"] + BUFFER
            memory.append(
                [
                    case["dataset"],
                    entrant,
                    f"{taken['matrix'] / 1e6:.1f}",
                    f"{taken['peak'] / 1e6:.1f}",
                    f"{taken['peak'] / taken['matrix']:.2f}",
                    "yes" if taken["peak"] <= bound else "no",
                ]
            )
    head = ["data", "file", "text MB", "CPU s, sklearn", "CPU s", "wall s, sklearn", "wall s"]
    head += ["wall s, 2 threads", "CPU ratio", "wall ratio", "wall ratio, 2 threads"]
    head += [f"{TARGET:g} times"]
    bound = f"{MEMORY_TARGET:g} x matrix + {BUFFER >> 20} MiB"
    origins = note(content, ((case["dataset"], case) for case in cases))
    tables = [content["tables"][name] for name in TABLES if name in content.get("tables", {})]
    return "\n".join(
        [
            "# Reading files",
            "",
            machines(content),
            "",
            "## svmlight text",
            "",
            "`polymargin.readers.read` on one thread and on two beside scikit-learn's",
            "`load_svmlight_file` on the same training parts, which lie in the page cache; median",
            f"of {ROUNDS} rounds. Packed files: both unpack with zlib and liblzma, so that the",
            "ratio is bounded by what unpacking takes.",
            "",
            table(head, speeds),
            "",
            origins,
            "",
            "Peak of the resident set above what it was before the call, in a process of its own,",
            "and the bytes of the matrix: float64 values, 32-bit indices, 64-bit row borders.",
            "",
            table(["data", "reader", "matrix MB", "peak MB", "peak / matrix", bound], memory),
            "",
            origins,
            "",
            *report_tables(tables, note(content, ((t["dataset"], t) for t in tables))),
        ]
    )


def main() -> None:
    """Unpack, measure, store after each file, write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reading", description=__doc__)
    names = (*DATASETS, *TABLES)
    parser.add_argument("datasets", nargs="*", metavar="NAME", help=", ".join(names))
    add_options(parser)
    options = parser.parse_args()
    results = open_results("reading", options)
    cases = results.content.setdefault("cases", {})
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for name in () if options.report else options.datasets or names:
            if name in TABLES:
                tables = results.content.setdefault("tables", {})
                tables[name] = results.sign(measure_table(name, folder))
                results.write()
                continue
            files = unpack(name, folder)
            for packing in PACKINGS:
                file = files[packing]
                case: dict[str, Any] = {
                    "dataset": name,
                    "packing": packing,
                    "text_bytes": files["plain"].stat().st_size,
                    "seconds": measure(file),
                }
                if packing == "plain":
                    case["memory"] = {e: peak_memory(e, file, folder) for e in ENTRANTS}
                cases[f"{name}/{packing}"] = results.sign(case)
                results.write()
    page = report(results.content)
    results.write_page(page)
    sys.stdout.write(page)


if __name__ == "__main__":
    main()
