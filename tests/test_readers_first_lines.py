"""What stands before the rows of a text table, and what separates its cells."""

from pathlib import Path
from typing import Any

import pytest
from cli_helpers import done, one_error, run

from polymargin.errors import DataError
from polymargin.readers import read, read_batches, scan
from polymargin.readers._delimiters import cut_cells, fitting_delimiter

INPUT = 3
CALLS: list[Any] = [read, scan, lambda file, **how: list(read_batches(file, rows=2, **how))]


def write(folder: Path, *lines: str, name: str = "a.csv") -> Path:
    path = folder / name
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


class TestBlanks:
    LINES = ("size  mass   label", "1.5  2 x", " 2.5 10  y  ", '3    "4"    x')

    def test_runs_of_blanks_separate_cells(self, tmp_path: Path) -> None:
        path = write(tmp_path, *self.LINES)
        table = read(path, delimiter=" ")
        assert table.X.names == ("size", "mass")
        assert [values.tolist() for values in table.X.values] == [[1.5, 2.5, 3], [2, 10, 4]]
        assert table.y.tolist() == ["x", "y", "x"]
        for call in CALLS:
            call(path, **table.reading)

    def test_quotes_hold_blanks_together(self, tmp_path: Path) -> None:
        path = write(tmp_path, "a b label", '"red  fox" 1 x', '"" 2 y')
        assert read(path, delimiter=" ").X.values[0].tolist() == ["red  fox", None]

    def test_a_row_too_short(self, tmp_path: Path) -> None:
        path = write(tmp_path, *self.LINES, "5 x")
        with pytest.raises(DataError, match="2 cells where the header has 3") as caught:
            read(path, delimiter=" ")
        assert caught.value.line == 5

    @pytest.mark.parametrize(
        ("name", "told"),
        [
            ("a.csv", "a.csv:1: there is no column besides 'size  mass   label'; cells are taken"),
            ("a.txt", "separated by blanks, say --format 'csv' and --delimiter ' '"),
        ],
    )
    def test_what_is_suggested_works(self, tmp_path: Path, name: str, told: str) -> None:
        path, model = write(tmp_path, *self.LINES, name=name), tmp_path / "m.safetensors"
        message = one_error(run("train", path, "-o", model), INPUT)
        assert told in message
        assert "--delimiter ' '" in message
        done("train", path, "--format", "csv", "--delimiter", " ", "-o", model)
        assert done("predict", model, path).out.split() == ["x", "y", "x"]

    @pytest.mark.parametrize(
        ("lines", "expected"),
        [
            (["a|b", "1|2"], "|"),
            (["a;b;c", "1;2;3"], ";"),
            (["a, b", "1, 2"], ","),
            (["a b", "1 2"], " "),
            (["what is this", "no idea really"], None),
            (["a b", "1 2 3"], None),
            (["one", "two"], None),
            (['"a,b"', '"c,d"'], None),
        ],
    )
    def test_the_delimiter_that_fits(self, lines: list[str], expected: str | None) -> None:
        assert fitting_delimiter(lines) == expected

    def test_other_delimiters_are_suggested_too(self, tmp_path: Path) -> None:
        path = write(tmp_path, "a|label", "1|x", "2|y")
        with pytest.raises(DataError, match=r"look separated by bars: say delimiter='\|'"):
            read(path)
        assert read(path, delimiter="|").n_rows == 2
        path = write(tmp_path, "a,label", "1,x", name="b.tsv")
        with pytest.raises(DataError, match="look separated by commas: say delimiter=','"):
            read(path)
        path = write(tmp_path, "label", "x", "y")
        with pytest.raises(DataError, match="give another with delimiter="):
            read(path)

    def test_quoted_delimiters_separate_nothing(self) -> None:
        assert cut_cells('"a,b",c', ",") == ['"a,b"', "c"]


class TestComments:
    TABLE = ("size,mass,label", "1.5,2,x", "3,4,y", "5,6,x")

    @pytest.mark.parametrize(
        "above",
        [
            ["# measured in May"],
            ["# a, b; c", "", "#", "# more\tof it"],
            ["# a comment, with two, commas"],
            ["#" * 3],
        ],
    )
    @pytest.mark.parametrize("mark", [",", ";", "\t"])
    @pytest.mark.parametrize("name", ["a.csv", "a"])
    def test_comments_are_passed_over(
        self, tmp_path: Path, above: list[str], mark: str, name: str
    ) -> None:
        path = write(tmp_path, *above, *(row.replace(",", mark) for row in self.TABLE), name=name)
        table = read(path)
        assert table.X.names == ("size", "mass")
        assert table.X.values[0].tolist() == [1.5, 3, 5]
        assert table.lines.tolist() == [len(above) + i for i in (2, 3, 4)]
        for call in CALLS:
            call(path, **table.reading)

    @pytest.mark.parametrize(
        ("lines", "delimiter", "names"),
        [
            (["# size,mass,label", "1,2,x", "3,4,y"], None, ("# size", "mass")),
            (["# by hand", "# size,mass,label", "1,2,x", "3,4,y"], None, ("# size", "mass")),
            (["#colour,form,label", "red,round,x", "blue,flat,y"], None, ("#colour", "form")),
            (["# size mass label", "1 2 x", "3 4 y"], " ", ("size", "mass")),
            (["#,mass,label", "1,2,x", "3,4,y"], None, ("#", "mass")),
        ],
    )
    def test_a_header_may_begin_like_a_comment(
        self, tmp_path: Path, lines: list[str], delimiter: str | None, names: tuple[str, ...]
    ) -> None:
        table = read(write(tmp_path, *lines), delimiter=delimiter)
        assert table.X.names == names
        assert table.y.tolist() == ["x", "y"]

    def test_all_of_them_are_comments_without_a_header(self, tmp_path: Path) -> None:
        path = write(tmp_path, "# size,mass,label", *self.TABLE[1:])
        table = read(path, header=False)
        assert table.X.names == ("1", "2")
        assert table.n_rows == 3

    def test_comments_among_rows_are_refused(self, tmp_path: Path) -> None:
        path = write(tmp_path, *self.TABLE, "# the end")
        for call in CALLS:
            with pytest.raises(DataError, match="comments stand before the header alone") as caught:
                call(path)
            assert caught.value.line == 5

    def test_nothing_but_comments(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match="no column besides"):
            read(write(tmp_path, "# a", "# b"))
        for lines in (("#",), ("# ", "#")):
            with pytest.raises(DataError, match="no column besides '#'"):
                read(write(tmp_path, *lines), delimiter=" ")

    def test_what_tells_the_delimiter_comes_first(self, tmp_path: Path) -> None:
        path = write(tmp_path, "sep=;", *(row.replace(",", ";") for row in self.TABLE))
        assert read(path).X.names == ("size", "mass")

    def test_on_the_command_line(self, tmp_path: Path) -> None:
        path, model = write(tmp_path, "# by hand", *self.TABLE), tmp_path / "m.safetensors"
        done("train", path, "-o", model)
        bare = write(tmp_path, *self.TABLE, name="b.csv")
        assert done("predict", model, path).out == done("predict", model, bare).out


class TestMissingHeaders:
    ROWS = ("39,State,77516,Bachelor,yes", "50,Self,83311,Master,no", "38,State,2156,Master,yes")
    ROWS += ("53,Self,2347,Bachelor,no",)

    def test_a_first_line_like_the_rows_is_refused(self, tmp_path: Path) -> None:
        path = write(tmp_path, "# from the web", *self.ROWS, *self.ROWS)
        told = "all of its cells could stand in the rows below; say whether it is a header"
        for call in (read, scan, lambda file: next(read_batches(file))):
            with pytest.raises(DataError, match=told) as caught:
                call(path)
            assert caught.value.line == 2
        assert read(path, header=False).n_rows == 8
        assert read(path, header=True).n_rows == 7
        model = tmp_path / "m.safetensors"
        message = one_error(run("train", path, "-o", model), INPUT)
        assert message.endswith("say whether it is a header (--header or --no-header)")
        done("train", path, "--no-header", "-o", model)
        assert done("score", model, path, "--json").json["n"] == 8

    @pytest.mark.parametrize(
        "header",
        [
            "age,work,weight,school,rich",
            "1990,place,2000,school,label",
            "39,State,77516,Bachelor,rich",
            "39,State,weight,Bachelor,yes",
            "39,work,77516,Bachelor,yes",
        ],
    )
    def test_one_name_is_enough(self, tmp_path: Path, header: str) -> None:
        assert read(write(tmp_path, header, *self.ROWS, *self.ROWS)).n_rows == 8

    def test_dates_and_texts(self, tmp_path: Path) -> None:
        rows = [f"2024-05-{i + 1:02},the text is number {i},{'xy'[i % 2]}" for i in range(20)]
        with pytest.raises(DataError, match="say whether it is a header"):
            read(write(tmp_path, *rows))
        assert read(write(tmp_path, "day,words of it,x", *rows)).n_rows == 20
        texts = [f"the text is number {i},{'xy'[i % 2]}" for i in range(20)]
        assert read(write(tmp_path, *texts)).n_rows == 19  # nothing tells

    def test_all_words(self, tmp_path: Path) -> None:
        rows = [f"{'pq'[i % 2]},{'rs'[i // 2 % 2]},{'xy'[i % 2]}" for i in range(20)]
        with pytest.raises(DataError, match="say whether it is a header"):
            read(write(tmp_path, *rows))
        same = [f"{'pq'[i % 2]},{'pq'[i // 2 % 2]},{'xy'[i % 2]}" for i in range(20)]
        with pytest.raises(DataError, match="two columns are named 'p'.*, --no-header"):
            read(write(tmp_path, *same))
        with pytest.raises(DataError, match="two columns are named 'p'; rename one of them$"):
            read(write(tmp_path, *same), header=True)
