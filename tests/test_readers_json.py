"""Files with a JSON object on each line, or with an array of objects."""

import gzip
import io
import json
import os
import shlex
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli_helpers import done, one_error, run
from hypothesis import given, settings
from hypothesis import strategies as st

from polymargin.errors import DataError
from polymargin.readers import _json_rows, _text_tables, read, read_batches, scan

CALLS: list[Any] = [read, scan, lambda file, **how: list(read_batches(file, rows=2, **how))]


@pytest.fixture
def write(tmp_path: Path) -> Any:
    def write_lines(*lines: Any, name: str = "rows.jsonl") -> Path:
        file = tmp_path / name
        texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
        file.write_text("\n".join(texts) + "\n", encoding="utf-8", errors="surrogateescape")
        return file

    return write_lines


def cells(table: Any) -> dict[str, list[Any]]:
    return dict(zip(table.X.names, [column.tolist() for column in table.X.values], strict=True))


def test_columns(write: Any) -> None:
    file = write(
        '{"a": 1, "colour": "red", "label": "u", "c": true}',
        "",
        ' { "a":-2.5e1, "label":"v","c":false,"late":7 } \r',
        '{"colour": "blé", "label": "u", "a": null, "c": true, "late": 8}',
    )
    table = read(file)
    found = cells(table)
    assert found["a"][:2] == [1, -25]
    assert np.isnan(found["a"][2])
    assert found["colour"] == ["red", None, "blé"]
    assert found["c"] == [1, 0, 1]
    assert found["late"][1:] == [7, 8]
    assert table.y.tolist() == ["u", "v", "u"]
    assert table.lines.tolist() == [1, 3, 4]
    assert table.first_missing == (1, 5, "late")
    assert table.reading == {
        "format": "jsonl",
        "kinds": {"a": "number", "colour": "category", "c": "number", "late": "number"},
        "label": "label",
        "label_kind": "string",
    }
    parts = list(read_batches(file, rows=2, **scan(file).reading))
    assert [part.n_rows for part in parts] == [2, 1]
    assert [*cells(parts[0])["colour"], *cells(parts[1])["colour"]] == found["colour"]
    assert scan(file).classes.tolist() == ["u", "v"]
    assert scan(file).reading == table.reading


def test_kinds_apply(write: Any) -> None:
    file = write(*({"when": "2024-05-01", "size": "1,5", "y": i % 2} for i in range(4)))
    assert read(file).reading["kinds"] == {"when": "date:ymd", "size": "number:comma"}
    assert cells(read(file, kinds={"size": "category"}))["size"] == ["1,5"] * 4
    late = write(*({"a": i if i < 30 else f"w{i % 3}", "y": i % 2} for i in range(40)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_text_tables, "CHUNK_ROWS", 8)
        with pytest.warns(UserWarning, match="'w0' is not"):
            assert read(late).reading["kinds"] == {"a": "category"}
    with pytest.raises(DataError, match="rows.jsonl:31: 'w0' in column 'a' is not a number: all"):
        list(read_batches(late, rows=5))


def test_formats_are_told_by_content_and_name(write: Any, tmp_path: Path) -> None:
    rows = [{"a": 1, "y": 0}, {}, {"a": 2, "y": 1}]
    for name in ("rows.ndjson", "rows", "rows.json"):
        assert read(write(*rows, name=name), has_labels=False).n_rows == 3
    packed = tmp_path / "rows.jsonl.gz"
    packed.write_bytes(gzip.compress(write(*rows).read_bytes()))
    assert read(packed, has_labels=False).n_rows == 3


def test_files_without_labels_and_other_columns(write: Any) -> None:
    file = write({"a": 1, "b": 2}, {"a": 3, "b": 4})
    assert read(file, has_labels=False).y is None
    assert read(file, label="a").y.tolist() == [1, 3]
    assert read(file).reading["label"] == "b"
    with pytest.raises(DataError, match="no column 'c' for the labels"):
        read(file, label="c")
    kept = read(file, kinds={"b": "number"}, label="a", extra="ignore")
    assert kept.X.names == ("b",)
    with pytest.raises(DataError, match="there is no column 'z'"):
        read(file, kinds={"z": "number"}, extra="ignore")


@pytest.mark.parametrize(
    ("line", "column", "message"),
    [
        ('{"a": [1]}', None, "value of 'a' is a list, and cells are .*: --column a=drop$"),
        ('{"a": {"b": [1]}}', None, "value of 'a.b' is a list, .* keys of their own"),
        ('{"a.b": 1, "a": {"b": 1}}', None, "the key 'a.b' occurs twice"),
        ('{"a": {"b": 1, "b": 2}}', None, "the key 'a.b' occurs twice"),
        ('{"a": {"%s": 2}}' % ("b" * 1000), None, "inside 'a' have more than 1000 characters"),
        ('{"a": 1', 8, "not JSON"),
        ('{"a": 1} {"a": 2}', 10, "not JSON"),
        ("[1, 2]", None, "not an object"),
        ("3", None, "not an object"),
        ('{"a": NaN, "y": 1}', None, "NaN is no value of JSON; write null"),
        ('{"a": -Infinity, "y": 1}', None, "-Infinity is no value of JSON"),
        ('{"a": 1, "a": 2, "y": 0}', None, "the key 'a' occurs twice"),
        ('{"a": "\\ud800", "y": 0}', None, "half of a pair in 'a'"),
        ('{"a": "\\u0000", "y": 0}', None, "zero character"),
        ('{"a": 1}', None, "label in column 'y' is missing"),
        ('{"a": 1e400, "y": 1}', None, "'1e400' in column 'a' is not finite"),
        ('{"a": "\udcff", "y": 1}', 8, "0xff is not UTF-8"),
    ],
)
def test_errors(write: Any, line: str, column: int | None, message: str) -> None:
    file = write({"a": 1, "y": 0}, "", line, {"a": 1, "y": 0})
    for call in CALLS:
        with pytest.raises(DataError, match=message) as caught:
            call(file)
        assert (caught.value.line, caught.value.column) == (3, column)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[" * 100_000, "brackets|not JSON"),
        ('{"a":' * 100_000, "brackets|not JSON"),
        ("\n \n", "no rows"),
        ("{}\n{}\n", "no keys"),
        ('{"y": 1}\n', "no key besides 'y'"),
        ('{"a": ' + "9" * 5000 + ', "y": 1}', "not finite"),
        ("{" + ",".join(f'"{i}": 1' for i in range(70_000)) + "}", "more keys than 65536"),
    ],
)
def test_hostile_files(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text(content)
    for call in CALLS:
        with pytest.raises(DataError, match=message):
            call(file)


def test_what_is_left_out_may_hold_anything(write: Any, tmp_path: Path) -> None:
    rows = [{"x": i, "tags": [i, {"a": 1}], "at": {"b": i}, "label": i % 2} for i in range(6)]
    file, kinds = write(*rows), {"tags": "drop", "at": "drop"}
    with pytest.raises(DataError, match="rows.jsonl:1: the value of 'tags' is a list"):
        read(file)
    assert read(file, kinds={"tags": "drop"}).X.names == ("x", "at.b")
    table = read(file, kinds=kinds)
    assert table.X.names == ("x",)
    for call in CALLS:
        call(file, **table.reading)
    assert read(file, kinds={"x": "number"}, extra="ignore").X.names == ("x",)
    model, dropped = tmp_path / "m.safetensors", ("--column", "tags=drop", "--column", "at=drop")
    done("train", file, *dropped, "-o", model)
    assert len(done("predict", model, file).out.split()) == 6


def test_objects_inside_objects_are_columns(write: Any, tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"user": {"age": i, "home": {"city": "AB"[i % 2]}, "empty": {}}, "label": i % 2}
        for i in range(6)
    ]
    rows[3]["user"]["home"] = None
    file = write(*rows)
    table = read(file)
    assert table.reading["kinds"] == {"user.age": "number", "user.home.city": "category"}
    assert table.X.values[0].tolist() == [0, 1, 2, 3, 4, 5]
    assert table.X.values[1].tolist() == ["A", "B", "A", None, "A", "B"]
    for call in CALLS:
        call(file, **table.reading)
    assert read(file, kinds={"user.home": "drop"}).X.names == ("user.age",)
    assert sorted(set(read(write(*rows[:3]), label="user.home.city").y)) == ["A", "B"]
    file = write(*rows)
    model = tmp_path / "m.safetensors"
    done("train", file, "--column", "user.age=drop", "-o", model)
    assert len(done("predict", model, file).out.split()) == 6
    for without in ({"user": {"age": 3, "home": None}}, {"user": {"home": {}, "age": 3}}):
        assert done("predict", model, write(without)).out in ("0\n", "1\n")
    none = read(write({"user": {"age": 3}, "label": 1}), **table.reading).X
    assert (none.names, none.values[1].tolist()) == (("user.age", "user.home.city"), [None])
    with pytest.raises(DataError, match="there are no columns 'user.age', 'user.home.city'"):
        read(write({"age": 3, "label": 1}), **table.reading)
    whole = write({"x": 1, "user": {"a": 1}, "label": 0}, {"x": 2, "user": {"b": 1}, "label": 1})
    assert read(whole, kinds={"user": "drop"}).X.names == ("x",)


def test_lists_of_strings_are_texts(write: Any) -> None:
    rows = [{"tags": ["late", f"order {i}", None], "none": [], "label": i % 2} for i in range(30)]
    table = read(write(*rows))
    assert table.reading["kinds"] == {"tags": "text", "none": "drop"}
    assert table.X.values[0][3] == "late order 3"


def test_all_lists_are_told_at_once(write: Any, tmp_path: Path) -> None:
    file = write(
        {"x": 1, "a": [1, 2], "label": 0},
        {"x": 2, "in": {"side": [{"b": 1}]}, "label": 1},
        {"x": 3, "c d": [True], "label": 1},
    )
    told = "--column a=drop --column in.side=drop --column 'c d=drop'"
    for call in CALLS:
        with pytest.raises(
            DataError, match="rows.jsonl:1: the values of 'a', 'in.side', 'c d' a"
        ) as c:
            call(file)
        assert str(c.value).endswith(told)
    done("train", file, *shlex.split(told), "-o", tmp_path / "m.safetensors")


def test_too_many_keys_inside_an_object(write: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_json_rows, "MOST_COLUMNS", 5)
    with pytest.raises(DataError, match="more keys than"):
        read(write({"x": {str(i): i for i in range(6)}, "label": 0}))


class TestArrays:
    ROWS = tuple({"x": i / 2, "soil": "ab"[i % 2], "label": i % 2} for i in range(5))

    @pytest.mark.parametrize("indent", [None, 2])
    @pytest.mark.parametrize("name", ["rows.json", "rows", "rows.jsonl"])
    def test_as_lines(self, write: Any, tmp_path: Path, name: str, indent: int | None) -> None:
        array = tmp_path / name
        array.write_text("\ufeff " + json.dumps(self.ROWS, indent=indent) + "\n \n", "utf-8")
        table, same = read(array), read(write(*self.ROWS, name="lines.jsonl"))
        assert cells(table) == cells(same)
        assert table.y.tolist() == same.y.tolist()
        assert table.reading == same.reading
        assert scan(array).reading == scan(tmp_path / "lines.jsonl").reading
        parts = list(read_batches(array, rows=2, **table.reading))
        assert [part.n_rows for part in parts] == [2, 2, 1]
        starts = [1] * 5 if indent is None else [2, 7, 12, 17, 22]
        assert table.lines.tolist() == starts

    @pytest.mark.parametrize(
        ("content", "place", "message"),
        [
            ('[{"x": 1, "y": 0},\n {"x": [2], "y": 0}]', (2, None), "value of 'x' is a list"),
            ('[{"x": 1, "y": 0},\n {"x": 2 "y": 0}]', (2, 10), "not JSON .*delimiter"),
            ('[{"x": 1, "y": 0}\n {"x": 2}]', (2, 2), "not JSON .Expecting ',' or '\\]'"),
            ('[{"x": 1, "y": 0},\n]', (2, 1), "not JSON .Expecting value"),
            ('[{"x": 1, "y": 0},\n', (2, 1), "not JSON .Expecting value"),
            ('[{"x": 1, "y": 0}', (1, 18), "not JSON .Expecting ',' or '\\]'"),
            ('[{"x": 1, "y": 0}]\n{}', (2, 1), "not JSON .Extra data"),
            ('[{"x": 1, "y": 0}, 3]', (1, None), "not an object"),
            ('[{"x": 1, "y": 0},\n{"x": NaN}]', (2, None), "NaN is no value of JSON"),
            ('[{"x": 1, "y": 0},\n{"x": 1, "x": 2}]', (2, None), "the key 'x' occurs twice"),
            ('[{"x": 1, "y": 0},\n{"x": "\\ud800"}]', (2, None), "half of a pair"),
            ("[]", (None, None), "no rows"),
        ],
    )
    def test_errors(
        self, tmp_path: Path, content: str, place: tuple[int | None, int | None], message: str
    ) -> None:
        file = tmp_path / "rows.json"
        file.write_text(content)
        for call in CALLS:
            with pytest.raises(DataError, match=message) as caught:
                call(file)
            assert (caught.value.line, caught.value.column) == place

    def test_on_the_command_line(self, tmp_path: Path) -> None:
        data, model = tmp_path / "rows.json", tmp_path / "m.safetensors"
        data.write_text(json.dumps(self.ROWS))
        done("train", data, "-o", model)
        assert done("score", model, data, "--json").json["n"] == 5
        piped = done("predict", model, "-", "--format", "jsonl", stdin=data.read_bytes())
        assert piped.out == done("predict", model, data).out
        shuffled = run("convert", data, tmp_path / "other.jsonl", "--shuffle")
        assert "an object a line is needed to shuffle" in one_error(shuffled, 3)


def test_pipes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_json_rows, "FIRST_ROWS", 2)
    lines = b'{"a": 1, "y": 0}\n{"y": 1}\n{"a": 2, "y": 1}\n{"b": 2, "y": 1}\n'

    def read_input(**how: Any) -> Any:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(lines)))
        return read("-", format="jsonl", **how)

    with pytest.raises(DataError, match=":4: the key 'b' does not occur in the first 2 rows"):
        read_input()
    assert read_input(kinds={"a": "number"}, label="y", extra="ignore").X.names == ("a",)
    table = read_input(kinds={"a": "number", "b": "number"}, label="y")
    assert cells(table)["b"][3] == 2
    assert table.lines.tolist() == [1, 2, 3, 4]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
@pytest.mark.parametrize(
    ("text", "form", "message"),
    [
        ('{"a": 1, "y": 0}\n' * 9 + '{"b": 1, "y": 0}\n', "jsonl", "the key 'b' does not occur"),
        ("a,y\n" + "1,0\n" * 9 + "x,0\n", "csv", "'x' in column 'a' is not a number"),
    ],
)
def test_named_pipes_are_not_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, form: str, message: str
) -> None:
    """Opening a pipe again would wait for ever."""
    monkeypatch.setattr(_json_rows, "FIRST_ROWS", 2)
    monkeypatch.setattr(_text_tables, "CHUNK_ROWS", 2)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_text(text), daemon=True)
    writer.start()
    with pytest.raises(DataError, match=message):
        read(pipe, format=form)
    writer.join(10)


TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=6)
VALUES = st.one_of(st.none(), st.booleans(), st.integers(), TEXT,
                   st.floats(allow_nan=False, allow_infinity=False))  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(st.lists(st.dictionaries(st.sampled_from("abc"), VALUES), min_size=1, max_size=8))
def test_any_rows(tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]]) -> None:
    """They are what a table with the same cells is."""
    import csv

    names = list(dict.fromkeys(key for row in rows for key in row))
    folder = tmp_path_factory.getbasetemp()
    for row in rows:
        row["y"] = 1
    (folder / "any.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with (folder / "any.csv").open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_ALL)
        writer.writerow([*names, "y"])
        for row in rows:
            values = [row.get(name) for name in names]
            words = [{True: 1, False: 0}[v] if isinstance(v, bool) else v for v in values]
            writer.writerow([*("" if v is None else json.dumps(v) if isinstance(v, float) else v
                               for v in words), 1])  # fmt: skip
    how = {"kinds": dict.fromkeys(names, "category"), "label": "y", "extra": "ignore"}
    if names:
        ours, table = (read(folder / f"any.{kind}", **how) for kind in ("jsonl", "csv"))
        assert cells(ours) == {name: cells(table)[name] for name in ours.X.names}


def test_on_the_command_line(write: Any, tmp_path: Path) -> None:
    rows = [
        {"size": i % 7 + 10 * (i % 2), "kind": "ab"[i % 2], "label": "xy"[i % 2]} for i in range(60)
    ]
    data, model = write(*rows), tmp_path / "m.safetensors"
    done("train", data, "--scale", "standard", "-o", model, "-q")
    assert done("score", model, data, "--json").json["accuracy"] == 1
    table = tmp_path / "same.csv"
    table.write_text(
        "kind,size,label\n" + "".join(f"{r['kind']},{r['size']},{r['label']}\n" for r in rows)
    )
    assert done("predict", model, table).out == done("predict", model, data).out
    unlabelled = write({"size": 1, "kind": "a"}, {"kind": "b", "size": 12}, name="new.jsonl")
    assert done("predict", model, unlabelled).out.split() == ["x", "y"]
    assert done("predict", model, "-", stdin=unlabelled.read_bytes()).out.split() == ["x", "y"]
    less = write({"size": 1}, name="less.jsonl")
    assert "there is no column 'kind'" in one_error(run("predict", model, less), 3)
    done("convert", data, tmp_path / "rows.npz")
    done("convert", data, tmp_path / "shuffled.jsonl", "--shuffle")
    assert sorted(read(tmp_path / "shuffled.jsonl").y) == sorted(read(data).y)
    assert done("select", data, "--log2-C=0:2:2", "--json", "-q").json["accuracy"] == 1
    numbers = write(*({"size": r["size"], "label": r["label"]} for r in rows), name="n.jsonl")
    done("train", numbers, "--stream", "--passes", 3, "-o", model, "-q")
    wrong = write({"size": [1], "label": "x"}, name="wrong.jsonl")
    assert "wrong.jsonl:1: the value of 'size'" in one_error(run("train", wrong, "-o", model), 3)
