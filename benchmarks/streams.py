"""One pass and more over a file that is never in memory as a whole, beside full training.

``python -m benchmarks.streams`` runs the command line on wordlang18, 1.6 million words of 18
languages, and writes ``results/streams.json`` and ``results/streams.md``: accuracy after 1, 3 and 5
passes, seconds, and the peak memory of the process, which must not follow the number of rows.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.datasets import data_folder
from benchmarks.provenance import Results, add_options, machines, note, open_results
from benchmarks.report import table

FEATURES = ["--format", "text", "--text-features", "hashing", "--analyzer", "char_wb"]
FEATURES += ["--ngrams", "1-4", "--hash-bits", "18"]
PASSES = (1, 3, 5)
PARTS = (100_000, 400_000, None)  # rows


def run(*arguments: str, through: Sequence[str] = ("-m", "polymargin")) -> dict[str, Any]:
    """A command's JSON, its wall and CPU seconds and its peak memory."""
    start = time.perf_counter()
    command = [sys.executable, *through, *arguments]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    output = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    # 5: the model was written, its gap is above the tolerance
    if os.waitstatus_to_exitcode(status) not in (0, 5):
        raise RuntimeError(f"{' '.join(command)} ended with {os.waitstatus_to_exitcode(status)}")
    return {
        "answer": json.loads(output) if output.startswith("{") else {},
        "wall": time.perf_counter() - start,
        "cpu": usage.ru_utime + usage.ru_stime,
        "peak_mb": usage.ru_maxrss / 1024,
    }


def shuffled_part(folder: Path, n_rows: int | None) -> Path:
    """The first rows of the shuffled training part, as a file."""
    whole = folder / "whole.tsv"
    if not whole.exists():
        run("convert", str(data_folder() / "wordlang18.train.tsv.xz"), str(whole), "--shuffle")
    if n_rows is None:
        return whole
    part = folder / f"{n_rows}.tsv"
    with whole.open("rb") as lines, part.open("wb") as file:
        file.writelines(line for _, line in zip(range(n_rows), lines, strict=False))
    return part


def train(source: Path, folder: Path, C: float, *options: str) -> dict[str, Any]:
    """Train, then score on the test part."""
    model = folder / "model.safetensors"
    common = ["-C", str(C), *FEATURES, "--model", str(model), "--json", "--quiet"]
    trained = run("train", str(source), *common, *options)
    test = folder / "test.tsv"
    if not test.exists():
        with lzma.open(data_folder() / "wordlang18.test.tsv.xz") as packed:
            test.write_bytes(packed.read())
    scored = run("score", str(model), str(test), "--json")
    return trained | {"accuracy": scored["answer"]["accuracy"], "test_n": scored["answer"]["n"]}


def measure(results: Results, C: float, full: bool) -> None:
    """Train on streams of growing size, then on the whole in memory; store after each."""
    labels = str(data_folder() / "wordlang18.labels.txt")
    results.content |= {"C": C, "rows": []}

    def keep(row: dict[str, Any], how: str) -> None:
        results.content["rows"].append(results.sign(row | {"how": how}))
        results.write()

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for n_rows in PARTS:
            for passes in PASSES if n_rows is None else (1, 3):
                source = shuffled_part(folder, n_rows)
                stream = ["--stream", "--passes", str(passes), "--classes", labels]
                trained = train(source, folder, C, *stream, "--scratch", name)
                keep(trained, f"stream, {passes} pass{'es' * (passes > 1)}")
        if full:
            keep(train(shuffled_part(folder, None), folder, C), "full")


def report(content: dict[str, Any]) -> str:
    """The stored rows as a page."""
    rows = content["rows"]
    return "\n".join(
        [
            "# Streams",
            "",
            machines(content),
            "",
            f"wordlang18, WW, C = {content['C']:g}, character 1- to 4-grams inside words hashed to",
            "2^18 features; the command line as a whole, reading and vectorising included. Several",
            "passes are followed by one more that computes the gap; the peak is that of the",
            "process, of which Python and its libraries take about 190 MB, the weights 38 MB.",
            "",
            table(
                ["training", "rows", "accuracy", "gap", "CPU s", "wall s", "peak MB"],
                [
                    [
                        row["how"],
                        f"{row['answer']['n']:,}",
                        f"{row['accuracy']:.2%}",
                        "–" if row["answer"]["gap"] is None else f"{row['answer']['gap']:.1e}",
                        f"{row['cpu']:.0f}",
                        f"{row['wall']:.0f}",
                        f"{row['peak_mb']:.0f}",
                    ]
                    for row in rows
                ],
            ),
            "",
            note(content, ((row["how"], row) for row in rows)),
            "",
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.streams", description=__doc__)
    parser.add_argument("-C", type=float, default=1.0)
    parser.add_argument("--skip-full", action="store_true", help="no full training")
    add_options(parser)
    options = parser.parse_args()
    results = open_results("streams", options)
    if not options.report:
        measure(results, options.C, full=not options.skip_full)
    results.write_page(report(results.content))


if __name__ == "__main__":
    main()
