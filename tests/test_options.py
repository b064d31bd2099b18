"""Names and options of machines, solvers and block solvers; choice of the SIMD level."""

import dataclasses
import os
import subprocess
import sys
from typing import Any

import pytest
from sklearn.base import clone

import polymargin
from polymargin import Blocks, KernelSVM, LinearSVM, core
from polymargin._machines import find_machine
from polymargin.block_solvers import BLOCK_SOLVERS, SMO, BlockSolver, find_block_solver
from polymargin.core._levels import LEVELS, choose_level, usable_levels
from polymargin.solvers import choose


@pytest.mark.parametrize("info", core.machines(), ids=lambda info: info.name)
def test_machine_is_found_by_all_its_names(info: Any) -> None:
    for name in (info.name, *info.aliases):
        assert find_machine(name).name == info.name


def test_unknown_machine_lists_names_and_aliases(blobs: tuple[Any, Any]) -> None:
    with pytest.raises(ValueError, match=r"unknown machine 'svc'.*ww \(or weston-watkins\).*ovr"):
        LinearSVM("svc").fit(*blobs)


def test_names_of_block_solvers() -> None:
    assert list(BLOCK_SOLVERS) == [
        "newton",
        "sort",
        "pivot",
        "bisection",
        "fixed-point",
        "smo",
        "frank-wolfe",
        "walrus",
        "greedy",
        "greedy-pairs",
    ]


def test_core_has_no_block_solver_without_options(machine: str) -> None:
    assert set(find_machine(machine).block_solvers) <= set(BLOCK_SOLVERS)


def test_auto_is_the_first_block_solver_of_the_machine(machine: str) -> None:
    info = find_machine(machine)
    assert find_block_solver("auto", info).name == info.block_solvers[0]


def test_auto_is_no_solver_by_another_name() -> None:
    auto, named = choose(LinearSVM()), choose(LinearSVM(solver="block-descent"))
    assert named.solver == polymargin.BlockDescent() != auto.solver
    assert choose(KernelSVM(solver="blocks")).solver == Blocks() != choose(KernelSVM()).solver
    for estimator in (LinearSVM, KernelSVM):
        assert choose(estimator(solver="second-order")).solver == polymargin.SecondOrder()


def test_an_estimator_is_matched_with_another_machine() -> None:
    choice = choose(LinearSVM("ww", block_solver="newton"), "weston-watkins")
    assert (choice.machine.name, choice.block_solver) == ("ww", polymargin.Newton())
    with pytest.raises(ValueError, match="'sort' is not defined for machine 'ww'"):
        choose(LinearSVM("cs", block_solver="sort"), "ww")
    with pytest.raises(ValueError, match="'crammer-singer' is not defined for machine 'llw'"):
        choose(KernelSVM("cs", solver="crammer-singer"), "llw")


def test_unknown_solvers_list_the_known(blobs: tuple[Any, Any]) -> None:
    with pytest.raises(ValueError, match=r"unknown solver 'sgd'; known are auto, block-descent"):
        LinearSVM(solver="sgd").fit(*blobs)
    with pytest.raises(ValueError, match=r"unknown block_solver 'brent'; known are auto, newton"):
        LinearSVM(block_solver="brent").fit(*blobs)


def test_block_solver_of_another_machine_is_refused(blobs: tuple[Any, Any]) -> None:
    defined = find_machine("mmr").block_solvers
    refused = next(name for name in BLOCK_SOLVERS if name not in defined)
    with pytest.raises(
        ValueError, match=f"not defined for machine 'mmr'; defined are {defined[0]}"
    ):
        LinearSVM("mmr", block_solver=refused).fit(*blobs)


@pytest.mark.parametrize(
    ("cls", "field", "value"),
    [
        (polymargin.Bisection, "tol", 0.0),
        (polymargin.Bisection, "tol", float("nan")),
        (polymargin.Bisection, "tol", "small"),
        (polymargin.FixedPoint, "tol", -1e-3),
        (polymargin.FixedPoint, "max_iter", -1),
        (SMO, "max_iter", 2.5),
        (polymargin.FrankWolfe, "max_iter", 0),
        (polymargin.Greedy, "threshold", float("inf")),
        (polymargin.Greedy, "max_iter", True),
        (polymargin.GreedyPairs, "threshold", 0.0),
        (polymargin.BlockDescent, "shrinking", "yes"),
        (polymargin.BlockDescent, "class_lists", 2),
        (polymargin.BlockDescent, "second_order", None),
        (polymargin.BlockDescent, "relaxation", 0.9),
        (polymargin.BlockDescent, "relaxation", 2.0),
        (polymargin.BlockDescent, "relaxation", float("nan")),
        (polymargin.BlockDescent, "history", "epochs"),
    ],
)
def test_bad_option_is_named(cls: Any, field: str, value: object) -> None:
    with pytest.raises(ValueError, match=f"{cls.__name__}: {field} must be"):
        cls(**{field: value})


def test_options_are_frozen_and_survive_clone() -> None:
    options = polymargin.Bisection(tol=1e-2)
    with pytest.raises(dataclasses.FrozenInstanceError):
        options.tol = 1.0  # type: ignore[misc]
    assert clone(LinearSVM("cs", block_solver=options)).block_solver == options


def test_options_reach_the_core() -> None:
    written = core.LinearOptions()
    polymargin.Greedy(threshold=0.25, max_iter=7).apply(written)
    polymargin.BlockDescent(
        shrinking=False, class_lists=False, second_order=False, history="passes"
    ).apply(written)
    assert written.block_solver == "greedy"
    assert written.block_tol == 0.25
    assert written.block_max_iter == 7
    assert not written.shrinking
    assert not written.class_lists
    assert not written.second_order
    assert written.record_passes
    assert written.relaxation == 1  # the plain loop of the papers


def test_relaxation_reaches_the_core() -> None:
    written = core.LinearOptions()
    polymargin.BlockDescent().apply(written)
    assert written.relaxation == 1.5
    polymargin.BlockDescent(shrinking=False, relaxation=1.25).apply(written)
    assert written.relaxation == 1.25


@pytest.mark.parametrize("name", BLOCK_SOLVERS)
def test_every_block_solver_trains(name: str, machine: str, blobs: tuple[Any, Any]) -> None:
    if name not in find_machine(machine).block_solvers:
        pytest.skip(f"{name} is not defined for {machine}")
    exact = LinearSVM(machine, C=0.1, tol=1e-6, max_iter=10_000, random_state=0).fit(*blobs)
    options: BlockSolver = BLOCK_SOLVERS[name]()
    model = LinearSVM(machine, C=0.1, tol=1e-3, block_solver=options, random_state=0)
    model.set_params(max_iter=10_000).fit(*blobs)
    assert model.converged_
    assert model.primal_objective_ == pytest.approx(exact.primal_objective_, rel=2e-3)


def test_best_usable_level_unless_forced() -> None:
    assert choose_level(["avx2", "baseline"], None) == "avx2"
    assert choose_level(["avx2", "baseline"], "baseline") == "baseline"
    with pytest.raises(ImportError, match=r"'sse9' is not a SIMD level; usable here: baseline"):
        choose_level(["baseline"], "sse9")
    with pytest.raises(ImportError, match=r"not installed or not supported.*usable here: baseline"):
        choose_level(["baseline"], "avx512")


@pytest.mark.parametrize("level", LEVELS)
def test_environment_forces_the_level(level: str) -> None:
    if level not in usable_levels():
        pytest.skip(f"{level} is not usable here")
    code = "from polymargin import core; print(core.simd_level())"
    environment = os.environ | {"POLYMARGIN_SIMD": level}
    run = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == level


def test_show_versions(capsys: pytest.CaptureFixture[str]) -> None:
    polymargin.show_versions()
    printed = capsys.readouterr().out
    for word in ("polymargin", "python", "numpy", "scikit-learn", core.simd_level()):
        assert word in printed


@pytest.mark.parametrize("machine", ["cs", "adm", "atm"])
@pytest.mark.parametrize("steps", [1, 2])
def test_few_steps_of_smo_go_on_where_the_last_ended(
    machine: str, steps: int, blobs: tuple[Any, Any]
) -> None:
    model = LinearSVM(machine, C=0.1, block_solver=SMO(max_iter=steps), random_state=0).fit(*blobs)
    assert model.converged_
