"""Models of earlier versions load and score as they did."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polymargin.files import load, read_checkpoint, read_info
from polymargin.readers import Columns

FOLDER = Path(__file__).parent / "golden"
OTHERS = re.compile(r"checkpoint|\d-of-\d")  # checkpoints and shards
FILES = sorted(path for path in FOLDER.glob("*.safetensors") if not OTHERS.search(path.name))


def rows_of(stored: dict[str, Any]) -> Any:
    if "texts" in stored:
        return stored["texts"]
    if "rows" in stored:
        return np.array(stored["rows"], stored["dtype"])
    kinds = stored.get("kinds", {})
    values = [
        np.array(
            column,
            "datetime64[s]"
            if kinds.get(name) == "date"
            else float
            if isinstance(column[0], float)
            else object,
        )
        for name, column in zip(stored["names"], stored["columns"], strict=True)
    ]
    return Columns(tuple(stored["names"]), tuple(values), kinds)


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.stem)
def test_golden_model(file: Path) -> None:
    expected = json.loads(file.with_suffix(".json").read_text(encoding="utf-8"))
    X, model = rows_of(expected["X"]), load(file)
    decisions = model.decision_function(X)
    tolerance = 1e-9 if decisions.dtype == np.float64 else 1e-4
    np.testing.assert_allclose(decisions, expected["decisions"], rtol=tolerance, atol=tolerance)
    assert model.predict(X).tolist() == expected["labels"]
    assert hasattr(model, "predict_proba") == ("probabilities" in expected)
    if "probabilities" in expected:
        p = model.predict_proba(X)
        np.testing.assert_allclose(p, expected["probabilities"], rtol=0, atol=tolerance)
    info = read_info(file)
    assert info.reading == {"format": "none"}
    assert info.certificate is None or info.certificate["converged"]


def test_there_are_golden_models() -> None:
    assert len([file for file in FILES if file.name.startswith("v1-")]) >= 16


def test_golden_duals() -> None:
    model = load(FOLDER / "v1-kernel-rbf-duals.safetensors")
    assert model.duals_.shape == (30, 3)
    assert np.flatnonzero(np.diff(model.duals_.indptr)).tolist() == model.support_.tolist()
    X = rows_of(json.loads((FOLDER / "v1-kernel-rbf-duals.json").read_text())["X"])
    y = np.repeat([0, 1, 2], 10)
    model.set_params(warm_start=True).fit(X, y, np.arange(30) % 4.0)
    assert model.history_["gap"][0] < 1e-3


def test_golden_checkpoint() -> None:
    checkpoint = read_checkpoint(FOLDER / "v1-checkpoint.safetensors")
    assert (checkpoint.estimator, checkpoint.machine) == ("KernelSVM", "cs")
    assert (checkpoint.seconds, checkpoint.epochs, checkpoint.data_hash) == (1.5, 2.0, "00")
    assert checkpoint.state.csr.shape == (30, 3)


@pytest.mark.parametrize("name", ["v1-linear-stream", "v1-linear-stream-sparse"])
def test_golden_stream(name: str) -> None:
    model = load(FOLDER / f"{name}.safetensors")
    assert model.n_samples_seen_ == 30
    assert model.partial_fit(np.zeros((2, 4)), [0, 1]).n_samples_seen_ == 32
