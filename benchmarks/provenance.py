"""Where a figure comes from: the command and the commit that made it.

Every record in a file of results has an ``origin``; ``origins`` of the file gives command, commit,
state of the tree, time, machine and versions of each. Pages print the origins of its rows under
each table. A run with uncommitted changes writes nothing under ``results/``.
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.datasets import CACHE, ROOT
from benchmarks.timing import environment, now, read_json, write_json

RESULTS = ROOT / "benchmarks" / "results"
UNCOMMITTED = CACHE / "uncommitted"
UNKNOWN = "command and commit not recorded"

Record = dict[str, Any]


class Results:
    """The records in ``NAME.json`` and the run that adds to them."""

    def __init__(self, path: Path, origin: Record | None = None) -> None:
        self.path = path
        self.content: Record = read_json(path)
        self.origin = origin

    def sign(self, record: Record) -> Record:
        """The record with this run as its origin."""
        if self.origin is None:
            raise RuntimeError("results that are only reported take no records")
        stamp = f"{self.origin['commit']}-{self.origin['when']}"
        self.content.setdefault("origins", {})[stamp] = self.origin
        return record | {"origin": stamp}

    def write(self) -> None:
        """Store the records, with the origins that one of them names."""
        origins = self.content.pop("origins", {})
        named = set(_named(self.content))
        self.content["origins"] = {s: origin for s, origin in origins.items() if s in named}
        write_json(self.path, self.content)

    def write_page(self, text: str) -> None:
        self.path.with_suffix(".md").write_text(text)


def add_options(parser: argparse.ArgumentParser) -> None:
    """What every benchmark command takes."""
    parser.add_argument(
        "--report", action="store_true", help="the page from the stored records, run nothing"
    )
    parser.add_argument(
        "--dirty",
        action="store_true",
        help="run with uncommitted changes; results go to .cache/uncommitted",
    )


def open_results(name: str, options: argparse.Namespace, folder: Path = RESULTS) -> Results:
    """The results of a command; SystemExit where uncommitted changes would get into them."""
    if options.report:
        return Results(folder / f"{name}.json")
    clean = is_clean()
    if folder == RESULTS and not clean:
        if not options.dirty:
            raise SystemExit(
                "there are uncommitted changes: commit them, or pass --dirty for figures that go "
                f"to {UNCOMMITTED.relative_to(ROOT)}"
            )
        folder = UNCOMMITTED
    origin = {"command": this_command(), "commit": commit(), "clean": clean, "when": now()}
    return Results(folder / f"{name}.json", environment() | origin)


def this_command() -> str:
    """The command line that started this process."""
    module = sys.modules["__main__"].__spec__
    name = sys.argv[0] if module is None else module.name
    return shlex.join(["python", "-m", name, *sys.argv[1:]])


def commit() -> str | None:
    return _git("rev-parse", "--short", "HEAD") or None


def is_clean() -> bool:
    """Whether the tree is that of the commit, but for results themselves."""
    changed = _git("status", "--porcelain", "--", ".", f":!{RESULTS.relative_to(ROOT)}")
    return changed == ""


def note(content: Record, rows: Iterable[tuple[str, Record]]) -> str:
    """The origins of a table's rows, each given by its name and a record it shows."""
    names: dict[str, dict[str, None]] = {}
    for name, record in rows:
        names.setdefault(describe(content, record), {})[name] = None
    if len(names) == 1:
        return f"Origin: {next(iter(names))}."
    parts = [f"{', '.join(of)}: {description}" for description, of in names.items()]
    return f"Origins: {'; '.join(parts)}." if parts else ""


def machines(content: Record) -> str:
    """Machine and versions of all origins, each once."""
    lines = dict.fromkeys(_machine(origin) for origin in content.get("origins", {}).values())
    return "\n".join(f"- {line}" for line in lines) or "Machine and versions not recorded."


def describe(content: Record, record: Record) -> str:
    """Command, commit and day of a record."""
    origin = content.get("origins", {}).get(record.get("origin"))
    if origin is None or origin["commit"] is None:
        return UNKNOWN
    command = f"`{origin['command']}`" if origin["command"] else "command not recorded"
    state = "" if origin["clean"] else " with uncommitted changes"
    day = f", {origin['when'][:10]}" if origin["when"] else ""
    return f"{command}, commit {origin['commit']}{state}{day}"


def _machine(origin: Record) -> str:
    versions = ", ".join(f"{name} {v}" for name, v in origin["versions"].items() if v)
    return (
        f"{origin['cpu']}, {origin['cores']} cores, {', '.join(origin['simd'])}, "
        f"{origin['memory_gib']} GiB, {origin['system']}, Python {origin['python']}, {versions}"
    )


def _named(node: Any) -> Iterator[str]:
    """All origins that records below this node name."""
    if isinstance(node, dict):
        if isinstance(origin := node.get("origin"), str):
            yield origin
        node = list(node.values())
    if isinstance(node, list):
        for child in node:
            yield from _named(child)


def _git(*arguments: str) -> str | None:
    answer = subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return answer.stdout.strip() if answer.returncode == 0 else None
