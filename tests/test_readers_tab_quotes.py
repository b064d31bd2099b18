"""Quotes in files that are separated by tabs, where they often are plain characters."""

import csv
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_readers_csv_cut import NUMBERS, WORDS, check_same

from polymargin.errors import DataError
from polymargin.readers import _csv_rows, _tab_rows, read


def titles(folder: Path, *lines: str, header: str = "title\tsize\tlabel", **how: Any) -> list[str]:
    """The first cells of all rows, which are the same however the file is read."""
    file = folder / "titles.tsv"
    file.write_text("\n".join([header, *lines, ""]), encoding="utf-8", newline="")
    check_same(file, 16, 2, kinds={"title": "category"}, **how)
    found = read(file, kinds={"title": "category"}, **how)
    return list(found.X.values[0])


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ('"fly" in italian', '"fly" in italian'),
        ('"fly', '"fly'),
        ('"', '"'),
        ('"""', '"""'),
        ('"a"b"', '"a"b"'),
        ('"a""', '"a""'),
        ('a "b" c', 'a "b" c'),
        ('5"', '5"'),
        ('"fly"', "fly"),
        ('"a ""b"" c"', 'a "b" c'),
        ('"a\tb"', "a\tb"),
        ('""', None),
        ('"two\nlines"', "two\nlines"),
        ('"two\r\nlines, ""b"""', 'two\r\nlines, "b"'),
    ],
)
def test_cells(tmp_path: Path, cell: str, expected: str | None) -> None:
    rows = ["u\t1\tx", f"{cell}\t2\ty", "v\t3\tx"]
    assert titles(tmp_path, *rows) == ["u", expected, "v"]


def test_every_cell_of_a_row(tmp_path: Path) -> None:
    file = tmp_path / "all.tsv"
    file.write_text('a\tb\tlabel\n"a\nb"\t"c\n"\t"d\ne"\n"x" y\t"z" "\t"u"\n', newline="")
    check_same(file)
    table = read(file)
    assert [list(values) for values in table.X.values] == [["a\nb", '"x" y'], ["c", '"z" "']]
    assert list(table.y) == ["d\ne", "u"]
    assert table.lines.tolist() == [2, 6]


def test_a_quote_does_not_swallow_rows(tmp_path: Path) -> None:
    """What a quote might enclose is rows of their own: it does not."""
    rows = ['"fly\t1\tx', "u\t2\ty", 'v\t3\tx"']
    assert titles(tmp_path, *rows) == ['"fly', "u", "v"]
    assert titles(tmp_path, '"fly\t1\tx', *rows[1:], "", '"w\nz"\t5\tx') == [
        '"fly',
        "u",
        "v",
        "w\nz",
    ]


def test_line_ends_of_windows(tmp_path: Path) -> None:
    rows = ['"fly" high\t1\tx\r', '"u\t2\ty\r', 'w\t3\t"x"\r']
    header = "title\tsize\tlabel\r"
    assert titles(tmp_path, *rows, header=header) == ['"fly" high', '"u', "w"]


def test_header(tmp_path: Path) -> None:
    row = "u\t1\tx"
    assert titles(tmp_path, row, header='title\t"size" (cm)\tlabel') == ["u"]
    assert titles(tmp_path, row, header='title\t"size\nin cm"\tlabel') == ["u"]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (['"a\t1', "u\t1\tx"], ":2: 2 cells where the header has 3"),
        (['"a\t1', 'u"\t1\t1\tx'], ":2: 2 cells where the header has 3"),
        (["u\t1\tx", '"a\rb"\tb\rc\t"x', '"'], ":3: a carriage return"),
        (["a\rb\t1\tx"], ":2: a carriage return"),
        (["u\t1\tx", f"{'a' * 60}\t1\tx"], ":3: a cell is longer than 50"),
    ],
)
def test_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: list[str], message: str
) -> None:
    monkeypatch.setattr(_csv_rows, "LONGEST_CELL", 50)
    monkeypatch.setattr(_tab_rows, "LONGEST_CELL", 50)
    with pytest.raises(DataError, match=message):
        titles(tmp_path, *rows)


def test_csv_says_what_to_write(tmp_path: Path) -> None:
    file = tmp_path / "titles.csv"
    file.write_text('title,label\nu,x\n"fly" in italian,y\n')
    with pytest.raises(DataError, match=r'titles.csv:3: .*"""fly"" in italian".*tabs'):
        read(file)


ODD = ('"q"', '""', '"a""b"', '"a\tb"', '"1"', 'a"b', '"x"y', '"open', 'shut"', '"two\nlines"',
       "\r", '"', '"""', '"a""', '"two\r\n lines')  # fmt: skip
cells = st.sampled_from((*NUMBERS[:6], *NUMBERS[:6], *WORDS, *ODD, *ODD))
rows = st.lists(cells, min_size=3, max_size=3).map("\t".join)
other_rows = st.lists(cells, min_size=1, max_size=4).map("\t".join)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(rows | rows | rows | other_rows, max_size=8),
    st.sampled_from(["\n", "\r\n"]),
    st.integers(1, 60),
)
def test_any_lines(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], end: str, size: int
) -> None:
    file = tmp_path_factory.getbasetemp() / "any.tsv"
    file.write_bytes(end.join(["a\tb\tlabel", *lines]).encode())
    check_same(file, size, 3, format="tsv")
    check_same(file, size, 3, format="tsv", header=False, label=1)


quoted = st.text('ab" \t', max_size=5) | st.text('ab" \r\n', max_size=5)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(quoted, quoted), min_size=1, max_size=6), st.integers(1, 60))
def test_what_is_quoted_as_csv_comes_back(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]], size: int
) -> None:
    file = tmp_path_factory.getbasetemp() / "quoted.tsv"
    with file.open("w", newline="") as opened:
        writer = csv.writer(opened, delimiter="\t")
        writer.writerows([("a", "b", "label"), *((*row, i % 2) for i, row in enumerate(rows))])
    how = {"format": "tsv", "kinds": {"a": "text", "b": "text"}}
    check_same(file, size, 3, **how)
    columns = read(file, **how).X.values
    assert [*zip(*columns, strict=True)] == [
        (a.strip() or None, b.strip() or None) for a, b in rows
    ]


def test_quotes_that_stay_open_take_no_time_to_speak_of(tmp_path: Path) -> None:
    file = tmp_path / "open.tsv"
    file.write_text("a\tb\tlabel\n" + '"open\t1\tx\nu\t""\ty\nu\t""\ty\n' * 20_000)
    assert read(file).n_rows == 60_000
