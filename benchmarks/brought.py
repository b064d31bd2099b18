"""Files that a person might bring: one command beside the same work by hand with scikit-learn.

``python -m benchmarks.brought [NAME ...]`` writes ``results/brought.json`` and
``results/brought.md``. The files are made in a temporary folder as the tests make them
(``tests/brought``). Each run is a process of its own, from the start of Python on; entrants take
turns, medians count.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.datasets import ROOT
from benchmarks.provenance import add_options, machines, note, open_results
from benchmarks.report import table

sys.path.insert(0, str(ROOT / "tests"))

from brought import NAMES, Brought, Files, case

ROUNDS = 3
POINT = 0.01
OURS, HAND = "polymargin", "by hand"


def run(command: Sequence[str | Path]) -> tuple[float, str]:
    """CPU seconds of a process and its children, all threads, and what it printed."""
    path = os.pathsep.join(filter(None, [str(ROOT / "tests"), os.environ.get("PYTHONPATH")]))
    environment = os.environ | {"PYTHONPATH": path}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its bytecode
    child = subprocess.Popen(
        [str(word) for word in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment,
    )
    assert child.stdout is not None
    printed = child.stdout.read()
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{command} ended with status {child.returncode}")
    return used.ru_utime + used.ru_stime, printed


def measure(name: str, brought: Brought, files: Files, model: Path) -> dict[str, Any]:
    """Median seconds to train, and to train and score, and both accuracies."""
    ours = [sys.executable, "-m", "polymargin"]
    train = [*ours, "train", files.train, *brought.options, "--json", "--quiet", "--model", model]
    score = [*ours, "score", model, files.test, "--json"]
    hand = [sys.executable, "-m", "brought", name, files.train]
    seconds: dict[str, list[float]] = {key: [] for key in ("train", "score", "hand", "hand+score")}
    accuracy: dict[str, float] = {}
    for command in (train, score, [*hand, files.test]):
        run(command)  # all bytecode is there
    for _ in range(ROUNDS):
        taken, printed = run(train)
        seconds["train"].append(taken)
        summary = json.loads(printed)
        seconds["hand"].append(run(hand)[0])
        taken, printed = run(score)
        seconds["score"].append(taken)
        accuracy[OURS] = json.loads(printed)["accuracy"]
        taken, printed = run([*hand, files.test])
        seconds["hand+score"].append(taken)
        accuracy[HAND] = float(printed)
    medians = {key: statistics.median(runs) for key, runs in seconds.items()}
    return {
        "what": brought.what,
        "source": brought.source,
        "options": " ".join(brought.options),
        "file": files.train.name,
        "n": summary["n"],
        "converged": summary["converged"],
        "accuracy": accuracy,
        "train": {OURS: medians["train"], HAND: medians["hand"]},
        "both": {OURS: medians["train"] + medians["score"], HAND: medians["hand+score"]},
    }


def report(content: dict[str, Any]) -> str:
    """The measured times as a page."""
    stored = content.get("cases", {})
    cases = {name: stored[name] for name in NAMES if name in stored}
    rows, commands = [], []
    for name, found in cases.items():
        accuracy, train, both = found["accuracy"], found["train"], found["both"]
        rows.append(
            [
                found["what"],
                f"{found['n']:,}",
                f"{accuracy[OURS]:.2%}",
                f"{accuracy[HAND]:.2%}",
                "yes" if accuracy[OURS] >= accuracy[HAND] - POINT else "no",
                f"{train[OURS]:.2f}",
                f"{train[HAND]:.2f}",
                f"{train[HAND] / train[OURS]:.2f}",
                f"{both[OURS]:.2f}",
                f"{both[HAND]:.2f}",
            ]
        )
        commands.append([name, found["source"], f"`polymargin train {_command(found)}`"])
    head = ["file", "rows", "accuracy", "by hand", "within a point", "CPU s, train"]
    head += ["CPU s, by hand", "ratio", "CPU s, train and score", "CPU s, both by hand"]
    origins = note(content, cases.items())
    return "\n".join(
        [
            "# Files that a person might bring",
            "",
            machines(content),
            "",
            "`polymargin train` beside a script with pandas and scikit-learn that reads the same",
            "file and trains an SVM with its defaults (`tests/brought`). CPU seconds of whole",
            f"processes, from the start of Python on; median of {ROUNDS} rounds. Training and",
            "scoring are two commands here and one script by hand, so that Python starts twice.",
            "",
            table(head, rows),
            "",
            origins,
            "",
            table(["name", "made of", "command"], commands),
            "",
            origins,
            "",
        ]
    )


def _command(found: dict[str, Any]) -> str:
    return " ".join(filter(None, [found["file"], found["options"]]))


def main() -> None:
    """Make, measure, store after each file, write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.brought", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(NAMES))
    add_options(parser)
    options = parser.parse_args()
    results = open_results("brought", options)
    cases = results.content.setdefault("cases", {})
    for name in () if options.report else options.names or NAMES:
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            brought = case(name)
            found = measure(name, brought, brought.make(folder), folder / "m.safetensors")
        cases[name] = results.sign(found)
        results.write()
    page = report(results.content)
    results.write_page(page)
    sys.stdout.write(page)


if __name__ == "__main__":
    main()
