"""Which module may import which: layers, and what a leading underscore keeps to itself."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import polymargin

ROOT = Path(polymargin.__file__).parent

# From the bottom up. What stands in one line does not import each other.
LAYERS = (
    ("errors", "_atomic", "_attempt", "_sklearn", "_threads", "_wording"),
    ("core",),
    ("_options", "_machines", "_versions"),
    ("block_solvers",),
    ("solvers", "second_order"),
    ("fit",),
    ("kernel", "storage", "calibration"),
    ("estimators",),
    ("readers", "streams", "model_selection", "datasets", "metrics"),
    ("distributed", "preprocessing"),
    ("files",),
    ("inspect",),
    ("demo",),
    ("cli",),
)
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}


@dataclass(frozen=True)
class Import:
    """That the module `by` imports the module `of`, or a name from it."""

    by: tuple[str, ...]
    line: int
    of: tuple[str, ...]

    def __str__(self) -> str:
        return f"{'/'.join(self.by)}.py:{self.line} imports {'.'.join(self.of)}"

    @property
    def is_private(self) -> bool:
        """Whether it reaches past the underscore of a package that the importer is not part of."""
        inside = ("polymargin", *self.by)
        return any(
            part.startswith("_") and not part.startswith("__") and inside[:i] != self.of[:i]
            for i, part in enumerate(self.of)
        )

    @property
    def is_upward(self) -> bool:
        """Whether it goes from a layer to one that is not below it."""
        importer, imported = self.by[0], self.of[1]
        if importer == imported or self.by[-1].startswith("__main__"):
            return False
        return LEVEL[importer] <= LEVEL[imported]


def imports_of(file: Path, package: str = "polymargin") -> Iterator[Import]:
    """All imports of a package, also those for types alone."""
    by = file.relative_to(ROOT).with_suffix("").parts
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}:{node.lineno}: imports are absolute"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            of = tuple(name.split("."))
            if of[0] == package and of != ("polymargin", "__version__"):
                yield Import(by, node.lineno, of)


FILES = sorted(ROOT.rglob("*.py"))
IMPORTS = [found for file in FILES for found in imports_of(file)]


def test_every_part_of_the_package_has_a_layer() -> None:
    parts = {file.relative_to(ROOT).with_suffix("").parts[0] for file in ROOT.rglob("*.py")}
    assert {part for part in parts if not part.startswith("__")} == set(LEVEL)


def test_underscored_modules_are_imported_by_their_own_package_alone() -> None:
    assert [str(found) for found in IMPORTS if found.is_private] == []


def test_imports_go_down_the_layers() -> None:
    inside = [found for found in IMPORTS if not found.by[0].startswith("__")]
    assert [str(found) for found in inside if found.is_upward] == []


def test_one_module_imports_private_names_of_scikit_learn() -> None:
    importers = {
        found.by
        for file in FILES
        for found in imports_of(file, "sklearn")
        if any(part.startswith("_") and not part.startswith("__") for part in found.of)
    }
    assert importers == {("_sklearn",)}


def test_one_module_calls_private_methods_of_scikit_learn() -> None:
    private = {"_validate_params", "_validate_steps", "_validate_data", "_check_feature_names"}
    calls = {
        file.relative_to(ROOT).stem
        for file in FILES
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Attribute) and node.attr in private
    }
    assert calls == {"_sklearn"}


@pytest.mark.parametrize(
    ("by", "of", "is_private", "is_upward"),
    [
        ("cli/_data", "polymargin.readers.read", False, False),
        ("cli/_data", "polymargin.readers._read.read", True, False),
        ("readers/_read", "polymargin.readers._options.FORMATS", False, False),
        ("fit/_stream", "polymargin.estimators.LinearSVM", False, True),
        ("fit/_stream", "polymargin._machines.find_machine", False, False),
        ("demo/__main__", "polymargin.cli.main", False, False),
        ("streams/_fit", "polymargin.readers.read", False, True),
    ],
)
def test_what_the_rules_are(by: str, of: str, is_private: bool, is_upward: bool) -> None:
    found = Import(tuple(by.split("/")), 1, tuple(of.split(".")))
    assert (found.is_private, found.is_upward) == (is_private, is_upward)


def test_the_guide_for_contributors_lists_all_layers() -> None:
    text = (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    listed = re.findall(r"^ {8}(\w+)/? ", text, re.MULTILINE)
    assert listed == [name for names in LAYERS for name in names if not name.startswith("_")]
