"""Counts of words: ``--scale tfidf``, and the hint at it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli_helpers import done, one_error, run
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.pipeline import Pipeline, make_pipeline

from polymargin import LinearSVM, load, read_info
from polymargin.readers import read

HINT = "--scale tfidf"


def counts(n: int = 90, d: int = 3000, seed: int = 0) -> tuple[Any, Any]:
    """Documents of three classes, which prefer words of their own."""
    random = np.random.default_rng(seed)
    y = np.arange(n) % 3
    X = np.zeros((n, d))
    for row, label in enumerate(y):
        words = np.where(random.random(30) < 0.5, 3 * random.integers(0, 40, 30) + label, 0)
        words = np.where(words == 0, random.integers(0, d, 30), words)
        np.add.at(X[row], words, random.integers(1, 5, 30))
    return sparse.csr_array(X), y


def write(path: Path, X: Any, y: Any) -> Path:
    if path.suffix == ".npz":
        X = sparse.csr_array(X)
        np.savez(path, data=X.data, indices=X.indices, indptr=X.indptr, shape=X.shape,
                 format=b"csr", y=y)  # fmt: skip
        return path
    rows = sparse.csr_array(X)
    with path.open("w") as file:
        for i, label in enumerate(y):
            part = slice(rows.indptr[i], rows.indptr[i + 1])
            pairs = zip(rows.indices[part], rows.data[part], strict=True)
            file.write(f"{label} " + " ".join(f"{j + 1}:{v:g}" for j, v in pairs) + "\n")
    return path


@pytest.mark.parametrize("name", ["words.svm", "words.npz"])
def test_like_scikit_learn(tmp_path: Path, name: str) -> None:
    X, y = counts()
    data = write(tmp_path / name, X, y)
    test = write(tmp_path / f"test-{name}", *counts(seed=1))
    model = tmp_path / "m.safetensors"
    done("train", data, "--scale", "tfidf", "-o", model)
    other = read(test, n_features=X.shape[1])
    expected: Pipeline = make_pipeline(
        TfidfTransformer(sublinear_tf=True), LinearSVM(random_state=0)
    ).fit(X, y)
    found = load(model)
    np.testing.assert_allclose(
        found.decision_function(other.X), expected.decision_function(other.X), atol=1e-6
    )
    assert read_info(model).steps[0] == ("tfidf", "TfidfTransformer")
    predicted = done("predict", model, test).out.split()
    assert predicted == [str(label) for label in expected.predict(other.X)]
    accuracy = done("score", model, test, "--json").json["accuracy"]
    assert accuracy == pytest.approx(expected.score(other.X, other.y))
    done("inspect", model, data)


def test_zeros_that_are_written_count_nothing(tmp_path: Path) -> None:
    X, y = counts()
    plain = write(tmp_path / "plain.svm", X, y)
    zeros = tmp_path / "zeros.svm"
    zeros.write_text(plain.read_text().replace("\n", " 3001:0\n"))
    models = [tmp_path / f"{file.stem}.safetensors" for file in (plain, zeros)]
    for file, model in zip((plain, zeros), models, strict=True):
        done("train", file, "--scale", "tfidf", "--n-features", 3001, "-o", model)
    scores = [
        done("predict", model, file, "--scores").out for model in models for file in (plain, zeros)
    ]
    assert scores == scores[:1] * 4


@pytest.mark.parametrize(
    ("change", "is_told"),
    [
        (lambda X: X, True),
        (lambda X: X > 0, False),  # whether, not how often
        (lambda X: X / 2, False),
        (lambda X: -X, False),
        (lambda X: X[:, :500], False),
        (lambda X: sparse.hstack([X, np.ones((X.shape[0], 400))]), False),
    ],
)
def test_hint(tmp_path: Path, change: Any, is_told: bool) -> None:
    X, y = counts()
    data = write(tmp_path / "words.svm", sparse.csr_array(change(X)).astype(float), y)
    shown = done("train", data, "-o", tmp_path / "m.safetensors").err
    assert (HINT in " ".join(shown.split())) == is_told
    for options in (("--scale", "none"), ("--scale", "maxabs"), ("-q",)):
        assert HINT not in done("train", data, *options, "-o", tmp_path / "m.safetensors").err


def test_refused(tmp_path: Path) -> None:
    X, y = counts(30)
    options = ("--scale", "tfidf", "-o", tmp_path / "m.safetensors")
    done("train", write(tmp_path / "words.svm", X, y), *options)
    error = one_error(run("predict", options[-1], write(tmp_path / "less.svm", -X, y)), 3)
    assert "less.svm: tf-idf is for counts, and there is a value -" in error
    for change in (X / 2, -X):
        data = write(tmp_path / "words.svm", change, y)
        error = one_error(run("train", data, *options), 3)
        assert "words.svm: --scale tfidf is for counts, and there is a value " in error
    table, texts = tmp_path / "t.csv", tmp_path / "t.tsv"
    table.write_text("a,label\n1,x\n2,y\n")
    texts.write_text("x\tone word\ny\tother words\n")
    for file in (table, texts):
        assert "--scale tfidf is for counts" in one_error(run("train", file, *options), 3)
    data = write(tmp_path / "words.svm", X, y)
    error = one_error(run("train", data, "--stream", *options), 2)
    assert "--scale: tfidf does not go with --stream" in error
