"""What the columns of a table are told to be: numbers, categories, texts, dates, identifiers."""

import datetime
import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from reader_helpers import TableWriter, kinds_of, place, table_writer

from polymargin.errors import DataError
from polymargin.readers import _cells, _guess, _text_tables, read, read_batches, scan
from polymargin.readers._kinds import KINDS, ROW_NUMBERS, base_kind, has_id_name

WORDS = ("good", "bad", "fair", "poor", "fine", "weak")


@pytest.fixture
def table(tmp_path: Path) -> TableWriter:
    return table_writer(tmp_path)


class TestKinds:
    def test_rules(self, table: TableWriter) -> None:
        n = 40
        path = table(
            price=[f"{10 * i}.5" for i in range(n)],
            colour=[WORDS[i % 3] for i in range(n)],
            city=[("New York", "San Francisco")[i % 2] for i in range(n)],
            remark=[f"it is {WORDS[i % 6]} number {i}" for i in range(n)],
            code=[f"x{i}z" for i in range(n)],
            when=[f"2024-01-{i % 28 + 1:02}" for i in range(n)],
            id=[str(1000 + 7 * i) for i in range(n)],
            empty=[""] * n,
            中文=[f"今天天气很好{i}" for i in range(n)],
        )
        assert kinds_of(path) == {
            "price": "number",
            "colour": "category",
            "city": "category",
            "remark": "text",
            "code": "drop",
            "when": "date:ymd",
            "id": "drop",
            "empty": "drop",
            "中文": "text",
        }
        rows = read(path)
        assert rows.X.names == ("price", "colour", "city", "remark", "when", "中文")
        assert rows.X.kinds["when"] == "date"
        assert rows.first_missing is None
        again = read(path, **rows.reading)
        assert again.X.kinds == rows.X.kinds
        parts = list(read_batches(path, rows=16, **scan(path).reading))
        assert [part.X.kinds for part in parts] == [rows.X.kinds] * 3
        assert scan(path).n_features == 6

    def test_few_rows_have_no_identifiers(self, table: TableWriter) -> None:
        path = table(id=["1", "2", "3"], name=["a", "b", "c"])
        assert kinds_of(path) == {"id": "number", "name": "category"}

    @pytest.mark.parametrize("name", ["id", "ID", "PassengerId", "row_id", "Unnamed: 0", "", "#"])
    def test_names_of_identifiers(self, name: str) -> None:
        assert has_id_name(name)

    @pytest.mark.parametrize("name", ["paid", "idea", "width", "grid", "price", "x1"])
    def test_other_names(self, name: str) -> None:
        assert not has_id_name(name)

    def test_numbers_with_repeats_or_fractions_are_no_identifiers(self, table: TableWriter) -> None:
        path = table(
            id=[str(i // 2) for i in range(40)],
            key=[f"{i}.5" for i in range(40)],
            count=[str(i) for i in range(40)],
        )
        assert set(kinds_of(path).values()) == {"number"}

    @pytest.mark.parametrize(
        ("cells", "kind"),
        [
            ([str(i) for i in range(40)], "drop"),
            ([str(i + 1) for i in range(40)], "drop"),
            ([f"{i + 901}" for i in range(40)], "drop"),
            ([str(i) for i in range(19)], "number"),
            ([str(2 * i) for i in range(40)], "number"),
            ([str(i + 0.5) for i in range(40)], "number"),
            ([str(i) if i != 20 else "" for i in range(40)], "number"),
            ([str(i % 30) for i in range(40)], "number"),
        ],
    )
    def test_a_first_column_that_counts_rows(
        self, tmp_path: Path, cells: list[str], kind: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(_text_tables, "CHUNK_ROWS", 7)
        path = tmp_path / "a.csv"
        path.write_text("".join(f"{a},{a},{i % 2}\n" for i, a in enumerate(cells)))
        expected = {"1": kind, "2": "number"}
        found = kinds_of(path, header=False)
        assert {name: base_kind(kind) for name, kind in found.items()} == expected
        reasons = read(path, header=False).left_out
        assert reasons == ({"1": ROW_NUMBERS} if kind == "drop" else {})
        assert kinds_of(path, header=False, kinds={"1": "number"})["1"] == "number"
        named = tmp_path / "b.csv"
        named.write_text("a,b,label\n" + path.read_text())
        assert "drop" not in kinds_of(named).values()

    def test_what_the_user_says_holds(self, table: TableWriter) -> None:
        path = table(
            id=[str(i) for i in range(30)],
            code=[f"x{i}" for i in range(30)],
            remark=[f"it is {i}" for i in range(30)],
        )
        asked = {"id": "number", "code": "text:hashing", "remark": "drop"}
        assert kinds_of(path, kinds=asked) == asked
        assert read(path, kinds=asked).X.kinds == {"id": "number", "code": "text:hashing"}
        assert kinds_of(path, kinds={"id": "category"})["id"] == "category"
        with pytest.raises(DataError, match="nothing is left to learn from: of 'id', 'code'"):
            read(path, kinds={"remark": "drop"})
        with pytest.raises(DataError, match="column 'label' holds the labels"):
            read(path, kinds={"label": "drop"})
        with pytest.raises(ValueError, match=r"kinds\['id'\]='words': use one of"):
            read(path, kinds={"id": "words"})

    def test_columns_left_out_need_not_be_there_again(self, table: TableWriter) -> None:
        reading = read(table(a=["1"] * 30, id=[str(i) for i in range(30)])).reading
        other = table(a=["5"], file="other.csv")
        with pytest.raises(DataError, match="there is no column 'id'"):
            read(other, **reading)
        assert read(other, **reading, extra="ignore").X.names == ("a",)

    def test_all_missing_columns_are_named(self, table: TableWriter) -> None:
        with pytest.raises(DataError, match="there are no columns 'b', 'c'; the columns are"):
            read(table(a=["1"]), kinds={"a": "number", "b": "number", "c": "category"})

    def test_labels_are_not_taken_from_a_column_of_texts(self, tmp_path: Path) -> None:
        path = tmp_path / "a.csv"
        path.write_text("intent,text\n" + "".join(f"a,some words {i}\n" for i in range(5)))
        assert read(path).reading["label"] == "intent"

    def test_words_that_show_late(
        self, table: TableWriter, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(_text_tables, "CHUNK_ROWS", 8)
        n = 60
        path = table(
            a=[str(i) if i < 30 else f"some words {i}" for i in range(n)],
            b=["" if i < 20 else f"2024-05-{i % 28 + 1:02}" for i in range(n)],
            c=["1.234" if i < 50 else "1.234.567" for i in range(n)],
        )
        assert kinds_of(path) == {"a": "text", "b": "date:ymd", "c": "number:comma"}
        values = dict(zip(read(path).X.names, read(path).X.values, strict=True))
        assert values["a"][0] == "0"
        assert values["c"].tolist() == [1234.0] * 50 + [1234567.0] * 10
        assert read(path).first_missing[:2] == (2, 2)
        with pytest.raises(DataError, match="'2024-05-21' in column 'b' comes after missing cells"):
            list(read_batches(path, rows=10))
        with pytest.raises(DataError, match="'some words 30' in column 'a' is not a number: all"):
            list(read_batches(path, rows=10, kinds={"b": "date"}))


class TestDates:
    @pytest.mark.parametrize(
        ("cells", "kind", "first"),
        [
            (["2024-12-31", "2024-01-02"], "date:ymd", "2024-12-31"),
            (["2024/2/3", "2024/12/31"], "date:ymd", "2024-02-03"),
            (["31.12.2024", "1.2.2024"], "date:dmy", "2024-12-31"),
            (["1.2.2024", "3.4.2024"], "date:dmy", "2024-02-01"),
            (["01/02/2024", "12/31/2024"], "date:mdy", "2024-01-02"),
            (["01/02/2024", "31/12/2024"], "date:dmy", "2024-02-01"),
            (["2024-12-31 17:30", "2024-12-31"], "date:ymd", "2024-12-31T17:30"),
            (["2024-12-31T17:30:05.25Z", ""], "date:ymd", "2024-12-31T17:30:05"),
            (["2024-12-31T01:30:00+02:00", ""], "date:ymd", "2024-12-30T23:30"),
            (["12/31/2024 11:59 PM", "1/2/2024 12:01 am"], "date:mdy", "2024-12-31T23:59"),
        ],
    )
    def test_manners(self, table: TableWriter, cells: list[str], kind: str, first: str) -> None:
        path = table(a=cells, b=["1", "2"])
        assert kinds_of(path)["a"] == kind
        values = read(path).X.values[0]
        assert values[0] == np.datetime64(first)
        assert np.isnat(values[1]) == (cells[1] == "")
        assert (read(path).first_missing is not None) == (cells[1] == "")

    def test_days_that_may_be_months(self, table: TableWriter) -> None:
        path = table(b=["1", "2"], a=["01/02/2024", "03/04/2024"])
        with pytest.raises(DataError, match="'01/02/2024' in column 'a' has the day or the") as c:
            read(path)
        assert place(c) == (2, 2)
        for order, month in (("dmy", 2), ("mdy", 1)):
            value = read(path, kinds={"a": f"date:{order}"}).X.values[1][0]
            assert value == np.datetime64(f"2024-{month:02}-{3 - month:02}")

    def test_missing_dates_first(self, table: TableWriter) -> None:
        path = table(a=["", "", "31.12.2024"], b=["1", "2", "3"])
        parts = list(read_batches(path, rows=2, kinds={"a": "date"}))
        assert parts[1].X.values[0][0] == np.datetime64("2024-12-31")
        with pytest.raises(DataError, match="'31.12.2024' in column 'a' comes after missing cells"):
            list(read_batches(path, rows=2))

    def test_mixed_orders(self, table: TableWriter) -> None:
        path = table(b=["1", "2"], a=["13/02/2024", "02/13/2024"])
        with pytest.raises(DataError, match="'02/13/2024' in column 'a' is written in") as c:
            read(path)
        assert place(c) == (3, 2)

    def test_what_is_no_date(self, table: TableWriter) -> None:
        cells = ["30.02.2024", "31.12.24", "2024-13-01", "2024-12-31 25:00", "12:30", "24-12-31"]
        assert kinds_of(table(a=cells))["a"] == "category"
        with pytest.raises(DataError, match="'30.02.2024' in column 'a' is not a date as in"):
            read(table(a=cells), kinds={"a": "date"})
        assert kinds_of(table(a=["2024", "2025"]))["a"] == "number"
        assert kinds_of(table(a=["2024-01-01", "5"]))["a"] == "category"

    def test_dates_of_the_ends_of_time(self, table: TableWriter) -> None:
        cells = ["0001-01-01T00:00+05:00", "9999-12-31"]
        assert kinds_of(table(a=cells))["a"] == "category"
        assert read(table(a=["0001-01-01", "9999-12-31"])).X.values[0][0] == np.datetime64("0001")


class TestTimes:
    @pytest.mark.parametrize("chunk", [1, 4096])
    def test_hours_since_midnight(
        self, table: TableWriter, chunk: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(_text_tables, "CHUNK_ROWS", chunk)
        cells = ["13:45", "", "0:00", "5:30 PM", "12:15 am", "23:59:59", "24:00", "07:30:00,9"]
        path = table(a=cells, b=["1"] * len(cells))
        assert kinds_of(path) == {"a": "time", "b": "number"}
        rows = read(path)
        expected = [13.75, math.nan, 0, 17.5, 0.25, 24 - 1 / 3600, 24, 7.5 + 0.9 / 3600]
        assert rows.X.values[0].tolist() == pytest.approx(expected, nan_ok=True)
        assert rows.X.kinds == {"a": "number", "b": "number"}
        assert rows.first_missing == (3, 1, "a")
        assert read(path, **rows.reading).X.kinds == rows.X.kinds

    @pytest.mark.parametrize("cell", ["25:00", "24:01", "13:00PM", "1:5", "12:60", "2:1", "noon"])
    def test_what_is_no_time(self, table: TableWriter, cell: str) -> None:
        path = table(b=["1", "2"], a=["13:45", cell])
        assert kinds_of(path)["a"] == "category"
        with pytest.raises(DataError, match=f"'{cell}' in column 'a' is not a time of day") as c:
            read(path, kinds={"a": "time"})
        assert place(c) == (3, 2)
        with pytest.raises(DataError, match="all cells before are times of day as in 17:30"):
            list(read_batches(path, rows=1))

    def test_missing_times_first(self, table: TableWriter) -> None:
        path = table(a=["", "", "13:45"], b=["1", "2", "3"])
        assert read(path).X.values[0][2] == 13.75
        parts = list(read_batches(path, rows=2, kinds={"a": "time"}))
        assert parts[1].X.values[0].tolist() == [13.75]

    def test_times_among_numbers_and_dates_are_words(self, table: TableWriter) -> None:
        assert kinds_of(table(a=["13:45", "5"]))["a"] == "category"
        assert kinds_of(table(a=["13:45", "2024-05-01"]))["a"] == "category"

    @pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
    def test_times_of_arrow(self, tmp_path: Path, unit: str) -> None:
        pa = pytest.importorskip("pyarrow")
        parquet = pytest.importorskip("pyarrow.parquet")
        kind = pa.time32(unit) if unit in ("s", "ms") else pa.time64(unit)
        moments = [datetime.time(13, 45), None, datetime.time(0, 30)]
        columns = {"a": pa.array(moments, kind), "t": pa.array(["1:30", "2:30", "3:30"])}
        path = tmp_path / "a.parquet"
        parquet.write_table(pa.table(columns | {"label": [0, 1, 0]}), path)
        rows = read(path, kinds={"t": "time"})
        assert rows.reading["kinds"] == {"a": "time", "t": "time"}
        assert rows.X.values[0].tolist() == pytest.approx([13.75, math.nan, 0.5], nan_ok=True)
        assert rows.X.values[1].tolist() == [1.5, 2.5, 3.5]
        assert read(path, **rows.reading).X.kinds == {"a": "number", "t": "number"}


class TestTexts:
    LINES = "".join(f"{'ab'[i % 2]}\t{WORDS[i % 6]} and {i}\n" for i in range(30))

    def test_a_header_of_texts_is_no_text(self, tmp_path: Path) -> None:
        path, plain = tmp_path / "a.tsv", tmp_path / "b.tsv"
        plain.write_text(self.LINES)
        path.write_text("\nlabel\ttext\n" + self.LINES)
        assert read(path).X == read(plain).X
        assert read(path).y.tolist() == read(plain).y.tolist()
        assert read(path).lines[0] == 3
        assert scan(path).classes.tolist() == ["a", "b"]
        assert len(read(path, format="text", header=False).X) == 31
        assert len(read(plain, format="text", header=True).X) == 29

    def test_another_header_is_that_of_a_table(self, tmp_path: Path) -> None:
        for header in ("label\tremark", "intent\ttext", "Text\tLabel"):
            path = tmp_path / "a.tsv"
            swapped = header.startswith("Text")
            rows = [line.split("\t")[:: -1 if swapped else 1] for line in self.LINES.splitlines()]
            path.write_text(header + "\n" + "".join("\t".join(row) + "\n" for row in rows))
            found = read(path)
            assert list(found.reading["kinds"].values()) == ["text"]
            assert set(found.y) == {"a", "b"}

    def test_the_name_of_the_labels_tells_a_header(self, tmp_path: Path) -> None:
        path = tmp_path / "tickets.tsv"
        path.write_text("queue\tbody\n" + self.LINES)
        for options in ({"label": "queue"}, {"label": "queue", "format": "tsv"}):
            found = read(path, **options)
            assert found.reading["format"] == "tsv"
            assert found.X.names == ("body",)
        path.write_text("queue\tbody\n" + self.LINES)
        assert read(path, label=1, header=True).reading["format"] == "text"

    def test_a_first_label_that_never_comes_again_is_told(self, tmp_path: Path) -> None:
        path = tmp_path / "tickets.tsv"
        path.write_text("queue\tbody\n" + self.LINES)
        told = "tickets.tsv:1:1: no other line has the label 'queue'.*--header"
        with pytest.warns(UserWarning, match=told):
            assert len(read(path).X) == 31
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert len(read(path, header=True).X) == 30
            assert len(read(path, header=False).X) == 31
            path.write_text(self.LINES + "odd\tmany words\n")
            assert len(read(path).X) == 31
            path.write_text("queue\tbody\n" + self.LINES + "odd\tmany words\n")
            assert len(read(path).X) == 32  # labels that come once are not strange here

    def test_a_label_like_a_header(self, tmp_path: Path) -> None:
        path = tmp_path / "a.tsv"
        path.write_text("y\tyes please\nn\tnot now\ny\tof course\n")
        assert read(path).X == ["yes please", "not now", "of course"]

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("one\na\ttwo\n", "a label and a tab here and no tab in line 1"),
            ("a\ttwo\none\n", "no tab here and a label and a tab in line 1"),
            ("\ttwo\na\tone\n", "a label and a tab here and a tab without a label in line 1"),
        ],
    )
    def test_labels_for_all_lines_or_none(self, tmp_path: Path, text: str, message: str) -> None:
        path = tmp_path / "a.txt"
        path.write_text(text)
        for rows in (1, 8):
            with pytest.raises(DataError, match=message) as caught:
                list(read_batches(path, rows=rows, format="text", has_labels=False))
            assert caught.value.line == 2

    def test_texts_without_labels(self, tmp_path: Path) -> None:
        path = tmp_path / "a.txt"
        path.write_text("\tone\n\ttwo\n")
        found = read(path, format="text", has_labels=False)
        assert (found.X, found.y) == (["one", "two"], None)


class TestArrow:
    @pytest.fixture
    def store(self, tmp_path: Path) -> Any:
        pyarrow = pytest.importorskip("pyarrow")
        parquet = pytest.importorskip("pyarrow.parquet")

        def store_columns(**columns: Any) -> Path:
            parquet.write_table(pyarrow.table(columns), tmp_path / "t.parquet")
            return tmp_path / "t.parquet"

        return store_columns

    def test_kinds(self, store: Any) -> None:
        import pyarrow

        n = 40
        path = store(
            id=list(range(n)),
            code=[f"x{i}" for i in range(n)],
            coded=pyarrow.array([f"x{i}" for i in range(n)]).dictionary_encode(),
            remark=[f"it is {i} now" for i in range(n)],
            when=pyarrow.array([None, *range(1, n)], pyarrow.timestamp("ms")),
            day=pyarrow.array(range(n), pyarrow.date32()),
            bill=[f"{i},5" for i in range(n)],
            label=[i % 2 for i in range(n)],
        )
        asked = {"bill": "number"}
        assert kinds_of(path, kinds=asked) == {
            "id": "drop",
            "code": "drop",
            "coded": "category",
            "remark": "text",
            "when": "date",
            "day": "date",
            "bill": "number",
        }
        rows = read(path, kinds=asked)
        values = dict(zip(rows.X.names, rows.X.values, strict=True))
        assert values["day"][3] == np.datetime64("1970-01-04")
        assert values["bill"][3] == 3.5
        assert rows.first_missing == (1, 5, "when")
        parts = list(read_batches(path, rows=32, kinds=asked))
        assert [part.X.names for part in parts] == [rows.X.names] * 2
        with pytest.raises(DataError, match="which is no date"):
            read(path, kinds={"id": "date"})
        assert "day" not in read(path, kinds={"day": "drop"}).X.names
        assert read(path, kinds={"day": "category"}).X.values[3][0] == "1970-01-01"


def test_every_kind_is_read(table: TableWriter) -> None:
    path = table(a=["2024-02-01", "2024-03-01"], b=["1", "2"], c=["12:30", "1:15"])
    for kind in KINDS:
        column = {"date": "a", "time": "c"}.get(base_kind(kind), "b")
        if kind in ("date:dmy", "date:mdy"):
            continue
        values = read(path, kinds={column: kind}).X.values
        assert len(values) == (2 if kind == "drop" else 3)
        assert not any(cell != cell for cell in values[0].tolist() if isinstance(cell, float))
    assert math.isnan(read(table(a=["1", ""])).X.values[0][1])


def test_texts_of_a_stream_are_not_kept(
    table: TableWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_cells, "_MOST_KNOWN", 10)
    path = table(a=[f"some words {i}" for i in range(100)])
    known: list[dict[str, str]] = []
    to_words = _guess.to_words

    def watched(cells: Any, texts: dict[str, str]) -> Any:
        known.append(texts)
        return to_words(cells, texts)

    monkeypatch.setattr(_guess, "to_words", watched)
    for kinds in ({}, {"a": "text"}):
        assert sum(part.n_rows for part in read_batches(path, rows=5, kinds=kinds)) == 100
    assert max(map(len, known)) <= 15
