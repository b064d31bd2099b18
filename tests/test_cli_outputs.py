"""Output is complete or absent: full disks, limits, closed pipes."""

import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from cli_helpers import SATIMAGE, SATIMAGE_TEST, finish, names_in, run, start

from polymargin import read_info

SHORT = ("--scale", "minmax", "-C", 0.1, "-q")
OUTPUT, PIPE_CLOSED = 4, 141


@contextmanager
def files_of_at_most(n_bytes: int) -> Iterator[None]:
    """Longer ones cannot be written, as on a disk that is full."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def writers(model: Path, folder: Path) -> dict[str, tuple[Any, ...]]:
    """Commands that write more than a few bytes."""
    few = ("--folds", 2, "--refinements", 0, "--log2-C=-4:-4:1")
    return {
        "train": ("train", SATIMAGE, *SHORT, "-o", folder / "out"),
        "predict": ("predict", model, SATIMAGE_TEST, "-o", folder / "out"),
        "select": ("select", SATIMAGE, *SHORT[:2], *few, "-q", "-o", folder / "out"),
        "plot": ("path", SATIMAGE, *SHORT[:2], "--Cs", "0.01", "-q", "--plot", folder / "out.png"),
        "inspect": ("inspect", model, SATIMAGE, "--report", folder / "out"),
        "svmlight": ("convert", SATIMAGE, folder / "out", "--to", "svmlight"),
        "npz": ("convert", SATIMAGE, folder / "out", "--to", "npz"),
        "onnx": ("convert", model, folder / "out", "--to", "onnx"),
        "liblinear": ("convert", model, folder / "out", "--to", "liblinear"),
        "safetensors": ("convert", model, folder / "out", "--to", "safetensors"),
        "shuffle": ("convert", SATIMAGE, folder / "out", "--shuffle"),
    }


@pytest.mark.parametrize("name", writers(Path(), Path()))
def test_a_full_disk_leaves_what_was_there(model: Path, tmp_path: Path, name: str) -> None:
    command = writers(model, tmp_path)[name]
    (tmp_path / "out").write_bytes(b"as before")
    (tmp_path / "out.png").write_bytes(b"as before")
    with files_of_at_most(1000):
        result = run(*command)
    assert result.code == OUTPUT, result
    assert "File too large" in result.err
    assert "Traceback" not in result.err
    assert names_in(tmp_path) == {"out", "out.png"}
    assert (tmp_path / "out").read_bytes() == b"as before"
    assert (tmp_path / "out.png").read_bytes() == b"as before"
    result = run(*command)
    assert result.code == 0, result
    assert names_in(tmp_path) == {"out", "out.png"}


def test_a_checkpoint_that_cannot_be_written_does_not_end_training(tmp_path: Path) -> None:
    path = tmp_path / "m.safetensors"
    full = ("--checkpoint", "/dev/full", "--checkpoint-every", 0)
    result = run("train", SATIMAGE, *SHORT, *full, "-o", path)
    assert result.code == 0, result
    assert "no checkpoint was written to /dev/full: No space left on device" in result.err
    assert read_info(path).certificate["converged"] is True


@pytest.mark.parametrize("name", ["train", "predict", "liblinear"])
def test_devices_are_written_directly(model: Path, name: str) -> None:
    command = [
        "/dev/full" if str(part) == "FOLDER/out" else part
        for part in writers(model, Path("FOLDER"))[name]
    ]
    result = run(*command)
    assert result.code == OUTPUT
    assert "cannot write /dev/full: No space left on device" in result.err
    assert run(*["/dev/null" if part == "/dev/full" else part for part in command]).code == 0


def test_standard_output_on_a_full_disk(model: Path, tmp_path: Path) -> None:
    out = tmp_path / "m.safetensors"
    with Path("/dev/full").open("w") as full:
        children = [
            start("train", SATIMAGE, *SHORT, "--json", "-o", out, stdout=full),
            start("predict", model, SATIMAGE_TEST, stdout=full),
        ]
    for child in children:
        result = finish(child)
        assert result.code == OUTPUT, result
        assert "cannot write standard output: No space left on device" in result.err
        assert "Traceback" not in result.err
    assert read_info(out).certificate["converged"] is True


def without_reader(*command: Any, stream: str = "stdout") -> "subprocess.Popen[str]":
    """A command one of whose streams is a pipe that nobody reads."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        return start(*command, **{stream: writing})
    finally:
        os.close(writing)


def test_a_closed_pipe_is_no_error_to_speak_of(model: Path, tmp_path: Path) -> None:
    out = tmp_path / "m.safetensors"
    children = [
        without_reader("predict", model, SATIMAGE_TEST, "--scores"),
        without_reader("score", model, SATIMAGE_TEST),
        without_reader("train", SATIMAGE, *SHORT, "--json", "-o", out),
    ]
    for child in children:
        result = finish(child)
        assert (result.code, result.err) == (PIPE_CLOSED, "")
    assert read_info(out).certificate["converged"] is True
    assert names_in(tmp_path) == {"m.safetensors"}


def test_messages_that_nobody_reads(tmp_path: Path) -> None:
    options = ("--scale", "minmax", "-C", 0.1, "-o", tmp_path / "m.safetensors")
    child = without_reader("train", SATIMAGE, *options, stream="stderr")
    assert finish(child).code == PIPE_CLOSED
    assert names_in(tmp_path) <= {"m.safetensors"}


def test_streams_that_are_closed(model: Path, tmp_path: Path) -> None:
    line = f"exec {sys.executable} -m polymargin score {model} {SATIMAGE_TEST} >&- 2>&- <&-"
    child = subprocess.run(["/bin/sh", "-c", line], check=False)
    assert child.returncode == 0
