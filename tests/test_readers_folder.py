"""Folders of text files: a folder for each class, or files without labels."""

import csv
import gzip
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli_helpers import done, one_error, run

from polymargin.errors import DataError
from polymargin.readers import _folder, read, read_batches, scan

WORDS = {"ham": "meeting report lunch", "spam": "prize money winner"}


def make(folder: Path, files: dict[str, str | bytes]) -> Path:
    for name, content in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


@pytest.fixture
def mails(tmp_path: Path) -> Path:
    files = {
        f"{label}/{i:02}.txt": f"{words}\n\twhich is number {i}\\n\n"
        for label, words in WORDS.items()
        for i in range(20)
    }
    return make(tmp_path / "mails", files)


def test_texts_and_labels(tmp_path: Path) -> None:
    folder = make(
        tmp_path,
        {
            "b/10.txt": "ten\nlines",
            "b/9.txt": "\ufeffnine é\r\n",
            "a/empty": "",
            "a/packed.gz": gzip.compress(b"from gzip"),
            "a/.hidden": b"\xff",
            ".git/x": b"\0",
        },
    )
    table = read(folder)
    assert table.X == ["", "from gzip", "ten\nlines", "nine é\r\n"]
    assert table.y.tolist() == ["a", "a", "b", "b"]
    assert table.files == ("a/empty", "a/packed.gz", "b/10.txt", "b/9.txt")
    assert table.lines is None
    assert table.reading == {"format": "folder", "label_kind": "string"}
    assert read(folder, **table.reading).X == table.X
    parts = list(read_batches(folder, rows=3))
    assert [part.X for part in parts] == [table.X[:3], table.X[3:]]
    assert [part.files for part in parts] == [table.files[:3], table.files[3:]]
    assert np.concatenate([part.y for part in parts]).tolist() == table.y.tolist()
    found = scan(folder)
    assert (found.n_rows, found.n_features, found.classes.tolist()) == (4, None, ["a", "b"])
    assert found.reading == table.reading


def test_labels_that_are_numbers(tmp_path: Path) -> None:
    folder = make(tmp_path, {"1/a": "x", "10/a": "y", "2/a": "z"})
    assert read(folder).y.tolist() == [1, 10, 2]
    assert [part.y.tolist() for part in read_batches(folder, rows=1)] == [[1], [10], [2]]
    make(tmp_path, {"x/a": "u"})
    assert [part.y.tolist() for part in read_batches(folder, rows=1)] == [
        ["1"],
        ["10"],
        ["2"],
        ["x"],
    ]
    with pytest.raises(DataError, match="x: the label 'x' is not a whole number") as caught:
        read(folder, label_kind="integer")
    assert caught.value.path == str(tmp_path / "x")


def test_without_labels(tmp_path: Path) -> None:
    folder = make(tmp_path / "new", {"b.txt": "2", "a.txt": "1"})
    table = read(folder, has_labels=False)
    assert (table.X, table.y, table.files) == (["1", "2"], None, ("a.txt", "b.txt"))
    with pytest.raises(DataError, match="put the files into a folder for each class"):
        read(folder)
    labels = tmp_path / "labels.txt"
    labels.write_text("u\nv\n")
    assert read(folder, labels_path=labels).y.tolist() == ["u", "v"]


@pytest.mark.parametrize(
    ("files", "path", "message"),
    [
        ({"a/x": b"fine\nline \xff\n"}, "a/x", "x:2:6: byte 0xff is not UTF-8"),
        ({"a/x": b"z\0"}, "a/x", "x:1:2: there is a zero byte"),
        ({"a/x": "1", "README": "r"}, "README", "a file beside the folders of classes"),
        ({"a/b/x": "1"}, "a/b", "a folder inside that of a class"),
        ({"a/x": gzip.compress(b"cut off")[:-9]}, "a/x", "ends too early"),
        ({".x": "hidden"}, "", "no files in the folder"),
    ],
)
def test_errors(tmp_path: Path, files: dict[str, Any], path: str, message: str) -> None:
    make(tmp_path, files)
    for call in (read, scan, lambda folder: list(read_batches(folder, rows=1))):
        with pytest.raises(DataError, match=message) as caught:
            call(tmp_path)
        assert caught.value.path == str(tmp_path / path)


def test_links_pipes_and_long_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make(tmp_path / "texts", {"a/x": "long text"})
    (folder / "b").symlink_to(folder / "a", target_is_directory=True)
    assert read(folder).y.tolist() == ["a", "b"]
    for name, target in (("a/loop", "loop"), ("c", "c"), ("a/none", "nothing")):
        link = folder / name
        link.symlink_to(target)
        with pytest.raises(DataError, match="symbolic links|No such file") as caught:
            read(folder)
        assert Path(caught.value.path or "").name == link.name
        link.unlink()
    (folder / "a" / "up").symlink_to(folder, target_is_directory=True)
    with pytest.raises(DataError, match="a folder inside that of a class"):
        read(folder)
    (folder / "a" / "up").unlink()
    os.mkfifo(folder / "a" / "pipe")
    with pytest.raises(DataError, match="neither a file nor a folder"):
        read(folder)
    (folder / "a" / "pipe").unlink()
    monkeypatch.setattr(_folder, "LONGEST_TEXT", 4)
    with pytest.raises(DataError, match="x: the text is longer than 4"):
        read(folder)


def test_names_of_any_bytes(tmp_path: Path) -> None:
    folder = make(tmp_path, {"a/x": "1", "b/x": "2"})
    odd = os.fsencode(folder / "a") + b"/\xff.txt"
    try:
        Path(os.fsdecode(odd)).write_text("odd")
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    assert read(folder).files == ("a/x", "a/\\xff.txt", "b/x")
    Path(os.fsdecode(os.fsencode(folder) + b"/\xfe")).mkdir()
    with pytest.raises(DataError, match="name is not UTF-8"):
        read(folder)


def test_files_and_folders_stay_apart(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("a,y\n1,2\n")
    with pytest.raises(NotADirectoryError):
        read(file, format="folder")
    with pytest.raises(IsADirectoryError):
        read(tmp_path, format="csv")


def test_on_the_command_line(tmp_path: Path, mails: Path) -> None:
    model = tmp_path / "m.safetensors"
    done("train", mails, "-o", model, "-q")
    assert done("score", model, mails, "--json").json["accuracy"] == 1
    new = make(tmp_path / "new", {"1.txt": "lunch", "2.txt": "prize money", "3.txt": "report"})
    assert done("predict", model, new).out == "1.txt\tham\n2.txt\tspam\n3.txt\tham\n"
    assert done("select", mails, "--log2-C=-2:2:2", "--json", "-q").json["accuracy"] == 1
    lines = tmp_path / "mails.tsv"
    done("convert", mails, lines)
    assert read(lines).X == read(mails).X
    assert read(lines).y.tolist() == read(mails).y.tolist()
    by_file = [line.split("\t") for line in done("predict", model, mails).out.splitlines()]
    assert [name for name, _ in by_file] == list(read(mails).files)
    assert done("predict", model, lines).out.split() == [label for _, label in by_file]
    done("convert", mails, lines, "--shuffle")
    assert sorted(read(lines).X) == sorted(read(mails).X)
    assert read(lines).y.tolist() != read(mails).y.tolist()
    done("train", lines, "-o", tmp_path / "lines.safetensors", "-q")
    assert done("score", tmp_path / "lines.safetensors", mails, "--json").json["accuracy"] == 1
    done("train", mails, "--stream", "-o", model, "-q")
    assert "2.txt\tspam\n" in done("predict", model, new).out
    done("train", mails, "--stream", "--classes", "ham,spam", "-o", model, "-q")
    unknown = run("train", mails, "--stream", "--classes", "ham,eggs", "-o", model, "-q")
    assert "spam/00.txt: the label spam is not among" in one_error(unknown, 3)


def test_tables_of_predictions_name_files(tmp_path: Path, mails: Path) -> None:
    model = tmp_path / "m.safetensors"
    done("train", mails, "-o", model, "-q", "--calibration", "temperature")
    new = make(tmp_path / "new", {"a, b.txt": "lunch", "t\tt.txt": "prize money"})
    best = [line.split("\t") for line in done("predict", model, new, "--top", "2").out.splitlines()]
    assert best == [["a, b.txt", "ham", "spam"], ["t\\tt.txt", "spam", "ham"]]
    scores = [line.split("\t") for line in done("predict", model, new, "--scores").out.splitlines()]
    assert scores[0] == ["file", "label", "ham", "spam"]
    assert [row[:2] for row in scores[1:]] == [["a, b.txt", "ham"], ["t\\tt.txt", "spam"]]
    options = ("predict", model, new, "--probabilities", "--table")
    comma = list(csv.reader(done(*options, "csv").out.splitlines()))
    assert [row[:2] for row in comma] == [
        ["file", "label"],
        ["a, b.txt", "ham"],
        ["t\tt.txt", "spam"],
    ]
    objects = [json.loads(line) for line in done(*options, "json").out.splitlines()]
    assert [(found["file"], found["label"]) for found in objects] == [
        ("a, b.txt", "ham"),
        ("t\tt.txt", "spam"),
    ]


def test_what_commands_refuse(tmp_path: Path, mails: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("a,y\n" + "1,u\n2,v\n" * 5)
    done("train", table, "-o", tmp_path / "m.safetensors", "-q")
    refused = run("predict", tmp_path / "m.safetensors", mails)
    assert "it is a folder of texts, but the model was trained on csv" in one_error(refused, 3)
    assert "no numbers" in one_error(run("convert", mails, tmp_path / "m.svm"), 3)
    assert "no texts" in one_error(run("convert", table, tmp_path / "m.tsv"), 3)
    make(mails, {"eggs\t/1.txt": "an odd label"})
    refused = run("convert", mails, tmp_path / "m.tsv")
    assert "'eggs\\t' cannot stand before a tab" in one_error(refused, 3)


def test_inspection_names_files(tmp_path: Path, mails: Path) -> None:
    pytest.importorskip("jinja2")
    pytest.importorskip("pandas")
    (mails / "ham" / "07.txt").write_text("winner of the prize money")
    model, report = tmp_path / "m.safetensors", tmp_path / "r.html"
    done("train", mails, "-o", model, "-q")
    assert "ham/07.txt" in done("inspect", model, mails, "--report", report).out
    page = report.read_text().replace("<wbr>", "")  # where a long name may break
    assert "07.txt" in page
    assert ">file</th>" in page
