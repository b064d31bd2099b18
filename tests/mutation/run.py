"""Mutation tests: small changes of a module, each of which its tests have to notice.

    python tests/mutation/run.py working_sets --sample 200 --seed 0

Mutants come from cosmic-ray's operators. Each runs in a fork of a process that has the libraries
loaded, though nothing of polymargin, and counts as killed by the first test that fails or by the
time limit. Files are not touched. ``README.md`` explains the mutants that survive.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import random
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # nothing here is large, and forks are many

TESTS = Path(__file__).resolve().parents[1]
PACKAGE = TESTS.parent / "src/polymargin"

# Modules, or folders of them, with tests that take about a second.
SUBJECTS = {
    "selection": ("_selection.py", ["test_selection.py"]),
    "working_sets": ("_working_sets.py", ["test_working_sets.py"]),
    "streams": ("streams.py", ["test_stream.py", "test_stream_passes.py"]),
    "files": (
        "files",
        [
            "test_files_golden.py",
            "test_files_model.py",
            "test_files_pipeline.py",
            "test_files_checkpoint.py",
            "test_files_liblinear.py",
            "test_files_onnx.py",
            "test_files_hostile.py",
        ],
    ),
}
_LIBRARIES = ("hypothesis", "numpy", "onnx", "onnxruntime", "pytest", "safetensors.numpy")
_LIBRARIES += ("scipy.optimize", "sklearn.feature_extraction.text", "sklearn.pipeline", "typer")
_KILLED, _SURVIVED = 0, 1


@dataclass(frozen=True)
class Mutant:
    """A module with one change."""

    path: Path
    operator: str
    occurrence: int
    source: str

    @property
    def module(self) -> str:
        parts = self.path.relative_to(PACKAGE.parent).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    def __str__(self) -> str:
        before = self.path.read_text(encoding="utf-8").splitlines()
        lines = list(difflib.unified_diff(before, self.source.splitlines(), n=0, lineterm=""))[2:]
        return f"{self.module} {self.operator}:{self.occurrence}\n  " + "\n  ".join(lines)

    def nearest_first(self, tests: list[str]) -> list[str]:
        """Those that bear the name of the module before all others."""
        word = self.path.stem.strip("_").partition("_")[0]
        return sorted(tests, key=lambda name: word not in name)


def mutants_of(path: Path) -> Iterator[Mutant]:
    """All that change what the module does: annotations and docstrings are left as they are."""
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator, operator_names

    source = path.read_text(encoding="utf-8")
    seen = {_meaning(source)}
    for name in sorted(operator_names()):
        if name.startswith("core/Variable"):  # ask for the names of variables
            continue
        operator, occurrence = get_operator(name)(), 0
        while (changed := mutate_code(source, operator, occurrence)) is not None:
            meaning = _meaning(changed)
            if meaning not in seen:
                seen.add(meaning)
                yield Mutant(path, name.removeprefix("core/"), occurrence, changed)
            occurrence += 1


def _meaning(source: str) -> str:
    """The code without annotations and what only type checkers read; "" where it is none."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return ""
    for node in ast.walk(tree):
        if hasattr(node, "annotation"):
            node.annotation = None
        if hasattr(node, "returns"):
            node.returns = None
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            node.test, node.body = ast.Constant(None), []
    return ast.dump(tree)


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Loads the mutant in place of its module."""

    def __init__(self, mutant: Mutant) -> None:
        self._mutant = mutant

    def find_spec(
        self, name: str, path: object = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != self._mutant.module:
            return None
        file = self._mutant.path
        places = [str(file.parent)] if file.name == "__init__.py" else None
        return importlib.util.spec_from_file_location(
            name, file, loader=self, submodule_search_locations=places
        )

    def get_source(self, fullname: str) -> str:
        return self._mutant.source


def run_tests(files: list[str], mutant: Mutant | None, limit: float) -> tuple[int, float]:
    """Status and seconds of the tests in a fork; a mutant that takes too long is killed."""
    start = time.monotonic()
    child = os.fork()
    if child == 0:
        os._exit(_run_here(files, mutant))
    while time.monotonic() - start < limit:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            survived = os.waitstatus_to_exitcode(status) == _SURVIVED
            return (_SURVIVED if survived else _KILLED), time.monotonic() - start
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return _KILLED, time.monotonic() - start


def _run_here(files: list[str], mutant: Mutant | None) -> int:
    import pytest

    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    if mutant is not None:
        sys.meta_path.insert(0, _Finder(mutant))
    options = ["-x", "-q", "-p", "no:cacheprovider", "-m", "not slow", "--no-header"]
    status = pytest.main([*options, *(str(TESTS / name) for name in files)])
    return _SURVIVED if status == pytest.ExitCode.OK else _KILLED


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("subject", choices=SUBJECTS)
    parser.add_argument("--sample", type=int, default=200, help="so many mutants; 0: all of them")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    place, tests = SUBJECTS[given.subject]
    paths = sorted((PACKAGE / place).rglob("*.py")) if place == "files" else [PACKAGE / place]
    mutants = [mutant for path in paths for mutant in mutants_of(path)]
    if 0 < given.sample < len(mutants):
        chosen = sorted(random.Random(given.seed).sample(range(len(mutants)), given.sample))
    else:
        chosen = list(range(len(mutants)))
    for library in _LIBRARIES:
        importlib.import_module(library)
    assert "polymargin" not in sys.modules
    status, seconds = run_tests(tests, None, 600)
    if status != _SURVIVED:
        print("the tests fail without a mutant", file=sys.stderr)
        return 2
    print(
        f"{len(mutants)} mutants, {len(chosen)} tried; the tests take {seconds:.1f} s", flush=True
    )
    killed, start = 0, time.monotonic()
    for number in chosen:
        mutant = mutants[number]
        status, _ = run_tests(mutant.nearest_first(tests), mutant, 10 * seconds + 10)
        if status == _SURVIVED:
            print(f"survived: {mutant}", flush=True)
        else:
            killed += 1
    spent = (time.monotonic() - start) / max(1, len(chosen))
    print(f"killed {killed} of {len(chosen)}, {spent:.2f} s each")
    return int(killed < len(chosen))


if __name__ == "__main__":
    sys.exit(main())
