"""The stub of the compiled core says what the core has, no more and no less."""

import ast
from pathlib import Path

import pytest

from polymargin import core

STUB = Path(core.__file__).with_suffix(".pyi")


def _statements() -> list[ast.stmt]:
    return ast.parse(STUB.read_text(encoding="utf-8")).body


def _members(name: str) -> list[str]:
    [described] = [node for node in _statements() if getattr(node, "name", None) == name]
    assert isinstance(described, ast.ClassDef)
    return [
        node.target.id
        for node in described.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    ]


def test_all_functions_and_classes_are_described() -> None:
    described = {
        node.name
        for node in _statements()
        if isinstance(node, ast.ClassDef | ast.FunctionDef)
        and not any(getattr(base, "id", "") == "Protocol" for base in getattr(node, "bases", []))
    }
    there = {name for name, value in vars(core).items() if callable(value) and name[0] != "_"}
    assert described == there - {"load_level"}


@pytest.mark.parametrize("options", ["LinearOptions", "DecompositionOptions"])
def test_options_are_described_in_their_order(options: str) -> None:
    assert _members(options) == getattr(core, options).fields()


def test_options_have_their_fields_and_a_state() -> None:
    options = core.LinearOptions()
    options.second_order = False
    assert list(options.state()) == core.LinearOptions.fields()
    assert options.state()["second_order"] is False
    assert options.state()["block_solver"] == "newton"
