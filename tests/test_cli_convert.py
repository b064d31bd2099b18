"""Models and data in other formats, rows in another order."""

import csv
import lzma
from pathlib import Path

import numpy as np
import pytest
from cli_helpers import SATIMAGE_TEST, done, names_in, run
from sklearn.datasets import load_svmlight_file

from polymargin import LinearSVM, load, read_info
from polymargin.files import load_liblinear


def test_convert_to_liblinear_and_back(model: Path, tmp_path: Path) -> None:
    there, back = tmp_path / "sat.model", tmp_path / "back.safetensors"
    done("convert", model, there)
    assert there.read_text().startswith("solver_type ")
    done("convert", there, back)
    assert isinstance(load(back), LinearSVM)
    assert load_liblinear(there).coef_.shape == (6, 36)
    before = done("score", model, SATIMAGE_TEST, "--json").json
    after = done("score", back, SATIMAGE_TEST, "--json").json
    assert after["accuracy"] == before["accuracy"]


def test_convert_to_onnx(model: Path, tmp_path: Path) -> None:
    runtime = pytest.importorskip("onnxruntime")
    target = tmp_path / "sat.onnx"
    done("convert", model, target)
    session = runtime.InferenceSession(target.read_bytes(), providers=["CPUExecutionProvider"])
    with lzma.open(SATIMAGE_TEST, "rb") as file:
        X, _ = load_svmlight_file(file)
    (labels,) = session.run(["label"], {"X": X.toarray()})
    assert [str(label) for label in labels] == done("predict", model, SATIMAGE_TEST).out.split()


def test_convert_a_model_keeps_what_it_knows(model: Path, tmp_path: Path) -> None:
    copy, unnamed = tmp_path / "copy.safetensors", tmp_path / "unnamed"
    unnamed.write_bytes(model.read_bytes())
    done("convert", unnamed, copy)
    before, after = read_info(model), read_info(copy)
    assert (after.reading, after.data_hash) == (before.reading, before.data_hash)
    assert after.data_hash is not None


@pytest.mark.parametrize("name", ["rows.svm", "rows.svm.gz", "rows.svm.zst", "rows.npz"])
def test_convert_data(rows: Path, tmp_path: Path, name: str) -> None:
    target = tmp_path / name
    assert "features: a, b" in done("convert", rows, target).err
    results = []
    for data in (rows, target):
        done("train", data, "-q", "--scale", "standard", "-o", tmp_path / "m.safetensors")
        results.append(done("score", tmp_path / "m.safetensors", data, "--json").json)
    assert results[0]["accuracy"] == results[1]["accuracy"]
    assert results[1]["n"] == 90


def test_shuffle_keeps_rows_and_header(rows: Path, tmp_path: Path) -> None:
    target = tmp_path / "shuffled.csv"
    assert "90 rows" in done("convert", rows, target, "--shuffle").err
    before, after = rows.read_text().splitlines(), target.read_text().splitlines()
    assert before[0] == after[0]
    assert before[1:] != after[1:]
    assert sorted(before[1:]) == sorted(after[1:])
    done("convert", rows, tmp_path / "again.csv", "--shuffle", "--seed", 1)
    assert (tmp_path / "again.csv").read_text() != target.read_text()
    assert names_in(tmp_path) == {"shuffled.csv", "again.csv"}


def test_shuffle_keeps_cells_with_line_ends_whole(tmp_path: Path) -> None:
    source, target = tmp_path / "a.csv", tmp_path / "b.csv"
    cells = [["text", "label"], *([f'a "{i}"\nb', str(i % 2)] for i in range(50))]
    with source.open("w", newline="") as file:
        csv.writer(file).writerows(cells)
    done("convert", source, target, "--shuffle")
    with target.open(newline="") as file:
        found = list(csv.reader(file))
    assert found[0] == cells[0]
    assert sorted(found[1:]) == sorted(cells[1:])
    assert found != cells


@pytest.mark.parametrize(("name", "mark"), [("a.csv", ";"), ("a.tsv", "\t")])
def test_shuffle_keeps_what_tells_the_delimiter(tmp_path: Path, name: str, mark: str) -> None:
    source, target = tmp_path / name, tmp_path / f"b{name}"
    rows = [f'"{i}\nb";c;x' for i in range(30)]
    source.write_text("\n".join(["sep=;", "a;b;label", *rows]).replace(";", mark))
    assert "30 rows" in done("convert", source, target, "--shuffle").err
    text = target.read_text().replace(mark, ";")
    assert text.startswith("sep=;\na;b;label\n")
    assert all(row in text for row in rows)


def test_shuffle_keeps_rows_apart_whose_quotes_are_plain(tmp_path: Path) -> None:
    source, target = tmp_path / "a.tsv", tmp_path / "b.tsv"
    rows = [f'"open {i}\t{i}\tx' for i in range(30)] + ['"two\nlines"\t5\ty']
    source.write_text("\n".join(["a\tb\tlabel", *rows]))
    assert "31 rows" in done("convert", source, target, "--shuffle").err
    text = target.read_text()
    assert sorted(text.splitlines()) == sorted(source.read_text().splitlines())
    assert rows[-1] in text


@pytest.mark.parametrize("name", ["a.csv", "a.tsv"])
def test_shuffle_of_tabs_in_files_of_any_name(tmp_path: Path, name: str) -> None:
    source, target = tmp_path / name, tmp_path / f"b{name}"
    rows = [f'{i}\t5" pipe\t{"xy"[i % 2]}' for i in range(31)]
    source.write_text("size\tremark\tlabel\n" + "\n".join(rows) + "\n")
    assert "31 rows" in done("convert", source, target, "--shuffle").err
    header, *shuffled = target.read_text().splitlines()
    assert header == "size\tremark\tlabel"
    assert sorted(shuffled) == sorted(rows) != shuffled


@pytest.mark.parametrize("mark", [",", "\t"])
def test_shuffle_keeps_comments_at_the_start(tmp_path: Path, mark: str) -> None:
    source, target = tmp_path / "a.csv", tmp_path / "b.csv"
    above = ['# width 5" and more', "", "# by hand", mark.join("ab")]
    rows = [f"{i}{mark}{i % 2}" for i in range(30)]
    source.write_text("\n".join([*above, *rows]) + "\n")
    assert "30 rows" in done("convert", source, target, "--shuffle").err
    lines = target.read_text().splitlines()
    assert lines[:3] == [above[0], *above[2:]]
    assert sorted(lines[3:]) == sorted(rows) != lines[3:]


def test_shuffle_without_a_header(tmp_path: Path) -> None:
    source, target = tmp_path / "a.csv", tmp_path / "b.csv"
    rows = [f"{i},{i % 2}" for i in range(30)]
    source.write_text("\n".join(rows) + "\n")
    assert "30 rows" in done("convert", source, target, "--shuffle", "--no-header").err
    assert sorted(target.read_text().splitlines()) == sorted(rows)


def test_shuffle_of_texts_has_no_header(tmp_path: Path) -> None:
    source, target = tmp_path / "a.tsv", tmp_path / "b.tsv.xz"
    source.write_text("".join(f"{i % 2}\tword number{i}\n" for i in range(40)))
    assert "40 rows" in done("convert", source, target, "--shuffle").err
    done("convert", target, tmp_path / "c.tsv", "--shuffle")
    lines = (tmp_path / "c.tsv").read_text().splitlines()
    assert sorted(lines) == sorted(source.read_text().splitlines())


def test_what_makes_numbers_can_be_left_out(tmp_path: Path) -> None:
    data, model = tmp_path / "data.csv", tmp_path / "m.safetensors"
    data.write_text("size,colour,label\n" + "1,red,a\n2,blue,b\n3,red,c\n" * 5)
    done("train", data, "--scale", "standard", "-q", "-o", model)
    refused = run("convert", model, tmp_path / "m.onnx")
    assert refused.code == 2
    assert "--encoded leaves it out" in refused.err
    done("convert", model, tmp_path / "m.onnx", "--encoded")
    done("convert", model, tmp_path / "encoded.safetensors", "--encoded")
    whole, encoded = load(model), load(tmp_path / "encoded.safetensors")
    session = pytest.importorskip("onnxruntime").InferenceSession(tmp_path / "m.onnx")
    X = np.array([[2.0, 0.0, 1.0], [3.0, 1.0, 0.0]])
    expected = whole[1:].decision_function(X)
    np.testing.assert_allclose(encoded.decision_function(X), expected)
    np.testing.assert_allclose(session.run(["scores"], {"X": X})[0], expected)
    assert "1 × category and 1 × number" in " ".join(done("info", model).out.split())


def test_a_table_of_numbers_goes_to_onnx_as_it_is(rows: Path, tmp_path: Path) -> None:
    done("train", rows, "-q", "-o", tmp_path / "m.safetensors")
    done("convert", tmp_path / "m.safetensors", tmp_path / "m.onnx")
    done("convert", tmp_path / "m.safetensors", tmp_path / "m.model")
    assert load_liblinear(tmp_path / "m.model").coef_.shape == (3, 2)
