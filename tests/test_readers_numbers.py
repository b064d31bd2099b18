"""Numbers in the columns of a table, in whatever manner they are written."""

import io
import math
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reader_helpers import TableWriter, kinds_of, place, table_writer

from polymargin.errors import DataError
from polymargin.readers import _text_tables, read, read_batches, scan
from polymargin.readers._cells import fit_numbers, to_numbers


@pytest.fixture
def table(tmp_path: Path) -> TableWriter:
    return table_writer(tmp_path)


class TestNumbers:
    @pytest.mark.parametrize(
        ("delimiter", "cells", "kind", "expected"),
        [
            (";", ["1,5", "-2,25", "3"], "number:comma", [1.5, -2.25, 3]),
            (";", ["1,5e-3", ",5"], "number:comma", [0.0015, 0.5]),
            (";", ["1.234,56", "12"], "number:comma", [1234.56, 12]),
            (";", ["1.234.567", "12"], "number:comma", [1234567, 12]),
            (";", ["1.234.567", "1e5", "1.234"], "number:comma", [1234567, 1e5, 1234]),
            (";", ["1,234", "12"], "number:comma", [1.234, 12]),
            (";", ["1,234.5", "12"], "number:point", [1234.5, 12]),
            (",", ["1,234", "12"], "number:point", [1234, 12]),
            (",", ["1,234,567.5", "12.25"], "number:point", [1234567.5, 12.25]),
            (",", ["1.234", "5.678"], "number", [1.234, 5.678]),
            (",", ["1.5", "1,234"], "number:point", [1.5, 1234]),
            (";", ["1.5", "12"], "number", [1.5, 12]),
            ("\t", ["1 234,5", "1\u202f000"], "number:comma", [1234.5, 1000]),
            ("\t", ["1'234.5", "7"], "number:point", [1234.5, 7]),
            ("\t", ["1 234", "7"], "number:point", [1234, 7]),
            (",", ["$1,299.00", "-$5.5", "$-2", "7"], "number:point", [1299, -5.5, -2, 7]),
            (";", ["1.299,00 €", "5,5€", "-3 €", ""], "number:comma", [1299, 5.5, -3, math.nan]),
            (";", ["EUR 12", "13 EUR"], "number:point", [12, 13]),
            (",", ["45 %", "7.5%"], "number:point", [45, 7.5]),
            (",", ["45 kg", "-7.5kg", "1"], "number:point", [45, -7.5, 1]),
            (";", ["1.450,5 mm", "7 mm"], "number:comma", [1450.5, 7]),
            (";", ["20 °C", "21,5°C", "n/a"], "number:comma", [20, 21.5, math.nan]),
            (",", ["120 km/h", "80 km/h"], "number:point", [120, 80]),
            (",", ["5 V", "12 V"], "number:point", [5, 12]),
            (",", ["45k", "52.5k"], "number:point", [45, 52.5]),
        ],
    )
    def test_manners(
        self,
        table: TableWriter,
        delimiter: str,
        cells: list[str],
        kind: str,
        expected: list[float],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(_text_tables, "CHUNK_ROWS", 1)
        path = table(delimiter, a=cells)
        options = {"format": "csv", "delimiter": delimiter}
        assert kinds_of(path, **options) == {"a": kind}
        rows = read(path, **options)
        assert rows.X.values[0].tolist() == pytest.approx(expected, nan_ok=True)
        assert rows.X.kinds == {"a": "number"}
        again = read(path, **rows.reading).X.values[0].tolist()
        assert again == pytest.approx(expected, nan_ok=True)

    @pytest.mark.parametrize("chunk", [1, 4096])
    @pytest.mark.parametrize(
        "cells",
        [
            ["5 kg", "600 g"],
            ["5A", "12A"],
            ["5 kg.", "6"],
            ["kg 5", "6"],
            ["5 zz", "6"],
            ["$5", "6", "7 €"],
            ["5%", "$5"],
            ["$5 €", "6"],
            ["$", "5"],
            ["$ $5", "6"],
            ["5 %%", "6"],
        ],
    )
    def test_two_units_are_words(
        self, table: TableWriter, cells: list[str], chunk: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(_text_tables, "CHUNK_ROWS", chunk)
        assert kinds_of(table(a=cells))["a"] in ("category", "text")
        with pytest.raises(DataError, match="in column 'a' is not a number"):
            read(table(a=cells), kinds={"a": "number"})

    @pytest.mark.parametrize(
        "cells",
        [
            ["1,5", "", "2.000,5"],
            ["1,5", " 2,5 "],
            ["1,5", "2\n3"],
            ["1,5", "x"],
            ["1.5", "", "1e999"],
        ],
    )
    def test_all_cells_at_once_are_as_one_after_the_other(self, cells: list[str]) -> None:
        fit = fit_numbers(cells)
        each = [fit_numbers([cell]) for cell in cells if cell]
        read_by = frozenset.intersection(*(one.manners for one in each))
        assert fit.manners == read_by
        assert fit.is_plain == (bool(read_by) and all(one.is_plain for one in each))
        for manner in fit.manners:
            numbers, wrong = to_numbers(cells, manner)
            assert wrong is None
            alone = [to_numbers([cell], manner)[0][0] for cell in cells]
            np.testing.assert_array_equal(numbers, alone)

    def test_two_units_are_told_in_batches(self, table: TableWriter) -> None:
        path = table(b=["1"] * 3, a=["$5", "6", "7 €"])
        with pytest.raises(DataError, match="'7 €' in column 'a' is not a number") as caught:
            list(read_batches(path, rows=2))
        assert place(caught) == (4, 2)

    @pytest.mark.parametrize(("distinct", "kind"), [(60, "drop"), (20, "category")])
    def test_numbers_but_for_a_few_are_told(
        self, table: TableWriter, distinct: int, kind: str
    ) -> None:
        numbers = [f"{i % distinct}.5" for i in range(60)]
        path = table(b=["x", "y"] * 32, a=[*numbers, "-", *["-", "many", "-"]])
        told = f"'a' is taken for .*, though {distinct} of its .* are numbers: 'many' is not"
        with pytest.warns(UserWarning, match=told) as caught:
            assert read(path).reading["kinds"]["a"] == kind
        assert len(caught) == 1
        with pytest.warns(UserWarning, match=told):
            scan(path)

    def test_numbers_in_several_units_are_told(self, table: TableWriter) -> None:
        weights = [f"{i} kg" if i % 3 else f"{100 * i} g" for i in range(1, 41)]
        told = "'a' is taken for text, though its values are .* as in '1 kg' and '300 g'; bring all"
        with pytest.warns(UserWarning, match=told):
            read(table(a=weights, b=["x", "y"] * 20))

    def test_words_that_hold_some_numbers_are_not_told(self, table: TableWriter) -> None:
        path = table(
            a=[f"{i}" for i in range(30)] + [f"x{i}" for i in range(30)], b=["1", "x"] * 30
        )
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            read(path, kinds={"a": "category"})
            read(path, kinds={"a": "drop"})
            read(table(a=["1", "2", "-"]))  # too few to tell

    @pytest.mark.parametrize("gap", ["", "NA", "nan", "?", "null", "n/a", "N/A", "#N/A", "<NA>"])
    def test_missing_cells(self, table: TableWriter, gap: str) -> None:
        path = table(a=["1", gap, "3"], b=["x", gap, "y"])
        assert kinds_of(path) == {"a": "number", "b": "category"}
        numbers, words = read(path).X.values
        assert math.isnan(numbers[1])
        assert words.tolist() == ["x", None, "y"]

    def test_a_comma_that_may_be_either(self, table: TableWriter) -> None:
        path = table("\t", "a.tsv", b=["1", "2", "3"], a=["12", "1,234", "1,500"])
        with pytest.raises(DataError, match="'1,234' in column 'a' has a comma.* number:c") as c:
            read(path)
        assert place(c) == (3, 2)
        with pytest.raises(DataError, match="'1,234' in column 'a' has a comma"):
            list(read_batches(path))
        assert read(path, kinds={"a": "number:comma"}).X.values[1].tolist() == [12, 1.234, 1.5]
        assert read(path, kinds={"a": "number:point"}).X.values[1].tolist() == [12, 1234, 1500]

    def test_mixed_manners(self, table: TableWriter, monkeypatch: pytest.MonkeyPatch) -> None:
        path = table(";", b=["1", "2", "3"], a=["1,5", "2", "1.5"])
        for chunk in (2, 4096):
            monkeypatch.setattr(_text_tables, "CHUNK_ROWS", chunk)
            with pytest.raises(DataError, match="'1.5' in column 'a' is written in another") as c:
                read(path)
            assert place(c) == (4, 2)
            with pytest.raises(DataError, match="'1.5' in column 'a' is written in another"):
                scan(path)
        assert read(path, kinds={"a": "category"}).X.values[1].tolist() == ["1,5", "2", "1.5"]
        with pytest.raises(DataError, match="'1,5' in column 'a' is not a number with a decimal p"):
            read(path, kinds={"a": "number:point"})

    def test_words_among_them_make_words(self, table: TableWriter) -> None:
        assert kinds_of(table(";", a=["1,5", "1.5", "x"])) == {"a": "category"}

    def test_no_numbers(self, table: TableWriter) -> None:
        path = table(a=["1.2.3", "10.0.0.1", "1,23,4"], b=["1_000", "0x1", "٣"])
        assert kinds_of(path) == {"a": "category", "b": "category"}

    def test_a_comma_after_points_that_may_be_either(
        self, table: TableWriter, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(_text_tables, "CHUNK_ROWS", 2)
        path = table(";", a=["1.234", "2", "3", "1,234"])
        assert read(path).X.values[0].tolist() == [1234, 2, 3, 1.234]
        with pytest.raises(DataError, match="'3' in column 'a' is not a number"):
            list(read_batches(path, rows=2))

    def test_batches_of_whole_numbers_first(self, table: TableWriter) -> None:
        path = table(";", a=["1", "2", "1,234"])
        parts = list(read_batches(path, rows=2))
        assert parts[1].X.values[0].tolist() == [1.234]

    @given(st.lists(st.floats(-1e9, 1e9).map(lambda x: round(x, 3)), min_size=1))
    def test_both_manners_of_any_numbers(self, numbers: list[float]) -> None:
        point = [f"{number:,.3f}" for number in numbers] + ["1,000.5"]
        comma = [cell.translate(str.maketrans(",.", ".,")) for cell in point]
        for manner, cells in (("point", point), ("comma", comma)):
            assert fit_numbers(cells).manners == {manner}
            values, wrong = to_numbers(cells, manner)
            assert wrong is None
            np.testing.assert_allclose(values[:-1], numbers)

    def test_a_pipe_is_not_read_again(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(_text_tables, "CHUNK_ROWS", 2)
        text = "a;label\n1.234;0\n2;0\n1.234.567;1\n"
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        with pytest.raises(
            DataError, match=r"'1.234.567' in column 'a' is not a number: all cells"
        ):
            read("-", format="csv")
