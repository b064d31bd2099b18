"""Texts, CSV, TSV, Parquet, Arrow and NPZ."""

import csv
import io
import math
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import data_file
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array, csc_array, csr_array, save_npz

from polymargin.errors import DataError
from polymargin.readers import _csv_rows, _text_tables, read, read_batches, read_lines, scan


@pytest.fixture
def write(tmp_path: Path) -> Any:
    def write_file(text: str | bytes, name: str = "table.csv") -> Path:
        file = tmp_path / name
        file.write_bytes(text.encode() if isinstance(text, str) else text)
        return file

    return write_file


def cells(table: Any) -> dict[str, list[Any]]:
    return dict(zip(table.X.names, [column.tolist() for column in table.X.values], strict=True))


class TestTexts:
    def test_escapes_and_labels(self, write: Any) -> None:
        file = write("a\tone\\ttwo\\\\n\\n\r\n\nb\t\\alpha é\n", "texts.tsv")
        table = read(file)
        assert table.X == ["one\ttwo\\n\n", "\\alpha é"]
        assert table.y.tolist() == ["a", "b"]
        assert table.lines.tolist() == [1, 3]
        assert table.reading == {"format": "text", "label_kind": "string"}
        assert [t.X for t in read_batches(file, rows=1)] == [[table.X[0]], [table.X[1]]]

    def test_without_labels(self, write: Any) -> None:
        table = read(write("one\ntwo\n"), format="text", has_labels=False)
        assert table.X == ["one", "two"]
        assert table.y is None

    @pytest.mark.parametrize(
        ("text", "line", "column", "message"),
        [
            (b"1\ta\nb\n", 2, 1, "no tab"),
            (b"1\ta\n1\tb\tc\n", 2, 4, "second tab"),
            (b"1\ta\n\tb\n", 2, 1, "label before the tab"),
            (b"1\ta\n1\t\xff\n", 2, 3, "0xff is not UTF-8"),
            (b"1\ta\n1\t\x00\n", 2, 3, "zero byte"),
        ],
    )
    def test_errors(self, write: Any, text: bytes, line: int, column: int, message: str) -> None:
        with pytest.raises(DataError, match=message) as caught:
            read(write(text), format="text")
        assert (caught.value.line, caught.value.column) == (line, column)

    def test_scan_decides_by_all_labels(self, write: Any) -> None:
        file = write("1\ta\n2\tb\nx\tc\n", "texts.tsv")
        found = scan(file)
        assert found.classes.tolist() == ["1", "2", "x"]
        tables = list(read_batches(file, rows=1, **found.reading))
        assert [table.y[0] for table in tables] == ["1", "2", "x"]
        with pytest.raises(DataError, match="not a whole number, unlike others"):
            list(read_batches(file, rows=1))

    def test_real_data(self) -> None:
        table = read(data_file("clinc150.val.tsv.xz"))
        assert (len(table.X), len(np.unique(table.y))) == (3000, 150)
        rows = read(data_file("clinc150.val.svm.xz"))
        names = np.array(read_lines(data_file("clinc150.labels.txt")))
        np.testing.assert_array_equal(table.y, names[rows.y - 1])


class TestCsv:
    def test_numbers_categories_missing(self, write: Any) -> None:
        table = read(
            write(
                '\ufeffa,b,"the class, here",c\n1,x,u,2\n\n -2.5e1 ,NA,"v ""w""\n",?\n.5,y,u,3\n'
            ),
            label=3,
        )
        found = cells(table)
        assert found["a"] == [1, -25, 0.5]
        assert found["b"] == ["x", None, "y"]
        assert found["c"][::2] == [2, 3]
        assert math.isnan(found["c"][1])
        assert table.y.tolist() == ["u", 'v "w"', "u"]
        assert table.lines.tolist() == [2, 4, 6]
        assert table.first_missing == (4, 4, "c")
        assert table.reading == {
            "format": "csv",
            "delimiter": ",",
            "header": True,
            "kinds": {"a": "number", "b": "category", "c": "number"},
            "label": "the class, here",
            "label_kind": "string",
        }
        assert cells(read(write("a,b,c\n1,2,3\n"), **table.reading, has_labels=False))["b"] == ["2"]

    @pytest.mark.parametrize(
        ("header", "label", "expected"),
        [
            ("a,Class,b", None, "Class"),
            ("y,a,label", None, "label"),
            ("a,b,c", None, "c"),
            ("a,b,c", "b", "b"),
            ("a,b,c", 1, "a"),
            ("a,b,c", "2", "b"),
            ("a,b,c", -3, "a"),
        ],
    )
    def test_column_of_labels(self, write: Any, header: str, label: Any, expected: str) -> None:
        table = read(write(f"{header}\n1,2,3\n"), label=label)
        assert table.reading["label"] == expected
        assert expected not in table.X.names

    @pytest.mark.parametrize("delimiter", [",", ";", "\t"])
    def test_delimiters(self, write: Any, delimiter: str) -> None:
        text = "a,y\n1,2\n".replace(",", delimiter)
        assert cells(read(write(text))) == {"a": [1.0]}
        assert cells(read(write("a|y\n1|2\n"), delimiter="|")) == {"a": [1.0]}

    def test_without_header(self, write: Any) -> None:
        table = read(write("1,2,u\n3,4,v\n"), header=False)
        assert cells(table) == {"1": [1, 3], "2": [2, 4]}
        assert table.reading["label"] == "3"

    def test_kinds_are_forced(self, write: Any) -> None:
        file = write("a,y\n1,2\nx,3\n")
        assert cells(read(write("a,y\n1,2\n", "other.csv"), kinds={"a": "category"})) == {
            "a": ["1"]
        }
        with pytest.raises(DataError, match="'x' in column 'a' is not a number") as caught:
            read(file, kinds={"a": "number"})
        assert (caught.value.line, caught.value.column) == (3, 1)
        with pytest.raises(DataError, match="there is no column 'b'"):
            read(file, kinds={"b": "number"})
        with pytest.raises(DataError) as caught:  # the first by line, not by column
            read(write("a,b,y\n1,2,0\n1,inf,0\nx,1,0\n"), kinds={"a": "number"})
        assert (caught.value.line, caught.value.column) == (3, 2)

    @pytest.mark.parametrize(
        ("text", "line", "message"),
        [
            ("a,b,y\n1,2,3\n1,2\n", 3, "2 cells where the header has 3"),
            ("a,b,y\n1,2,3,4\n", 2, "4 cells where"),
            ("a,a,y\n1,2,3\n", None, "two columns are named 'a'"),
            ("a,b,y\n1,2,\n", 2, "label in column 'y' is missing"),
            ("a,b,y\n1,inf,3\n", 2, "not finite"),
            ('a,b,y\n1,"2,3\n4,5,6\n', 2, "quote is never closed"),
            ('a,b,y\n1,"2"x,3\n', 2, "closing quote"),
            ("a,b,y\n1,2\r3,3\n", 2, "carriage return"),
            ("a,y\n", 1, "no rows"),
            ("a\n1\n", 1, "no column besides"),
            ("a,y\n" + "x" * 200_000 + ",1\n", 2, "longer than"),
        ],
    )
    def test_errors(
        self,
        write: Any,
        text: str,
        line: int | None,
        message: str,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(_csv_rows, "LONGEST_CELL", 150_000)
        with pytest.raises(DataError, match=message) as caught:
            read(write(text))
        assert caught.value.line == line

    def test_long_cells(self, write: Any) -> None:
        text = "word " * 40_000
        assert read(write(f"a,y\n{text},1\n")).X.values[0][0] == text.strip()
        assert csv.field_size_limit() == 131_072

    def test_a_category_that_shows_late(self, write: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(_text_tables, "CHUNK_ROWS", 2)
        text = "a,b,y\n1,1.0,0\n2,2,0\n3,x,0\n4,5,0\n4,5,0\n4,5,0\nu,6,z\n"
        file = write(text)
        table = read(file)
        assert cells(table)["a"] == ["1", "2", "3", "4", "4", "4", "u"]
        assert cells(table)["b"] == ["1.0", "2", "x", "5", "5", "5", "6"]
        assert table.y.tolist() == ["0"] * 6 + ["z"]
        found = scan(file)
        assert found.reading["kinds"] == {"a": "category", "b": "category"}
        assert (found.n_rows, found.n_features, found.classes.tolist()) == (7, 2, ["0", "z"])
        parts = list(read_batches(file, rows=2, **found.reading))
        assert [cell for part in parts for cell in cells(part)["a"]] == cells(table)["a"]
        with pytest.raises(DataError, match="all cells before are numbers") as caught:
            list(read_batches(file, rows=2))
        assert (caught.value.line, caught.value.column) == (4, 2)
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        with pytest.raises(DataError, match="say that the column is a category"):
            read("-", format="csv")

    def test_files_without_labels(self, write: Any) -> None:
        table = read(write("a,b\n1,2\n"), has_labels=False)
        assert table.X.names == ("a", "b")
        assert table.y is None
        assert read(write("a,y\n1,2\n"), has_labels=False).y.tolist() == [2]
        assert read(write("a,y\n1,\n"), has_labels=False).y is None

    @settings(max_examples=40, deadline=None)
    @given(
        st.lists(
            st.tuples(
                st.floats(allow_nan=False, allow_infinity=False),
                st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), max_size=8),
            ),
            min_size=1,
            max_size=8,
        )
    )
    def test_round_trip(self, tmp_path_factory: pytest.TempPathFactory, rows: Any) -> None:
        file = tmp_path_factory.getbasetemp() / "random.csv"
        with file.open("w", newline="", encoding="utf-8") as out:
            writer = csv.writer(out, lineterminator="\n")
            writer.writerows([["number", "word", "y"], *([a, f"w{b}", 1] for a, b in rows)])
        table = read(file)
        assert table.X.values[0].tolist() == [a for a, _ in rows]
        assert table.X.values[1].tolist() == [f"w{b}".strip() for _, b in rows]


class TestArrow:
    @pytest.fixture(params=["parquet", "arrow", "stream"])
    def store(self, request: pytest.FixtureRequest, tmp_path: Path) -> Any:
        pyarrow = pytest.importorskip("pyarrow")
        parquet = pytest.importorskip("pyarrow.parquet")

        def store_table(columns: dict[str, Any]) -> Path:
            table = pyarrow.table(columns)
            if request.param == "parquet":
                parquet.write_table(table, tmp_path / "t.parquet", row_group_size=3)
                return tmp_path / "t.parquet"
            kind = pyarrow.ipc.new_file if request.param == "arrow" else pyarrow.ipc.new_stream
            with kind(tmp_path / "t.arrow", table.schema) as out:
                out.write_table(table, max_chunksize=3)
            return tmp_path / "t.arrow"

        return store_table

    def test_columns(self, store: Any) -> None:
        import pyarrow

        file = store(
            {
                "a": [1, 2, None, 4],
                "b": pyarrow.array(["x", None, "y", "x"]).dictionary_encode(),
                "c": [True, False, True, None],
                "label": ["u", "v", "u", "w"],
            }
        )
        table = read(file)
        np.testing.assert_array_equal(table.X.values[0], [1, 2, np.nan, 4])
        assert cells(table)["b"] == ["x", None, "y", "x"]
        assert table.y.tolist() == ["u", "v", "u", "w"]
        assert table.first_missing == (3, 1, "a")
        parts = list(read_batches(file, rows=2))
        assert [part.n_rows for part in parts][:1] == [2]
        assert sum(part.n_rows for part in parts) == 4
        assert np.concatenate([part.y for part in parts]).tolist() == table.y.tolist()
        assert scan(file).classes.tolist() == ["u", "v", "w"]

    @pytest.mark.parametrize(
        ("labels", "expected"),
        [([1, 2], [1, 2]), ([1.0, 2.0], [1, 2]), ([0.5, 1], [0.5, 1]), (["1", "2"], [1, 2])],
    )
    def test_labels(self, store: Any, labels: list[Any], expected: list[Any]) -> None:
        file = store({"a": [1.0, 2.0], "y": labels})
        table = read(file)
        assert table.y.tolist() == expected
        assert scan(file).classes.tolist() == expected

    def test_kinds(self, store: Any) -> None:
        file = store({"a": [1, 2], "b": ["1", "2.5"], "y": [0, 1]})
        table = read(file, kinds={"a": "category", "b": "number"})
        assert cells(table) == {"a": ["1", "2"], "b": [1.0, 2.5]}
        with pytest.raises(DataError, match="row 1: 'x' in column 'b' is not a number"):
            read(store({"b": ["x"], "y": [0]}), kinds={"b": "number"})

    def test_what_is_refused(self, store: Any) -> None:
        with pytest.raises(DataError, match="column 'a' is of type list"):
            read(store({"a": [[1], [2]], "y": [0, 1]}))
        with pytest.raises(DataError, match="row 2, column 'y': the label is missing"):
            read(store({"a": [1, 2], "y": [0, None]}))
        with pytest.raises(DataError, match="infinite"):
            read(store({"a": [1, np.inf], "y": [0, 1]}))

    def test_damaged(self, store: Any) -> None:
        file = store({"a": list(range(100)), "y": [0, 1] * 50})
        content = file.read_bytes()
        for size in (5, len(content) // 2, len(content) - 5):
            file.write_bytes(content[:size])
            if size < len(content) - 5 or file.name != "t.arrow":
                with pytest.raises(DataError):
                    read(file)


class TestNpz:
    def test_dense(self, tmp_path: Path, seed: int) -> None:
        X = np.random.default_rng(seed).normal(size=(10, 3))
        file = tmp_path / "a.npz"
        for array in (X, np.asfortranarray(X), X.astype(np.float32), (10 * X).astype(np.int16)):
            for save in (np.savez, np.savez_compressed):
                save(file, X=array, y=np.arange(10) % 3)
                table = read(file)
                assert table.X.dtype == np.float64
                np.testing.assert_array_equal(table.X, array)
                parts = list(read_batches(file, rows=4))
                np.testing.assert_array_equal(np.vstack([part.X for part in parts]), array)
                np.testing.assert_array_equal(np.concatenate([p.y for p in parts]), table.y)
        assert scan(file).n_features == 3

    @pytest.mark.parametrize("build", [csr_array, csc_array, coo_array])
    def test_sparse(self, tmp_path: Path, build: Any, seed: int) -> None:
        X = np.random.default_rng(seed).integers(-1, 2, size=(10, 4)).astype(float)
        file = tmp_path / "a.npz"
        save_npz(file, build(X))
        with pytest.raises(DataError, match="no labels"):
            read(file)
        np.save(tmp_path / "labels.npy", np.array(["u", "v"] * 5))
        table = read(file, labels_path=tmp_path / "labels.npy")
        np.testing.assert_array_equal(table.X.toarray(), X)
        assert table.X.indices.dtype == np.int32
        assert table.y.tolist() == ["u", "v"] * 5
        parts = list(read_batches(file, rows=3, labels_path=tmp_path / "labels.npy"))
        assert [part.n_rows for part in parts] == [3, 3, 3, 1]
        assert parts[1].y.tolist() == ["v", "u", "v"]

    @pytest.mark.parametrize(
        ("arrays", "message"),
        [
            ({"x": np.eye(2)}, "no array X.*it holds: x"),
            ({"X": np.eye(2)}, "no array y"),
            ({"X": np.ones(2), "y": np.ones(2)}, "1 dimensions"),
            ({"X": np.eye(2), "y": np.ones(3)}, "X has 2 rows, y has 3"),
            ({"X": np.eye(2), "y": np.array([1, np.nan])}, "row 2: the label is not finite"),
            ({"X": np.array([["a"]]), "y": np.ones(1)}, "save numbers"),
            ({"X": np.array([[None]]), "y": np.ones(1)}, "Python objects"),
        ],
    )
    def test_errors(self, tmp_path: Path, arrays: dict[str, Any], message: str) -> None:
        np.savez(tmp_path / "a.npz", **arrays)
        with pytest.raises(DataError, match=message):
            read(tmp_path / "a.npz")

    def test_sizes_are_not_believed(self, tmp_path: Path) -> None:
        header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000, 1000), }"
        member = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header
        file = tmp_path / "a.npz"
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("X.npy", member)
        with pytest.raises(DataError, match="says it has 8000000000000 bytes"):
            read(file)

    def test_corrupt_indices(self, tmp_path: Path) -> None:
        np.savez(
            tmp_path / "a.npz", format=b"csr", shape=[2, 2], data=[1.0, 2.0],
            indices=[0, 7], indptr=[0, 1, 2], y=[0, 1],
        )  # fmt: skip
        with pytest.raises(DataError, match="the sparse matrix is damaged"):
            read(tmp_path / "a.npz")

    def test_cut(self, tmp_path: Path) -> None:
        file = tmp_path / "a.npz"
        np.savez_compressed(file, X=np.random.default_rng(0).normal(size=(50, 3)), y=np.ones(50))
        content = file.read_bytes()
        for size in (10, len(content) // 2, len(content) - 1):
            file.write_bytes(content[:size])
            with pytest.raises(DataError):
                read(file)
        flipped = bytearray(content)
        flipped[200] ^= 0xFF
        file.write_bytes(flipped)
        with pytest.raises(DataError, match="damaged"):
            read(file)


_MEASURE = """
import re, sys
from pathlib import Path
from polymargin.readers import _source, read_batches
_source.BLOCK_SIZE = 1 << 16
def peak():
    return 1024 * int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
for form in ("svmlight", "csv", "text", "npz"):
    options = {"format": form, "rows": 64} | ({"n_features": 60} if form == "svmlight" else {})
    small, large = (Path(sys.argv[1], form + str(n)) for n in (1000, 20_000))
    n_rows = sum(table.n_rows for table in read_batches(small, **options))
    before = peak()
    n_rows += sum(table.n_rows for table in read_batches(large, **options))
    print(form, n_rows, peak() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs VmHWM")
def test_memory_of_batches(tmp_path: Path) -> None:
    """It does not grow with the file."""
    line = {
        "svmlight": "3 " + " ".join(f"{j}:0.{j}5" for j in range(1, 60)),
        "csv": ",".join(f"0.{j}5" for j in range(30)) + ",x",
        "text": "label\t" + "some words " * 40,
    }
    for n in (1000, 20_000):
        for form, text in line.items():
            header = ",".join(f"c{j}" for j in range(31)) + "\n" if form == "csv" else ""
            (tmp_path / f"{form}{n}").write_text(header + (text + "\n") * n)
        with (tmp_path / f"npz{n}").open("wb") as file:
            np.savez_compressed(file, X=np.ones((n, 60)), y=np.zeros(n))
    answer = subprocess.run(
        [sys.executable, "-c", _MEASURE, str(tmp_path)], check=True, capture_output=True, text=True
    )
    for result in answer.stdout.splitlines():
        form, n_rows, taken = result.split()
        assert int(n_rows) == 21_000
        assert int(taken) < 3 << 20, form


@pytest.mark.parametrize("name", [None, "city"])
def test_the_index_of_pandas_names_the_rows(tmp_path: Path, name: str | None) -> None:
    pytest.importorskip("pyarrow")
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "kind": ["x", "y", "x", "y"]})
    frame.index = pandas.Index([3, 0, 2, 7], name=name)
    index = name or "__index_level_0__"
    file = tmp_path / "frame.parquet"
    frame.to_parquet(file)
    table = read(file)
    assert table.X.names == ("a",)
    assert table.y is not None
    assert table.y.tolist() == ["x", "y", "x", "y"]
    assert table.reading["kinds"] == {"a": "number", index: "drop"}
    assert scan(file).reading["kinds"] == table.reading["kinds"]
    assert next(read_batches(file, rows=2)).X.names == ("a",)
    assert read(file, **table.reading, extra="ignore").ignored_columns == ()
    assert read(file, kinds={index: "number"}).X.names == ("a", index)
    assert read(file, label=index).y.tolist() == [3, 0, 2, 7]


def test_a_wrong_account_of_an_index_is_no_account(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = arrow.table({"a": [1.0, 2.0], "kind": ["x", "y"]})
    accounts = (b"{", b"[]", b'{"index_columns": 3}', b'{"index_columns": [{"kind": "range"}, 5]}')
    for account in accounts:
        parquet.write_table(
            rows.replace_schema_metadata({"pandas": account}), tmp_path / "a.parquet"
        )
        assert read(tmp_path / "a.parquet").reading["kinds"] == {"a": "number"}


class TestSeparatorLine:
    """What spreadsheets write before the header."""

    @pytest.mark.parametrize(
        ("first", "delimiter"),
        [
            ("sep=;", ";"),
            ("SEP=,", ","),
            ('"sep=|"', "|"),
            ("sep=\t", "\t"),
            ("\ufeffsep=;\r", ";"),
        ],
    )
    @pytest.mark.parametrize("name", ["a.csv", "a.txt"])
    def test_tells_the_delimiter(self, write: Any, first: str, delimiter: str, name: str) -> None:
        # The header alone would tell a comma.
        text = 'a,1,2;"b, c";label\n1;2;x\n3;4;y\n'.replace(";", delimiter)
        if delimiter == ",":
            text = text.replace("a,1,2", '"a,1,2"')
        table = read(write(f"{first}\n{text}", name))
        assert cells(table) == {"a,1,2": [1.0, 3.0], "b, c": [2.0, 4.0]}
        assert table.lines is not None
        assert table.lines.tolist() == [3, 4]
        assert table.reading["delimiter"] == delimiter
        assert scan(write(f"{first}\n{text}", name)).n_rows == 2

    def test_is_left_out_where_the_delimiter_is_named(self, write: Any) -> None:
        file = write("sep=;\na|label\n1|x\n2|y\n")
        assert cells(read(file, delimiter="|")) == {"a": [1.0, 2.0]}
        assert cells(read(write("sep=\t\na\tlabel\n1\tx\n2\ty\n", "a.tsv"))) == {"a": [1.0, 2.0]}
        without = read(write("sep=;\n1;x\n2;y\n"), header=False)
        assert cells(without) == {"1": [1.0, 2.0]}

    def test_errors_count_it(self, write: Any) -> None:
        with pytest.raises(DataError, match="table.csv:4: 1 cell where"):
            read(write("sep=;\na;label\n1;x\n2\n"))
        with pytest.raises(DataError, match="table.csv: the file has no rows"):
            read(write("sep=;\n"))

    def test_is_data_in_any_other_form(self, write: Any) -> None:
        assert cells(read(write("sep=;,label\n1,x\n2,y\n"))) == {"sep=;": [1.0, 2.0]}
