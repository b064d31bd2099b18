"""CSV that compiled code cuts into cells: the same tables and errors as row by row."""

import gzip
import io
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from polymargin.errors import DataError
from polymargin.readers import (
    _csv_rows,
    _source,
    _text_tables,
    read,
    read_batches,
    scan,
)
from polymargin.readers._parser import cut_lines

CORPUS = sorted((Path(__file__).parent / "fuzz" / "corpus" / "readers").glob("[!p]*"))


@contextmanager
def ways(is_cut: bool, block_size: int = 1 << 20, chunk_rows: int = 4096) -> Iterator[list[int]]:
    """Readers that cut lines at once where they can, or never; how many rows were cut."""
    counts: list[int] = []

    def counted(*arguments: Any) -> Any:
        cut = cut_lines(*arguments)
        counts.append(cut.n_rows)
        return cut

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_csv_rows, "cut_lines", counted)
        patch.setattr(_csv_rows, "_ROWS_IN_DOUBT", 2)
        patch.setattr(_source, "BLOCK_SIZE", block_size)
        patch.setattr(_source, "HEAD_SIZE", min(block_size, _source.HEAD_SIZE))
        patch.setattr(_text_tables, "CHUNK_ROWS", chunk_rows)
        if not is_cut:
            patch.setattr(_csv_rows, "_CERTAIN_DELIMITERS", ())
        yield counts


def outcome(call: Callable[[], Any]) -> Any:
    """What a reader gives, in a form that can be compared."""
    try:
        found = call()
    except DataError as error:
        return str(error)
    tables = found if isinstance(found, list) else [found]
    return [_content(table) for table in tables]


def _content(table: Any) -> Any:
    if not hasattr(table, "X"):
        return (table.n_rows, table.n_features, _listed(table.classes), table.reading)
    columns = [(c.dtype, _listed(c), c.flags.writeable) for c in table.X.values]
    return (table.X.names, columns, _listed(table.y), table.lines.tolist(), table.reading,
            table.first_missing)  # fmt: skip


def _listed(values: Any) -> Any:
    """NaN equals itself, zeros differ by their sign, and types count."""
    return None if values is None else [repr(value) for value in values.tolist()]


CALLS: dict[str, Callable[..., Any]] = {
    "read": read,
    "threads": lambda file, **how: read(file, n_jobs=2, **how),
    "batches": lambda file, **how: list(read_batches(file, rows=3, **how)),
    "scan": scan,
}


def check_same(file: Path, block_size: int = 1 << 20, chunk_rows: int = 4096, **how: Any) -> int:
    """All ways to read a file give the same; how many rows were cut."""
    n_rows = 0
    for name, call in CALLS.items():
        with ways(False, block_size, chunk_rows):
            expected = outcome(lambda call=call: call(file, **how))
        with ways(True, block_size, chunk_rows) as counts:
            assert outcome(lambda call=call: call(file, **how)) == expected, name
        n_rows += sum(counts)
    return n_rows


NUMBERS = (
    *("1", "-2.5", "+3", "1e5", "1E-3", ".5", "7.", "007", "1_000", "0x10", "1e400", "-0", " 4 "),
    *("1e", "-", ".", "1.2.3", "inf", "-Infinity", "nan", "nan(1)", "NaN", "NA", " na ", "?"),
    *("null", "NULL", "", "  ", "1,5", "1.234,5", "1 000", "٣", "１", "5\xa0", "true", "1d", "1f"),
    *("123456789012345678", "0.1", "2.2250738585072011e-308", "4.9e-324", "1e-400"),
    *("1.234", "+12.345", " 123.456", "0.123", "1234.567", "1.2345", "1.234e1", "1.234.567", "5."),
    *("9007199254740993", "0.30000000000000004", "1.7976931348623159e308"),
    *("N/A", "#n/a", "<NA>", "n\x0fa", "$5", "$1,299.00", "-€3", "45 %", "12,99 €", "EUR 7"),
)
WORDS = (
    "red",
    " blue ",
    "a b",
    "x" * 40,
    "é",
    "\ufeff",
    "#",
    "2024-01-31",
    "31.12.2024",
    "two\twords",
)
ODD = ('"q"', '""', '"a""b"', '"a,b"', '"1"', 'a"b', '"x"y', '"open', '"two\nlines"', "\r", "\0",
       "a\x85b", "a\u2028b", "x\x1cy")  # fmt: skip

rows = st.lists(st.sampled_from(NUMBERS[:8]), min_size=3, max_size=3).map(",".join)
odd_rows = st.lists(st.sampled_from((*NUMBERS, *WORDS, *ODD)), min_size=1, max_size=4).map(",".join)
lines = st.lists(st.one_of(rows, rows, rows, rows, odd_rows, st.just("")), max_size=12)
sizes = st.integers(1, 60)
chunks = st.sampled_from([1, 3, 4096])


@settings(max_examples=100, deadline=None)
@given(lines, st.sampled_from(["\n", "\r\n"]), st.booleans(), sizes, chunks)
@example(["1,2,3", '"a\nb",2,3', "1,2,3"], "\n", True, 7, 4096)
@example(["1,2,3", "1,2,3", "\ufeff1,2,3"], "\n", True, 8, 4096)
@example(["1,2,3", "", "1,2,3", "1,2"], "\n", True, 5, 4096)
@example(["1,2,3", '1,"2,3', '4",5'], "\n", True, 5, 4096)
def test_any_lines(
    tmp_path_factory: pytest.TempPathFactory,
    lines: list[str],
    end: str,
    is_ended: bool,
    size: int,
    rows: int,
) -> None:
    file = tmp_path_factory.getbasetemp() / "any.csv"
    text = end.join(["a,b,label", *lines]) + (end if is_ended else "")
    file.write_bytes(text.encode())
    check_same(file, size, rows)
    check_same(file, size, rows, has_labels=False, kinds={"a": "category"})
    check_same(file, size, rows, header=False, label=1)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from((*NUMBERS, *WORDS)), min_size=1, max_size=6), sizes, chunks)
def test_any_column(
    tmp_path_factory: pytest.TempPathFactory, cells: list[str], size: int, rows: int
) -> None:
    file = tmp_path_factory.getbasetemp() / "column.tsv"
    file.write_text("a\tb\n" + "".join(f"{cell}\t{i % 2}\n" for i, cell in enumerate(cells)))
    for kinds in (None, {"a": "number"}):
        check_same(file, size, rows, format="csv", kinds=kinds)


POINTS = ("1.234", "-12.345", "5", "", "1,234", "1.234.567", "0.5", "1,5")


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(POINTS), min_size=1, max_size=6), chunks)
@example(["1.234", "1.234.567"], 4096)
@example(["1.234", "5", "1.234.567"], 1)
def test_points_before_groups(
    tmp_path_factory: pytest.TempPathFactory, cells: list[str], rows: int
) -> None:
    """What a point stands for shows in other cells, perhaps of another chunk."""
    file = tmp_path_factory.getbasetemp() / "points.csv"
    file.write_text("a;b\n" + "".join(f"{cell};{i % 2}\n" for i, cell in enumerate(cells)))
    for kinds in (None, {"a": "number"}):
        check_same(file, 12, rows, kinds=kinds)


@pytest.mark.parametrize("text", NUMBERS)
def test_numbers_are_cut_or_left_alone(tmp_path: Path, text: str) -> None:
    file = tmp_path / "numbers.csv"
    file.write_text("a;y\n" + f"{text};1\n" * 20, encoding="utf-8")
    assert check_same(file) > 0 or '"' in text


@pytest.mark.parametrize("file", CORPUS, ids=lambda file: file.name)
def test_fuzz_corpus(tmp_path: Path, file: Path) -> None:
    data = tmp_path / "data"
    data.write_bytes(file.read_bytes()[1:])
    for delimiter in (None, "|"):
        check_same(data, 16, 2, format="csv", delimiter=delimiter)
        check_same(data, format="csv", delimiter=delimiter, header=False, has_labels=False)


@pytest.mark.parametrize("wrong", ["1,2", "1,2,3,4", '1,"2"x,3', "1,2,", "1,inf,3", "1,x,3"])
@pytest.mark.parametrize("n_before", [0, 7, 500])
def test_places_of_errors(tmp_path: Path, wrong: str, n_before: int) -> None:
    file = tmp_path / "wrong.csv"
    file.write_text("a,b,y\n" + "1,2,3\n" * n_before + wrong + "\n" + "4,5,6\n" * 300)
    check_same(file, 64)
    check_same(file, 64, kinds={"b": "number"})


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    for wrong in (b"\xff", b"\0", b"\xc3", b"\xe2\x82\n\xac"):
        file = tmp_path / "bytes.csv"
        file.write_bytes(b"a,b\n" + "1,é\n".encode() * 9 + b"1," + wrong + b"\n" + b"1,2\n" * 9)
        for size in (16, 50, 1000):
            check_same(file, size)


def test_damaged_files_are_told_after_what_comes_before(tmp_path: Path) -> None:
    content = b"a,b,y\n" + b"".join(b"%d,%d,%d\n" % (i, i * i, i % 3) for i in range(3000))
    file = tmp_path / "packed.csv.gz"
    for text in (content, content.replace(b"1500,", b"1500,,,")):
        file.write_bytes(gzip.compress(text)[:-10])
        check_same(file, 500)


def test_most_is_cut(tmp_path: Path) -> None:
    file = tmp_path / "quoted.csv"
    cells = [f'{i / 7},"word {i % 3}",{i},"{i % 2}"\n' for i in range(1000)]
    cells[500] = '1,"two\nlines",2,"1"\n'
    file.write_text('a,b,"c",label\n' + "".join(cells))
    assert check_same(file, 512) > 0.9 * 1000 * len(CALLS)


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    text = b"a,b,y\n" + b"1,2,3\n" * 5000 + b"1,x,3\n"

    def read_input() -> Any:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
        return read("-", format="csv")

    with ways(False):
        expected = outcome(read_input)
    with ways(True, 1 << 12) as counts:
        assert outcome(read_input) == expected
    assert sum(counts) > 4000


def test_memory_of_a_hostile_block() -> None:
    """A row needs a byte for each cell, so that lines alone do not take room for rows."""
    cut = cut_lines(b"\n" * 1_000_000, ",", 1 << 16, 1 << 24)
    assert (cut.n_rows, cut.n_bytes) == (0, 0)


def test_cells_that_are_out_of_reach() -> None:
    cut = cut_lines(b"1,2\n3,4\n", ",", 2, 1 << 24)
    assert cut.texts(1, 0, 2) == ["2", "4"]
    for column, start, stop in ((2, 0, 1), (0, 0, 3)):
        with pytest.raises(IndexError):
            cut.texts(column, start, stop)
    with pytest.raises(ValueError, match="width must be 2"):
        cut_lines(b"1\n", ",", 1, 1 << 24)


def test_real_data(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(2000, 6)) * 10.0 ** random.integers(-20, 20, size=6)
    file = tmp_path / "normal.csv"
    text = "\n".join(",".join(map(repr, row)) + f",c{i % 4}" for i, row in enumerate(X.tolist()))
    file.write_text("a,b,c,d,e,f,label\n" + text)
    assert check_same(file, 1 << 14) == 2000 * len(CALLS)
    np.testing.assert_array_equal(np.column_stack(read(file).X.values), X)
