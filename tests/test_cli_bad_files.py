"""Missing, malformed and forbidden files: a message that helps, a code, nothing written."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from cli_helpers import (
    SATIMAGE,
    SATIMAGE_TEST,
    done,
    names_in,
    one_error,
    run,
    write_svmlight,
)
from safetensors.numpy import save_file

SHORT = ("--scale", "minmax", "-C", 0.1, "-q")
USAGE, INPUT, OUTPUT = 2, 3, 4


@pytest.fixture(scope="module")
def bad_models(tmp_path_factory: pytest.TempPathFactory, model: Path) -> dict[str, Path]:
    """Files that are no model, by what is wrong with them."""
    folder = tmp_path_factory.mktemp("bad")
    names = ("missing", "empty", "folder", "text", "truncated", "altered", "foreign", "checkpoint")
    paths = {name: folder / f"{name}.safetensors" for name in names}
    paths["empty"].touch()
    paths["folder"].mkdir()
    paths["text"].write_text("1 1:0.5\n2 1:1\n")
    content = model.read_bytes()
    paths["truncated"].write_bytes(content[: len(content) // 2])
    paths["altered"].write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    save_file({"weights": np.zeros(3)}, paths["foreign"])
    checkpointed = ("--checkpoint", paths["checkpoint"], "-o", folder / "m.safetensors")
    done("train", SATIMAGE, *SHORT, *checkpointed)
    return paths


@pytest.fixture(scope="module")
def bad_data(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Files that are no data, by what is wrong with them."""
    folder = tmp_path_factory.mktemp("data")
    names = ("missing", "empty", "folder", "word", "twice", "torn")
    paths = {name: folder / f"{name}.svm" for name in names}
    paths["empty"].touch()
    paths["folder"].mkdir()
    paths["word"].write_text("1 1:0.5\n2 1:1 2:x\n")
    paths["twice"].write_text("1 1:0.5\n2 2:1 2:1\n")
    paths["torn"] = folder / "torn.svm.xz"
    paths["torn"].write_bytes(SATIMAGE.read_bytes()[:20_000])
    return paths


DATA_MESSAGES = {
    "missing": "No such file",
    "empty": "the file is empty",
    "folder": " folder",
    "word": "word.svm:2:9: ",
    "twice": "twice.svm:2:7: ",
    "torn": "torn.svm.xz",
}
MODEL_MESSAGES = {
    "missing": "No such file",
    "empty": "it is cut off or empty",
    "folder": "Is a directory",
    "text": "this is not a model file",
    "truncated": "cut off",
    "altered": "altered",
    "foreign": "not one of polymargin",
    "checkpoint": "this is a checkpoint",
}


@pytest.mark.parametrize("wrong", DATA_MESSAGES)
def test_bad_data(bad_data: dict[str, Path], model: Path, tmp_path: Path, wrong: str) -> None:
    data, out = bad_data[wrong], tmp_path / "out.safetensors"
    out.write_bytes(b"as before")
    for command in (
        ("train", data, "-o", out),
        ("train", data, "-o", out, "--stream"),
        ("train", data, "-o", out, "--stream", "--classes", "1,2", "--n-features", 36),
        ("predict", model, data, "-o", out),
        ("score", model, data),
        ("score", model, data, "--json"),
        ("select", data, "-o", out),
        ("path", data),
        ("path", SATIMAGE, "--test", data),
        ("inspect", model, data),
        ("inspect", model, SATIMAGE, "--test", data, "--report", out),
        ("convert", data, tmp_path / "out.npz"),
    ):
        assert DATA_MESSAGES[wrong] in one_error(run(*command), INPUT), command
        assert names_in(tmp_path) == {"out.safetensors"}
        assert out.read_bytes() == b"as before"


@pytest.mark.parametrize("wrong", ["missing", "empty", "folder", "torn"])
def test_bad_data_to_shuffle(bad_data: dict[str, Path], tmp_path: Path, wrong: str) -> None:
    result = run("convert", bad_data[wrong], tmp_path / "out.svm", "--shuffle")
    assert DATA_MESSAGES[wrong] in one_error(result, INPUT)
    assert names_in(tmp_path) == set()


@pytest.mark.parametrize("wrong", MODEL_MESSAGES)
def test_bad_model(bad_models: dict[str, Path], tmp_path: Path, wrong: str) -> None:
    path, out = bad_models[wrong], tmp_path / "out"
    out.write_bytes(b"as before")
    for command in (
        ("predict", path, SATIMAGE_TEST, "-o", out),
        ("score", path, SATIMAGE_TEST),
        ("inspect", path, SATIMAGE, "--report", out),
        ("convert", path, out, "--to", "liblinear"),
        ("info", path),
        ("info", path, "--json"),
    ):
        if command[0] == "info" and wrong in ("altered", "checkpoint"):
            continue  # it reads the header only, and that of checkpoints too
        assert MODEL_MESSAGES[wrong] in one_error(run(*command), INPUT), command
        assert names_in(tmp_path) == {"out"}
        assert out.read_bytes() == b"as before"


def test_bad_output(model: Path, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    for target, message in (
        (tmp_path / "absent" / "x.png", "there is no directory"),
        (tmp_path / "folder", "it is a directory"),
        (Path("/dev/null/x.png"), "cannot write"),
        (tmp_path / ("x" * 300 + ".png"), "File name too long"),
    ):
        for command in (
            ("train", SATIMAGE, "-o", target),
            ("train", SATIMAGE, "-o", tmp_path / "m.safetensors", "--checkpoint", target),
            ("train", SATIMAGE, "--stream", "-o", target),
            ("predict", model, SATIMAGE_TEST, "-o", target),
            ("select", SATIMAGE, "-o", target),
            ("select", SATIMAGE, "--plot", target),
            ("path", SATIMAGE, "--plot", target),
            ("inspect", model, SATIMAGE, "--report", target),
            ("convert", model, target, "--to", "onnx"),
            ("convert", SATIMAGE, target, "--to", "npz"),
            ("convert", SATIMAGE, target, "--shuffle"),
            ("demo", target),
        ):
            assert message in one_error(run(*command), OUTPUT), command
    assert names_in(tmp_path) == {"folder"}


def test_an_input_is_not_overwritten(model: Path, tmp_path: Path) -> None:
    data = tmp_path / "data.svm"
    write_svmlight(data, [[0.0], [1.0]], [1, 2])
    content = data.read_bytes()
    for command in (
        ("train", data, "-o", data),
        ("train", data, "-o", tmp_path / "m", "--checkpoint", data),
        ("predict", model, data, "-o", data),
        ("select", data, "-o", data),
        ("convert", data, data, "--shuffle"),
        ("convert", data, data),
        ("inspect", model, SATIMAGE, "--test", data, "--report", data),
    ):
        assert "it is read too" in one_error(run(*command), OUTPUT), command
        assert data.read_bytes() == content
    same = tmp_path / "same.safetensors"
    message = one_error(run("train", data, "-o", same, "--checkpoint", same), USAGE)
    assert "another file than --model" in message


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that other users can look into, but not write to."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


@contextmanager
def as_nobody() -> Iterator[None]:
    """Root may do anything: be somebody else."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def locked(open_folder: Path, model: Path) -> Path:
    """A folder with files, of which two must not be read, and in which nothing can be written."""
    shutil.copy(model, open_folder / "model.safetensors")
    (open_folder / "data.svm").write_text("1 1:1\n2 1:2\n")
    for name in ("model.safetensors", "data.svm"):
        shutil.copy(open_folder / name, open_folder / f"secret-{name}")
        (open_folder / f"secret-{name}").chmod(0)
    (open_folder / "out").mkdir(mode=0o555)
    return open_folder


def test_no_permission(locked: Path) -> None:
    data, secret = locked / "data.svm", locked / "secret-data.svm"
    model, secret_model = locked / "model.safetensors", locked / "secret-model.safetensors"
    target = locked / "out" / "new.png"
    for command in (
        ("train", secret, "-o", locked.parent / "m.safetensors"),
        ("predict", model, secret),
        ("predict", secret_model, data),
        ("score", secret_model, data),
        ("inspect", secret_model, data),
        ("info", secret_model),
        ("convert", secret, locked.parent / "x.npz"),
        ("convert", secret, locked.parent / "x.svm", "--shuffle"),
    ):
        with as_nobody():
            result = run(*command)
        assert "Permission denied" in one_error(result, INPUT), command
    for command in (
        ("train", data, "-o", target, "-q"),
        ("predict", model, data, "-o", target),
        ("convert", data, target, "--shuffle"),
    ):
        with as_nobody():
            result = run(*command)
        assert "ermission" in one_error(result, OUTPUT), command
    assert names_in(locked / "out") == set()
