"""Packed files, formats by name and content, files that are not what they should be."""

import bz2
import gzip
import io
import lzma
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from polymargin.errors import DataError
from polymargin.readers import _source, open_lines, parse_labels, read, read_batches, read_lines

TEXT = b"".join(b"%d 1:%d 2:0.5\n" % (i % 3, i) for i in range(1, 2000))

PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": zstandard.ZstdCompressor().compress,
}


@pytest.fixture(params=list(PACKERS))
def packing(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


class TestPacked:
    @pytest.mark.parametrize("block_size", [1, 1000, 1 << 22])
    def test_is_recognised_by_content(
        self, tmp_path: Path, packing: str, block_size: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        text = TEXT[: 30 * block_size] if block_size < 100 else TEXT
        text = text[: text.rindex(b"\n") + 1]
        monkeypatch.setattr(_source, "BLOCK_SIZE", block_size)
        file = tmp_path / "rows.svm"  # nothing of the packing in its name
        file.write_bytes(PACKERS[packing](text))
        plain = tmp_path / "plain.svm"
        plain.write_bytes(text)
        assert (read(file).X != read(plain).X).nnz == 0

    def test_of_several_members(self, tmp_path: Path, packing: str) -> None:
        pack = PACKERS[packing]
        file = tmp_path / f"rows.svm.{packing}"
        file.write_bytes(pack(TEXT[:1000]) + pack(b"") + pack(TEXT[1000:]))
        for n_jobs in (1, 2):
            table = read(file, n_jobs=n_jobs)
            assert table.n_rows == 1999
            assert table.X[[1998], [0]] == 1999

    def test_cut_anywhere(self, tmp_path: Path, packing: str) -> None:
        packed = PACKERS[packing](TEXT)
        file = tmp_path / f"rows.svm.{packing}"
        for size in [7, 20, len(packed) // 2, len(packed) - 9, len(packed) - 1]:
            file.write_bytes(packed[:size])
            with pytest.raises(DataError, match=r"ends too early, after \d+ bytes") as caught:
                read(file)
            assert caught.value.path == str(file)

    def test_damaged(self, tmp_path: Path, packing: str) -> None:
        packed = bytearray(PACKERS[packing](TEXT * 20))
        packed[len(packed) // 2] ^= 0xFF
        packed[len(packed) // 2 + 1] ^= 0xFF
        file = tmp_path / f"rows.svm.{packing}"
        file.write_bytes(packed)
        with pytest.raises(DataError):
            read(file)

    def test_followed_by_something_else(self, tmp_path: Path, packing: str) -> None:
        file = tmp_path / f"rows.svm.{packing}"
        file.write_bytes(PACKERS[packing](TEXT) + b"something else")
        with pytest.raises(DataError, match="something else follows"):
            read(file)

    def test_padding(self, tmp_path: Path) -> None:
        file = tmp_path / "rows.svm"
        for pack in (gzip.compress, lzma.compress):
            file.write_bytes(pack(TEXT) + bytes(512) + pack(TEXT) + bytes(64))
            assert read(file).n_rows == 2 * 1999

    def test_batches_notice_too(self, tmp_path: Path, packing: str) -> None:
        file = tmp_path / "rows.svm"
        file.write_bytes(PACKERS[packing](TEXT)[:-1])
        with pytest.raises(DataError, match="ends too early"):
            list(read_batches(file, n_features=2, rows=100))


class TestFormats:
    @pytest.mark.parametrize(
        ("name", "text", "expected"),
        [
            ("a.svm", "1 1:1\n", "svmlight"),
            ("a.libsvm.xz", "1 1:1\n", "svmlight"),
            ("a.SVMLIGHT", "1 1:1\n", "svmlight"),
            ("a.csv", "a,y\n1,2\n", "csv"),
            ("a.tsv", "a\ty\n1\t2\n", "tsv"),
            ("a.tsv", "1\t2\n3\t4\n", "tsv"),
            ("a.tsv", "7\tsome words\n3\tmore\n", "text"),
            ("a.tsv", "label\ttext\nx\tmore\n", "text"),
            ("a.txt", "# comment\n\n1 1:1 2:1 # c\n", "svmlight"),
            ("a", "1:1 2:1\n2:1\n", "svmlight"),
            ("a", "3\n1 2:1\n2\n", "svmlight"),
            ("a", "3\n1 2:1", "svmlight"),
            ("a", "1" + "".join(f" {j}:0.5" for j in range(1, 20_000)), "svmlight"),
            ("a.txt", "7\tsome words\n3\tmore\n", "text"),
            ("a.data", "a;y\n1;2\n", "csv"),
            ("a.data", "a\tb\ty\n1\t2\t3\n", "tsv"),
        ],
    )
    def test_by_name_or_content(self, tmp_path: Path, name: str, text: str, expected: str) -> None:
        file = tmp_path / name
        file.write_text(text)
        assert read(file, has_labels=False, header=True).reading["format"] == expected

    def test_neither_name_nor_content(self, tmp_path: Path) -> None:
        file = tmp_path / "a.dat"
        file.write_text("what is this\nno idea, really\n")
        with pytest.raises(DataError, match="name it with format=: one of svmlight, text, csv"):
            read(file)

    @pytest.mark.parametrize("option", [{"format": "svm"}, {"extra": "drop"}, {"zero_based": 2}])
    def test_options_are_checked(self, tmp_path: Path, option: dict[str, object]) -> None:
        with pytest.raises(ValueError, match="use "):
            read(tmp_path / "a.svm", **option)  # type: ignore[arg-type]


class TestOpening:
    def test_what_is_no_file(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError, match="none.svm"):
            read(tmp_path / "none.svm")
        with pytest.raises(IsADirectoryError, match=tmp_path.name):
            read(tmp_path, format="svmlight")

    def test_empty_files(self, tmp_path: Path, packing: str) -> None:
        file = tmp_path / "empty.svm"
        for content in (b"", PACKERS[packing](b"")):
            file.write_bytes(content)
            with pytest.raises(DataError, match="empty"):
                read(file)

    @pytest.mark.parametrize("pack", [bytes, gzip.compress])
    def test_standard_input(
        self, monkeypatch: pytest.MonkeyPatch, pack: Callable[[bytes], bytes]
    ) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(pack(TEXT))))
        assert read("-").n_rows == 1999

    def test_standard_input_of_a_process(self) -> None:
        code = "from polymargin.readers import read; print(read('-').X.shape)"
        answer = subprocess.run(
            [sys.executable, "-c", code], input=TEXT, capture_output=True, check=True
        )
        assert answer.stdout == b"(1999, 2)\n"

    def test_lines(self, tmp_path: Path, packing: str) -> None:
        file = tmp_path / "names.txt"
        file.write_bytes(PACKERS[packing]("é\r\n\nb".encode()))
        assert read_lines(file) == ["é", "", "b"]
        with open_lines(file) as lines:
            assert list(lines) == ["é\r\n".encode(), b"\n", b"b"]


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["1", "+2", "-3"], [1, 2, -3]),
        (["1.0", "2"], [1, 2]),
        (["1.5", "2"], [1.5, 2.0]),
        (["1", "x"], ["1", "x"]),
        (["007", "7"], ["007", "7"]),
        (["1_0", "2"], ["1_0", "2"]),
        (["nan", "2"], ["nan", "2"]),
        (["99999999999999999999", "2"], ["99999999999999999999", "2"]),
    ],
)
def test_labels(texts: list[str], expected: list[object]) -> None:
    labels = parse_labels(texts).tolist()
    assert labels == expected
    assert list(map(type, labels)) == list(map(type, expected))


_ABANDON = """
import faulthandler, gc, sys
from polymargin.errors import DataError
from polymargin.readers import _source, read
_source.BLOCK_SIZE = _source.HEAD_SIZE = 16
faulthandler.dump_traceback_later(50, exit=True)
for i in range(600):
    gc.set_threshold(5 + i % 60)  # so that it runs wherever a thread starts, too
    try:
        read(sys.argv[1], n_jobs=2)
    except DataError as error:
        error.itself = error  # what was being read is left to the garbage collector
"""


def test_reading_ahead_never_waits_for_a_thread(tmp_path: Path) -> None:
    file = tmp_path / "wrong.csv"
    file.write_text("a,y\n" + "1,2\n" * 50 + "1\n" + "1,2\n" * 50)
    done = subprocess.run(
        [sys.executable, "-c", _ABANDON, file], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_errors_of_the_thread_that_reads_ahead(tmp_path: Path) -> None:
    file = tmp_path / "cut.svm.gz"
    file.write_bytes(gzip.compress(TEXT)[:-9])
    with pytest.raises(DataError, match="cut.svm.gz"):
        read(file, n_jobs=2)


@pytest.mark.parametrize(
    ("name", "told"),
    [("a.xlsx", "CSV"), ("A.XLS", "CSV"), ("a.ods", "CSV"), ("a.npy", "savez"), ("a.pkl", "CSV")],
)
def test_files_of_other_programs(tmp_path: Path, name: str, told: str) -> None:
    file = tmp_path / name
    file.write_bytes(b"PK\x03\x04 and so on")
    with pytest.raises(DataError, match=f"{name}: .*{told}"):
        read(file)
    file.write_text("a,label\n1,x\n2,y\n")
    assert read(file, format="csv").n_rows == 2
