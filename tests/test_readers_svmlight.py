"""svmlight files: what is read, in which pieces, by how many threads."""

import io
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import data_file, load_data
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array, random_array
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from polymargin.errors import DataError
from polymargin.readers import _source, read, read_batches, scan


@pytest.fixture
def write(tmp_path: Path) -> Any:
    def write_file(text: str | bytes, name: str = "rows.svm") -> Path:
        file = tmp_path / name
        file.write_bytes(text.encode() if isinstance(text, str) else text)
        return file

    return write_file


def random_text(seed: int, n: int = 200, d: int = 50) -> str:
    random = np.random.default_rng(seed)
    lines = []
    for _ in range(n):
        j = np.sort(random.choice(d, random.integers(0, 12), replace=False)) + 1
        entries = [f"{index}:{random.normal():.{random.integers(1, 17)}g}" for index in j]
        lines.append(" ".join([str(random.integers(4)), *entries]) + "\n")
        if random.random() < 0.1:
            lines.append("# nothing here\n" if random.random() < 0.5 else "\n")
    return "".join(lines)


def assert_same(a: Any, b: Any) -> None:
    for part in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(a.X, part), getattr(b.X, part))
    assert a.X.shape == b.X.shape
    np.testing.assert_array_equal(a.y, b.y)
    np.testing.assert_array_equal(a.lines, b.lines)


class TestSyntax:
    def test_everything_that_is_allowed(self, write: Any) -> None:
        table = read(
            write(
                b"\xef\xbb\xbf# first a comment\r\n"
                b"+1 qid:7 1:2 3:-1.5e0\t4:+.5 # 9:9\r\n"
                b"\n"
                b"  -2\t\t2:1e-400  \n"
                b"3#nothing\n"
                b"-2 4:0 1:7 2:0.1"
            )
        )
        expected = [[2, 0, -1.5, 0.5], [0, 0, 0, 0], [0, 0, 0, 0], [7, 0.1, 0, 0]]
        assert table.X.toarray().tolist() == expected
        assert table.y.tolist() == [1, -2, 3, -2]
        assert table.y.dtype == np.int64
        assert table.lines.tolist() == [2, 4, 5, 6]
        assert table.X.indices.dtype == np.int32
        assert table.reading == {
            "format": "svmlight",
            "zero_based": False,
            "n_features": 4,
            "label_kind": "integer",
        }

    def test_labels_that_are_not_whole(self, write: Any) -> None:
        assert read(write("1 1:1\n2.5 1:1\n")).y.tolist() == [1.0, 2.5]

    @pytest.mark.parametrize(
        ("text", "zero_based", "expected"),
        [
            ("1 1:5\n", "auto", [[5]]),
            ("1 1:5\n1 0:4\n", "auto", [[0, 5], [4, 0]]),
            ("1 1:5\n", True, [[0, 5]]),
            ("1 1:5\n", False, [[5]]),
        ],
    )
    def test_where_indices_start(
        self, write: Any, text: str, zero_based: Any, expected: list[list[float]]
    ) -> None:
        table = read(write(text), zero_based=zero_based)
        assert table.X.toarray().tolist() == expected
        again = read(write(text), **table.reading)
        assert_same(again, table)

    def test_labels_only(self, write: Any) -> None:
        table = read(write("1\n2\n"), n_features=3)
        assert table.X.shape == (2, 3)
        assert table.y.tolist() == [1, 2]

    def test_files_without_labels(self, write: Any) -> None:
        mixed = read(write("1:2\n3 2:1\n"), has_labels=False)
        assert mixed.y is None
        assert mixed.X.toarray().tolist() == [[2, 0], [0, 1]]
        assert read(write("4 1:2\n3 2:1\n"), has_labels=False).y.tolist() == [4, 3]
        assert read(write("qid:1 1:2\n"), has_labels=False).X.toarray().tolist() == [[2]]

    def test_labels_of_another_file(self, write: Any) -> None:
        labels = write("red\nblue\n", "labels.txt")
        table = read(write("1:2\n2:1\n"), labels_path=labels)
        assert table.y.tolist() == ["red", "blue"]
        with pytest.raises(DataError, match="2 labels for 1 row;"):
            read(write("1:2\n"), labels_path=labels)

    @pytest.mark.parametrize(
        "digits", ["0.1", "123456789012345678", "1234567890.12345678", "5e-324"]
    )
    def test_numbers_are_the_nearest(self, write: Any, digits: str) -> None:
        for text in (
            digits,
            f"-{digits}",
            f"{digits}1",
            f"{digits}e3",
            f"0{digits}",
            f".{digits[-1]}",
        ):
            try:
                expected = float(text)
            except ValueError:
                continue
            assert read(write(f"1 1:{text}\n")).X.toarray()[0, 0] == expected, text


ERRORS = [
    ("1 1:1\nx 1:1\n", 2, 1, "'x' is not a label"),
    ("1 1:1\n1,2 1:1\n", 2, 1, "more than one label"),
    ("1:1\n", 1, 1, "has no label"),
    ("nan 1:1\n", 1, 1, "not finite"),
    ("1e999 1:1\n", 1, 1, "not finite"),
    ("12345678901234567 1:1\n", 1, 1, "too many digits"),
    ("+-1 1:1\n", 1, 1, "not a label"),
    ("1 qid:x 1:1\n", 1, 3, "not a query number"),
    ("1 1:1 qid:3\n", 1, 7, "out of place"),
    ("1 -1:1\n", 1, 3, "negative index"),
    ("1 1.5:1\n", 1, 4, "not a whole number"),
    ("1 2147483647:1\n", 1, 3, "too large; the largest is 2147483646"),
    ("1 99999999999999999999999:1\n", 1, 3, "too large"),
    ("1 1:nan\n", 1, 5, "not finite"),
    ("1 1:-inf\n", 1, 5, "not finite"),
    ("1 1:1e999\n", 1, 5, "beyond the range"),
    ("1 1:\n", 1, 5, "no value"),
    ("1 1: 2\n", 1, 5, "no value"),
    ("1 :2\n", 1, 3, "no index"),
    ("1 1:2:3\n", 1, 5, "not a number"),
    ("1 1:0x10\n", 1, 5, "not a number"),
    ("1 1:+-1\n", 1, 5, "not a number"),
    ("1 1\n", 1, 3, "no colon"),
    ("1 1:1\n1 2:1 2:3\n", 2, 7, "'2:3' occurs twice"),
    ("1 3:1 1:3 3:2 1:1\n", 1, 11, "'3:2' occurs twice"),
    ("1 1:1\x00\n", 1, 5, r"'1:1\x00' is not a number"),
    ("\x00\x01\x02", 1, 1, r"'\x00\x01\x02' is not a label"),
    ("1 1:1\r2 1:1\n", 1, 5, "not a number"),
    ("1 1:1\n\n# comment\n1 é:1\n1 x\n", 4, 3, r"'\xc3\xa9:1' is not a whole number"),
]  # fmt: skip


class TestErrors:
    @pytest.mark.parametrize(("text", "line", "column", "message"), ERRORS)
    def test_place_and_cause(
        self, write: Any, text: str, line: int, column: int, message: str
    ) -> None:
        file = write(text)
        with pytest.raises(DataError) as caught:
            read(file, zero_based=False)
        assert (caught.value.line, caught.value.column) == (line, column)
        assert message in str(caught.value)
        assert str(caught.value).startswith(f"{file}:{line}:{column}: ")

    @pytest.mark.parametrize("n_jobs", [1, 3])
    def test_the_first_of_several(self, write: Any, n_jobs: int) -> None:
        good = "1 1:1 2:2 3:3 4:4\n" * 20_000
        with pytest.raises(DataError) as caught:
            read(write(good + "1 1:x\n" + good + "1 y\n" + good + "z\n"), n_jobs=n_jobs)
        assert (caught.value.line, caught.value.column) == (20_001, 5)

    @pytest.mark.parametrize(
        ("text", "zero_based", "line", "column"),
        [
            ("1 1:1\n1 1:1 4:1\n", False, 2, 7),
            ("1 1:1\n1 1:1 3:1\n", True, 2, 7),
            ("1 1:1\n1 1:1 4:1\n", "auto", 2, 7),
            ("1 1:1\n1 1:1 3:1\n1 0:1\n", "auto", 2, 7),
            ("1 1:1\n1 1:1 3:1\n1 0:1\n1 x\n", "auto", 2, 7),
        ],
    )
    def test_more_features_than_expected(
        self, write: Any, text: str, zero_based: Any, line: int, column: int
    ) -> None:
        with pytest.raises(DataError, match="beyond the 3 features expected") as caught:
            read(write(text), zero_based=zero_based, n_features=3)
        assert (caught.value.line, caught.value.column) == (line, column)

    def test_more_features_ignored(self, write: Any) -> None:
        table = read(write("1 1:1 5:1 2:2\n2 4:1\n"), n_features=3, extra="ignore")
        assert table.X.toarray().tolist() == [[1, 2, 0], [0, 0, 0]]
        assert table.ignored_entries == 2
        table = read(write("1 1:1 3:1\n2 0:4 3:1 2:5\n"), n_features=3, extra="ignore")
        assert table.X.toarray().tolist() == [[0, 1, 0], [4, 0, 5]]
        assert table.ignored_entries == 2

    def test_index_zero_in_a_file_from_one(self, write: Any) -> None:
        with pytest.raises(DataError, match="index 0"):
            read(write("1 0:1\n"), zero_based=False)

    def test_no_rows(self, write: Any) -> None:
        with pytest.raises(DataError, match="empty"):
            read(write(""))
        with pytest.raises(DataError, match="no rows"):
            read(write("# only a comment\n"))

    def test_a_line_without_end(self, write: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(_source, "LONGEST_LINE", 1000)
        monkeypatch.setattr(_source, "BLOCK_SIZE", 100)
        with pytest.raises(DataError, match="longer than 1000 bytes") as caught:
            read(write("1 1:1\n" + "1" * 2000))
        assert caught.value.line == 2


class TestPieces:
    @pytest.mark.parametrize("size", [1, 2, 3, 7, 64, 1000])
    @pytest.mark.parametrize("n_jobs", [1, 2])
    def test_blocks_of_any_size(
        self, write: Any, monkeypatch: pytest.MonkeyPatch, size: int, n_jobs: int
    ) -> None:
        file = write(random_text(1, n=60))
        whole = read(file)
        monkeypatch.setattr(_source, "BLOCK_SIZE", size)
        assert_same(read(file, n_jobs=n_jobs), whole)

    def test_a_border_at_every_byte(self) -> None:
        from polymargin.readers._parser import SvmlightParser

        text = b"1 2:3 1:4\r\n\n# c\n-2 qid:3 1:0.25 # d\n3\n1.5 3:1e2"
        results = set()
        for cut in range(len(text) + 1):
            parser = SvmlightParser(
                zero_based=None, n_features=None, ignore_extra=False, labels_optional=False,
                n_threads=1, longest_line=1000,
            )  # fmt: skip
            assert parser.feed(text[:cut]) is None
            assert parser.feed(text[cut:]) is None
            assert parser.end() is None
            results.add(tuple(part.tobytes() for part in parser.take(100)))
        assert len(results) == 1

    def test_threads_agree(self, write: Any) -> None:
        file = write(random_text(2, n=5000))
        assert file.stat().st_size > 4 * 2**16
        one = read(file)
        for n_jobs in (2, 3, 8):
            assert_same(read(file, n_jobs=n_jobs), one)

    @pytest.mark.parametrize("rows", [1, 7, 100, 1000])
    def test_batches_make_up_the_file(
        self, write: Any, monkeypatch: pytest.MonkeyPatch, rows: int
    ) -> None:
        file = write(random_text(3))
        whole = read(file, n_features=50)
        monkeypatch.setattr(_source, "BLOCK_SIZE", 500)
        tables = list(read_batches(file, rows=rows, n_features=50))
        assert all(table.n_rows <= rows for table in tables)
        assert len(tables) == -(-whole.n_rows // rows)
        start = 0
        for table in tables:
            stop = start + table.n_rows
            assert (whole.X[start:stop] != table.X).nnz == 0
            np.testing.assert_array_equal(table.y, whole.y[start:stop])
            np.testing.assert_array_equal(table.lines, whole.lines[start:stop])
            assert table.y.dtype == np.int64
            start = stop

    def test_batches_need_a_width(self, write: Any) -> None:
        with pytest.raises(ValueError, match="n_features is needed"):
            next(read_batches(write("1 1:1\n")))

    def test_batches_that_contradict_the_first(
        self, write: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(_source, "BLOCK_SIZE", 6)
        monkeypatch.setattr(_source, "HEAD_SIZE", 6)
        file = write("1 1:1\n2 1:1\n2 0:1\n")
        batches = read_batches(file, rows=1, n_features=2)
        assert next(batches).X.toarray().tolist() == [[1, 0]]
        with pytest.raises(DataError, match="were taken to start from 1") as caught:
            list(batches)
        assert caught.value.line == 3
        whole = list(read_batches(file, rows=1, **scan(file).reading))
        assert whole[2].X.toarray().tolist() == [[1, 0]]
        batches = read_batches(write("1 1:1\n1.5 1:1\n"), rows=1, n_features=1)
        next(batches)
        with pytest.raises(DataError, match="not a whole number"):
            next(batches)

    def test_scan(self, write: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(_source, "BLOCK_SIZE", 100)
        found = scan(write(random_text(4) + "9 0:1"))
        assert (found.n_rows, found.n_features, found.zero_based) == (201, 51, True)
        assert found.classes.tolist() == [0, 1, 2, 3, 9]
        assert found.reading["label_kind"] == "integer"


@st.composite
def matrices(draw: st.DrawFn) -> tuple[csr_array, np.ndarray]:
    n, d = draw(st.integers(1, 8)), draw(st.integers(1, 10))
    seed = draw(st.integers(0, 2**32 - 1))
    random = np.random.default_rng(seed)
    X = random_array((n, d), density=draw(st.floats(0, 1)), format="csr", rng=random)
    values = st.floats(allow_nan=False, allow_infinity=False)
    X.data[:] = draw(st.lists(values, min_size=X.nnz, max_size=X.nnz))
    labels = draw(st.lists(st.integers(-(2**40), 2**40), min_size=n, max_size=n))
    return X, np.array(labels)


class TestRoundTrips:
    @settings(max_examples=60, deadline=None)
    @given(matrices(), st.booleans())
    def test_random_matrices(
        self, tmp_path_factory: pytest.TempPathFactory, problem: Any, zero_based: bool
    ) -> None:
        X, y = problem
        X.sort_indices()
        text = "".join(
            f"{label} "
            + " ".join(
                f"{j + (not zero_based)}:{value!r}"
                for j, value in zip(
                    X.indices[begin:end].tolist(), X.data[begin:end].tolist(), strict=True
                )
            )
            + "\n"
            for label, begin, end in zip(y.tolist(), X.indptr, X.indptr[1:], strict=False)
        )
        file = tmp_path_factory.getbasetemp() / "random.svm"
        file.write_text(text)
        table = read(file, n_features=X.shape[1], zero_based=zero_based)
        np.testing.assert_array_equal(table.X.indptr, X.indptr)
        np.testing.assert_array_equal(table.X.indices, X.indices)
        np.testing.assert_array_equal(table.X.data, X.data)
        np.testing.assert_array_equal(table.y, y)
        peer, _ = load_svmlight_file(
            io.BytesIO(text.encode()), n_features=X.shape[1], zero_based=zero_based
        )
        assert (csr_array(peer) != table.X).nnz == 0

    def test_what_scikit_learn_writes(self, tmp_path: Path, blobs: Any) -> None:
        X, y = blobs
        file = tmp_path / "blobs.svm"
        dump_svmlight_file(X, y, str(file), zero_based=False)
        table = read(file)
        peer, labels = load_svmlight_file(str(file))
        np.testing.assert_array_equal(table.X.toarray(), peer.toarray())
        np.testing.assert_array_equal(table.y, labels)

    @pytest.mark.parametrize(
        ("name", "d"), [("letter.train", 16), ("dna.train", 180), ("clinc150.test", 5026)]
    )
    def test_real_data(self, name: str, d: int) -> None:
        X, y = load_data(name, d)
        table = read(data_file(f"{name}.svm.xz"), n_features=d, n_jobs=2)
        assert (csr_array(X) != table.X).nnz == 0
        np.testing.assert_array_equal(table.y, y)


_MEASURE = """
import re, sys
from pathlib import Path
from polymargin.readers import read
def peak():
    return 1024 * int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
read(sys.argv[2])
before = peak()
table = read(sys.argv[1], n_jobs=int(sys.argv[3]))
X = table.X
print(peak() - before, X.data.nbytes + X.indices.nbytes + 8 * (X.shape[0] + 1))
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs VmHWM")
@pytest.mark.parametrize("n_jobs", ["1", "2"])
def test_memory(write: Any, n_jobs: str) -> None:
    """At most half as much again as the matrix, and the blocks that are being read."""
    line = "3 " + " ".join(f"{j}:0.{j}5" for j in range(1, 200)) + "\n"
    large = write(line * 20_000, "large.svm")
    small = write(line, "small.svm")
    answer = subprocess.run(
        [sys.executable, "-c", _MEASURE, str(large), str(small), n_jobs],
        check=True, capture_output=True, text=True, env=os.environ,
    )  # fmt: skip
    taken, matrix = map(int, answer.stdout.split())
    assert taken <= 1.5 * matrix + 8 * _source.BLOCK_SIZE


def test_ctrl_c_is_honoured(write: Any, run_and_interrupt: Any) -> None:
    file = write("1 1:1\n")
    code = f"""
from polymargin.readers import _source, read
_source.Source.blocks = lambda self: iter(lambda: b"1 1:1 2:2 3:3\\n" * 1000, None)
print("ready", flush=True)
try:
    read({str(file)!r})
except KeyboardInterrupt:
    print("interrupted")
"""
    output, errors = run_and_interrupt(code, 0.3)
    assert output == "interrupted\n", errors
