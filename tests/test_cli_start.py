"""What a command imports before it works, and an interrupt in the midst of that."""

import ast
import inspect
import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from cli_helpers import SATIMAGE, SATIMAGE_TEST, done, run

import polymargin
from polymargin import cli
from polymargin.cli import _app
from polymargin.cli._app import COMMANDS

HEAVY = {"numpy", "scipy", "sklearn", "joblib", "pandas", "matplotlib", "onnx", "zstandard"}
NOT_FOR_PREDICTION = {
    "matplotlib",
    "onnx",
    "polars",
    "zstandard",
    "polymargin.datasets",
    "polymargin.demo",
    "polymargin.inspect",
    "polymargin.model_selection",
    "polymargin.streams",
    "sklearn.datasets",
    "sklearn.linear_model",
    "sklearn.metrics",
    "sklearn.model_selection",
    "sklearn.svm",
}

RUN_AND_LIST = """
import json, sys
from polymargin.cli import main
try:
    main(sys.argv[1:])
finally:
    print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""

INTERRUPT_IMPORT = """
import os, signal, sys
class Finder:
    def find_spec(self, name, *rest):
        if name == sys.argv[1]:
            os.kill(os.getpid(), signal.SIGINT)
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, Finder())
from polymargin.cli import main
main(sys.argv[2:])
"""


SEARCH_OF_A_PROCESS = """
import gc, json, sys
from polymargin.cli import main
collections = []
gc.callbacks.append(lambda phase, info: collections.append("sklearn" in sys.modules))
try:
    main(json.loads(sys.argv.pop(1)))
finally:
    print(gc.isenabled(), gc.get_freeze_count() > 0, False in collections)
"""


def python(code: str, *arguments: Any, **environment: str) -> "subprocess.CompletedProcess[str]":
    """A program in an interpreter of its own."""
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
        env=os.environ | environment,
    )


def modules_of(*arguments: Any, **environment: str) -> set[str]:
    """All modules that a command has imported when it is done."""
    ended = python(RUN_AND_LIST, *arguments, **environment)
    assert ended.returncode == 0, ended.stderr
    return set(json.loads(ended.stderr.splitlines()[-1]))


def completing(line: str) -> dict[str, str]:
    """The environment in which Bash asks for words after this line."""
    words = line.split(" ")
    return {
        "_POLYMARGIN_COMPLETE": "complete_bash",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words) - 1),
    }


def test_the_table_of_commands_agrees_with_their_modules() -> None:
    folder = Path(inspect.getfile(cli)).parent
    modules = {path.stem for path in folder.glob("*.py") if not path.stem.startswith("_")}
    assert set(COMMANDS) == modules
    for name, line in COMMANDS.items():
        text = inspect.getdoc(getattr(import_module(f"polymargin.cli.{name}"), name))
        assert text is not None
        assert text.splitlines()[0] == line


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], *([c, "-h"] for c in COMMANDS)])
def test_version_and_help_import_nothing_that_computes(arguments: list[str]) -> None:
    found = modules_of(*arguments)
    assert not HEAVY & found
    assert arguments != ["--version"] or "rich" not in found


def test_help_of_all_imports_no_command() -> None:
    assert not {f"polymargin.cli.{name}" for name in COMMANDS} & modules_of("--help")


@pytest.mark.parametrize("line", ["polymargin ", "polymargin train --sc", "polymargin info m"])
def test_completion_imports_nothing_that_computes(line: str) -> None:
    assert not HEAVY & modules_of(**completing(line))


def test_prediction_imports_what_it_needs_alone(tmp_path: Path) -> None:
    model = tmp_path / "m.safetensors"
    done("train", SATIMAGE, "--scale", "minmax", "-C", 0.01, "-q", "-o", model)
    found = modules_of("predict", model, SATIMAGE_TEST, "-o", tmp_path / "labels.txt", "-q")
    others = {f"polymargin.cli.{name}" for name in COMMANDS if name != "predict"}
    assert not (NOT_FOR_PREDICTION | others) & found


def test_garbage_is_searched_for_from_the_data_on(tmp_path: Path) -> None:
    out = tmp_path / "m.safetensors"
    line = ["train", str(SATIMAGE), "--scale", "minmax", "-C", "0.01", "-q", "-o", str(out)]
    own = python(SEARCH_OF_A_PROCESS, "null", *line)
    assert own.stdout.split() == ["True", "True", "False"], own
    assert out.exists()
    called = python(SEARCH_OF_A_PROCESS, json.dumps(line))
    assert called.stdout.split() == ["True", "False", "True"], called


def test_the_package_imports_nothing_until_it_is_asked() -> None:
    code = "import sys, polymargin; polymargin.__version__; print('numpy' in sys.modules)"
    assert python(code).stdout == "False\n"


def test_names_of_the_package_are_those_of_its_stub() -> None:
    assert polymargin.__file__ is not None
    stub = ast.parse(Path(polymargin.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    homes = {
        alias.name: node.module
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    for name, home in homes.items():
        assert getattr(polymargin, name) is getattr(import_module(str(home)), name)
    (listed,) = [node.value for node in stub.body if isinstance(node, ast.Assign)]
    assert ast.literal_eval(listed) == polymargin.__all__
    modules = {name for name, home in homes.items() if home == "polymargin"}
    assert {*polymargin.__all__} | modules == set(homes)
    assert {*homes, "__version__"} <= set(dir(polymargin))


def test_a_name_that_the_package_does_not_have() -> None:
    with pytest.raises(AttributeError, match="module 'polymargin' has no attribute 'LinearSVN'"):
        polymargin.LinearSVN  # noqa: B018


# The last one is asked for again by what shows errors in colours.
@pytest.mark.parametrize(
    "module", ["typer", "polymargin.cli.score", "numpy", "sklearn", "rich.style"]
)
def test_an_interrupted_start_leaves_one_line(module: str) -> None:
    ended = python(INTERRUPT_IMPORT, module, "score", "m.safetensors", "rows.svm")
    assert ended.returncode == 130
    assert ended.stderr == "error: interrupted; no file was written\n"
    assert ended.stdout == ""


@pytest.mark.parametrize("step", ["get_command", "_explained"])
def test_an_interrupt_while_options_are_made_leaves_one_line(
    step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*arguments: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(_app, step, interrupt)
    ended = run("score", "m.safetensors", "rows.svm")
    assert (ended.code, ended.err) == (130, "error: interrupted; no file was written\n")
