"""Images in idx files, the labels beside them, and models of them on the command line."""

import gzip
import io
import struct
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli_helpers import done, one_error, run

from polymargin import load
from polymargin.errors import DataError
from polymargin.files import read_info
from polymargin.readers import read, read_batches, scan

CODES = {"u1": 8, "i1": 9, "i2": 11, "i4": 12, "f4": 13, "f8": 14}


def idx(array: Any, dtype: str = "u1") -> bytes:
    """An array as such a file."""
    array = np.asarray(array)
    sizes = struct.pack(f">{array.ndim}I", *array.shape)
    return bytes([0, 0, CODES[dtype], array.ndim]) + sizes + array.astype(f">{dtype}").tobytes()


@pytest.fixture
def digits(tmp_path: Path) -> tuple[Path, np.ndarray, np.ndarray]:
    """Sixty images of 4 x 3 pixels whose brightest row tells the label."""
    y = np.arange(60) % 3
    images = np.random.default_rng(0).integers(0, 50, size=(60, 4, 3))
    images[np.arange(60), y] += 200
    file = tmp_path / "train-images-idx3-ubyte"
    file.write_bytes(idx(images))
    (tmp_path / "train-labels-idx1-ubyte").write_bytes(idx(y))
    return file, images.reshape(60, 12), y


def test_images_and_labels(digits: Any) -> None:
    file, X, y = digits
    table = read(file)
    assert table.X.dtype == np.float32
    np.testing.assert_array_equal(table.X, X)
    np.testing.assert_array_equal(table.y, y)
    assert table.y.dtype == np.int64
    assert table.reading == {
        "format": "idx",
        "n_features": 12,
        "image_shape": [4, 3],
        "label_kind": "integer",
    }
    np.testing.assert_array_equal(read(file, **table.reading).X, X)
    parts = list(read_batches(file, rows=25))
    assert [part.n_rows for part in parts] == [25, 25, 10]
    np.testing.assert_array_equal(np.vstack([part.X for part in parts]), X)
    np.testing.assert_array_equal(np.concatenate([part.y for part in parts]), y)
    found = scan(file)
    assert (found.n_rows, found.n_features, found.classes.tolist()) == (60, 12, [0, 1, 2])
    assert found.reading == table.reading


@pytest.mark.parametrize("pack_images", [False, True])
@pytest.mark.parametrize("pack_labels", [False, True])
def test_packed_files(tmp_path: Path, digits: Any, pack_images: bool, pack_labels: bool) -> None:
    file, X, y = digits
    labels = tmp_path / "train-labels-idx1-ubyte"
    for path, is_packed in ((file, pack_images), (labels, pack_labels)):
        if is_packed:
            path.with_name(path.name + ".gz").write_bytes(gzip.compress(path.read_bytes()))
            path.unlink()
    table = read(file.with_name(file.name + ".gz") if pack_images else file)
    np.testing.assert_array_equal(table.X, X)
    np.testing.assert_array_equal(table.y, y)


@pytest.mark.parametrize("dtype", CODES)
def test_numbers_of_all_types(tmp_path: Path, dtype: str) -> None:
    values = np.array([[1, 2, 100], [4, 5, 6]]) * (1 if dtype == "u1" else -1)
    file = tmp_path / "numbers.idx"
    file.write_bytes(idx(values, dtype))
    table = read(file, has_labels=False)
    np.testing.assert_array_equal(table.X, values)
    assert table.X.dtype == (np.float64 if dtype in ("i4", "f8") else np.float32)
    assert "image_shape" not in table.reading
    assert table.y is None


def test_labels_are_named_or_do_without(tmp_path: Path, digits: Any) -> None:
    file, _, y = digits
    other = tmp_path / "digits"
    other.write_bytes(file.read_bytes())
    with pytest.raises(DataError, match="its name tells none; name it"):
        read(other)
    assert read(other, has_labels=False).y is None
    words = [f"c{label}" for label in y]
    (tmp_path / "l.txt").write_text("\n".join(words))
    assert read(other, labels_path=tmp_path / "l.txt").y.tolist() == words
    labels = tmp_path / "train-labels-idx1-ubyte"
    assert read(other, labels_path=labels, label_kind="string").y.tolist() == [*map(str, y)]
    labels.unlink()
    with pytest.raises(DataError, match="no file train-labels-idx1-ubyte beside it"):
        read(file)
    with pytest.raises(DataError, match="no file train-labels-idx1-ubyte beside it"):
        list(read_batches(file))


def test_standard_input(monkeypatch: pytest.MonkeyPatch, digits: Any) -> None:
    file, X, _ = digits
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(file.read_bytes())))
    np.testing.assert_array_equal(read("-", has_labels=False).X, X)


HUGE = bytes([0, 0, 8, 3]) + struct.pack(">3I", 2**32 - 1, 2**15, 2**15)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\0\0\x08\x03\0\0\0\x01\0\0", "ends in its header"),
        (idx(np.ones((2, 2, 2)))[:-1], "should hold 2 x 2 x 2 numbers"),
        (idx(np.ones((2, 2, 2))) + b"\0", "something follows the 2 x 2 x 2 numbers"),
        (HUGE + bytes(1000), "ends too early"),
        (bytes([0, 0, 8, 3]) + struct.pack(">3I", 2**32 - 1, 2**16, 2**16), "images of 65536 x"),
        (bytes([0, 0, 8, 2]) + struct.pack(">2I", 2**32 - 1, 0), "images of 0 pixels"),
        (idx(np.ones((0, 2, 2))), "no rows"),
        (idx(np.arange(5)), "holds labels; name the file of images"),
        (b"\0\0\x07\x03" + bytes(20), "not an idx file"),
        (b"\0\0\x08\x7f" + bytes(2000), "not an idx file"),
    ],
)
def test_damaged_files(tmp_path: Path, content: bytes, message: str) -> None:
    file = tmp_path / "broken.idx"
    for stored in (content, gzip.compress(content)):
        file.write_bytes(stored)
        for call in (read, scan, lambda path, **how: list(read_batches(path, **how))):
            with pytest.raises(DataError, match=message):
                call(file, has_labels=False)


def test_wrong_labels_and_sizes(tmp_path: Path, digits: Any) -> None:
    file, _, y = digits
    labels = tmp_path / "train-labels-idx1-ubyte"
    labels.write_bytes(idx(y[:-1]))
    for call in (read, scan, lambda path: list(read_batches(path, rows=7))):
        with pytest.raises(DataError, match="train-labels-idx1-ubyte: 59 labels"):
            call(file)
    with pytest.raises(DataError, match="of 3 dimensions holds no labels"):
        read(file, labels_path=file)
    with pytest.raises(DataError, match="4 x 3 pixels where 3 x 4 are expected"):
        read(file, image_shape=(3, 4))
    for shape in ((3,), "34", (0, 3), (2.0, 3)):
        with pytest.raises(ValueError, match="image_shape=.*: use a height and a width"):
            read(file, image_shape=shape)  # type: ignore[arg-type]


def test_on_the_command_line(tmp_path: Path, digits: Any) -> None:
    file, _, y = digits
    model, report = tmp_path / "m.safetensors", tmp_path / "r.html"
    done("train", file, "--scale", "maxabs", "-o", model, "-q")
    assert read_info(model).reading["image_shape"] == [4, 3]
    assert load(model).classes_.tolist() == [0, 1, 2]
    assert done("predict", model, file).out.split() == [*map(str, y)]
    assert done("score", model, file, "--json").json["accuracy"] == 1
    assert done("select", file, "--log2-C=-2:2:2", "--json", "-q").json["accuracy"] == 1
    pytest.importorskip("jinja2")
    pytest.importorskip("pandas")
    done("inspect", model, file, "--report", report)
    pictures = report.read_text()
    done("inspect", model, file, "--report", report, "--image-shape", "4x3")
    assert pictures.count("data:image/png") == report.read_text().count("data:image/png") > 10
    for name in ("d.npz", "d.svm"):
        done("convert", file, tmp_path / name)
        np.testing.assert_array_equal(read(tmp_path / name).y, y)
        assert done("predict", model, tmp_path / name).out.split() == [*map(str, y)]
    done("train", tmp_path / "d.npz", "-o", tmp_path / "n.safetensors", "-q")
    assert done("score", tmp_path / "n.safetensors", file, "--json").json["accuracy"] == 1


def test_labels_on_the_command_line(tmp_path: Path, digits: Any) -> None:
    file, _, y = digits
    (tmp_path / "train-labels-idx1-ubyte").rename(tmp_path / "other")
    model = tmp_path / "m.safetensors"
    assert "--labels" in one_error(run("train", file, "-o", model), 3)
    missing = one_error(run("train", file, "--labels", tmp_path / "none", "-o", model), 3)
    assert f"{tmp_path / 'none'}: No such file" in missing
    labels = ("--labels", tmp_path / "other")
    done("train", file, *labels, "-o", model, "-q")
    assert done("score", model, file, *labels, "--json").json["n"] == 60
    assert done("predict", model, file).out.split() == [*map(str, y)]
    done("train", file, *labels, "--stream", "-o", model, "-q")
    assert "have no lines to shuffle" in one_error(
        run("convert", file, tmp_path / "s.idx", "--shuffle"), 3
    )


@pytest.mark.parametrize("how", [(), ("--stream",), ("--stream", "--classes", "0,1,2")])
def test_pixels_are_scaled_unless_asked_not_to(digits: Any, how: tuple[str, ...]) -> None:
    file, X, _ = digits
    model = file.with_name("m.safetensors")
    done("train", file, *how, "-q", "-o", model)
    np.testing.assert_allclose(load(model)[0].factor_, 1 / X.max(axis=0))
    done("train", file, *how, "--scale", "none", "-q", "-o", model)
    assert not hasattr(load(model), "steps")
