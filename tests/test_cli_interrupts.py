"""Signals while a command runs: training saves what it has, all else leaves nothing."""

import lzma
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from cli_helpers import (
    LETTER,
    LETTER_TEST,
    SATIMAGE,
    Result,
    done,
    finish,
    names_in,
    start,
    wait_for,
)

from polymargin import read_info

INTERRUPTED, TERMINATED = 130, 143
ENDLESS = {
    "linear": ("-C", 1000, "--tol", 1e-15, "--max-iter", 10**9),
    "kernel": ("--kernel", "rbf", "--gamma", 2, "-C", 1000, "--tol", 1e-15, "--max-iter", 10**9),
}


def interrupted_fit(data: Path, out: Path, number: int, *options: Any) -> Result:
    """A training that gets a signal when there is something to save."""
    kept = out.parent / "checkpoint"
    child = start(
        *("train", data, "--scale", "minmax", "-o", out, *options),
        *("--checkpoint", kept, "--checkpoint-every", 0),
    )
    wait_for(kept.exists, child)
    time.sleep(0.1)
    child.send_signal(number)
    return finish(child)


@pytest.mark.parametrize("kind", ENDLESS)
def test_interrupted_training_saves_what_was_reached(tmp_path: Path, kind: str) -> None:
    out = tmp_path / "m.safetensors"
    result = interrupted_fit(LETTER, out, signal.SIGINT, *ENDLESS[kind])
    assert result.code == INTERRUPTED, result
    assert f"interrupted: {out} holds what was reached" in result.err
    assert "Traceback" not in result.err
    assert names_in(tmp_path) == {"m.safetensors", "checkpoint"}
    assert read_info(out).certificate["converged"] is False
    assert done("score", out, LETTER_TEST, "--json").json["accuracy"] > 0.1


def test_terminated_training_saves_too(tmp_path: Path) -> None:
    out = tmp_path / "m.safetensors"
    result = interrupted_fit(LETTER, out, signal.SIGTERM, *ENDLESS["linear"])
    assert result.code == TERMINATED, result
    assert "holds what was reached" in result.err
    assert names_in(tmp_path) == {"m.safetensors", "checkpoint"}
    assert done("score", out, LETTER_TEST, "--json").json["accuracy"] > 0.1


def test_sigterm_where_ctrl_c_is_ignored(tmp_path: Path) -> None:
    out, kept = tmp_path / "m.safetensors", tmp_path / "checkpoint"
    options = [*map(str, ENDLESS["linear"]), "--checkpoint-every", "0", "--checkpoint", str(kept)]
    command = ["train", str(LETTER), "--scale", "minmax", "-o", str(out), *options]
    code = (
        "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        f"from polymargin.cli import main; main({command!r})"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    wait_for(kept.exists, child)
    child.send_signal(signal.SIGINT)
    time.sleep(0.2)
    assert child.poll() is None
    child.send_signal(signal.SIGTERM)
    result = finish(child)
    assert result.code == TERMINATED, result
    assert "Traceback" not in result.err
    assert names_in(tmp_path) <= {"m.safetensors", "checkpoint"}


def test_an_interrupted_stream_saves_too(tmp_path: Path) -> None:
    out, pipe = tmp_path / "m.safetensors", tmp_path / "pipe"
    os.mkfifo(pipe)
    classes = ",".join(map(str, range(1, 27)))
    child = start(
        *("train", pipe, "--format", "svmlight", "--stream", "--classes", classes),
        *("--n-features", 16, "--batch", 500, "--shuffle-size", 0, "-o", out),
    )
    text = lzma.decompress(LETTER.read_bytes())
    half = text.index(b"\n", len(text) // 2) + 1
    with pipe.open("wb") as file:
        file.write(text[:half])
        file.flush()
        time.sleep(0.7)  # all that can be read has been
        child.send_signal(signal.SIGINT)
        result = finish(child)
    assert result.code == INTERRUPTED, result
    assert "holds what was reached" in result.err
    assert done("score", out, LETTER_TEST, "--json").json["accuracy"] > 0.1
    assert names_in(tmp_path) == {"m.safetensors", "pipe"}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_prediction_leaves_nothing(tmp_path: Path, number: int) -> None:
    model, pipe, out = (tmp_path / name for name in ("m.safetensors", "pipe", "labels.txt"))
    done("train", SATIMAGE, "--scale", "minmax", "-C", 0.01, "-q", "-o", model)
    out.write_text("as before")
    os.mkfifo(pipe)
    child = start("predict", model, pipe, "-o", out, "--format", "svmlight")
    with pipe.open("wb") as file:
        file.write(lzma.decompress(SATIMAGE.read_bytes()))
        file.flush()
        wait_for(lambda: any(name.endswith(".part") for name in names_in(tmp_path)), child)
        child.send_signal(number)
        result = finish(child)
    assert result.code == (INTERRUPTED if number == signal.SIGINT else TERMINATED), result
    assert result.err == "error: interrupted; no file was written\n"
    assert names_in(tmp_path) == {"m.safetensors", "pipe", "labels.txt"}
    assert out.read_text() == "as before"


def test_interrupted_reading_leaves_nothing(tmp_path: Path) -> None:
    pipe, out = tmp_path / "pipe", tmp_path / "m.safetensors"
    os.mkfifo(pipe)
    child = start("train", pipe, "--format", "svmlight", "-o", out)
    with pipe.open("wb") as file:  # waits until the child opens it too
        file.write(b"1 1:0.5\n2 1:1\n")
        file.flush()
        child.send_signal(signal.SIGINT)
        result = finish(child)
    assert result.code == INTERRUPTED, result
    assert result.err == "error: interrupted; no file was written\n"
    assert names_in(tmp_path) == {"pipe"}
