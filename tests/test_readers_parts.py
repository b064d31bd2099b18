"""Parts of a svmlight file: each line is in one of them, and errors name lines of the file."""

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from polymargin.errors import DataError
from polymargin.readers import read, read_part


def join(tables: list[Any]) -> tuple[sparse.csr_array, np.ndarray[Any, Any]]:
    """Rows and labels of all parts."""
    width = max(table.X.shape[1] for table in tables)
    for table in tables:
        table.X.resize((table.X.shape[0], width))
    labels = [table.y for table in tables if table.y is not None]
    return sparse.vstack([table.X for table in tables], format="csr"), np.concatenate(labels)


LINES = st.lists(
    st.sampled_from(["1 1:1", "2 1:0.25 3:-1e-3", "1", "3 2:7  # a comment", "", "# nothing"]),
    min_size=1,
    max_size=12,
)


@given(LINES, st.integers(1, 9), st.sampled_from(["\n", "\r\n"]), st.booleans(), st.booleans())
def test_parts_are_the_file(
    tmp_path_factory: pytest.TempPathFactory,
    lines: list[str],
    of: int,
    end: str,
    is_open: bool,
    is_marked: bool,
) -> None:
    lines = ["2 3:1", *lines]
    file = tmp_path_factory.mktemp("parts") / "a.svm"
    text = ("\ufeff" if is_marked else "") + end.join(lines) + ("" if is_open else end)
    file.write_text(text, encoding="utf-8", newline="")
    whole = read(file, zero_based=False)
    X, y = join([read_part(file, part, of, zero_based=False) for part in range(of)])
    np.testing.assert_array_equal(y, whole.y)
    np.testing.assert_array_equal(X.toarray(), whole.X.toarray())


def test_a_part_is_not_much_more_than_its_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.svm"
    file.write_text("".join(f"{i % 2} 1:{i}\n" for i in range(10_000)))
    read_bytes = []
    blocks = read_part.__globals__["_blocks"]

    def watched(*given: Any) -> Any:
        for block in blocks(*given):
            read_bytes.append(len(block))
            yield block

    monkeypatch.setitem(read_part.__globals__, "_blocks", watched)
    table = read_part(file, 3, 10)
    assert 950 < table.X.shape[0] < 1050
    assert sum(read_bytes) <= file.stat().st_size / 10 + 1


@pytest.mark.parametrize("of", [1, 2, 5, 40])
@pytest.mark.parametrize("wrong", ["1 x:1", "1 1:1 1:2", "y 1:1"])
def test_errors_name_the_line_of_the_file(tmp_path: Path, of: int, wrong: str) -> None:
    file = tmp_path / "a.svm"
    file.write_text("1 1:1\n\n" * 10 + wrong + "\n" + "2 1:1\n" * 10)
    messages = []
    for part in range(of):
        try:
            read_part(file, part, of)
        except DataError as error:
            messages.append(str(error))
    assert [message.startswith(f"{file}:21:") for message in messages] == [True]


def test_labels_that_are_no_whole_numbers_are_named_by_line(tmp_path: Path) -> None:
    file = tmp_path / "a.svm"
    file.write_text("1 1:1\n" * 10 + "1.5 1:1\n")
    with pytest.raises(DataError, match=r"a.svm:11:1: the label 1.5 is not a whole number"):
        read_part(file, 1, 2, label_kind="integer")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.svm", gzip.compress(b"1 1:1\n"), "packed by gzip, .* unpack it"),
        ("a.svm", "1 1:1\n".encode("utf-16"), "convert it to UTF-8"),
        ("a.csv", b"a,label\n1,2\n3,4\n", "polymargin convert makes svmlight of it"),
        ("a.svm", b"", "the file is empty"),
    ],
)
def test_what_has_no_parts(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=f"{name}: .*{message}"):
        read_part(tmp_path / name, 0, 2)
