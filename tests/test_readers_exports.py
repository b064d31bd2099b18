"""What spreadsheets leave in the files they export: titles, hollow columns, rows of commas."""

from pathlib import Path
from typing import Any

import pytest
from cli_helpers import done, one_error, run

from polymargin.errors import DataError
from polymargin.readers import _text_tables, read, read_batches, scan

HEADER = "size,colour,kind"
ROWS = [f"{i / 2},{'red' if i % 3 else 'blue'},{'big' if i > 15 else 'small'}" for i in range(30)]


def write(folder: Path, *lines: str) -> Path:
    path = folder / "a.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def same_rows(found: Any, expected: Any) -> bool:
    return (
        found.X.names == expected.X.names
        and [v.tolist() for v in found.X.values] == [v.tolist() for v in expected.X.values]
        and found.y.tolist() == expected.y.tolist()
    )


@pytest.fixture
def plain(tmp_path: Path) -> Any:
    return read(write(tmp_path, HEADER, *ROWS))


class TestTitles:
    def test_bars_between_decimal_commas_are_no_title(self, tmp_path: Path) -> None:
        rows = [f"{i},5|{i},25|{'ab'[i % 2]}" for i in range(1, 9)]
        path = write(tmp_path, "width|height|label", *rows)
        with pytest.raises(DataError, match=r"cells look separated by bars: say delimiter='\|'"):
            read(path)
        assert read(path, delimiter="|").X.kinds == {"width": "number", "height": "number"}

    def test_a_title_above_semicolons(self, tmp_path: Path) -> None:
        rows = [f"{i};{2 * i};{'ab'[i % 2]}" for i in range(1, 9)]
        path = write(tmp_path, "Sales of 2024", "", "x;y;label", *rows)
        with pytest.raises(DataError, match="separated by semicolons further below: take away"):
            read(path)

    @pytest.mark.parametrize("title", ["Sales of 2024", "Sales of 2024,,", ",Sales,", "2024,,"])
    def test_a_title_is_refused(self, tmp_path: Path, title: str) -> None:
        path = write(tmp_path, title, "", HEADER, *ROWS)
        with pytest.raises(DataError, match="stands alone in its line, like a title") as caught:
            read(path)
        assert caught.value.line == 1
        assert "take away what stands above" in one_error(run("train", path, "-o", "m"), 3)

    def test_a_header_of_one_name_and_rows_of_one_cell(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match="no column besides"):
            read(write(tmp_path, "label", "x", "y"))


class TestHollowColumns:
    @pytest.mark.parametrize("ends", [",", ",,", ", , ,"])
    def test_columns_without_name_and_values(self, tmp_path: Path, plain: Any, ends: str) -> None:
        path = write(tmp_path, HEADER + ends, *(row + ends for row in ROWS))
        found = read(path)
        assert same_rows(found, plain)
        assert found.label_reason == "the last column"
        assert set(found.left_out.values()) == {"no value at all"}
        assert scan(path).reading["label"] == "kind"
        assert same_rows(read(path, **found.reading), plain)
        model = tmp_path / "m.safetensors"
        done("train", path, "-o", model)
        bare = write(tmp_path, HEADER, *ROWS)
        assert done("score", model, bare, "--json").json["n"] == 30

    def test_columns_without_name_that_have_values(self, tmp_path: Path) -> None:
        rows = [f"{i / 2},{i % 4}.5,{i % 3}.5,{'ab'[i % 2]}" for i in range(9)]
        path = write(tmp_path, "size,mass,,", *rows)
        found = read(path)
        assert found.X.names == ("size", "mass", "unnamed 3")
        assert found.reading["label"] == "unnamed 4"

    def test_cells_over_several_lines(self, tmp_path: Path) -> None:
        rows = [f'"a\nb {i}",{i / 2},{i % 2}' for i in range(30)]
        found = read(write(tmp_path, "text,size,label", *rows))
        assert found.X.names == ("text", "size")
        assert found.n_rows == 30


class TestBlankRows:
    @pytest.mark.parametrize("chunk", [1, 7, 4096])
    def test_rows_without_a_value_are_no_rows(
        self, tmp_path: Path, plain: Any, chunk: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(_text_tables, "CHUNK_ROWS", chunk)
        path = write(tmp_path, HEADER, *ROWS[:9], ",,", *ROWS[9:], ", ,", '"",,')
        found = read(path)
        assert same_rows(found, plain)
        assert found.lines.tolist() == [*range(2, 11), *range(12, 33)]
        assert found.first_missing is None
        assert scan(path).n_rows == 30
        parts = list(read_batches(path, rows=9))
        assert sum(part.n_rows for part in parts) == 30

    def test_rows_with_a_value_are_rows(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match="the label in column 'kind' is missing"):
            read(write(tmp_path, HEADER, *ROWS, "5,,"))

    def test_every_row_counts_where_labels_are_not_needed(self, tmp_path: Path) -> None:
        path = write(tmp_path, "size,mass", "1,2", ",", "3,4")
        assert read(path, has_labels=False).n_rows == 3
        with pytest.raises(DataError, match="there are no rows"):
            read(write(tmp_path, HEADER, ",,"))


@pytest.mark.parametrize(("other", "is_told"), [("Big", True), ("big  ", False), ("bigger", False)])
def test_labels_that_differ_in_capitals_are_told(tmp_path: Path, other: str, is_told: bool) -> None:
    rows = [row.replace("big", other) if i % 2 else row for i, row in enumerate(ROWS)]
    told = done("train", write(tmp_path, HEADER, *rows), "-o", tmp_path / "m.safetensors").err
    assert ("the labels 'Big' and 'big' differ in capitals or blanks alone" in told) == is_told
