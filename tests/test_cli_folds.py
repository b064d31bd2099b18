"""``select``: borders and growing grids, folds along groups and in order of time, rare classes."""

from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from cli_helpers import SATIMAGE, done, one_error, run, write_svmlight
from test_model_selection import small_set

import polymargin.model_selection
from polymargin import load
from polymargin.cli._folds import FoldOptions, deal
from polymargin.readers import read

USAGE, INPUT = 2, 3
QUICK = ("--log2-C=-2:-2:1", "--refinements", 0)


def visits(path: Path, **more: list[Any]) -> Path:
    """Twenty-four rows of three patients each seen eight times, in no order of time."""
    random = np.random.default_rng(0)
    rows = random.normal(size=(24, 2)).round(3)
    columns: dict[str, Any] = {"a": rows[:, 0], "b": rows[:, 1]}
    columns["patient"] = [f"p{i % 6}" for i in range(24)]
    columns["day"] = [f"2024-01-{(7 * i) % 24 + 1:02}" for i in range(24)]
    columns |= more
    columns["label"] = ["sick" if x > 0 else "well" for x in rows[:, 0]]
    lines = [
        ",".join(columns),
        *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True)),
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return visits(tmp_path / "visits.csv")


def folds_of(*arguments: Any) -> tuple[Any, Any]:
    """What `select` passes to the search as folds and groups."""
    seen: list[Any] = []
    search = polymargin.model_selection.nested_grid_search

    def watching(*args: Any, **options: Any) -> Any:
        seen.append((options["cv"], options["groups"]))
        return search(*args, **options)

    with patch.object(polymargin.model_selection, "nested_grid_search", watching):
        done("select", *arguments, *QUICK)
    return tuple(seen[0])


# The border of the grid


def test_a_border_is_told_in_words_of_options() -> None:
    scaled = (SATIMAGE, "--scale", "minmax", "--folds", 2, "--refinements", 0)
    result = done("select", *scaled, "--log2-C=-10:-8:1")
    assert "ww at the largest C, 2^-8. Widen --log2-C, or pass --extend." in result.err
    found = done("select", *scaled, "--log2-C=-10:-8:1", "--json").json
    assert found["borders"] == [
        {"machine": "ww", "parameter": "C", "end": "largest", "value": 2.0**-8}
    ]


def test_extend_lets_the_grid_grow(tmp_path: Path) -> None:
    rows = write_svmlight(tmp_path / "wine.svm", *small_set("wine"))
    options = ("--machines", "llw", "--folds", 3, "--refinements", 0, "--log2-C=-10:-6:2")
    for more in ((), ("--extend",)):
        found = done("select", rows, *options, "--json", *more).json
        largest = max(point["C"] for point in found["points"])
        assert (largest > 2.0**-6) == bool(more)
        assert bool(found["borders"]) != bool(more)


# Groups


def test_groups_of_a_column_stay_together_and_are_no_feature(table: Path, tmp_path: Path) -> None:
    n_folds, groups = folds_of(table, "--groups", "patient", "--folds", 3)
    assert n_folds == 3
    patients = [f"p{i % 6}" for i in range(24)]
    assert len({*zip(groups, patients, strict=True)}) == 6
    out = tmp_path / "m.safetensors"
    result = done("select", table, *QUICK, "--groups", "patient", "--folds", 3, "--model", out)
    assert "column 'patient' makes the folds and is no feature" in result.err
    other = visits(tmp_path / "other.csv", patient=["new"] * 24)
    assert done("predict", out, other).out == done("predict", out, table).out
    described = done("info", out, "--json").json
    assert described["reading"]["kinds"]["patient"] == "drop"
    done("inspect", out, table)  # its rows are known again


def test_groups_of_a_file(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    rows = write_svmlight(tmp_path / "a.svm", random.normal(size=(12, 2)), [0, 1] * 6)
    names = tmp_path / "groups.txt"
    names.write_text("\n".join(f"g{i // 2}" for i in range(12)) + "\n")
    _, groups = folds_of(rows, "--groups", names, "--folds", 3)
    assert groups.tolist() == [i // 2 for i in range(12)]
    names.write_text("one\n")
    assert "groups.txt: 1 group for 12 rows" in one_error(
        run("select", rows, "--groups", names), INPUT
    )
    names.write_text("one\n\n")
    assert "groups.txt:2: the group is missing" in one_error(
        run("select", rows, "--groups", names), INPUT
    )
    assert "there is no file 'nothing'; for rows without named columns it has one group a line" in (
        one_error(run("select", rows, "--groups", "nothing"), USAGE)
    )


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (("--groups", "nothing"), USAGE, "neither a column 'nothing' ('a', 'b', 'patient', 'day'"),
        (("--groups", "label"), USAGE, "--groups: 'label' is the column of the labels"),
        (("--groups", "patient", "--time", "day"), USAGE, "--groups: does not go with --time"),
        (("--groups", "patient", "--ordered"), USAGE, "--groups: does not go with --ordered"),
        (("--time", "day", "--ordered"), USAGE, "--ordered: does not go with --time"),
        (("--groups", "patient", "--folds", 7), USAGE, "--folds 7: there are 6 groups"),
        (("--time", "patient"), USAGE, "--time: 'p0' in 'patient' is neither a number nor a date"),
        (("--ordered", "--folds", 30), USAGE, "--folds: 30 in order of time need 31 rows at least"),
    ],
)
def test_folds_that_cannot_be(
    table: Path, options: tuple[Any, ...], code: int, message: str
) -> None:
    assert message in one_error(run("select", table, *QUICK, *options), code)


def test_a_missing_group_is_told_with_its_line(tmp_path: Path) -> None:
    patients = ["p"] * 23 + [""]
    table = visits(tmp_path / "v.csv", patient=patients)
    message = one_error(run("select", table, "--groups", "patient"), INPUT)
    assert "v.csv:25: the group in column 'patient' is missing here" in message


def test_other_columns_stay_what_they_are(tmp_path: Path) -> None:
    path = visits(tmp_path / "v.csv", note=["some words"] * 24)
    table = read(path, kinds={"note": "text:hashing"})
    dealt = deal(FoldOptions(3, groups="patient"), table, path)
    assert dealt.table.X.kinds == {k: v for k, v in table.X.kinds.items() if k != "patient"}
    assert dealt.table.X.kinds["note"] == "text:hashing"


# Time


@pytest.mark.parametrize("days", ["dates", "numbers"])
def test_validation_comes_after_training(tmp_path: Path, days: str) -> None:
    order = [(7 * i) % 24 for i in range(24)]
    more = {"day": order} if days == "numbers" else {}
    cv, groups = folds_of(visits(tmp_path / "v.csv", **more), "--time", "day", "--folds", 3)
    assert groups is None
    assert len(cv) == 3
    times = np.array(order)
    for train, validation in cv:
        assert times[train].max() < times[validation].min()
    assert sorted(times[np.concatenate([cv[-1][0], cv[-1][1]])]) == list(range(24))


def test_rows_in_order(table: Path) -> None:
    cv, _ = folds_of(table, "--ordered", "--folds", 3)
    for train, validation in cv:
        assert train.max() < validation.min()


def test_times_of_a_file(tmp_path: Path) -> None:
    rows = write_svmlight(tmp_path / "a.svm", np.eye(4), [0, 1, 0, 1])
    (tmp_path / "t").write_text(
        "2024-01-02T10:00:00+02:00\n2024-01-01\n2024-01-02T09:00\n2023-05-05\n"
    )
    dealt = deal(FoldOptions(2, time=str(tmp_path / "t")), read(rows), rows)
    assert np.concatenate(dealt.cv[-1]).tolist() == [3, 1, 0, 2]


# Rare classes


def test_a_class_of_one_row_is_told_of(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    rows = write_svmlight(tmp_path / "a.svm", random.normal(size=(21, 2)), [0, 1] * 10 + [7])
    result = done("select", rows, *QUICK)
    assert "Class 7 has 1 row, fewer than --folds 5: it is missing" in result.err
    assert "Lower --folds or leave it out." in result.err


def test_folds_of_a_table_with_texts_and_dates(tmp_path: Path) -> None:
    data, model = tmp_path / "a.csv", tmp_path / "m.safetensors"
    words = ("good bread and butter", "bad steel and rust")
    rows = [
        f"{i},p{i % 6},{i % 28 + 1}.{i // 28 + 1}.2024,{words[i % 2]} {i},{'ab'[i % 2]}"
        for i in range(60)
    ]
    data.write_text("id,patient,day,remark,label\n" + "\n".join(rows) + "\n")
    options = ("--log2-C=0:0:1", "--refinements", 0, "--folds", 3, "-o", model)
    for fold, kinds in (
        (("--groups", "patient"), ("date", "text:tfidf")),
        (("--time", "day"), ("category", "text:tfidf")),
    ):
        result = done("select", data, *fold, *options)
        assert load(model).steps[0][1].kinds_ == kinds
        assert "left out id: " in result.err
        assert fold[1] not in result.err.partition("left out")[2].partition("\n")[0]
        assert done("score", model, data, "--json").err == ""
    message = one_error(run("select", data, "--time", "id", *options), 2)
    assert "column 'id' was left out" in message
    assert "--column id=category or --column id=number keeps it" in message
    done("select", data, "--time", "id", "--column", "id=number", *options)
