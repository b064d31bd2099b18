"""Long fits that are killed and go on."""

import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli_helpers import LETTER, SATIMAGE, done, names_in, run, start, wait_for, write_svmlight

from polymargin import load, read_info
from polymargin.cli import _in_memory
from polymargin.estimators import _base
from polymargin.files import _stored_fit, data_hash, read_checkpoint

INPUT, USAGE = 3, 2
SHORT = ("--scale", "minmax", "-C", 0.1, "-q")
MACHINES = {
    "linear": (LETTER, ("--scale", "minmax", "-m", "cs", "-C", 1)),
    "kernel": (SATIMAGE, ("--scale", "minmax", "--kernel", "rbf", "--gamma", 4, "-C", 8)),
}


def killed(kept: Path, seconds: float, *command: Any) -> None:
    """Kill a training some time after it has written a checkpoint of its own."""
    before = kept.stat().st_mtime_ns if kept.exists() else 0
    child = start(
        *("train", *command, "--tol", 1e-15, "--max-iter", 10**9, "--checkpoint-every", 0),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait_for(lambda: kept.exists() and kept.stat().st_mtime_ns > before, child)
    time.sleep(seconds)
    child.send_signal(signal.SIGKILL)
    assert child.wait() == -signal.SIGKILL


@pytest.mark.parametrize(("options", "n_digests"), [((), 1), (("--scale", "minmax"), 2)])
def test_a_resume_reads_rows_for_their_digest_once(
    tmp_path: Path, options: Any, n_digests: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of the file, and where they are not the same those of the features."""
    digests: list[str] = []

    def counting(X: Any, y: Any = None) -> str:
        digests.append(data_hash(X, y))
        return digests[-1]

    for module in (_in_memory, _base, _stored_fit):
        monkeypatch.setattr(module, "data_hash", counting)
    rows = tmp_path / "a.svm"
    rows.write_text("1 1:1\n2 2:1\n2 3:1\n")
    model = ("-q", "--model", tmp_path / "m.safetensors")
    done("train", rows, *options, *model, "--checkpoint", tmp_path / "c")
    digests.clear()
    done("train", rows, *options, *model, "--resume", tmp_path / "c")
    assert len(digests) == n_digests


@pytest.mark.parametrize("kind", MACHINES)
def test_a_killed_fit_goes_on(tmp_path: Path, kind: str, seed: int) -> None:
    data, options = MACHINES[kind]
    random = np.random.default_rng(seed)
    out, kept = tmp_path / "m.safetensors", tmp_path / "checkpoint"
    whole = done("train", data, *options, "--json", "-o", tmp_path / "whole.safetensors").json
    killed(kept, 0.3 * random.random(), data, *options, "-o", out, "--checkpoint", kept)
    assert not out.exists()
    first = read_checkpoint(kept)
    assert "train --resume goes on from it" in done("info", kept).out
    again = ("--resume", kept, "--checkpoint", kept)
    killed(kept, 0.3 * random.random(), data, *options[:2], "-o", out, *again)
    assert not out.exists()
    second = read_checkpoint(kept)
    assert second.seconds > first.seconds
    for checkpoint in (first, second):
        assert len(checkpoint.history) > 0
        assert checkpoint.epochs == checkpoint.history["epoch"][-1]
        assert np.all(np.diff(checkpoint.history["epoch"]) >= 0)
        assert np.all(np.diff(checkpoint.history["seconds"]) >= 0)
    assert len(second.history) > len(first.history)
    np.testing.assert_array_equal(second.history[: len(first.history)], first.history)
    rest = ("--tol", 1e-3, "--resume", kept, "-o", out, "--json")
    result = done("train", data, *options[:2], *rest)
    assert "resumed after" in result.err
    assert "tol=0.001 in place of 1e-15" in result.err
    assert result.json["C"] == whole["C"]
    assert result.json["converged"] is True
    scale = whole["primal_objective"]
    assert abs(result.json["primal_objective"] - scale) <= 2e-3 * scale
    assert result.json["dual_objective"] <= whole["primal_objective"]
    assert result.json["primal_objective"] >= whole["dual_objective"]
    history = read_info(out).history
    assert history is not None
    np.testing.assert_array_equal(history[: len(second.history)], second.history)
    assert result.json["passes"] >= history["epoch"][-1] >= second.epochs
    assert load(out).predict(np.zeros((1, load(out).n_features_in_))).shape == (1,)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a fit that ended early."""
    folder = tmp_path_factory.mktemp("checkpoint")
    result = run(
        *("train", SATIMAGE, *SHORT, "--max-iter", 3, "--seed", 5),
        *("-o", folder / "m.safetensors", "--checkpoint", folder / "checkpoint"),
    )
    assert result.code == 5
    return folder / "checkpoint"


def resumed(checkpoint: Path, folder: Path, *options: Any, data: Path = SATIMAGE) -> Any:
    copy = folder / "copy"
    copy.write_bytes(checkpoint.read_bytes())
    return run("train", data, *options, "-o", folder / "m.safetensors", "--resume", copy)


def test_the_options_are_those_of_the_checkpoint(checkpoint: Path, tmp_path: Path) -> None:
    result = resumed(checkpoint, tmp_path, "--scale", "minmax", "--max-iter", 1000)
    assert result.code == 0, result
    assert "max_iter=1000 in place of 3 in" in result.err
    parameters = read_info(tmp_path / "m.safetensors").parameters
    assert (parameters["C"], parameters["random_state"]) == (0.1, 5)
    result = resumed(checkpoint, tmp_path, *SHORT[:2], "--max-iter", 1000, "-C", 0.2, "-q")
    assert (result.code, result.out, result.err) == (0, "", "")
    assert read_info(tmp_path / "m.safetensors").parameters["C"] == 0.2


def test_a_checkpoint_is_written_again_only_where_asked(checkpoint: Path, tmp_path: Path) -> None:
    options = (*SHORT[:2], "--max-iter", 1000)
    assert resumed(checkpoint, tmp_path, *options).code == 0
    assert (tmp_path / "copy").read_bytes() == checkpoint.read_bytes()
    assert resumed(checkpoint, tmp_path, *options, "--checkpoint", tmp_path / "copy").code == 0
    assert read_checkpoint(tmp_path / "copy").epochs > read_checkpoint(checkpoint).epochs


def test_info_tells_how_far_a_checkpoint_is(checkpoint: Path) -> None:
    stored = read_checkpoint(checkpoint)
    assert stored.epochs == 3
    assert stored.history["epoch"][-1] == 3
    facts = done("info", checkpoint, "--json").json
    assert (facts["epochs"], facts["gap"]) == (3.0, stored.history["gap"][-1])
    assert (facts["kind"], facts["estimator"], facts["machine"]) == (
        "checkpoint",
        "LinearSVM",
        "ww",
    )
    assert (facts["n_examples"], facts["n_features"]) == (4435, 36)
    assert facts["classes"] == stored.classes.tolist()
    assert facts["parameters"]["C"] == 0.1
    assert facts["seconds"] == stored.seconds
    assert facts["data_hash"] == stored.data_hash
    shown = done("info", checkpoint).out
    assert "passes" in shown
    assert f"{stored.history['gap'][-1]:.2e}" in shown


def test_a_checkpoint_of_a_kernel_needs_no_kernel_again(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).normal(size=(60, 2))
    data = write_svmlight(tmp_path / "a.svm", rows, (rows[:, 0] * rows[:, 1] > 0).astype(int))
    out, kept = tmp_path / "m.safetensors", tmp_path / "checkpoint"
    options = ("--kernel", "poly", "--degree", 2, "-C", 3)
    assert run("train", data, *options, "-q", "-o", out, "--checkpoint", kept).code == 0
    result = done("train", data, "--gamma", 0.5, "-o", out, "--resume", kept)
    assert "gamma=0.5 in place of scale" in result.err
    parameters = read_info(out).parameters
    assert (parameters["kernel"], parameters["degree"], parameters["C"]) == ("poly", 2, 3.0)


def test_what_a_checkpoint_does_not_fit(checkpoint: Path, tmp_path: Path) -> None:
    scaled = ("--scale", "minmax")
    for options, data, message in (
        ((), SATIMAGE, "the checkpoint belongs to other rows"),
        (("--scale", "standard"), SATIMAGE, "the same options on data and features"),
        (scaled, LETTER, "the checkpoint belongs to other rows"),
        ((*scaled, "--precision", "float32"), SATIMAGE, "the checkpoint belongs to other rows"),
        ((*scaled, "-m", "cs"), SATIMAGE, "is the checkpoint of machine ww"),
        ((*scaled, "--kernel", "rbf"), SATIMAGE, "is the checkpoint of a linear machine"),
    ):
        result = resumed(checkpoint, tmp_path, *options, data=data)
        assert result.code == INPUT, result
        assert message in result.err
        assert names_in(tmp_path) == {"copy"}
        assert (tmp_path / "copy").read_bytes() == checkpoint.read_bytes()


def test_a_bad_checkpoint(checkpoint: Path, tmp_path: Path) -> None:
    content = checkpoint.read_bytes()
    middle = len(content) // 2
    for name, changed in {
        "empty": b"",
        "truncated": content[:middle],
        "short": content[:-1],
        "altered": content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :],
        "text": b"1 1:0.5\n2 1:1\n",
    }.items():
        (tmp_path / name).write_bytes(changed)
    model = tmp_path / "model.safetensors"
    done("train", SATIMAGE, *SHORT, "-o", model)
    for path in [*tmp_path.iterdir(), tmp_path / "missing", Path("/dev/null"), tmp_path]:
        result = run("train", SATIMAGE, *SHORT, "-o", tmp_path / "out", "--resume", path)
        assert result.code == INPUT, path
        assert str(path) in result.err
        assert "Traceback" not in result.err
    assert "out" not in names_in(tmp_path)


def test_half_a_file_of_a_killed_process_is_not_read(checkpoint: Path, tmp_path: Path) -> None:
    (tmp_path / ".copy.abc.part").write_bytes(b"half")
    assert resumed(checkpoint, tmp_path, *SHORT[:2], "--max-iter", 1000).code == 0
    assert names_in(tmp_path) == {".copy.abc.part", "copy", "m.safetensors"}
