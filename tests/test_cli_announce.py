"""What `train` says of a table before it trains."""

from pathlib import Path

import numpy as np
import pytest
from cli_helpers import done, one_error, run

from polymargin._wording import column_option, listed, listed_names
from polymargin.cli._announce import describe_columns, describe_label

N = 40


def write(path: Path, header: str, row: str) -> Path:
    """Rows of a pattern with a number `i`, and `c`, one of the words yes and no."""
    rows = [row.format(i=i, half=i / 2, c=("no", "yes")[i % 2]) for i in range(N)]
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "m.safetensors"


@pytest.mark.parametrize(
    ("header", "row", "options", "told"),
    [
        ("x,pump_on", "{half},{c}", (), "label: pump_on (no, yes), the last column"),
        ("Class,x", "{c},{half}", (), "label: Class (no, yes), by its name"),
        ("a,x", "{c},{half}", ("--label", "a"), "label: a (no, yes), by --label"),
        ("a,x", "{c},{half}", ("--label", "1"), "label: a (no, yes), by --label"),
        (
            "intent,text",
            "{c},it is {c} number {i}",
            (),
            "label: intent (no, yes), the last column that is not named like texts",
        ),
        ('x,"on, off"', "{half},{c}", (), "label: 'on, off' (no, yes), the last column"),
    ],
)
def test_the_column_of_the_labels(
    tmp_path: Path, out: Path, header: str, row: str, options: tuple[str, ...], told: str
) -> None:
    data = write(tmp_path / "a.csv", header, row)
    for more in ((), ("--stream",)):
        assert told in done("train", data, *options, *more, "-o", out).err
    assert "label:" not in done("train", data, *options, "--quiet", "-o", out).err


def test_no_column_of_labels(tmp_path: Path, out: Path) -> None:
    data = write(tmp_path / "a.csv", "x,z", "{half},{i}")
    labels = tmp_path / "labels.txt"
    labels.write_text("".join(f"{'ab'[i % 2]}\n" for i in range(N)))
    assert "label:" not in done("train", data, "--labels", labels, "-o", out).err


def test_many_and_long_labels_are_cut() -> None:
    labels = np.array(["a" * 50, "b", "c", "d", "e", "f"], dtype=object)
    told = describe_label("kind", labels, "by its name")
    assert told == f"label: kind ({'a' * 19}…, b, c, d, e, … 6 in all), by its name"


def test_reasons_for_columns_left_out(tmp_path: Path, out: Path) -> None:
    data = write(tmp_path / "a.csv", "id,code,none,void,x,label", "{i},k{i}k,,NA,{half},{c}")
    words = "left out code: words that nearly all differ, as if they named the rows"
    numbers = "left out id: whole numbers that all differ, in a column named like an identifier"
    told = done("train", data, "-o", out).err
    for part in (words, numbers, "left out none, void: no value at all"):
        assert f"; {part}; " in told
    assert "; --column NAME=KIND keeps a column" in told
    asked = ("--column", "code=drop", "--column", "id=number")
    told = done("train", data, *asked, "-o", out).err
    assert words not in told
    assert numbers not in told
    fold = ("select", data, "--groups", "code", "--log2-C=0:0:1", "--refinements", 0)
    message = one_error(run(*fold), 2)
    assert "column 'code' was left out: words that nearly all differ" in message


def test_the_index_of_a_frame_is_told(tmp_path: Path, out: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"x": np.arange(N) / 2, "label": ["a", "b"] * (N // 2)})
    frame.index = pandas.Index(np.arange(N) * 3, name="measured")
    frame.to_parquet(tmp_path / "a.parquet")
    told = done("train", tmp_path / "a.parquet", "-o", out).err
    assert "left out measured: the index of a pandas frame" in told


def test_times_of_day_in_a_model(tmp_path: Path, out: Path) -> None:
    data = tmp_path / "a.csv"
    labels = ["day" if 6 <= i % 24 < 18 else "night" for i in range(N)]
    rows = [f"{i % 24}:{i % 60:02},{i % 7}.5,{label}" for i, label in enumerate(labels)]
    data.write_text("at,x,label\n" + "\n".join(rows) + "\n")
    told = done("train", data, "--kernel", "rbf", "-o", out).err
    assert "columns: 1 number: x; 1 time of day: at" in told
    assert done("score", out, data, "--json").json["accuracy"] > 0.9
    assert done("info", out).code == 0


def test_lists_of_columns() -> None:
    kinds = {f"x{j}": "number" for j in range(11)} | {"width, cm": "category", " y": "date:ymd"}
    told = describe_columns(kinds, {}, {"width, cm": 3}, {})
    assert told == (
        "columns: 11 numbers: x0, x1, x2, x3, x4, x5, x6, x7, … (3 more); 1 category: "
        "'width, cm' (3); 1 date: ' y'"
    )
    assert listed(["a", "b"], 2) == "a, b"
    assert listed_names(["a", "b", "c"], 1) == "'a', … (2 more)"


def test_options_for_columns_can_be_pasted() -> None:
    assert column_option("when", "drop") == "--column when=drop"
    assert column_option("on, off", "drop") == "--column 'on, off=drop'"


@pytest.mark.parametrize(
    ("options", "is_told"),
    [
        (("--kernel", "rbf"), True),
        ((), False),
        (("--kernel", "rbf", "--column", "when=drop"), False),
        (("--kernel", "rbf", "--column", "when=date"), False),
    ],
)
def test_dates_in_a_kernel_are_told_of(
    tmp_path: Path, out: Path, options: tuple[str, ...], is_told: bool
) -> None:
    rows = [f"2024-01-{1 + i % 28:02},{i / 2},{('no', 'yes')[i % 2]}" for i in range(N)]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["when,x,label", *rows]) + "\n")
    said = done("train", path, "-o", out, *options).err
    assert ("in a kernel dates set rows apart; --column when=drop" in said) is is_told
