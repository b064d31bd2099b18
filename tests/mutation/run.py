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
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

TESTS = Path(__file__).resolve().parents[1]
PACKAGE = TESTS.parent / "src/polymargin"


@dataclass(frozen=True)
class Subject:
    """Modules, and what of their tests takes about a second."""

    modules: tuple[str, ...]  # patterns below the package
    tests: tuple[str, ...]
    left_out: str = ""  # words of tests that take longer

    @property
    def paths(self) -> list[Path]:
        return [path for pattern in self.modules for path in sorted(PACKAGE.glob(pattern))]


SUBJECTS = {
    "selection": Subject(("kernel/_round.py",), ("selection",)),
    "working_sets": Subject(
        ("kernel/_working_sets.py", "kernel/_goal.py"),
        ("working_sets", "working_set_choice", "working_set_rest", "working_set_stalls"),
    ),
    "streams": Subject(
        ("streams/_fit.py", "streams/_order.py", "streams/_shuffle.py", "fit/_stream.py"),
        ("stream", "stream_order", "stream_passes"),
        "memory or many_passes or interrupt_keeps",
    ),
    "files": Subject(
        ("storage/_*.py", "files/_[!alo]*.py"),
        (
            "files_golden",
            "files_model",
            "files_hostile",
            "files_checkpoint",
            "files_pipeline",
            "checkpoint_parameter",
        ),
        "any_mutation or cut_or_longer or killed_fit or interrupted_fit",
    ),
    "exports": Subject(
        ("files/_affine.py", "files/_liblinear.py", "files/_onnx*.py"),
        ("files_liblinear", "files_onnx"),
        "any_change",
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

    def nearest_first(self, tests: tuple[str, ...]) -> list[str]:
        """Those that bear the name of the module before all others."""
        word = self.path.stem.strip("_").partition("_")[0]
        return sorted(tests, key=lambda name: word not in name)


def draw_mutants(paths: list[Path], count: int, seed: int) -> list[Mutant]:
    """As many, drawn at random, of all that change what a module does; 0 for all of them."""
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator, operator_names

    sources = {path: path.read_text(encoding="utf-8") for path in paths}
    # Operators of variables ask for their names.
    names = sorted(name for name in operator_names() if not name.startswith("core/Variable"))
    places = []
    for path, source in sources.items():
        nodes = list(ast_nodes(get_ast(source)))
        for name in names:
            operator = get_operator(name)()
            n_places = sum(len(list(operator.mutation_positions(node))) for node in nodes)
            places += [(path, name, occurrence) for occurrence in range(n_places)]
    random.Random(seed).shuffle(places)
    mutants: list[Mutant] = []
    seen = {_meaning(source) for source in sources.values()} | {""}
    for path, name, occurrence in places:
        if 0 < count == len(mutants):
            break
        try:
            changed = mutate_code(sources[path], get_operator(name)(), occurrence)
        except AttributeError:  # the operator of exceptions cannot replace a dotted name
            continue
        if (meaning := _meaning(changed)) not in seen:
            seen.add(meaning)
            mutants.append(Mutant(path, name.removeprefix("core/"), occurrence, changed))
    return sorted(mutants, key=lambda mutant: (mutant.path, mutant.operator, mutant.occurrence))


def _meaning(source: str) -> str:
    """The code without annotations and what only type checkers read; "" where it is no code."""
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


def run_tests(subject: Subject, mutant: Mutant | None, limit: float) -> tuple[int, float]:
    """Status and seconds of the tests in a fork; a mutant that takes too long is killed."""
    start = time.monotonic()
    child = os.fork()
    if child == 0:
        os._exit(_run_here(subject, mutant))
    while time.monotonic() - start < limit:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            survived = os.waitstatus_to_exitcode(status) == _SURVIVED
            return (_SURVIVED if survived else _KILLED), time.monotonic() - start
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return _KILLED, time.monotonic() - start


def _run_here(subject: Subject, mutant: Mutant | None) -> int:
    import pytest

    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    if mutant is not None:
        sys.meta_path.insert(0, _Finder(mutant))
    tests = subject.tests if mutant is None else mutant.nearest_first(subject.tests)
    options = ["-x", "-q", "--no-header", "-p", "no:cacheprovider", "-m", "not slow"]
    if subject.left_out:
        options += ["-k", f"not ({subject.left_out})"]
    status = pytest.main([*options, *(str(TESTS / f"test_{name}.py") for name in tests)])
    return _SURVIVED if status == pytest.ExitCode.OK else _KILLED


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("subject", choices=SUBJECTS)
    parser.add_argument("--sample", type=int, default=200, help="so many mutants; 0: all of them")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    subject = SUBJECTS[given.subject]
    mutants = draw_mutants(subject.paths, given.sample, given.seed)
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # nothing here is large, and forks are many
    for library in _LIBRARIES:
        importlib.import_module(library)
    assert "polymargin" not in sys.modules
    status, seconds = run_tests(subject, None, 600)
    if status != _SURVIVED:
        print("the tests fail without a mutant", file=sys.stderr)
        return 2
    print(f"{len(mutants)} mutants; the tests take {seconds:.1f} s", flush=True)
    killed, start = 0, time.monotonic()
    for mutant in mutants:
        status, _ = run_tests(subject, mutant, 10 * seconds + 10)
        if status == _SURVIVED:
            print(f"survived: {mutant}", flush=True)
        else:
            killed += 1
    spent = (time.monotonic() - start) / max(1, len(mutants))
    print(f"killed {killed} of {len(mutants)}, {spent:.2f} s each")
    return int(killed < len(mutants))


if __name__ == "__main__":
    sys.exit(main())
