"""Probabilities on the command line."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli_helpers import done, one_error, run
from sklearn.metrics import log_loss

from polymargin import load
from polymargin.cli._losses import Losses
from polymargin.readers import read


@pytest.fixture(scope="module")
def calibrated(rows: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("calibrated") / "m.safetensors"
    done("train", rows, "--calibration", "temperature", "-q", "-o", path)
    return path


@pytest.fixture(scope="module")
def plain(rows: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("plain") / "m.safetensors"
    done("train", rows, "-q", "-o", path)
    return path


def test_train_and_info_say_so(rows: Path, calibrated: Path, plain: Path, tmp_path: Path) -> None:
    target = tmp_path / "m.safetensors"
    said = done("train", rows, "--calibration", "isotonic", "-o", target)
    assert "probabilities  isotonic" in said.out
    made = done(
        "train", rows, "--calibration", "sigmoid", "--kernel", "rbf", "--json", "-o", target
    )
    assert made.json["calibration"] == "sigmoid"
    T = load(calibrated)[-1].calibrator_.T
    assert f"temperature, T = {T:g}" in done("info", calibrated).out
    assert done("info", calibrated, "--json").json["calibrator"] == {"name": "temperature", "T": T}
    assert "probabilities   none" in done("info", plain).out


@pytest.mark.parametrize("form", ["tsv", "csv", "json"])
def test_predict_writes_a_column_a_class(form: str, rows: Path, calibrated: Path) -> None:
    model, X = load(calibrated), read(rows).X
    text = done("predict", calibrated, rows, "--probabilities", "--table", form).out
    if form == "json":
        lines = [json.loads(line) for line in text.splitlines()]
        labels = [line["label"] for line in lines]
        p = np.array([[line["probabilities"][str(c)] for c in (0, 1, 2)] for line in lines])
    else:
        table = list(csv.reader(io.StringIO(text), delimiter="," if form == "csv" else "\t"))
        assert table[0] == ["label", "0", "1", "2"]
        labels = [int(line[0]) for line in table[1:]]
        p = np.array([line[1:] for line in table[1:]], float)
    assert labels == model.predict(X).tolist()
    np.testing.assert_array_equal(p, model.predict_proba(X))


def test_scores_have_the_same_forms(rows: Path, plain: Path) -> None:
    table = done("predict", plain, rows, "--scores", "--table", "csv").out.splitlines()
    assert table[0] == "label,0,1,2"
    tabs = done("predict", plain, rows, "--scores").out.splitlines()
    assert [line.replace("\t", ",") for line in tabs] == table
    first = json.loads(
        done("predict", plain, rows, "--scores", "--table", "json").out.split("\n")[0]
    )
    assert list(first) == ["label", "scores"]


def test_labels_are_kept_whole_in_csv_and_escaped_in_tabs(tmp_path: Path) -> None:
    data = tmp_path / "words.csv"
    lines = [f'{a},"{label}"' for a in range(12) for label in ("x, y", "a\\b")]
    data.write_text("a,label\n" + "\n".join(lines) + "\n")
    model = tmp_path / "m.safetensors"
    done("train", data, "--calibration", "sigmoid", "-q", "-o", model)
    text = done("predict", model, data, "--probabilities", "--table", "csv").out
    assert next(csv.reader(io.StringIO(text))) == ["label", "a\\b", "x, y"]
    assert done("predict", model, data, "--probabilities").out.startswith("label\ta\\\\b\tx, y\n")


def test_a_model_without_probabilities_is_refused(rows: Path, plain: Path) -> None:
    message = one_error(run("predict", plain, rows, "--probabilities"), 3)
    assert "gives no probabilities; train with --calibration" in message


def test_options_that_do_not_go_together(rows: Path, calibrated: Path, tmp_path: Path) -> None:
    both = run("predict", calibrated, rows, "--probabilities", "--scores")
    assert both.code == 2
    assert "goes without --scores" in both.err
    alone = run("predict", calibrated, rows, "--table", "csv")
    assert alone.code == 2
    assert "goes with --scores or" in alone.err
    stream = run(
        "train", rows, "--stream", "--calibration", "sigmoid", "-o", tmp_path / "m.safetensors"
    )
    assert stream.code == 2
    assert "a stream forgets its rows" in " ".join(stream.err.split())
    search = run("select", rows, "--calibration", "sigmoid")
    assert search.code == 2
    assert "goes with --model only" in search.err


def test_score_shows_how_good_they_are(rows: Path, calibrated: Path, plain: Path) -> None:
    table = read(rows)
    p = load(calibrated).predict_proba(table.X)
    summary = done("score", calibrated, rows, "--json").json
    assert summary["log_loss"] == pytest.approx(log_loss(table.y, p))
    truth = np.equal.outer(table.y, np.arange(3))
    assert summary["brier"] == pytest.approx(((p - truth) ** 2).sum(axis=1).mean())
    shown = done("score", calibrated, rows).out
    assert f"log-loss           {summary['log_loss']:.4f}" in shown
    assert f"Brier score        {summary['brier']:.4f}" in shown
    assert "log_loss" not in done("score", plain, rows, "--json").json
    assert "log-loss" not in done("score", plain, rows).out


def test_losses_of_two_classes_and_unknown_labels() -> None:
    losses = Losses(np.array(["a", "b"]))
    assert losses.means() == {"log_loss": None, "brier": None}
    losses.add(["a", "z"], np.array([[0.75, 0.25], [0.5, 0.5]]))
    losses.add(["b"], np.array([[1.0, 0.0]]))
    means = losses.means()
    assert means["brier"] == pytest.approx((0.25**2 + 1) / 2)  # scikit-learn's brier_score_loss
    assert means["log_loss"] == pytest.approx((-np.log(0.75) - np.log(np.finfo(float).eps)) / 2)


def test_select_calibrates_the_best(rows: Path, tmp_path: Path) -> None:
    target = tmp_path / "m.safetensors"
    done(
        "select", rows, "--log2-C=-2:2:2", "--refinements", 0, "--folds", 3,
        "--calibration", "isotonic", "-q", "-o", target,
    )  # fmt: skip
    assert done("info", target, "--json").json["calibrator"] == {"name": "isotonic"}


def test_a_checkpoint_keeps_the_wish(rows: Path, tmp_path: Path) -> None:
    kept, target = tmp_path / "fit.ckpt", tmp_path / "m.safetensors"
    done("train", rows, "--calibration", "sigmoid", "--checkpoint", kept, "-q", "-o", target)
    done("train", rows, "--resume", kept, "-q", "-o", target)
    assert done("info", target, "--json").json["calibrator"] == {"name": "sigmoid"}
    done("train", rows, "--resume", kept, "--calibration", "temperature", "-q", "-o", target)
    assert done("info", target, "--json").json["calibrator"]["name"] == "temperature"


def test_an_interrupted_cross_fit_leaves_a_model(
    rows: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from polymargin.calibration import CrossFit

    def interrupted(self: CrossFit, *rest: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(CrossFit, "run", interrupted)
    target = tmp_path / "m.safetensors"
    result = run("train", rows, "--calibration", "sigmoid", "-o", target)
    assert result.code == 130
    assert "holds what was reached" in result.err
    assert "probabilities  none" in result.out
    assert "sigmoid was not learnt to the end" in done("info", target).out
    one_error(run("predict", target, rows, "--probabilities"), 3)


def test_converting_to_liblinear_tells_what_is_lost(calibrated: Path, tmp_path: Path) -> None:
    said = done("convert", calibrated, tmp_path / "m.txt", "--to", "liblinear")
    assert "no place for calibration='temperature'" in said.err
