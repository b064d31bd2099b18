"""Which names are where."""

from dataclasses import is_dataclass
from pathlib import Path
from pkgutil import iter_modules

import pytest

import polymargin
from polymargin import KernelSVM, block_solvers, load, save, solvers

OUTER_LOOPS = {
    "BlockDescent", "Blocks", "SMO", "S2DO", "CrammerSinger", "Leagues", "LocalDescent",
    "MeanWeights",     "SecondOrder",
}  # fmt: skip
OF_BLOCKS = {
    "Newton", "Sort", "Pivot", "Bisection", "FixedPoint", "SMO", "FrankWolfe", "Walrus", "Greedy",
    "GreedyPairs",
}  # fmt: skip
OTHERS = {
    "LinearSVM", "KernelSVM", "path", "RegularizationPath", "save", "load", "read_info", "resume",
    "Checkpoint", "show_versions", "DataError", "ModelFileError",
}  # fmt: skip


def test_namespaces() -> None:
    assert set(solvers.__all__) == OUTER_LOOPS
    assert set(block_solvers.__all__) == OF_BLOCKS
    assert set(polymargin.__all__) == (OUTER_LOOPS ^ OF_BLOCKS) | OTHERS


def test_modules_without_an_underscore_are_attributes_but_for_the_programs() -> None:
    modules = {module.name for module in iter_modules(polymargin.__path__)}
    public = {name for name in modules if not name.startswith("_")} - {"cli", "demo"}
    assert public <= set(dir(polymargin))
    assert {getattr(polymargin, name).__name__ for name in public} == {
        f"polymargin.{name}" for name in public
    }


@pytest.mark.parametrize("module", [polymargin, solvers, block_solvers])
def test_all_names_exist(module: object) -> None:
    assert all(hasattr(module, name) for name in module.__all__)  # type: ignore[attr-defined]


def test_names_of_the_top_level_are_those_of_the_namespaces() -> None:
    for module in (solvers, block_solvers):
        for name in set(module.__all__) - {"SMO"}:
            assert getattr(polymargin, name) is getattr(module, name)
            assert is_dataclass(getattr(module, name))


def test_both_options_called_smo_are_stored(tmp_path: Path) -> None:
    outer, inner = solvers.SMO(shrinking=False), block_solvers.SMO(max_iter=7)
    model = KernelSVM("cs", solver=outer, block_solver=inner, random_state=0)
    save(model.fit([[0.0], [1.0], [2.0]], [0, 1, 2]), tmp_path / "model.safetensors")
    loaded = load(tmp_path / "model.safetensors")
    assert (loaded.solver, loaded.block_solver) == (outer, inner)
