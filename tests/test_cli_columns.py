"""Tables as people have them: texts, dates, identifiers, commas, in one model."""

import csv
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli_helpers import done, names_in, one_error, run
from conftest import data_file
from scipy import sparse

from polymargin import LinearSVM, load, read_info
from polymargin.readers import read

INPUT, USAGE = 3, 2
TOPICS = {
    "sport": "the team won a match and the coach praised every player of the club",
    "food": "cook the rice with onions and serve it hot in a deep bowl of soup",
    "money": "the bank raised its interest and shares of the company fell on the market",
}


def sentences(n: int, seed: int = 0) -> list[tuple[str, str]]:
    """Labels and texts, nearly all of which differ."""
    pick = random.Random(seed)
    labels = [pick.choice(sorted(TOPICS)) for _ in range(n)]
    return [(label, " ".join(pick.sample(TOPICS[label].split(), 7))) for label in labels]


def write_rows(path: Path, header: list[str], rows: list[list[Any]], delimiter: str = ",") -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter=delimiter).writerows([header, *rows])
    return path


def shop(n: int, seed: int) -> list[list[Any]]:
    """A row number, and a price, a shop, a date and a text that tell the label."""
    pick = random.Random(seed)
    rows: list[list[Any]] = []
    for i, (label, text) in enumerate(sentences(n, seed)):
        rank = sorted(TOPICS).index(label)
        price = f"{10_000 * (rank + 1) + pick.randint(0, 9000):,}"
        place = pick.choice(["north", "south"]) if rank else "east"
        day = f"{pick.randint(1, 28)}.{4 * rank + pick.randint(1, 4)}.2024"
        rows.append([i + 1, price, place, day, text, label])
    return rows


HEADER = ["id", "price", "shop", "when", "remark", "label"]


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "m.safetensors"


def accuracy(model: Path, data: Path) -> float:
    found: float = done("score", model, data, "--json").json["accuracy"]
    return found


def test_texts_below_a_header_are_learnt_as_without(tmp_path: Path, out: Path) -> None:
    rows = sentences(400)
    plain = tmp_path / "plain.tsv"
    plain.write_text("".join(f"{label}\t{text}\n" for label, text in rows))
    done("train", plain, "-q", "-o", out)
    expected = load(out).steps[-1][1].coef_
    header = tmp_path / "header.tsv"
    header.write_text("label\ttext\n" + plain.read_text())
    files = [header, write_rows(tmp_path / "a.csv", ["text", "label"], [[t, c] for c, t in rows])]
    files.append(write_rows(tmp_path / "b.tsv", ["text", "label"], [[t, c] for c, t in rows], "\t"))
    for data in files:
        result = done("train", data, "-o", out)
        assert result.code == 0
        model = load(out)
        # Arrays take other steps than sparse rows, to the same optimum within the tolerance.
        np.testing.assert_allclose(_dense(model.steps[-1][1].coef_), _dense(expected), atol=1e-3)
        other = tmp_path / f"other{data.suffix}"
        other.write_text(data.read_text())
        assert accuracy(out, other) > 0.95
    assert "columns: 1 text: text" in result.err


def _dense(coef: Any) -> Any:
    return coef.toarray() if sparse.issparse(coef) else coef


def test_a_real_table_of_texts(tmp_path: Path, out: Path) -> None:
    table = read(data_file("clinc150.val.tsv.xz"))
    rows = [[text, label] for text, label in zip(table.X, table.y, strict=True)]
    data = write_rows(tmp_path / "a.csv", ["text", "label"], rows[::2])
    other = write_rows(tmp_path / "b.csv", ["text", "label"], rows[1::2])
    summary = done("train", data, "-o", out, "--json").json
    assert summary["d"] < 5000
    assert accuracy(out, other) > 0.6


def test_all_kinds_in_one_model(tmp_path: Path, out: Path) -> None:
    data = write_rows(tmp_path / "a.csv", HEADER, shop(300, 0))
    other = write_rows(tmp_path / "b.csv", HEADER, shop(200, 1))
    result = done("train", data, "-o", out)
    assert (
        "columns: 1 number: price; 1 category: shop (3); 1 text: remark; 1 date: when; left out id:"
    ) in result.err
    assert accuracy(out, other) > 0.97
    encoder = load(out).steps[0][1]
    assert encoder.kinds_ == ("number", "category", "date", "text:tfidf")
    assert read_info(out).reading["kinds"] == {
        "id": "drop",
        "price": "number:point",
        "shop": "category",
        "when": "date:dmy",
        "remark": "text",
    }
    assert "1 × number:point" in " ".join(done("info", out).out.split())
    predicted = done("predict", out, other).out.splitlines()
    no_labels = [row[:-1] for row in shop(200, 1)]
    bare = write_rows(tmp_path / "c.csv", HEADER[:-1], no_labels)
    assert done("predict", out, bare).out.splitlines() == predicted
    no_ids = write_rows(tmp_path / "d.csv", HEADER[1:], [row[1:] for row in shop(200, 1)])
    result = done("predict", out, no_ids)
    assert result.out.splitlines() == predicted
    assert result.err == ""


@pytest.mark.parametrize("scale", ["auto", "minmax", "maxabs"])
def test_numbers_are_scaled_beside_texts(tmp_path: Path, out: Path, scale: str) -> None:
    data = write_rows(tmp_path / "a.csv", HEADER, shop(300, 0))
    summary = done("train", data, "--scale", scale, "-o", out, "--json").json
    assert summary["converged"]
    encoder = load(out).steps[0][1]
    rows = encoder.transform(read(data).X)
    assert sparse.issparse(rows)
    assert np.abs(rows.data).max() < 5


def test_kinds_can_be_said(tmp_path: Path, out: Path) -> None:
    data = write_rows(tmp_path / "a.csv", HEADER, shop(100, 0))
    said = ("--column", "id=number", "--column", "remark=text:hashing", "--column", "shop=drop")
    result = done("train", data, *said, "--column", "when=category", "--hash-bits", 8, "-o", out)
    assert load(out).steps[0][1].kinds_ == ("number", "number", "category", "text:hashing")
    assert "left out" not in result.err
    for option, code, message in (
        ("remark=words", USAGE, "--column: 'remark=words' is not NAME=KIND, where KIND is one of"),
        ("remark", USAGE, "'remark' is not NAME=KIND"),
        ("remarks=text", INPUT, "there is no column 'remarks'; the columns are 'id', 'price'"),
        ("label=text", INPUT, "column 'label' holds the labels"),
        ("shop=number", INPUT, "a.csv:2:3: "),
        ("when=date:mdy", INPUT, "in column 'when' is not a date with the month first"),
    ):
        result = run("train", data, "--column", option, "-o", tmp_path / "other")
        assert message in one_error(result, code)
    result = run("train", data, "--column", "id=drop", "--column", "id=text", "-o", out)
    assert "two kinds for 'id'" in one_error(result, USAGE)
    (tmp_path / "a.svm").write_text("1 1:1\n2 1:2\n")
    result = run("train", tmp_path / "a.svm", "--column", "a=text", "-o", out)
    assert "--column is for tables, and this is a file of format svmlight" in one_error(
        result, INPUT
    )
    assert "other" not in names_in(tmp_path)


def test_words_that_all_differ_are_no_category(tmp_path: Path, out: Path) -> None:
    rows = [[f"{'ab'[i % 2]}{i}x", "ab"[i % 2]] for i in range(60)]
    data = write_rows(tmp_path / "a.csv", ["word", "label"], rows)
    message = one_error(run("train", data, "-o", out), INPUT)
    assert "a.csv: nothing is left to learn from: of 'word' nearly all values differ" in message
    options = ("--column", "word=text", "--analyzer", "char_wb")
    done("train", data, *options, "-q", "-o", out)
    assert accuracy(out, data) == 1.0


def test_labels_that_all_differ(tmp_path: Path, out: Path) -> None:
    rows = [[label, f"{text} {i}"] for i, (label, text) in enumerate(sentences(60))]
    data = write_rows(tmp_path / "a.csv", ["intent", "utterance"], rows)
    message = one_error(run("train", data, "-o", out), INPUT)
    assert "nearly all of the 60 labels in column 'utterance' differ" in message
    done("train", data, "--label", "intent", "-q", "-o", out)


def test_decimal_commas_train_as_points(tmp_path: Path) -> None:
    pick = random.Random(0)
    numbers = [[pick.gauss(0, 2000), pick.gauss(0, 1)] for _ in range(90)]
    labels = ["a" if one + 2000 * other > 0 else "b" for one, other in numbers]
    weights = []
    for name, delimiter in (("point.csv", ","), ("comma.csv", ";")):
        rows = [[f"{one:,.2f}", f"{other:.4f}"] for one, other in numbers]
        if delimiter == ";":
            rows = [[cell.translate(str.maketrans(",.", ".,")) for cell in row] for row in rows]
        rows = [[*row, label] for row, label in zip(rows, labels, strict=True)]
        data = write_rows(tmp_path / name, ["one", "other", "label"], rows, delimiter)
        done("train", data, "-q", "-o", tmp_path / "m.safetensors")
        assert accuracy(tmp_path / "m.safetensors", data) > 0.9
        weights.append(load(tmp_path / "m.safetensors").steps[-1][1].coef_)
    np.testing.assert_array_equal(*weights)


def test_many_values_of_a_category_are_sparse(tmp_path: Path, out: Path) -> None:
    n = 30_000
    rows = [[f"w{i // 2}", i % 7, (i // 2) % 2] for i in range(n)]
    data = write_rows(tmp_path / "a.csv", ["word", "size", "label"], rows)
    summary = done("train", data, "-o", out, "--json").json
    assert summary["d"] == n // 2 + 1  # 3.6 GB as an array
    assert sparse.issparse(load(out).steps[0][1].transform(read(data).X))


def test_texts_without_labels_are_labelled_or_not(tmp_path: Path, out: Path) -> None:
    data = tmp_path / "a.tsv"
    rows = sentences(200)
    data.write_text("".join(f"{label}\t{text}\n" for label, text in rows))
    done("train", data, "-q", "-o", out)
    labelled = done("predict", out, data).out
    texts = tmp_path / "texts.txt"
    texts.write_text("".join(f"{text}\n" for _, text in rows))
    assert done("predict", out, texts).out == labelled
    assert done("predict", out, data).out.splitlines()[:50] == [label for label, _ in rows][:50]
    mixed = tmp_path / "mixed.txt"
    mixed.write_text("one match\na label\tone match\n")
    message = one_error(run("predict", out, mixed), INPUT)
    assert "mixed.txt:2:1: a label and a tab here and no tab in line 1" in message


def test_other_columns_than_those_of_the_model(tmp_path: Path, out: Path) -> None:
    pick = random.Random(0)

    def table(name: str, columns: list[str]) -> Path:
        rows = [[*(pick.gauss(i % 3, 1) for _ in columns), "abc"[i % 3]] for i in range(60)]
        return write_rows(tmp_path / name, [*columns, "label"], rows)

    done("train", table("a.csv", ["a", "b", "c"]), "-q", "-o", out)
    message = one_error(run("score", out, table("b.csv", ["a", "x", "y"])), INPUT)
    assert "b.csv: there are no columns 'b', 'c'; the columns are 'a', 'x', 'y'" in message
    more = table("c.csv", ["c", "b", "a", "d"])
    for command in ("score", "predict"):
        result = done(command, out, more)
        assert "warning: the model knows nothing of these columns" in result.err
        assert "'d'" in result.err


def test_categories_that_the_model_has_never_seen(tmp_path: Path, out: Path) -> None:
    rows = [[i, ("red", "blue")[i % 2], i % 2] for i in range(40)]
    done("train", write_rows(tmp_path / "a.csv", ["n", "colour", "y"], rows), "-q", "-o", out)
    other = [[i, "GREEN", i % 2] for i in range(40)]
    result = done("score", out, write_rows(tmp_path / "b.csv", ["n", "colour", "y"], other))
    assert "no value of column 'colour' was in the training file" in result.err


def test_labels_of_many_digits(tmp_path: Path, out: Path) -> None:
    data = tmp_path / "a.svm"
    data.write_text("1e16 1:1\n2e16 1:2\n1e16 1:1.5\n")
    message = one_error(run("train", data, "-o", out), INPUT)
    assert "whole numbers such as 2e+16, too large to be told apart" in message
    assert "--label-kind string" in message
    done("train", data, "--label-kind", "string", "-q", "-o", out)
    table = write_rows(tmp_path / "a.csv", ["a", "y"], [[i, 10**15 + i % 2] for i in range(9)])
    done("train", table, "-q", "-o", out)
    assert load(out).classes_.tolist() == [10**15, 10**15 + 1]


def test_a_file_of_labels_alone(tmp_path: Path, out: Path) -> None:
    data = tmp_path / "a.svm"
    data.write_text("1\n2\n1\n")
    for options in ((), ("--stream",)):
        message = one_error(run("train", data, *options, "-o", out), INPUT)
        assert "a.svm: there are labels and no features" in message


def test_a_header_of_texts_stays_first(tmp_path: Path) -> None:
    data = tmp_path / "a.tsv"
    data.write_text("label\ttext\n" + "".join(f"{a}\t{b}\n" for a, b in sentences(50)))
    done("convert", data, tmp_path / "b.tsv", "--shuffle")
    lines = (tmp_path / "b.tsv").read_text().splitlines()
    assert lines[0] == "label\ttext"
    assert sorted(lines) == sorted(data.read_text().splitlines())


def test_what_cannot_leave_for_other_formats(tmp_path: Path, out: Path) -> None:
    pytest.importorskip("onnx")
    data = write_rows(tmp_path / "a.csv", HEADER, shop(100, 0))
    done("train", data, "-q", "-o", out)
    message = one_error(run("convert", out, tmp_path / "m.onnx"), USAGE)
    assert "onnx cannot hold what makes numbers of the columns shop, when, remark" in message
    assert "--encoded" in message
    done("convert", out, tmp_path / "m.onnx", "--encoded")
    done("convert", data, tmp_path / "a.npz")
    assert read(tmp_path / "a.npz").X.shape[0] == 100


def test_select_and_inspect_take_such_tables(tmp_path: Path, out: Path) -> None:
    pytest.importorskip("matplotlib")
    data = write_rows(tmp_path / "a.csv", HEADER, shop(120, 0))
    options = ("--log2-C=-2:0:2", "--folds", 2, "--refinements", 0)
    done("select", data, *options, "-o", out)
    report = tmp_path / "report.html"
    done("inspect", out, data, "--report", report)
    assert "remark:" in report.read_text()
    assert isinstance(load(out).steps[-1][1], LinearSVM)


@pytest.mark.parametrize("how", [(), ("--stream",)])
def test_a_column_of_numbers_but_for_one_cell_is_told(
    tmp_path: Path, out: Path, how: tuple[str, ...]
) -> None:
    rows = [[i / 8 if i != 70 else "few", "ab"[i % 2], i % 2] for i in range(100)]
    data = write_rows(tmp_path / "a.csv", ["size", "letter", "label"], rows)
    told = done("train", data, *how, "-q", "-o", out).err
    assert told.count("warning: ") == 1
    assert "column 'size' is taken for names of the rows and left out, though 99 of its 100" in told
    assert "'few' is not; where that stands for a missing one, leave the cell empty" in told


@pytest.mark.parametrize("gap", ["-", "n/a", ""])
def test_a_missing_date_among_others_is_told_with_what_to_do(
    tmp_path: Path, out: Path, gap: str
) -> None:
    rows = [[f"{i % 28 + 1}.5.24" if i != 7 else gap, i % 5, "ab"[i % 2]] for i in range(60)]
    data = write_rows(tmp_path / "a.csv", ["when", "size", "label"], rows)
    message = one_error(run("train", data, "-o", out), 3)
    assert "a.csv:9:1: the date of column 'when' is missing here; fill it in, or put the" in message
    assert "--missing mean, or do without the column (--column when=drop)" in message
    assert "1 date: when" in done("train", data, "--missing", "mean", "-o", out).err
    message = one_error(run("train", data, "--stream", "-o", out), 3)
    assert "is missing here; fill it in, or do without the column (--column when=drop)" in message
