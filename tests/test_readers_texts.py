"""Lines of texts: many at once give what one after the other gives."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polymargin.errors import DataError
from polymargin.readers import _source, _texts, read, read_batches
from polymargin.readers._parser import cut_texts

Cut = Callable[[bytes, bool], tuple[list[str], list[str], Any, int, int]]


def cut_nothing(
    block: bytes, has_labels: bool
) -> tuple[list[str], list[str], "np.ndarray[Any, Any]", int, int]:
    """As if every line were in doubt."""
    return [], [], np.zeros(0, dtype=np.int64), 0, 0


def outcome(content: bytes, cut: Cut = cut_texts, block_size: int = 1 << 20, **options: Any) -> Any:
    """All tables, and what is wrong behind them."""
    found: list[Any] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_texts, "cut_texts", cut)
        patch.setattr(_source, "BLOCK_SIZE", block_size)
        patch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
        try:
            for table in read_batches("-", format="text", **options):
                labels = None if table.y is None else table.y.tolist()
                found.append((table.X, labels, table.lines.tolist(), table.reading))
        except DataError as error:
            found.append(str(error))
    return found


# Whole lines of each sort, in doubt or not, and bytes of all sorts.
LINES = st.sampled_from(
    [
        b"a\tone two",
        b"b\t",
        b" a \t\\ttab\\\\n \\x\\",
        "Ä\tübel \u2003\U0001f600".encode(),
        b"",
        b"\r",
        b" \t ",
        b"\xc2\xa0",
        b"text alone \\n",
        b"\ttext",
        "\u2003\ttext".encode(),
        b"a\tb\tc",
        b"a\t\0",
        b"a\tna\xefve",
        b"\xff\ttext",
        b"a\t\xed\xa0\x80",
        b"7\tx",
    ]
)
GOOD = st.sampled_from([b"a\tone", b"b\ttwo \\t", b"", b"a\t\r", "ä\tß".encode()])
CONTENTS = st.one_of(
    st.lists(GOOD, min_size=1, max_size=30),
    st.lists(LINES, min_size=1, max_size=12),
    st.tuples(st.lists(GOOD, max_size=20), LINES, st.lists(GOOD, max_size=5)).map(
        lambda parts: [*parts[0], parts[1], *parts[2]]
    ),
).flatmap(lambda lines: st.sampled_from([b"\n", b"\r\n"]).map(lambda end: end.join(lines)))


class TestManyAtOnce:
    @given(
        content=CONTENTS,
        rows=st.integers(1, 9),
        block_size=st.sampled_from([7, 50, 1 << 20]),
        has_labels=st.booleans(),
        header=st.sampled_from(["auto", True, False]),
    )
    @settings(max_examples=400, deadline=None)
    def test_are_as_one_by_one(self, content: bytes, block_size: int, **options: Any) -> None:
        found = outcome(content, block_size=block_size, **options)
        assert found == outcome(content, cut_nothing, **options)

    @given(st.lists(st.text(max_size=30), min_size=1, max_size=9), st.booleans())
    @settings(max_examples=200, deadline=None)
    def test_keep_any_text(self, texts: list[str], has_labels: bool) -> None:
        texts = [text.replace("\0", "0").encode(errors="ignore").decode() for text in texts]
        texts = ["first", *(text for text in texts if has_labels or not text.isspace())]
        texts = [text for text in texts if text or has_labels]
        escapes = str.maketrans({"\\": "\\\\", "\t": "\\t", "\r": "\\r", "\n": "\\n"})
        start = "label\t" if has_labels else ""
        content = "".join(start + text.translate(escapes) + "\n" for text in texts).encode()
        ((found, *_),) = outcome(content, has_labels=has_labels)
        assert found == texts

    def test_are_cut(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        file = tmp_path / "texts.tsv"
        lines = [f"{i % 3}\ttext {i}\\n" for i in range(10_000)]
        lines[5000] = " "
        file.write_text("\n".join(lines))
        cut: list[int] = []

        def counting(block: bytes, has_labels: bool) -> Any:
            found = cut_texts(block, has_labels)
            cut.append(len(found[0]))
            return found

        monkeypatch.setattr(_texts, "cut_texts", counting)
        table = read(file)
        assert table.n_rows == 9999
        assert table.lines is not None
        assert table.lines[[0, 4999, 5000]].tolist() == [1, 5000, 5002]
        assert table.X[9998] == "text 9999\n"
        assert sum(cut) >= 9999 - 1 - 256

    def test_that_are_very_long(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        file = tmp_path / "texts.tsv"
        long = "word " * 1_000_000
        file.write_text(f"a\tshort\nb\t{long}\na\tshort\n")
        assert [len(text) for text in read(file).X] == [5, len(long), 5]
        monkeypatch.setattr(_source, "LONGEST_LINE", 1 << 21)
        with pytest.raises(DataError, match="longer than") as caught:
            read(file)
        assert caught.value.line == 2


class TestCutTexts:
    @pytest.mark.parametrize(
        ("line", "has_labels"),
        [
            (b"a\tna\xefve", True),
            (b"\xe4\ttext", True),
            (b"\xc2\xa0\ttext", True),
            (b"\ttext", True),
            (b"text", True),
            (b"a\tb\tc", True),
            (b"a\t\0", True),
            (b"a\ttext", False),
            (b" \xc2\xa0", False),
            (b"\xff", False),
        ],
    )
    def test_stop_at_a_line_in_doubt(self, line: bytes, has_labels: bool) -> None:
        good = b"a\tb\n\n" if has_labels else b"b\n\n"
        texts, labels, lines, n_lines, n_bytes = cut_texts(good + line + b"\n" + good, has_labels)
        assert texts == ["b"]
        assert labels == (["a"] if has_labels else [])
        assert (lines.tolist(), n_lines, n_bytes) == ([0], 2, len(good))

    def test_strip_labels(self) -> None:
        texts, labels, *_ = cut_texts(" a\u2003\tb\na\t c \n".encode(), has_labels=True)
        assert labels == ["a", "a"]
        assert texts == ["b", " c "]
