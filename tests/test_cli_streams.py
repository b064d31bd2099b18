"""Training on files that are read a buffer at a time."""

import lzma
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli_helpers import LETTER, LETTER_TEST, SATIMAGE, done, names_in, run, write_svmlight
from sklearn.datasets import load_svmlight_file

from polymargin import LinearSVM, load, read_info
from polymargin.preprocessing import Scaler
from polymargin.streams import fit_stream

INPUT, OUTPUT, USAGE = 3, 4, 2
CLASSES = ",".join(map(str, range(1, 27)))


@pytest.fixture(scope="module")
def letter() -> tuple[Any, Any]:
    with lzma.open(LETTER, "rb") as file:
        X, y = load_svmlight_file(file)
    return X, y.astype(np.int64)


@pytest.mark.parametrize("passes", [1, 3])
def test_a_stream_as_in_python(tmp_path: Path, letter: tuple[Any, Any], passes: int) -> None:
    out = tmp_path / "m.safetensors"
    options = ("--stream", "--batch", 1000, "--passes", passes, "-C", 0.001)
    summary = done("train", LETTER, *options, "-o", out, "--json").json
    X, y = letter

    def batches() -> Any:
        for first in range(0, len(y), 1000):
            yield X[first : first + 1000], y[first : first + 1000]

    expected = fit_stream(
        LinearSVM(C=0.001, random_state=0), batches, np.arange(1, 27), passes=passes
    )
    np.testing.assert_allclose(load(out).coef_, expected.coef_)
    assert (summary["n"], summary["d"], summary["k"]) == (15000, 16, 26)
    assert summary["passes"] == passes
    if passes == 1:
        assert summary["gap"] is None
    else:
        assert summary["gap"] == pytest.approx(expected.dual_gap_)
        assert summary["dual_objective"] <= summary["primal_objective"]
    assert read_info(out).is_stream
    assert done("score", out, LETTER_TEST, "--json").json["accuracy"] > 0.4
    assert names_in(tmp_path) == {"m.safetensors"}


def test_standard_input_with_classes(tmp_path: Path) -> None:
    text = lzma.decompress(LETTER.read_bytes())
    known = ("--classes", CLASSES, "--n-features", 16, "--format", "svmlight")
    options = ("--stream", "-C", 0.001, "-q")
    done("train", "-", *options, *known, "-o", tmp_path / "a.safetensors", stdin=text)
    done("train", LETTER, *options, "-o", tmp_path / "b.safetensors")
    (tmp_path / "classes.txt").write_text(CLASSES.replace(",", "\n") + "\n")
    listed = ("--classes", tmp_path / "classes.txt", "--n-features", 16)
    done("train", LETTER, *options, *listed, "-o", tmp_path / "c.safetensors")
    first, *others = (load(tmp_path / f"{name}.safetensors") for name in "abc")
    for other in others:
        np.testing.assert_array_equal(first.coef_, other.coef_)
        assert first.classes_.tolist() == other.classes_.tolist()


def test_a_stream_of_texts(tmp_path: Path) -> None:
    data, out = tmp_path / "a.tsv", tmp_path / "m.safetensors"
    lines = [f"{('greet', 'leave')[i % 2]}\t{('hello', 'bye')[i % 2]} you {i}\n" for i in range(60)]
    data.write_text("".join(lines))
    summary = done("train", data, "--stream", "--hash-bits", 10, "-o", out, "--json").json
    assert summary["d"] == 1024
    assert done("score", out, data, "--json").json["accuracy"] == 1.0
    named = ("--classes", "greet,leave", "--text-features", "hashing")
    again = done("train", "-", "--format", "text", "--stream", *named, "-q", "-o", out,
                 stdin=data.read_bytes())  # fmt: skip
    assert again.err == ""
    assert done("score", out, data, "--json").json["accuracy"] == 1.0


def test_a_stream_of_a_table(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    rows = [f"{a:.3f},{b:.3f},{'ab'[int(a > b)]}" for a, b in random.normal(size=(200, 2))]
    data, out = tmp_path / "a.csv", tmp_path / "m.safetensors"
    data.write_text("x,y,label\n" + "\n".join(rows) + "\n")
    done("train", data, "--stream", "--passes", 5, "--batch", 50, "-o", out)
    assert done("score", out, data, "--json").json["accuracy"] > 0.95


def test_a_stream_of_numbers_categories_and_texts(tmp_path: Path) -> None:
    data, out = tmp_path / "a.csv", tmp_path / "m.safetensors"
    rows = [
        f"{10_000 + i},{('red', 'blue')[i % 2]},it is {('good', 'bad')[i % 3 == 0]} no {i},{i % 6}"
        for i in range(300)
    ]
    data.write_text("price,colour,remark,label\n" + "\n".join(rows) + "\n")
    options = ("--stream", "--batch", 50, "--hash-bits", 10)
    summary = done("train", data, *options, "-o", out, "--json").json
    assert summary["d"] == 1 + 2 + 1024
    encoder = load(out).steps[0][1]
    assert encoder.kinds_ == ("number", "category", "text:hashing")
    assert encoder.means_[0] == pytest.approx(10_149.5)  # of all rows
    assert done("score", out, data, "--json").json["n"] == 300
    piped = ("train", "-", "--format", "csv", *options, "--classes", "0,1,2,3,4,5", "-o", out)
    result = run(*piped, stdin=data.read_bytes())
    assert result.code == INPUT
    assert "hash them with --column colour=text:hashing" in result.err
    done(*piped, "--column", "colour=text:hashing", "-q", stdin=data.read_bytes())
    assert load(out).steps[0][1].kinds_ == ("number", "text:hashing", "text:hashing")


@pytest.mark.parametrize(
    "options",
    [
        ("--kernel", "rbf"),
        ("--balanced",),
        ("--precision", "float32"),
        ("--missing", "mean"),
        ("--text-features", "tfidf"),
        ("--tol", "0.1"),
        ("--max-iter", "5"),
        ("--solver", "block-descent"),
        ("--checkpoint", "x"),
        ("--resume", "x"),
        ("--duals",),
    ],
    ids=lambda options: options[0],
)
def test_what_does_not_go_with_a_stream(tmp_path: Path, options: tuple[str, ...]) -> None:
    result = run("train", SATIMAGE, "--stream", "-o", tmp_path / "m.safetensors", *options)
    assert result.code == USAGE
    assert f"{options[0]}: does not go with --stream: " in result.err
    assert names_in(tmp_path) == set()


def test_what_standard_input_cannot_do(tmp_path: Path) -> None:
    out = ("-o", tmp_path / "m.safetensors")
    for options in ((), ("--classes", "1,2", "--passes", 2)):
        result = run("train", "-", "--stream", *options, *out, stdin=b"1 1:1\n2 1:2\n")
        assert result.code == USAGE
        assert "a pipe is read but once" in result.err
    os.mkfifo(tmp_path / "pipe")
    assert "a pipe is read but once" in run("train", tmp_path / "pipe", "--stream", *out).err
    result = run("train", "-", "--stream", "--classes", "1,2", *out, stdin=b"1 1:1\n2 1:2\n")
    assert result.code == USAGE
    assert "--n-features is needed" in result.err
    result = run("train", SATIMAGE, "--stream", "--classes", "1,2", *out)
    assert result.code == USAGE
    assert "--n-features" in result.err
    result = run("train", SATIMAGE, "--stream", "--classes", "1", "--n-features", 36, *out)
    assert result.code == USAGE
    assert "two classes are needed" in result.err


def test_a_label_that_is_not_among_the_classes(tmp_path: Path) -> None:
    out = tmp_path / "m.safetensors"
    known = ("--classes", "1,2,3", "--n-features", 36, "--batch", 5)
    result = run("train", SATIMAGE, "--stream", *known, "-o", out)
    assert result.code == INPUT
    assert "satimage.train.svm.xz:9: the label 4 is not among those of --classes" in result.err
    assert names_in(tmp_path) == set()


def test_a_line_that_is_wrong_late_in_the_file(tmp_path: Path) -> None:
    data, out = tmp_path / "a.svm", tmp_path / "m.safetensors"
    text = lzma.decompress(SATIMAGE.read_bytes()).decode().splitlines()
    text[3000] = "1 1:0.5 2:oops"
    data.write_text("\n".join(text) + "\n")
    known = ("--classes", "1,2,3,4,5,6", "--n-features", 36, "--batch", 100)
    result = run("train", data, "--stream", *known, "-o", out)
    assert result.code == INPUT
    assert "a.svm:3001:11: the value in '2:oops' is not a number" in result.err
    assert names_in(tmp_path) == {"a.svm"}


def test_sorted_rows_are_told(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).normal(size=(300, 2))
    labels = np.sort(np.arange(300) % 3)
    data = write_svmlight(tmp_path / "sorted.svm", rows, labels)
    options = ("--stream", "-o", tmp_path / "m.safetensors")
    assert "warning" not in done("train", data, *options).err
    result = done("train", data, *options, "--shuffle-size", 0)
    assert "warning: The rows come in runs of the same label" in result.err
    assert "99% of the 300 rows" in result.err
    assert "predict 33%" in result.err
    assert "convert --shuffle" in result.err
    done("convert", data, tmp_path / "mixed.svm", "--shuffle")
    result = done("train", tmp_path / "mixed.svm", *options, "--shuffle-size", 0)
    assert "warning" not in result.err


def test_scratch_files(tmp_path: Path) -> None:
    out = ("-o", tmp_path / "m.safetensors")
    options = ("train", SATIMAGE, "--stream", "--passes", 2, *out, "-q")
    (tmp_path / "scratch").mkdir()
    done(*options, "--scratch", tmp_path / "scratch")
    assert names_in(tmp_path / "scratch") == set()
    result = run(*options, "--scratch", tmp_path / "absent")
    assert result.code == OUTPUT
    assert "there is no directory" in result.err


@pytest.mark.parametrize("kind", ["minmax", "standard", "maxabs"])
def test_scaling_is_learnt_in_a_pass_of_its_own(
    tmp_path: Path, letter: tuple[Any, Any], kind: str
) -> None:
    out = tmp_path / "m.safetensors"
    options = ("--stream", "--batch", 1000, "--passes", 2, "-C", 0.01, "--scale", kind)
    done("train", LETTER, *options, "-o", out, "-q")
    X, y = letter
    scaler = Scaler(kind).fit(X)
    rows = scaler.transform(X)

    def batches() -> Any:
        for first in range(0, len(y), 1000):
            yield rows[first : first + 1000], y[first : first + 1000]

    expected = fit_stream(LinearSVM(C=0.01, random_state=0), batches, np.arange(1, 27), passes=2)
    model = load(out)
    np.testing.assert_allclose(model[0].factor_, scaler.factor_, rtol=1e-9)
    np.testing.assert_allclose(model[-1].coef_, expected.coef_, atol=1e-6)
    assert run("train", "-", *options, "-o", out).code == USAGE


def test_rows_in_runs_of_one_class_are_noticed(tmp_path: Path) -> None:
    out = tmp_path / "m.safetensors"
    options = ("--stream", "-C", 0.1, "-o", out)
    assert "in runs" in done("train", SATIMAGE, *options, "--shuffle-size", 0).err
    in_order = done("score", out, SATIMAGE, "--json").json["accuracy"]
    assert "in runs" not in done("train", SATIMAGE, *options).err
    assert done("score", out, SATIMAGE, "--json").json["accuracy"] > in_order + 0.1


def test_a_stream_is_summed_up_as_any_training(tmp_path: Path) -> None:
    out, short = tmp_path / "m.safetensors", ("--scale", "minmax", "-C", 0.01)
    summaries = [
        done("train", SATIMAGE, *short, *options, "-o", out, "--json").json
        for options in ((), ("--stream",), ("--stream", "--passes", 2))
    ]
    assert len({tuple(summary) for summary in summaries}) == 1
    assert {(summary["n"], summary["d"], summary["k"]) for summary in summaries} == {(4435, 36, 6)}
    assert [summary["gap"] is None for summary in summaries] == [False, True, False]
