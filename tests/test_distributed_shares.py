"""Fits to rows of which each process has its own; see `distributed_shares_job`."""

import json
import sys
from functools import partial
from pathlib import Path
from typing import Any

import cli_helpers
import numpy as np
import pytest
from distributed_helpers import check_same_optimum, needs_mpi, start, told_by
from sklearn.datasets import dump_svmlight_file

import polymargin
from polymargin import core
from polymargin.datasets import load_satimage

MACHINES = [info.name for info in core.machines()]
pytestmark = needs_mpi

JOBS = {
    1: ("machines",),
    2: ("machines",),
    3: ("machines", "reading", "shares_of_all_kinds", "later", "refused"),
    7: ("machines", "reading"),
}
values = partial(told_by, "distributed_shares_job", JOBS)


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize("n_ranks", [1, 2, 3, 7])
def test_shares_have_the_optimum_of_one_process(name: str, n_ranks: int) -> None:
    told = values(n_ranks, "machines")
    assert sum(rank["n"] for rank in told) == 90
    assert len({rank["n"] for rank in told}) <= n_ranks
    for rank in told:
        figures = rank["machines"][name]
        check_same_optimum(figures, 1e-3)
        assert figures.pop("duals") == [rank["n"], 5]
    assert all(rank["machines"][name] == told[0]["machines"][name] for rank in told)


@pytest.mark.parametrize("n_ranks", [3, 7])
@pytest.mark.parametrize(
    "name",
    [
        "from zero in one share",
        "wide in one share",
        "numbers in one share",
        "few lines",
        "labels alone",
    ],
)
def test_processes_agree_on_what_a_file_holds(name: str, n_ranks: int) -> None:
    for told in values(n_ranks, "reading"):
        assert [what for what, is_so in told[name].items() if not is_so] == []
        assert told["options"] == ["string", 20]


@pytest.mark.parametrize(
    "name",
    ["dense", "sparse", "by class", "weights", "a class without weight", "float32", "objects"],
)
def test_shares_of_all_kinds(name: str) -> None:
    told = [rank[name] for rank in values(3, "shares_of_all_kinds")]
    assert all(rank == told[0] for rank in told)
    check_same_optimum(told[0], 1e-3)
    assert told[0]["agree"] > 0.98
    assert len(told[0]["classes"]) == (4 if name == "a class without weight" else 5)


def test_what_comes_after_a_fit_to_shares() -> None:
    for told in values(3, "later"):
        cold, warm = told["passes"]
        assert cold > warm == 0
        assert told["stored"] == [90, False]
        assert "no dual variables to save" in told["asked"]["message"]
        assert told["all rows again"] == [90, 5]
        assert told["left"] == []


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("calibration", "calibration='sigmoid' needs all rows, and no process has them"),
        ("checkpoint", "checkpoint='a.ckpt' needs all rows"),
        ("balanced", "class_weight='balanced' needs all rows, and no process has them: pass a"),
        ("hard margin", "C=inf needs all rows"),
        ("leagues", "solver 'leagues' needs all rows, and no process has them: take 'auto'"),
        ("mean weights", "solver 'mean-weights' needs all rows"),
        ("features", "do not agree on the number of features: rank 0 has 4, rank 2 has 3"),
        ("type", "do not agree on the type of X: rank 0 has ndarray of float64, rank 2"),
        ("parameter", "do not agree on the parameter C"),
        ("labels", "labels of the processes are of several types: int64, text"),
        ("one class", "at least two; got 1 class(es) among the rows of all processes"),
        ("unknown class", "none of the classes of class_weight, [9], is in y"),
        ("wide", "b.svm: index 2 is too large for n_features=1"),
        ("nothing", "c.svm: there are no rows"),
        ("packed", "d.svm.gz: no part of this can be read by itself: it is packed by gzip"),
    ],
)
def test_what_is_refused_of_shares(what: str, message: str) -> None:
    for told in values(3, "refused"):
        assert told[what]["type"] in ("ValueError", "DataError")
        assert message in told[what]["message"]
        assert told["after"]


def test_the_process_that_meets_a_damaged_line_names_it() -> None:
    *others, last = (told["damaged"] for told in values(3, "refused"))
    assert last["type"] == "DataError"
    assert "a.svm:41:3: the index in 'x:1' is not a whole number" in last["message"]
    assert {other["type"] for other in others} == {"RankError"}


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    """svmlight text that is not packed."""
    X, y, *_ = load_satimage()
    file = tmp_path / "sat.svm"
    dump_svmlight_file(X[:600] / 255, y[:600], str(file), zero_based=False)
    return file


def test_command_line(rows: Path) -> None:
    train = [sys.executable, "-m", "polymargin", "train", rows.name, "--distributed", "--shares"]
    train += ["-C", "0.1", "--no-gather", "--model", "m.safetensors", "--quiet", "--json"]
    done = start(3, *train, cwd=rows.parent)
    assert done.returncode == 0, done.stderr
    figures: dict[str, Any] = json.loads(done.stdout)
    assert figures["converged"]
    assert figures["n"] == 600
    model = polymargin.load(rows.with_name("m.safetensors"))
    X, y, *_ = load_satimage()
    alone = polymargin.LinearSVM(C=0.1, random_state=0).fit(X[:600] / 255, y[:600])
    assert abs(model.primal_objective_ / alone.primal_objective_ - 1) < 2e-3
    assert np.mean(model.predict(X / 255) == alone.predict(X / 255)) > 0.99
    score = cli_helpers.done("score", rows.with_name("m.safetensors"), rows, "--json").json
    assert score["accuracy"] > 0.6


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--shares"], "--shares: goes with --distributed only"),
        (["--distributed", "--shares", "--scale", "minmax"], "--scale: does not go with --shares"),
        (["--distributed", "--shares", "--balanced"], "--balanced: does not go with --shares"),
        (["--distributed", "--shares", "--checkpoint", "c"], "--checkpoint: does not go with"),
        (["--distributed", "--shares", "--label", "a"], "--label: does not go with --shares"),
    ],
)
def test_command_line_refuses_what_needs_all_rows(
    rows: Path, options: list[str], message: str
) -> None:
    model = rows.with_name("m.safetensors")
    done = cli_helpers.run("train", rows, "--model", model, *options)
    error = cli_helpers.one_error(done, 2).replace("Invalid value for ", "")
    assert message.split(": ")[1] in error
    assert message.split(":")[0] in error
