"""Dates with names of months, with years of two digits, and in several manners in one column."""

from pathlib import Path

import numpy as np
import pytest
from reader_helpers import TableWriter, kinds_of, place, table_writer

from polymargin.errors import DataError
from polymargin.readers import _text_tables, read, read_batches


@pytest.fixture
def table(tmp_path: Path) -> TableWriter:
    return table_writer(tmp_path)


@pytest.mark.parametrize(
    "cell",
    [
        *("3 Nov 2024", "3. Nov. 2024", "03-Nov-2024", "03-NOV-24", "3/Nov/2024", "03Nov2024"),
        *("3rd November 2024", "3 November, 2024", "2024-Nov-03", "2024 nov 3"),
        *("Nov 3, 2024", "Nov. 3 2024", "November 3rd, 2024", "Nov-03-24", "Sun Nov 3 2024"),
        *("Sunday, November 3, 2024", "Sun, 3 Nov 2024", "So., 3. November 2024"),
        *("Sunday 2024-11-03", "So 03.11.24"),
    ],
)
def test_dates_with_names(table: TableWriter, cell: str) -> None:
    path = table(";", b=["1", "2"], a=[cell, "2024-12-31" if "03.11" not in cell else "31.12.24"])
    assert kinds_of(path)["a"] == ("date:dmy" if "03.11" in cell else "date:ymd")
    assert read(path).X.values[1].tolist() == [
        np.datetime64("2024-11-03T00:00:00").item(),
        np.datetime64("2024-12-31T00:00:00").item(),
    ]


def test_all_months(table: TableWriter) -> None:
    english = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sept", "Oct", "Nov", "Dec"]
    german = ["Januar", "Feb.", "März", "April", "Mai", "Juni"]
    german += ["Juli", "Aug", "September", "Okt", "NOVEMBER", "Dez."]
    path = table(a=[f"1 {month} 2024" for month in english], b=[f"1. {m} 2024" for m in german])
    expected = [np.datetime64(f"2024-{month:02}-01T00:00:00") for month in range(1, 13)]
    for values in read(path).X.values:
        np.testing.assert_array_equal(values, expected)
    assert kinds_of(table(a=["1 Jänner 2024", "2 Mrz 2024"]))["a"] == "date:ymd"


@pytest.mark.parametrize(
    ("time", "expected"),
    [
        (", 17:30", "17:30"),
        (" at 5:30 PM", "17:30"),
        (", 5:30:05\u202fPM", "17:30:05"),
        (" 17:30 Uhr", "17:30"),
        (" 17:30:00 GMT", "17:30"),
        (" 17:30 UTC", "17:30"),
        (" 17:30:00 +0200", "15:30"),
    ],
)
def test_times_after_dates(table: TableWriter, time: str, expected: str) -> None:
    for cell in ("3 Nov 2024", "Nov 3, 2024", "03.11.2024", "03.11.24", "2024-11-03"):
        value = read(table(";", a=[cell + time])).X.values[0][0]
        assert value == np.datetime64(f"2024-11-03T{expected}")


@pytest.mark.parametrize(
    "cell",
    [
        *("31 Nov 2024", "3 Nvo 2024", "3 No 2024", "Nov 2024", "3 Nov", "3 Nov 124", "0 May 2024"),
        *("3.11.4", "31.11.24", "2024-Nov-03 25:00", "Xyz, 3 Nov 2024", "3 Nov 2024 17:30 Z Z"),
    ],
)
def test_what_is_no_date(table: TableWriter, cell: str) -> None:
    assert kinds_of(table(";", a=["2024-11-03", cell]))["a"] in ("category", "text")
    with pytest.raises(DataError, match="in column 'a' is not a date as in 2024-12-31"):
        read(table(";", a=["2024-11-03", cell]), kinds={"a": "date"})


@pytest.mark.parametrize(
    ("cells", "kind", "first"),
    [
        (["03.11.24", "04.12.23"], "date:dmy", "2024-11-03"),
        (["3.1.24", "4.2.23"], "date:dmy", "2024-01-03"),
        (["11/03/24", "11/25/24"], "date:mdy", "2024-11-03"),
        (["11/03/24", "25/11/24"], "date:dmy", "2024-03-11"),
        (["11-03-24", "25-11-24"], "date:dmy", "2024-03-11"),
        (["03.11.24", "04.12.2023"], "date:dmy", "2024-11-03"),
        (["01/02/68", "01/31/69"], "date:mdy", "2068-01-02"),
        (["01/02/69", "01/31/68"], "date:mdy", "1969-01-02"),
        (["01/02/99", "31/01/00"], "date:dmy", "1999-02-01"),
    ],
)
@pytest.mark.parametrize("chunk", [1, 4096])
def test_years_of_two_digits(
    table: TableWriter,
    cells: list[str],
    kind: str,
    first: str,
    chunk: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_text_tables, "CHUNK_ROWS", chunk)
    path = table(a=cells)
    assert kinds_of(path)["a"] == kind
    assert read(path).X.values[0][0] == np.datetime64(first)
    assert read(path, **read(path).reading).X.kinds == {"a": "date"}


def test_short_years_with_days_that_may_be_months(table: TableWriter) -> None:
    path = table(b=["1", "2"], a=["01/02/24", "03/04/24"])
    with pytest.raises(DataError, match="'01/02/24' in column 'a' has the day or the month") as c:
        read(path)
    assert place(c) == (2, 2)
    assert "say date:dmy or date:mdy (kinds=, --column a=date:dmy)" in str(c.value)
    for order, month in (("dmy", 2), ("mdy", 1)):
        value = read(path, kinds={"a": f"date:{order}"}).X.values[1][0]
        assert value == np.datetime64(f"2024-{month:02}-{3 - month:02}")


@pytest.mark.parametrize("mark", [".", "-", "/"])
@pytest.mark.parametrize("chunk", [2, 4096])
def test_short_years_that_seem_to_come_first(
    table: TableWriter, mark: str, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Read with the day first these would be days of 2003, 2015 and 2031."""
    monkeypatch.setattr(_text_tables, "CHUNK_ROWS", chunk)
    cells = [cell.replace("-", mark) for cell in ("24-11-03", "24-12-15", "24-01-31", "23-01-01")]
    path = table(b=["1"] * 4, a=cells)
    with pytest.raises(DataError, match="'24.11.03' in column 'a' may begin with its year.*") as c:
        read(path)
    assert place(c) == (2, 2)
    assert "or date:mdy if they come last (kinds=, --column a=date:dmy)" in str(c.value)
    told = read(path, kinds={"a": "date:dmy"}).X.values[1][0]
    assert told == np.datetime64("2003-11-24")


def test_short_years_that_come_last(table: TableWriter) -> None:
    """One number of all cells that is no day or no month there tells that the year is not first."""
    born = [f"{day:02}/{month:02}/{year:02}" for day, month, year in
            zip([13, 14] * 10, range(1, 13), range(60, 72), strict=False)]  # fmt: skip
    assert kinds_of(table(a=born))["a"] == "date:dmy"
    assert kinds_of(table(a=["13/01/24", "13/01/25", "13/02/00"]))["a"] == "date:dmy"
    assert kinds_of(table(a=["10/13/24", "10/12/25"]))["a"] == "date:mdy"
    assert kinds_of(table(a=["3.1.24", "3.1.25"]))["a"] == "date:dmy"


@pytest.mark.parametrize("chunk", [1, 4096])
def test_clear_dates_go_with_all_others(
    table: TableWriter, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_text_tables, "CHUNK_ROWS", chunk)
    days = ["2024-11-03", "3 Nov 2024"]
    for last, kind in (("03.11.24", "dmy"), ("31/10/2024", "dmy"), ("10/31/2024", "mdy")):
        path = table(a=[*days, last])
        assert kinds_of(path)["a"] == f"date:{kind}"
        assert read(path).X.values[0][0] == read(path).X.values[0][1] == np.datetime64("2024-11-03")
        assert len(list(read_batches(path, rows=1))) == 3
    path = table(a=[*days, "03/11/2024"])
    with pytest.raises(DataError, match="'03/11/2024' in column 'a' has the day or the month") as c:
        read(path)
    assert place(c) == (4, 1)
    with pytest.raises(DataError, match="'10/31/2024' in column 'a' is written in another manner"):
        read(table(a=[*days, "31.10.2024", "10/31/2024"]))


def test_a_column_of_dates_but_for_a_few_is_told(table: TableWriter) -> None:
    days = [f"{i % 28 + 1} Nov {2000 + i}" for i in range(40)]
    told = "'a' is taken for .*, though 40 of its 41 values are dates: 'soon' is not; where that"
    with pytest.warns(UserWarning, match=told):
        read(table(a=[*days, "soon"], b=["1", "x", "y"] * 13 + ["1", "x"]))
