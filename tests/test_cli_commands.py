"""What each command does when all is well."""

import lzma
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli_helpers import COMMANDS, SATIMAGE, SATIMAGE_TEST, done, finish, names_in, run, start

from polymargin import __version__, load, read_info
from polymargin.datasets import load_satimage
from polymargin.metrics import f1_score, top_k_accuracy_score

SHORT = ("--scale", "minmax", "-C", 0.1)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example(command: str) -> None:
    for option in ("--help", "-h"):
        result = done(command, option)
        assert re.search(rf"^\s*polymargin {command}\b", result.out, re.MULTILINE)
        assert result.err == ""


def test_help_lists_all_commands() -> None:
    shown = done("--help").out
    assert all(re.search(rf"│ {command} ", shown) for command in COMMANDS)


def test_nothing_given_shows_help() -> None:
    assert "Usage: polymargin [OPTIONS] COMMAND" in run().out
    assert "Usage: polymargin train" in run("train").out


def test_module_and_command_are_the_same() -> None:
    command = Path(sys.executable).parent / "polymargin"
    if not command.exists():
        pytest.skip("the command is not installed beside the interpreter")
    named = subprocess.run([command, "--help"], capture_output=True, text=True, check=True)
    module = finish(start("--help"))
    assert (named.stdout, named.stderr) == (module.out, module.err)
    assert "Usage: polymargin" in module.out


def test_version() -> None:
    assert done("--version").out == f"polymargin {__version__}\n"


def test_completion_of_bash() -> None:
    environment = os.environ | {
        "_POLYMARGIN_COMPLETE": "complete_bash",
        "COMP_WORDS": "polymargin train --machine c",
        "COMP_CWORD": "3",
    }
    assert finish(start(env=environment)).out.split() == ["cs"]


def test_show_completion() -> None:
    if not Path("/bin/bash").exists():
        pytest.skip("there is no bash")
    line = f"{sys.executable} -m polymargin --show-completion; exit $?"
    shown = subprocess.run(["/bin/bash", "-c", line], capture_output=True, text=True, check=True)
    assert "complete " in shown.stdout
    assert "_POLYMARGIN_COMPLETE=complete_bash" in shown.stdout


def test_train_says_what_it_reached(tmp_path: Path) -> None:
    path = tmp_path / "m.safetensors"
    result = done("train", SATIMAGE, *SHORT, "-o", path)
    assert "between 289." in result.out
    assert "converged  yes" in result.out
    assert "4,435 rows, 36 features, 6 classes" in result.err
    summary = done("train", SATIMAGE, *SHORT, "-o", path, "--json").json
    assert summary["converged"] is True
    assert summary["gap"] < 1e-3
    assert summary["dual_objective"] <= summary["primal_objective"]
    assert (summary["n"], summary["d"], summary["k"]) == (4435, 36, 6)
    assert summary["bytes"] == path.stat().st_size
    assert names_in(tmp_path) == {"m.safetensors"}


def test_not_converged_has_a_code_and_a_model(tmp_path: Path) -> None:
    path = tmp_path / "m.safetensors"
    result = run("train", SATIMAGE, *SHORT, "--max-iter", 2, "-q", "-o", path)
    assert result.code == 5
    assert "warning: The fit stopped after 2 passes" in result.err
    assert read_info(path).certificate["converged"] is False
    assert done("score", path, SATIMAGE_TEST, "--json").json["accuracy"] > 0.5


def test_json_is_all_there_is_on_standard_output(model: Path, rows: Path, tmp_path: Path) -> None:
    out = tmp_path / "m.safetensors"
    few = ("--folds", 2, "--refinements", 0, "--log2-C=-2:-2:2")
    assert "gap" in done("train", rows, "-o", out, "--json").json
    assert "gap" in done("train", rows, "-o", out, "--stream", "--json").json
    assert "accuracy" in done("score", model, SATIMAGE_TEST, "--json").json
    assert "accuracy" in done("select", rows, *few, "--json").json
    assert len(done("path", rows, "--Cs", "0.1,1", "--json").json["path"]) == 2
    assert done("info", model, "--json").json["n_features"] == 36
    found = done("inspect", model, SATIMAGE, "--top", 4, "--json").json
    assert len(found["suspicious"]) == 4
    for command in (("train", rows, "-o", out), ("path", rows), ("select", rows, *few)):
        quiet = done(*command, "--json", "--quiet")
        assert isinstance(quiet.json, dict)
        assert _but_for_the_border(quiet.err) == ""


def _but_for_the_border(messages: str) -> str:
    """A warning that so small a grid calls for is said in any case."""
    lines = messages.splitlines()
    return "\n".join(line for line in lines if "lies on the border of the grid" not in line)


def test_quiet_prints_nothing(model: Path, rows: Path, tmp_path: Path) -> None:
    out = tmp_path / "m.safetensors"
    few = ("--folds", 2, "--refinements", 0, "--log2-C=-2:-2:2")
    for command in (
        ("train", rows, "-o", out),
        ("train", rows, "-o", out, "--stream"),
        ("train", rows, "-o", out, "--kernel", "rbf"),
        ("predict", model, SATIMAGE_TEST, "-o", tmp_path / "labels.txt"),
        ("select", rows, *few, "-o", out),
        ("path", rows, "--Cs", "0.1,1"),
    ):
        result = done(*command, "--quiet")
        assert (result.out, _but_for_the_border(result.err)) == ("", ""), command


def test_predict_writes_a_label_a_line(model: Path, tmp_path: Path) -> None:
    target = tmp_path / "labels.txt"
    result = done("predict", model, SATIMAGE_TEST, "-o", target)
    assert result.out == ""
    assert "2,000 labels in" in result.err
    printed = done("predict", model, SATIMAGE_TEST).out
    assert target.read_text() == printed == done("predict", model, SATIMAGE_TEST, "-o", "-").out
    assert set(printed.split()) <= set("123456")
    assert len(printed.splitlines()) == 2000


def test_score_counts(model: Path) -> None:
    found = done("score", model, SATIMAGE_TEST, "--json").json
    labels = [int(line) for line in done("predict", model, SATIMAGE_TEST).out.split()]
    for row in found["classes"]:
        hits = row["recall"] * row["n"]
        assert hits == pytest.approx(round(hits))
        assert hits / labels.count(row["label"]) == pytest.approx(row["precision"])
    shown = done("score", model, SATIMAGE_TEST).out
    assert f"{found['errors']:,} of 2,000" in shown


def test_score_is_that_of_the_metrics(model: Path) -> None:
    _, _, X_test, y_test = load_satimage(scale=False)
    loaded = load(model)
    best = loaded[-1].predict_topk(loaded[:-1].transform(X_test), 5)
    found = done("score", model, SATIMAGE_TEST, "--json").json
    assert found["top_5_accuracy"] == top_k_accuracy_score(y_test, best) < 1
    for average in ("micro", "macro"):
        expected = f1_score(y_test, best[:, 0], average=average)
        assert found[f"{average}_f1"] == pytest.approx(expected)
    shown = done("score", model, SATIMAGE_TEST).out
    for name in ("top-5 accuracy", "micro F1", "macro F1"):
        assert name in shown


def test_score_of_five_classes_has_no_top_five(tmp_path: Path) -> None:
    rows = tmp_path / "rows.svm"
    rows.write_text("".join(f"{c % 5} 1:{c % 5} 2:{c % 3}\n" for c in range(30)))
    done("train", rows, "-q", "-o", tmp_path / "m.safetensors")
    assert "top" not in done("score", tmp_path / "m.safetensors", rows).out
    assert "top_5_accuracy" not in done("score", tmp_path / "m.safetensors", rows, "--json").json


def test_score_counts_labels_that_the_model_does_not_know(model: Path, tmp_path: Path) -> None:
    text = lzma.decompress(SATIMAGE_TEST.read_bytes()).splitlines(keepends=True)
    (tmp_path / "other.svm").write_bytes(b"9" + text[0][1:] + b"".join(text[1:10]))
    found = done("score", model, tmp_path / "other.svm", "--json").json
    assert found["n"] == 10
    assert found["top_5_accuracy"] <= 0.9
    assert found["micro_f1"] == found["accuracy"] <= 0.9


def test_predict_writes_the_best_labels(model: Path) -> None:
    lines = done("predict", model, SATIMAGE_TEST, "--top", 3).out.splitlines()
    loaded = load(model)
    best = loaded[-1].predict_topk(loaded[:-1].transform(load_satimage(scale=False).X_test), 3)
    assert [line.split("\t") for line in lines] == best.astype(str).tolist()


def test_predict_refuses_best_labels_that_cannot_be(model: Path) -> None:
    result = run("predict", model, SATIMAGE_TEST, "--top", 7)
    assert result.code == 2
    assert "the model knows 6 classes, fewer than 7" in result.err
    result = run("predict", model, SATIMAGE_TEST, "--top", 2, "--scores")
    assert result.code == 2
    assert "goes without --scores and --probabilities" in result.err


def test_info_shows_the_file(model: Path) -> None:
    shown = done("info", model).out
    for text in ("Weston–Watkins, C = 0.1", "6: 1, 2, 3, 4, 5, 6", "36, float64, dense", "Scaler"):
        assert text in shown
    fields = done("info", model, "--json").json
    assert fields["parameters"]["C"] == 0.1
    assert fields["classes"] == [1, 2, 3, 4, 5, 6]


def test_info_without_a_model_shows_versions() -> None:
    assert f"polymargin    {__version__}" in done("info").out


def test_inspect_writes_a_report(model: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    report = tmp_path / "report.html"
    options = ("--report", report, "--test", SATIMAGE_TEST, "--title", "<Soil>", "--top", 3)
    result = done("inspect", model, SATIMAGE, *options, "--max-patterns", 20)
    assert "Suspicious labels" in result.out
    assert "Confusable classes" in result.out
    page = report.read_text(encoding="utf-8")
    assert "&lt;Soil&gt;" in page
    assert page.rstrip().endswith("</html>")
    assert names_in(tmp_path) == {"report.html"}


def test_inspect_scores_and_fits_once_for_tables_and_report(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from polymargin import LinearSVM

    rows_scored, fits = [], []
    score, fit = LinearSVM._score_blocks, LinearSVM.fit

    def count_rows(self: LinearSVM, X: Any) -> Any:
        rows_scored.append(X.shape[0])
        return score(self, X)

    def count_fits(self: LinearSVM, *data: Any) -> Any:
        fits.append(self)
        return fit(self, *data)

    monkeypatch.setattr(LinearSVM, "_score_blocks", count_rows)
    monkeypatch.setattr(LinearSVM, "fit", count_fits)
    done("inspect", model, SATIMAGE, "--by", "held-out", "--report", tmp_path / "report.html")
    assert len(fits) == 5
    assert sum(rows_scored) == 2 * 4435  # by the model, and each row by one that had not seen it


def test_inspect_refuses_other_rows(model: Path) -> None:
    pytest.importorskip("pandas")
    result = run("inspect", model, SATIMAGE_TEST)
    assert result.code == 3
    assert "these are not the rows that" in result.err
    assert "--other-data" not in result.err  # there are fewer of them


def test_inspect_goes_on_when_told(model: Path, tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    text = lzma.decompress(SATIMAGE.read_bytes()).replace(b":92 ", b":93 ")
    (tmp_path / "changed.svm").write_bytes(text)
    refused = run("inspect", model, tmp_path / "changed.svm")
    assert refused.code == 3
    assert "--other-data goes on" in refused.err
    assert "Suspicious" in done("inspect", model, tmp_path / "changed.svm", "--other-data").out


def test_inspect_needs_dual_variables(tmp_path: Path) -> None:
    path = tmp_path / "m.safetensors"
    done("train", SATIMAGE, *SHORT, "--no-duals", "-q", "-o", path)
    result = run("inspect", path, SATIMAGE)
    assert result.code == 3
    assert "train with --duals" in result.err


def test_select_trains_the_best(rows: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    target, plot = tmp_path / "m.safetensors", tmp_path / "grid.png"
    options = ("--machines", "ww,cs", "--log2-C=-4:4:2", "--folds", 3, "--refinements", 1, "--full")
    found = done("select", rows, *options, "-o", target, "--plot", plot, "--json").json
    assert found["best"]["C"] == read_info(target).parameters["C"]
    assert found["best"]["machine"] == read_info(target).parameters["machine"]
    assert found["n_fits"] == 3 * len(found["points"]) + 1  # the last on all rows
    assert plot.read_bytes().startswith(b"\x89PNG")
    assert names_in(tmp_path) == {"m.safetensors", "grid.png"}
    best = max(point["mean_score"] for point in found["points"])
    assert found["accuracy"] == pytest.approx(best)
    assert "in cross-validation" in done("select", rows, *options).out


def test_select_of_a_kernel(rows: Path) -> None:
    grid = ("--log2-C=0:2:2", "--log2-gamma=-2:0:2", "--refinements", 0, "--folds", 2)
    found = done("select", rows, "--kernel", "rbf", *grid, "--json").json
    assert {"C", "gamma"} <= set(found["best"])
    assert len(found["points"]) == 4


def test_select_tells_of_points_given_up(rows: Path) -> None:
    grid = ("--kernel", "rbf", "--log2-C=-4:4:4", "--log2-gamma=-12:8:4", "--refinements", 0)
    found = done("select", rows, *grid, "--json").json
    full = done("select", rows, *grid, "--full", "--json").json
    certain = done("select", rows, *grid, "--race", 0, "--json").json
    assert found["best"] == full["best"] == certain["best"]
    assert full["n_fits"] == 5 * len(full["points"]) > certain["n_fits"]
    assert all(point["complete"] for point in full["points"])
    given_up = [point for point in found["points"] if not point["complete"]]
    assert all(point["mean_score"] is None for point in given_up)
    assert all(point["bound"] <= 1 for point in given_up)
    result = done("select", rows, *grid)
    n_points = len(found["points"])
    assert f"{len(given_up)} of {n_points} points (--full runs all folds)" in result.out
    assert "given up" not in done("select", rows, *grid, "--full").out


def test_path_over_C(rows: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    plot = tmp_path / "path.svg"
    options = ("--Cs=-4:2:2", "--test", rows, "--plot", plot)
    found = done("path", rows, *options, "--json").json["path"]
    assert [record["C"] for record in found] == [2.0**-4, 2.0**-2, 1.0, 4.0]
    norms = [record["norm"] for record in found]
    assert norms == sorted(norms)
    assert all(record["accuracy"] == record["training_accuracy"] for record in found)
    assert b"<svg" in plot.read_bytes()
    assert names_in(tmp_path) == {"path.svg"}
    assert len(re.findall(r"\d\.\de-0\d", done("path", rows, "--Cs", "0.1,1").out)) == 2


def test_bench_times_machines_beside_peers(rows: Path) -> None:
    found = done("bench", rows, "--repeats", 2, "--machines", "ww,llw", "--json").json
    names = [entrant["name"] for entrant in found["entrants"]]
    assert names[:2] == ["polymargin ww", "polymargin llw"]
    assert len(names) == 4
    assert found["entrants"][0]["ratio"] == 1
    assert all(entrant["seconds"] > 0 for entrant in found["entrants"])
    assert found["entrants"][0]["gap"] <= 1e-3
    assert found["entrants"][2]["gap"] is None
    kernel = ("--kernel", "laplacian", "--gamma", 0.5)
    found = done("bench", rows, *kernel, "--repeats", 1, "--json").json
    assert [entrant["name"] for entrant in found["entrants"]] == ["polymargin ww", "polymargin cs"]
    shown = done("bench", rows, "--kernel", "rbf", "--repeats", 1, "--test", rows).out
    assert "SVC (one-vs-one)" in shown


@pytest.mark.parametrize("command", ["predict", "score", "inspect", "info", "convert"])
def test_a_model_is_opened_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    model, opened = tmp_path / "m.safetensors", []
    done("train", SATIMAGE, *SHORT, "-q", "-o", model)
    real = Path.open

    def counting(path: Path, *arguments: Any, **options: Any) -> Any:
        if path == model:
            opened.append(path)
        return real(path, *arguments, **options)

    monkeypatch.setattr(Path, "open", counting)
    others = {"info": (), "convert": (tmp_path / "other.safetensors",)}
    done(command, model, *others.get(command, (SATIMAGE,)))
    assert len(opened) == 1


def test_large_values_that_are_not_scaled_are_told(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = random.normal(size=(60, 4)) + y[:, np.newaxis]
    out, data = tmp_path / "m.safetensors", tmp_path / "rows.npz"
    for size, how, is_told in ((1, (), False), (100, (), True), (100, ("--scale", "none"), False)):
        np.savez(data, X=size * X, y=y)
        told = done("train", data, *how, "--max-iter", 50_000, "-o", out).err
        assert ("are not scaled; --scale standard may" in told) == is_told


def test_inspect_counts_rows_from_1_where_there_are_no_lines(tmp_path: Path) -> None:
    X = np.arange(20.0)[:, np.newaxis]
    y = np.where(X[:, 0] < 10, "low", "high")
    y[4] = "high"
    np.savez(tmp_path / "a.npz", X=X, y=y)
    model = tmp_path / "m.safetensors"
    done("train", tmp_path / "a.npz", "--scale", "standard", "-o", model, "-q")
    options = ("inspect", model, tmp_path / "a.npz", "--top", "1")
    first = done(*options).out.splitlines()[4].split()
    assert first[:2] == ["5", "high"]
    assert done(*options, "--json").json["suspicious"][0]["row"] == 4
