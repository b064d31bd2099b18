"""`polymargin.distributed` on several processes; what they do is in `distributed_job`."""

import json
import pickle
import shutil
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import cli_helpers
import numpy as np
import pytest
from distributed_helpers import check_same_optimum, needs_mpi, run_job, start, told_by

import polymargin
from polymargin import core
from polymargin.cli._exit import explained
from polymargin.distributed._by_classes import deal_classes
from polymargin.distributed._by_rows import deal_rows
from polymargin.errors import MissingPackageError, RankError

MACHINES = [info.name for info in core.machines()]
pytestmark = needs_mpi

# Of each job what it has to do, in one start of its processes.
JOBS = {
    1: ("machines",),
    2: (
        "machines",
        "variants",
        "leagues",
        "later_fits",
        "files",
        "disagreements",
        "failures",
        "interrupts",
    ),
    3: ("machines", "mean_weights", "odd_leagues", "failures"),
    4: ("machines", "parts_of_the_world"),
    7: ("machines", "few"),
}


values = partial(told_by, "distributed_job", JOBS)


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize("n_ranks", [1, 2, 3, 4, 7])
def test_every_machine_has_the_optimum_of_one_process(name: str, n_ranks: int) -> None:
    told = [rank[name] for rank in values(n_ranks, "machines")]
    assert all(rank == told[0] for rank in told)
    check_same_optimum(told[0])
    assert told[0]["duals"] == [90, 5]
    if core.machines()[MACHINES.index(name)].zero_sum:
        assert told[0]["sum"] < 1e-12


def test_more_processes_than_rows_or_classes() -> None:
    told = values(7, "few")
    assert all(rank == told[0] for rank in told)
    for figures in told[0].values():
        check_same_optimum(figures)


@pytest.mark.parametrize(
    "name",
    ["llw", "ovr", "weights", "many classes", "many classes apart", "sparse", "float32", "kkt"],
)
def test_classes_dealt_to_processes(name: str) -> None:
    told = [rank[0][name] for rank in values(3, "mean_weights")]
    assert all(rank == told[0] for rank in told)
    check_same_optimum(told[0], 1e-3 if name == "float32" else 1e-4)
    assert told[0]["dtype"] == ("float32" if name == "float32" else "float64")
    if name not in ("ovr", "many classes apart"):
        assert told[0]["sum"] < 1e-5


@pytest.mark.parametrize("name", ["ww", "in parts", "weights", "many classes", "sparse", "float32"])
def test_leagues_have_the_optimum_of_one_process(name: str) -> None:
    told = [rank[0][name] for rank in values(2, "leagues")]
    assert all(rank == told[0] for rank in told)
    check_same_optimum(told[0], 1e-3 if name == "float32" else 1e-4)
    assert told[0]["dtype"] == ("float32" if name == "float32" else "float64")


def test_leagues_without_classes_do_no_harm() -> None:
    told = values(3, "odd_leagues")
    assert told[0] == told[1] == told[2]
    for figures in told[0].values():
        check_same_optimum(figures, 1e-3)


def test_options_of_leagues() -> None:
    for _, told in values(2, "leagues"):
        cold, warm = told["passes"]
        assert cold > warm == 0
        assert told["fixed"] == [3, 1]
        assert "it is defined for ww" in told["other machine"]["message"]


def test_options_of_mean_weights() -> None:
    for _, told in values(3, "mean_weights"):
        cold, warm = told["passes"]
        assert cold > warm == 0
        assert told["fixed"] == [3, 1]
        assert told["too many"]["type"] == "ValueError"
        assert "there are 2 classes for 3 of them" in told["too many"]["message"]
        assert "it is defined for llw, ovr" in told["other machine"]["message"]


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_classes_are_dealt_evenly(size: int, seed: int) -> None:
    counts = np.random.default_rng(seed).integers(1, 1000, 20)
    dealt = deal_classes(counts, size)
    assert sorted(np.concatenate(dealt).tolist()) == list(range(20))
    sizes = [len(part) for part in dealt]
    assert max(sizes) - min(sizes) <= 1
    rows = [counts[part].sum() / len(part) for part in dealt]
    assert max(rows) - min(rows) < counts.max() / 2


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_rows_are_dealt_evenly_and_at_random(size: int, seed: int) -> None:
    dealt = [deal_rows(50, size, rank, seed) for rank in range(size)]
    assert sorted(np.concatenate(dealt).tolist()) == list(range(50))
    assert max(map(len, dealt)) - min(map(len, dealt)) <= 1
    if size > 1:
        assert any(np.diff(rows).max() > size for rows in dealt)


@pytest.mark.parametrize(
    ("name", "tol"),
    [
        ("float32", 1e-3),
        ("sparse", 1e-4),
        ("no bias", 1e-4),
        ("weights", 1e-4),
        ("many classes", 1e-4),
        ("many zero-sum classes", 1e-4),
        ("names", 1e-4),
        ("few rows", 1e-4),
        ("rows of zeros", 1e-4),
        ("plain", 1e-4),
        ("sparse weights", 1e-4),
    ],
)
def test_rows_and_parameters_of_all_kinds(name: str, tol: float) -> None:
    figures = values(2, "variants")[1][name]
    check_same_optimum(figures, tol)
    assert figures["dtype"] == ("float32" if name == "float32" else "float64")
    assert figures["is_sparse"] == (name == "sparse weights")


def test_stopping_by_violation() -> None:
    figures = values(2, "variants")[0]["kkt"]
    assert figures["converged"]
    assert figures["gap"] < 1e-2


def test_warm_start_hard_margin_calibration_and_generators() -> None:
    told = values(2, "later_fits")
    assert told[0] == told[1]
    assert told[0]["cold"] > 0
    assert told[0]["warm"] == 0
    assert told[0]["hard"] <= 1e-3
    checks, counted = told[0]["hard_checks"]
    assert checks == counted > 0
    assert 0.2 < told[0]["temperature"] < 1
    assert told[0]["has_generator"]
    assert told[0]["left"] == []


def test_checkpoints_and_model_files_are_for_one_process() -> None:
    for told in values(2, "files"):
        before, after = told["gaps"]
        assert after < before
        assert told["goes_on"]
        assert told["passes"] == 5
        assert told["resumed"] == told["loaded"] == "polymargin.estimators._linear"
        assert told["same"]
        assert len(told["warned"]) == 1
        assert "Raise max_iter" in told["warned"][0]


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("C", "do not agree on the parameter C: rank 0 has 1.0, rank 1 has 2.0"),
        ("X", "do not agree on the values of X"),
        ("y", "do not agree on the labels y"),
        ("rows", r"do not agree on the shape of X: rank 0 has (90, 4), rank 1 has (80, 4)"),
        ("weights", "do not agree on the weights of rows"),
        ("solver", "solver 'block-descent' is for one process, and there are 2: take 'auto'"),
    ],
)
def test_what_processes_do_not_agree_on_is_an_error_on_all(what: str, message: str) -> None:
    for told in values(2, "disagreements"):
        assert told[what]["type"] == "ValueError"
        assert message in told[what]["message"]


def test_what_is_no_communicator_is_refused() -> None:
    assert values(2, "disagreements")[0]["comm"]["type"] == "InvalidParameterError"


@pytest.mark.parametrize("n_ranks", [2, 3])
@pytest.mark.parametrize(
    ("when", "own"),
    [
        ("nan", ("ValueError", "Input X contains NaN in row 0, column 0.")),
        ("parameter", ("InvalidParameterError", "The 'C' parameter of LinearSVM must be")),
        ("in between", ("OSError", "no space left")),
    ],
)
def test_a_failure_of_one_process_ends_all(n_ranks: int, when: str, own: tuple[str, str]) -> None:
    *others, last = values(n_ranks, "failures")
    kind, message = own
    assert last[when]["type"] == kind
    assert message in last[when]["message"]
    for other in others:
        assert other[when]["type"] == "RankError"
        expected = f"rank {n_ranks - 1} of {n_ranks} failed: {kind}: {message}"
        assert other[when]["message"].startswith(expected)


def test_a_failed_fit_changes_nothing_and_leaves_processes_in_step() -> None:
    for told in values(3, "failures"):
        assert told["unchanged"]
        assert told["all"] == {
            "type": "ValueError",
            "message": "Input X contains NaN in row 0, column 0.",
        }
        assert told["after"]


def test_an_interrupt_of_one_process_stops_all_with_what_was_reached() -> None:
    told = values(2, "interrupts")
    assert told[0] == told[1]
    assert told[0]["type"] == "KeyboardInterrupt"
    assert told[0]["passes"] > 0
    assert 0 < told[0]["gap"] < 1


def test_parts_of_the_world_train_apart() -> None:
    even, odd, *more = values(4, "parts_of_the_world")
    assert even < odd
    assert more == [even, odd]


def test_a_killed_process_ends_the_job(tmp_path: Path) -> None:
    out = tmp_path / "told.json"
    begun = time.monotonic()
    done = run_job("distributed_job", 3, out, "killed")
    assert time.monotonic() - begun < 30
    assert done.returncode != 0
    assert "signal 9 (Killed)" in done.stderr
    assert not out.exists()


def test_command_line(tmp_path: Path) -> None:
    """One process speaks and writes, all leave with one code, and a checkpoint is gone on from."""
    shutil.copy(cli_helpers.SATIMAGE, tmp_path)
    train = [sys.executable, "-m", "polymargin", "train", "satimage.train.svm.xz", "--distributed"]
    train += ["-C", "0.1", "--scale", "minmax", "--model", "m.safetensors", "--quiet", "--json"]
    first = start(2, *train, "--max-iter", "3", "--checkpoint", "fit.ckpt", cwd=tmp_path)
    assert first.returncode == 5, first.stderr
    assert json.loads(first.stdout)["passes"] == 3
    assert first.stderr.count("The fit stopped after 3 passes") == 1
    assert polymargin.load(tmp_path / "m.safetensors").steps[-1][1].n_iter_ == 3
    later = start(3, *train, "--max-iter", "1000", "--resume", "fit.ckpt", cwd=tmp_path)
    assert later.returncode == 0, later.stderr
    figures = json.loads(later.stdout)
    assert figures["converged"]
    assert figures["passes"] > 3


@pytest.mark.parametrize("option", ["--kernel=rbf", "--stream"])
def test_command_line_refuses_what_is_for_one_process(option: str, tmp_path: Path) -> None:
    (tmp_path / "a.svm").write_text("1 1:1\n2 1:2\n")
    model = tmp_path / "m.safetensors"
    done = cli_helpers.run("train", tmp_path / "a.svm", "--distributed", option, "--model", model)
    assert "--distributed" in cli_helpers.one_error(done, 2)


def test_a_failure_elsewhere_is_told_by_the_command_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as ended, explained():
        raise RankError("rank 1 of 2 failed: DataError: a.svm:3: 'x' is not a number", 1)
    assert ended.value.code == 3
    assert "rank 1 of 2 failed" in capsys.readouterr().err


def test_on_one_process_it_is_the_estimator_itself(blobs: tuple[Any, Any]) -> None:
    from polymargin import distributed

    X, y = blobs
    together = distributed.LinearSVM("cs", random_state=0).fit(X, y)
    alone = polymargin.LinearSVM("cs", random_state=0).fit(X, y)
    np.testing.assert_array_equal(together.coef_, alone.coef_)
    again = pickle.loads(pickle.dumps(together))
    np.testing.assert_array_equal(again.predict(X), alone.predict(X))


def test_local_descent_of_one_process_is_block_descent(blobs: tuple[Any, Any]) -> None:
    X, y = blobs
    plain = polymargin.BlockDescent(second_order=False)
    one, other = (
        polymargin.LinearSVM(solver=solver, random_state=0).fit(X, y)
        for solver in ("local-descent", plain)
    )
    np.testing.assert_array_equal(one.coef_, other.coef_)


def test_a_missing_package_is_named(
    blobs: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    from polymargin import distributed

    monkeypatch.setitem(sys.modules, "mpi4py.MPI", None)
    with pytest.raises(MissingPackageError, match=r"pip install 'polymargin\[mpi\]'"):
        distributed.LinearSVM().fit(*blobs)
