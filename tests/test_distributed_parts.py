"""Models of which each process has a part; what processes do is in `distributed_parts_job`."""

import json
import shutil
import sys
from functools import partial
from pathlib import Path
from typing import Any

import cli_helpers
import pytest
from distributed_helpers import needs_mpi, start, told_by

import polymargin
from polymargin import core

MACHINES = [info.name for info in core.machines()]
pytestmark = needs_mpi

JOBS = {
    1: ("variants",),
    3: (
        "machines",
        "variants",
        "small_blocks",
        "what_is_gathered",
        "what_is_kept",
        "refused",
        "crashes",
    ),
    7: ("machines",),
}
values = partial(told_by, "distributed_parts_job", JOBS)


def check_all(figures: dict[str, bool]) -> None:
    assert [name for name, is_so in figures.items() if not is_so] == []


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize("n_ranks", [3, 7])
def test_parts_are_those_of_the_gathered_model(name: str, n_ranks: int) -> None:
    for told in values(n_ranks, "machines"):
        check_all(told[name])


@pytest.mark.parametrize("n_ranks", [1, 3])
@pytest.mark.parametrize(
    "name",
    [
        "leagues",
        "leagues of many",
        "classes",
        "names",
        "two classes",
        "float32",
        "sparse",
        "hard",
    ],
)
def test_parts_of_all_kinds(name: str, n_ranks: int) -> None:
    for told in values(n_ranks, "variants"):
        check_all(told[name])


def test_prediction_in_blocks_needs_no_scores_of_all_classes() -> None:
    for told in values(3, "small_blocks"):
        assert told["same"]
        assert told["ties"] == [0, 0]
        assert told["classes at a time"] in (13, 14)
        assert told["blocks"] == 20


def test_what_stays_apart_is_not_gathered_first() -> None:
    for told in values(3, "what_is_gathered"):
        assert told["rows"] == [1, 0]  # dual variables
        assert told["classes"] == [2, 0]  # and weights
        assert told["for a warm start"] == 1


def test_what_a_model_in_parts_keeps() -> None:
    for rank, told in enumerate(values(3, "what_is_kept")):
        cold, warm = told["passes"]
        assert cold > warm == 0
        assert told["duals"] == [90, 5]
        assert told["probabilities"] < 0.02
        assert told["pickled"]
        assert told["resumed"]
        assert told["cloned"] == [[0, 1], [2, 3], [4]][rank]
        assert told["whole again"] == [False, 5]
        assert told["stream"] == 5


@pytest.mark.parametrize(
    ("what", "kind", "message"),
    [
        ("other rows", "ValueError", "do not agree on the values of X: rank 0"),
        ("fewer rows", "ValueError", "do not agree on the shape of X: rank 0 has (90, 4), rank 2"),
        ("some processes", "ValueError", "of its 5 classes. All processes that fitted it"),
        ("duals", "AttributeError", "warm_start=True or gather=True keeps them"),
        ("rounded", "ValueError", "shards are not rounded"),
        ("export", "ValueError", "let all processes save it, and load that"),
        ("inspect", "ValueError", "let all processes save it, and load that"),
        ("names", "ValueError", "have to save a model under one name"),
    ],
)
def test_what_is_refused_of_a_part(what: str, kind: str, message: str) -> None:
    for told in values(3, "refused"):
        assert told[what]["type"] == kind
        assert message in told[what]["message"]
        assert told["left"] == []
        assert told["after"]


def test_rows_that_one_process_refuses_are_refused_by_all() -> None:
    *others, last = (told["nan"] for told in values(3, "refused"))
    assert last == {"type": "ValueError", "message": "Input X contains NaN in row 3, column 1."}
    for other in others:
        assert other["type"] == "RankError"
        assert other["message"].startswith("rank 2 of 3 failed: ValueError: Input X contains NaN")


def test_a_model_is_replaced_as_a_whole_or_not_at_all() -> None:
    told = values(3, "crashes")
    assert [rank["in a shard"]["type"] for rank in told] == ["RankError", "RankError", "OSError"]
    assert [rank["in the index"]["type"] for rank in told] == ["OSError", "RankError", "RankError"]
    for rank in told:
        assert rank["nothing changed"]
        assert rank["replaced"]
        assert rank["new"]
        assert rank["files"] == 4


def test_command_line_writes_shards(tmp_path: Path) -> None:
    shutil.copy(cli_helpers.SATIMAGE, tmp_path)
    train = [sys.executable, "-m", "polymargin", "train", "satimage.train.svm.xz", "--distributed"]
    train += ["-C", "0.1", "--scale", "minmax", "--tol", "0.01", "--json", "--quiet"]
    whole = start(2, *train, "--model", "whole.safetensors", cwd=tmp_path)
    parts = start(2, *train, "--no-gather", "--model", "parts.safetensors", cwd=tmp_path)
    assert whole.returncode == parts.returncode == 0, parts.stderr
    files = sorted(tmp_path.glob("parts*"))
    assert len(files) == 3
    assert json.loads(parts.stdout)["bytes"] == sum(file.stat().st_size for file in files)
    info = cli_helpers.done("info", tmp_path / "parts.safetensors").out
    assert "2 files beside it" in info
    rows = cli_helpers.SATIMAGE
    answers = [
        cli_helpers.done("predict", tmp_path / f"{name}.safetensors", rows).out
        for name in ("whole", "parts")
    ]
    assert answers[0] == answers[1]
    figures: dict[str, Any] = json.loads(
        cli_helpers.done("score", tmp_path / "parts.safetensors", rows, "--json").out
    )
    assert figures["accuracy"] > 0.8
    assert polymargin.load(tmp_path / "parts.safetensors").steps[-1][1].coef_.format == "csr"


def test_parts_are_for_several_processes(tmp_path: Path) -> None:
    (tmp_path / "a.svm").write_text("1 1:1\n2 1:2\n")
    model = tmp_path / "m.safetensors"
    done = cli_helpers.run("train", tmp_path / "a.svm", "--no-gather", "--model", model)
    assert "goes with --distributed only" in cli_helpers.one_error(done, 2)
