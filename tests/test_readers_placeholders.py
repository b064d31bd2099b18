"""Cells that stand for a missing value among numbers, dates and times, and are words elsewhere."""

import warnings
from pathlib import Path

import numpy as np
import pytest
from reader_helpers import TableWriter, kinds_of, table_writer

from polymargin.readers import _text_tables, read, read_batches

PLACEHOLDERS = [
    *("-", "--", "---", "–", "—", ".", "..", "...", " - "),
    *("none", "None", "nil", "NaT", "n.a.", "k.A.", "unknown", "Missing"),
    *("#DIV/0!", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!"),
]


@pytest.fixture
def table(tmp_path: Path) -> TableWriter:
    return table_writer(tmp_path)


@pytest.mark.parametrize("gap", PLACEHOLDERS)
def test_missing_among_numbers_and_dates(table: TableWriter, gap: str) -> None:
    path = table(
        ";",
        number=["1", gap, "3"],
        comma=["1,5", "$ 2", gap],
        date=[gap, "31.12.2024", "1.1.24"],
        time=["17:30", "18:30", gap],
        word=["x", gap, "y"],
    )
    kinds = {"number": "number", "comma": "number:comma", "date": "date:dmy", "time": "time"}
    assert kinds_of(path) == kinds | {"word": "category"}
    rows = read(path)
    number, comma, date, time, word = rows.X.values
    np.testing.assert_array_equal(number, [1, np.nan, 3])
    np.testing.assert_array_equal(comma, [1.5, 2, np.nan])
    assert np.isnat(date).tolist() == [True, False, False]
    np.testing.assert_array_equal(time, [17.5, 18.5, np.nan])
    assert word.tolist() == ["x", gap.strip(), "y"]
    assert rows.first_missing == (2, 3, "date")
    again = read(path, **rows.reading)
    np.testing.assert_array_equal(again.X.values[0], number)
    assert read(path, kinds={"number": "category"}).X.values[0].tolist() == ["1", gap.strip(), "3"]


@pytest.mark.parametrize("chunk", [2, 4096])
def test_words_that_show_late(
    table: TableWriter, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_text_tables, "CHUNK_ROWS", chunk)
    path = table(a=["-", "-", "1", "-", "yes"], b=["-", "-", "-", "1", "2"], c=["-"] * 5)
    assert kinds_of(path) == {"a": "category", "b": "number", "c": "drop"}
    rows = read(path)
    assert rows.X.values[0].tolist() == ["-", "-", "1", "-", "yes"]
    assert rows.left_out == {"c": "no value at all"}
    parts = list(read_batches(path, rows=2, **rows.reading))
    assert [part.X.values[0].tolist() for part in parts] == [["-", "-"], ["1", "-"], ["yes"]]


def test_dashes_in_long_columns_are_not_warned_of(table: TableWriter) -> None:
    path = table(a=[str(i / 4) for i in range(40)] + ["-"], b=["x", *["1", "2"] * 20])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert kinds_of(path)["a"] == "number"


def test_labels_may_be_such_words(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a,label\n1,none\n2,-\n")
    y = read(path).y
    assert y is not None
    assert y.tolist() == ["none", "-"]
