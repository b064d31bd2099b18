"""Rows that teach nothing, and rows that are not like those of the model."""

from pathlib import Path

import numpy as np
from cli_helpers import (
    LETTER,
    SATIMAGE,
    SATIMAGE_TEST,
    done,
    names_in,
    one_error,
    run,
    write_svmlight,
)

INPUT, USAGE = 3, 2


def test_rows_that_teach_nothing(tmp_path: Path) -> None:
    out = ("-o", tmp_path / "m.safetensors")
    one = write_svmlight(tmp_path / "one.svm", [[0.0], [1.0]], [1, 1])
    for command in (("train", one, *out), ("train", one, *out, "--stream"), ("path", one)):
        assert "one.svm: all rows have the label 1" in one_error(run(*command), INPUT)
    huge = write_svmlight(tmp_path / "huge.svm", [[0.0], [1e200]], [1, 2])
    assert "huge.svm: The largest squared norm" in one_error(run("train", huge, *out), INPUT)
    (tmp_path / "nan.svm").write_text("1 1:2\n2 1:nan\n")
    assert "nan.svm:2:5" in one_error(run("train", tmp_path / "nan.svm", *out), INPUT)
    (tmp_path / "marks.tsv").write_text("a\t!!\nb\t??\n")
    message = one_error(run("train", tmp_path / "marks.tsv", *out), INPUT)
    assert "marks.tsv: no text holds a single feature" in message
    (tmp_path / "ragged.csv").write_text("a,label\n1,x\n1,2,y\n")
    assert "ragged.csv:3" in one_error(run("train", tmp_path / "ragged.csv", *out), INPUT)
    assert "m.safetensors" not in names_in(tmp_path)


def test_labels_that_the_model_does_not_know_are_errors(model: Path, tmp_path: Path) -> None:
    rows = np.full((4, 36), 50.0)
    data = write_svmlight(tmp_path / "a.svm", rows, [1, 99, 2.5, 1])
    result = done("score", model, data, "--json")
    assert "errors: 2 rows with labels that the model does not know" in result.err
    assert result.json["n"] == 4
    assert {row["label"] for row in result.json["classes"]} >= {1, 2.5, 99}
    assert result.json["errors"] >= 2
    np.savez(tmp_path / "b.npz", X=rows, y=np.array(["1", "a", "b", "1"]))
    assert done("score", model, tmp_path / "b.npz", "--json").json["errors"] >= 2


def test_more_and_fewer_features(model: Path, tmp_path: Path) -> None:
    (tmp_path / "wide.svm").write_text("1 1:50 40:3\n2 2:3 50:1\n")
    result = done("predict", model, tmp_path / "wide.svm")
    assert len(result.out.splitlines()) == 2
    assert "ignored 2 values of features beyond the 36 of the model" in result.err
    (tmp_path / "narrow.svm").write_text("1 1:50\n2 2:3\n")
    result = done("predict", model, tmp_path / "narrow.svm")
    assert len(result.out.splitlines()) == 2
    assert result.err == ""
    np.savez(tmp_path / "narrow.npz", X=np.ones((2, 3)), y=np.array([1, 2]))
    message = one_error(run("predict", model, tmp_path / "narrow.npz"), INPUT)
    assert "narrow.npz: 3 features where 36 are expected" in message


def test_a_file_of_another_kind_is_named_so(model: Path, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,label\n1,x\n")
    message = one_error(run("predict", model, tmp_path / "a.csv"), INPUT)
    assert "csv file, but the model was trained on svmlight" in message
    assert "--format" in message


def test_a_model_of_letters_on_satimage(tmp_path: Path) -> None:
    path = tmp_path / "letter.safetensors"
    done("train", LETTER, "-q", "--scale", "minmax", "-C", 0.01, "-o", path)
    result = done("score", path, SATIMAGE_TEST, "--json")
    assert "features beyond the 16 of the model" in result.err


def test_files_that_inspect_reads_beside_the_rows(model: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    names = tmp_path / "names.txt"
    names.write_text("a\nb\n")
    texts = tmp_path / "texts.tsv"
    texts.write_text("a\tb\n")
    for options, code, message in (
        (("--names", tmp_path / "none.txt"), INPUT, "none.txt: No such file"),
        (("--names", names), INPUT, "names.txt: 2 names for 36 features"),
        (("--texts", tmp_path / "none.tsv"), INPUT, "none.tsv: No such file"),
        (("--texts", texts), INPUT, "texts.tsv: 1 text for 4,435 rows"),
        (("--image-shape", "5x5"), USAGE, "5x5 are 25 pixels, but rows have 36 features"),
    ):
        result = run("inspect", model, SATIMAGE, "--report", report, *options)
        assert message in one_error(result, code)
        assert not report.exists()
