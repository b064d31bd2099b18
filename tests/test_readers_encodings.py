"""Text that is not UTF-8."""

import codecs
import gzip
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polymargin.errors import DataError
from polymargin.readers import _source, read, read_batches, read_lines, scan

TEXTS = {
    "csv": "café,größe,label\nté,1.5,x\nthé,2,ÿ\n",
    "tsv": 'café\tgröße\tlabel\n"té"\t1.5\tx\nthé\t2\tÿ\n',
    "text": "é\tun thé\nà\tun café\n",
    "jsonl": '{"café": "té", "größe": 1.5, "label": "x"}\n{"café": "thé", "label": "ÿ"}\n',
    "svmlight": "1 1:2 # é\n2 2:1\n",
}
ENCODINGS = ("windows-1252", "latin-1", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp437")


def content(table: Any) -> Any:
    if isinstance(table.X, list):
        rows: Any = table.X
    elif hasattr(table.X, "names"):
        rows = (table.X.names, [list(map(repr, values)) for values in table.X.values])
    else:
        rows = table.X.toarray().tolist()
    return rows, table.y.tolist()


@pytest.mark.parametrize("form", TEXTS)
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_all_text_formats(tmp_path: Path, form: str, encoding: str) -> None:
    file, plain = tmp_path / f"a.{form}", tmp_path / f"b.{form}"
    file.write_bytes(TEXTS[form].replace("ÿ", "y").encode(encoding))
    plain.write_text(TEXTS[form].replace("ÿ", "y"), encoding="utf-8")
    expected = content(read(plain, format=form))
    table = read(file, format=form, encoding=encoding)
    assert content(table) == expected
    assert table.reading["encoding"] == encoding
    assert content(read(file, **table.reading)) == expected
    found = scan(file, format=form, encoding=encoding)
    reading = found.reading | ({"n_features": 2} if form == "svmlight" else {})
    assert content(next(read_batches(file, **reading))) == expected


def test_folders_and_labels(tmp_path: Path) -> None:
    for name in ("à/1.txt", "b/1.txt"):
        (tmp_path / "texts" / name).parent.mkdir(parents=True)
        (tmp_path / "texts" / name).write_bytes("un thé\n".encode("windows-1252"))
    table = read(tmp_path / "texts", encoding="windows-1252")
    assert (table.X, table.y.tolist()) == (["un thé\n"] * 2, ["b", "à"])
    assert table.reading["encoding"] == "windows-1252"
    with pytest.raises(DataError, match=r"1.txt:1:6: byte 0xe9 is not UTF-8; .*windows-1252"):
        read(tmp_path / "texts")
    rows, labels = tmp_path / "rows.svm", tmp_path / "labels.txt"
    rows.write_text("1:1\n1:2\n")
    labels.write_bytes("thé\ncafé\n".encode("windows-1252"))
    table = read(rows, labels_path=labels, encoding="windows-1252")
    assert table.y.tolist() == ["thé", "café"]


@pytest.mark.parametrize("mark", [codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF8,
                                  codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE])  # fmt: skip
@pytest.mark.parametrize("packed", [False, True])
def test_byte_order_marks_decide(tmp_path: Path, mark: bytes, packed: bool) -> None:
    name = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be",
            codecs.BOM_UTF32_LE: "utf-32-le", codecs.BOM_UTF32_BE: "utf-32-be"}  # fmt: skip
    file = tmp_path / "spreadsheet.txt"
    data = mark + TEXTS["tsv"].encode(name.get(mark, "utf-8"))
    file.write_bytes(gzip.compress(data) if packed else data)
    for how in ({}, {"encoding": "windows-1252"}, {"n_jobs": 2}):
        table = read(file, **how)
        assert content(table)[0][0] == ("café", "größe")
        assert content(table)[1] == ["x", "ÿ"]
    assert "encoding" not in read(file).reading
    assert read_lines(file)[1] == '"té"\t1.5\tx'


@pytest.mark.parametrize(
    ("data", "encoding", "message"),
    [
        (b"a,y\n1,x\n1,caf\xe9\n", "utf-8", "a.csv:3:6: byte 0xe9 .*='windows-1252': .*'1,café'"),
        (b"a,y\n1,\x81\xe9\n", "utf-8", "a.csv:2:3: byte 0x81 is not UTF-8; .*'latin-1'"),
        (b"a,y\n1,x\n1,caf\xe9\n", "ascii", "a.csv:3:6: byte 0xe9 is not ascii; .*encoding="),
        (b"a,y\n1,x\n1,\x81\n", "windows-1252", "a.csv:3:3: byte 0x81 is not windows-1252"),
        ("a,y\n1,x\n".encode("utf-16-le"), "utf-8", "a.csv:1:2: .*zero byte.*'utf-16-le'"),
        ("a,y\n1,x\n".encode("utf-16-be"), "utf-8", "a.csv:1:1: .*zero byte.*'utf-16-be'"),
        ("a,y\n1,x\n".encode("utf-16-le"), "utf-16", "a.csv:1:1: .*utf-16-le"),
        ("a,y\n1,x\n".encode("utf-16")[:-1], "utf-8", "a.csv:2:4: .* is not utf-16"),
        (b"a,y\n1,x\n1\0,x\n", "utf-8", "a.csv:3:2: there is a zero byte; is this a text file"),
    ],
)
@pytest.mark.parametrize("size", [1, 5, 1 << 20])
def test_what_cannot_be_decoded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: bytes, encoding: str, message: str,
    size: int,
) -> None:  # fmt: skip
    monkeypatch.setattr(_source, "BLOCK_SIZE", size)
    monkeypatch.setattr(_source, "HEAD_SIZE", min(size, _source.HEAD_SIZE))
    file = tmp_path / "a.csv"
    file.write_bytes(data)
    with pytest.raises(DataError, match=message):
        read(file, format="csv", encoding=encoding)


def test_what_comes_before_is_told_first(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_bytes(b"a,y\n1,2,3\n" + b"1,2\n" * 2000 + b"1,\xe9\n")
    for encoding in ("utf-8", "ascii"):
        with pytest.raises(DataError, match="a.csv:2: 3 cells"):
            read(file, encoding=encoding)


@pytest.mark.parametrize("encoding", ["windows-1253x", "hex", "rot13", "", "undefined", 5])
def test_no_such_encoding(tmp_path: Path, encoding: Any) -> None:
    file = tmp_path / "a.csv"
    file.write_text("a,y\n1,x\n")
    with pytest.raises(ValueError, match="encoding=.*: there is no such encoding"):
        read(file, encoding=encoding)


@pytest.mark.parametrize("form", ["npz", "parquet", "arrow", "idx"])
def test_other_formats_have_none(tmp_path: Path, form: str) -> None:
    file = tmp_path / f"a.{form}"
    file.write_bytes(b"anything")
    with pytest.raises(DataError, match=f"{form} files are no text"):
        read(file, encoding="windows-1252")


@settings(max_examples=100, deadline=None)
@given(
    st.text("aé\t\n€語", max_size=30),
    st.sampled_from(["utf-16-le", "utf-16", "utf-32-be", "utf-8", "gb18030", "utf-8-sig"]),
    st.integers(1, 9),
)
def test_blocks_of_any_size(
    tmp_path_factory: pytest.TempPathFactory, text: str, encoding: str, size: int
) -> None:
    file = tmp_path_factory.getbasetemp() / "any.txt"
    file.write_bytes(("a\n" + text).encode(encoding))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_source, "BLOCK_SIZE", size)
        patch.setattr(_source, "HEAD_SIZE", size)
        with _source.Source(file, encoding=encoding) as source:
            assert "".join(source.text_lines()) == "a\n" + text
