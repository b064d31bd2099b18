"""The exact block solver beside one pass that reads k values.

``python -m benchmarks.block`` builds ``cpp/benchmarks/block.cpp`` for the SIMD level in use, runs
it several times and writes ``results/block.json`` and ``results/block.md``: medians of the ratio
to the reading pass, for the solver alone and for a whole block step.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

from benchmarks.datasets import ROOT
from benchmarks.provenance import add_options, machines, note, open_results
from benchmarks.report import table

BUILD = ROOT / "build" / "benchmarks"
REPEATS = 5
TARGET = 3.0

Case = tuple[str, str, int]


def build(level: str) -> Path:
    """Compile the benchmark of one SIMD level."""
    configure = ["cmake", "-S", str(ROOT), "-B", str(BUILD), "-DCMAKE_BUILD_TYPE=None"]
    switches = ["-DPOLYMARGIN_PYTHON=OFF", "-DPOLYMARGIN_BENCHMARKS=ON", "--log-level=WARNING"]
    subprocess.run([*configure, *switches], check=True)
    target = f"block_{level}"
    subprocess.run(["cmake", "--build", str(BUILD), "--target", target], check=True)
    return BUILD / target


def measure(program: Path) -> dict[Case, dict[str, float]]:
    """Median nanoseconds of every case over the repeats."""
    runs: dict[Case, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for _ in range(REPEATS):
        lines = subprocess.run([program], check=True, capture_output=True, text=True).stdout
        for line in lines.splitlines():
            answer = json.loads(line)
            case = answer["machine"], answer["precision"], answer["k"]
            for what in ("read", "solve", "block"):
                runs[case][what].append(answer[what])
    return {
        case: {what: statistics.median(times) for what, times in clocks.items()}
        for case, clocks in runs.items()
    }


def report(content: dict[str, Any]) -> str:
    """The measured times as a page."""
    rows = []
    for clock in content["cases"]:
        name, precision, k = clock["case"]
        solver, block = clock["solve"] / clock["read"], clock["block"] / clock["read"]
        nanoseconds = [f"{clock[what]:.0f}" for what in ("read", "solve", "block")]
        verdict = "nothing moves" if solver == 0 else "yes" if solver <= TARGET else "no"
        ratios = [f"{solver:.1f}", verdict, f"{block:.1f}"]
        rows.append([name, precision, f"{k:,}", *nanoseconds, *ratios])
    header = ["machine", "precision", "k", "read ns", "solver ns", "block ns"]
    header += ["solver / read", f"within {TARGET:g}", "block / read"]
    return "\n".join(
        [
            "# The block solver alone",
            "",
            machines(content),
            "",
            f"Median of {REPEATS} runs, SIMD level {content['level']}.",
            "",
            "*read*: the sum of k scores, vectorised. *solver*: the exact solver, from the",
            "prepared block to its thresholds. *block*: gradients, gap, candidates, solver and",
            "changes. The blocks are those a fit meets late: dual variables close to the solution.",
            "",
            table(header, rows),
            "",
            note(content, ((case["case"][0], case) for case in content["cases"])),
            "",
        ]
    )


def main() -> None:
    """Build, measure, write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.block", description=__doc__)
    add_options(parser)
    options = parser.parse_args()
    results = open_results("block", options)
    if not options.report:
        from polymargin import core

        level = core.simd_level()
        times = measure(build(level))
        cases = [results.sign({"case": list(case), **clock}) for case, clock in times.items()]
        results.content |= {"level": level, "cases": cases}
        results.write()
    page = report(results.content)
    results.write_page(page)
    sys.stdout.write(page)


if __name__ == "__main__":
    main()
