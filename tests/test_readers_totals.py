"""Lines of totals below the rows of a table."""

import warnings
from pathlib import Path

import pytest
from cli_helpers import done, one_error, run

from polymargin.errors import DataError
from polymargin.readers import read, scan
from polymargin.readers._totals import total_among


def write(folder: Path, last: str, n: int = 30) -> Path:
    rows = [f"shop {i % 3},{i},{i * 2},{'yes' if i % 2 else 'no'}" for i in range(n)]
    path = folder / "sales.csv"
    path.write_text("\n".join(["shop,pieces,price,sold", *rows, last]) + "\n")
    return path


@pytest.mark.parametrize("word", ["Total", "TOTAL:", "Grand total", "Summe", "subtotal", " sum "])
def test_a_last_row_without_a_label(tmp_path: Path, word: str) -> None:
    path = write(tmp_path, f"{word},435,870,")
    told = f"remove the row, which looks like a line of totals \\('{word.strip()}'\\)"
    for call in (read, scan):
        with pytest.raises(DataError, match=told) as caught:
            call(path)
        assert (caught.value.line, caught.value.column) == (32, 4)
    message = one_error(run("train", path, "-o", tmp_path / "m.safetensors"), 3)
    assert message.endswith(f"looks like a line of totals ('{word.strip()}')")


def test_other_rows_without_a_label(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is missing; remove the row; a file without labels"):
        read(write(tmp_path, "totally,435,870,"))
    assert total_among(["Sumo", "mean value", "", "12"]) is None


@pytest.mark.parametrize("label", ["15", "435", "all"])
def test_a_last_label_that_occurs_once_is_told(tmp_path: Path, label: str) -> None:
    path = write(tmp_path, f"Total,435,870,{label}")
    told = f"sales.csv:32:4: no other row has the label '{label}' of the last one; if that is a"
    with pytest.warns(UserWarning, match=told):
        read(path)
    assert told in done("train", path, "-o", tmp_path / "m.safetensors").err


@pytest.mark.parametrize(
    ("last", "n"), [("shop 1,3,4,no", 30), ("Total,1,2,all", 10), ("a,1,2,x\nb,3,4,z", 30)]
)
def test_usual_ends_are_not_told(tmp_path: Path, last: str, n: int) -> None:
    """A label that comes again, few rows, and several labels of one row."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read(write(tmp_path, last, n))
