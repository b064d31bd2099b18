"""Labels of any text: in what is predicted, in tables, in messages."""

import csv
import os
from pathlib import Path

import numpy as np
import pytest
from cli_helpers import done, finish, run, start
from hypothesis import given, settings
from hypothesis import strategies as st

from polymargin.cli._output.files import escaped
from polymargin.readers import read

ODD = (
    "[bold]x[/bold]",
    "[/]",
    ":warning:",
    "two words",
    "tab\there",
    "line\nend",
    "back\\slash",
    "日本語 ü",
    "\x1b[31mred",
    "[link=file:///etc]l",
)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table in which each label is told by its own column."""
    path = tmp_path_factory.mktemp("odd") / "[red]odd.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([*(f"[b]{j}[/b]" for j in range(len(ODD))), "label"])
        for i in range(3 * len(ODD)):
            c = i % len(ODD)
            writer.writerow([*(int(j == c) for j in range(len(ODD))), ODD[c]])
    return path


@pytest.fixture(scope="module")
def model(table: Path) -> Path:
    path = table.with_suffix(".safetensors")
    result = done("train", table, "-C", 10, "-o", path)
    assert "[red]odd.safetensors" in result.out
    return path


def test_predictions_are_one_line_each(model: Path, table: Path) -> None:
    lines = done("predict", model, table).out.split("\n")
    assert lines == [escaped(label) for label in ODD] * 3 + [""]
    assert "tab\\there" in lines
    assert "line\\nend" in lines
    assert "back\\\\slash" in lines


def test_scores_have_one_field_for_each_class(model: Path, table: Path) -> None:
    lines = done("predict", model, table, "--scores").out.removesuffix("\n").split("\n")
    assert len(lines) == 1 + 3 * len(ODD)
    header = lines[0].split("\t")
    assert header == ["label", *(escaped(label) for label in sorted(ODD))]
    for line in lines[1:]:
        label, *scores = line.split("\t")
        best = int(np.argmax([float(score) for score in scores]))
        assert header[1 + best] == label


@settings(max_examples=50, deadline=None)
@given(label=st.text(min_size=1))
def test_what_is_escaped_is_read_as_before(label: str) -> None:
    from polymargin.readers._texts import _ESCAPE, _unescape

    text = escaped(label)
    assert not {"\t", "\n", "\r"} & set(text)
    assert _ESCAPE.sub(_unescape, text) == label


def test_tables_show_labels_as_they_are(model: Path, table: Path) -> None:
    shown = done("score", model, table).out
    for label in ("[bold]x[/bold]", "[/]", ":warning:", "two words", "日本語 ü", "tab\\there"):
        assert label in shown
    assert "\x1b" not in shown
    assert "\x1b" not in done("info", model).out
    assert "[bold]x[/bold]" in done("info", model).out
    found = done("score", model, table, "--json").json
    assert [row["label"] for row in found["classes"]] == sorted(ODD)
    assert found["accuracy"] == 1.0


def test_inspect_shows_labels_as_they_are(model: Path, table: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    report = tmp_path / "[b]report.html"
    shown = done("inspect", model, table, "--report", report)
    assert f"report in {report}, " in shown.err
    assert "\x1b" not in shown.out
    assert report.exists()


def test_messages_show_names_as_they_are(tmp_path: Path) -> None:
    name = "[bold]no[/] :x: \x1b[31m.svm"
    result = run("train", tmp_path / name, "-o", tmp_path / "m.safetensors")
    assert result.code == 3
    assert "[bold]no[/] :x: \\x1b[31m.svm: No such file" in result.err
    result = run("train", tmp_path, "--machine", "[/bold]", "-o", tmp_path / "m.safetensors")
    assert "unknown machine '[/bold]'" in result.err
    result = run("train", tmp_path, "--gamma", "[/bold]", "--kernel", "rbf", "-o", "m")
    assert "'[/bold]' is neither a positive number" in result.err


def test_names_that_are_not_text(tmp_path: Path) -> None:
    name = b"\xff\xfe.svm".decode("utf-8", "surrogateescape")
    (tmp_path / name).write_text("1 1:1\n2 1:2\n")
    summary = done("train", tmp_path / name, "-o", tmp_path / f"{name}.safetensors", "--json")
    assert summary.json["n"] == 2
    assert done("info", tmp_path / f"{name}.safetensors").out
    result = run("train", tmp_path / f"{name}x", "-o", tmp_path / "m")
    assert result.code == 3
    assert "No such file" in result.err


def test_predictions_of_texts_are_texts(tmp_path: Path) -> None:
    data, model, out = (tmp_path / name for name in ("a.tsv", "m.safetensors", "out.tsv"))
    data.write_text("".join(f"a [/]\thello {i}\nb\tbye {i}\n" for i in range(9)))
    done("train", data, "-q", "-o", model)
    done("predict", model, data, "-o", out)
    assert out.read_text().splitlines() == list(read(data).y)


def test_predictions_are_utf_8_everywhere(model: Path, table: Path) -> None:
    locale = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    shown = finish(start("predict", model, table, env=os.environ | locale, encoding="utf-8"))
    assert shown.code == 0
    assert shown.out.splitlines().count("日本語 ü") == 3


def test_labels_spelled_otherwise_than_those_of_the_model(tmp_path: Path) -> None:
    def write(name: str, *labels: str) -> Path:
        path = tmp_path / name
        rows = (f"{i % len(labels)},{labels[i % len(labels)]}\n" for i in range(30))
        path.write_text("size,label\n" + "".join(rows))
        return path

    model = tmp_path / "m.safetensors"
    done("train", write("train.csv", "ham", "no spam"), "-o", model, "-q")
    message = done("score", model, write("other.csv", "Ham", "No  Spam")).err
    assert (
        "30 rows with labels that the model does not know: Ham, No  Spam; 'Ham' differs" in message
    )
    assert "from 'ham' of the model in capitals or blanks alone, and 1 more: where they" in message
    message = done("score", model, write("one.csv", "HAM", "no spam")).err
    assert "'HAM' differs from 'ham' of the model in capitals or blanks alone: where" in message
    assert "capitals" not in done("score", model, write("new.csv", "ham", "eggs")).err
