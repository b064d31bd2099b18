"""Writes the model files of this folder, which every later version has to read.

``python tests/golden/make_golden.py`` adds those that are not there yet; a file that is there is
never written again. That of several processes, in shards, is for
``mpiexec -n 3 python tests/golden/make_golden.py``.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
from mpi4py import MPI
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, Normalizer, StandardScaler

from polymargin import Bisection, KernelSVM, LinearSVM, distributed
from polymargin.files import StoredFit, data_hash, load, save, write_checkpoint
from polymargin.preprocessing import ColumnEncoder, Scaler
from polymargin.readers import Columns
from polymargin.storage import FORMAT

FOLDER = Path(__file__).parent
SAVED_WITH: dict[str, dict[str, Any]] = {
    f"{name}-float16": {"dtype": "float16"} for name in ("linear", "linear-sparse", "kernel")
}
TEXTS = ["the cat sat", "a dog ran home", "der Löwe schlief", "cats, dogs", "löwe ran"] * 2
TOPICS = np.array(["cat", "dog", "löwe", "cat", "löwe"] * 2, dtype=object)


def golden_models() -> dict[str, tuple[Any, Any]]:
    """Models by name, with rows to score."""
    X, y = load_iris(return_X_y=True)
    X, y = X[::5] - 3.0, y[::5]
    names = np.array(["setosa", "versicolor", "virginica"])
    few = X * (np.abs(X) > 1.5)
    columns = Columns(
        ("size", "colour"), (X[:, 0], np.array(["red", "grün", None] * 10, dtype=object))
    )
    every_kind = Columns(
        ("size", "colour", "day", "time", "remark", "note"),
        (
            1e4 * X[:, 0],
            np.array(["red", "grün", None] * 10, dtype=object),
            np.arange(0, 3000, 100).astype("datetime64[D]").astype("datetime64[s]"),
            np.arange(0, 300_000, 10_000).astype("datetime64[s]"),
            np.array(TEXTS * 3, dtype=object),
            np.array(TEXTS[::-1] * 3, dtype=object),
        ),
        {"remark": "text", "note": "text:hashing"},
    )
    options: dict[str, Any] = {"tol": 1e-4, "random_state": 0}
    stream = LinearSVM("llw", C=0.1, random_state=0)
    for part in (slice(0, 15), slice(15, 30)):
        stream.partial_fit(X[part], y[part], classes=[0, 1, 2])
    lists = LinearSVM("cs", weights="sparse", random_state=0)
    lists.partial_fit(few.astype(np.float32), y, classes=[0, 1, 2])
    return {
        "linear-dense": (LinearSVM("ww", **options).fit(X, names[y]), X),
        "linear-single": (
            LinearSVM("cs", class_weight={0: 2.0}, block_solver=Bisection(tol=1e-6), **options)
            .fit(X.astype(np.float32), y > 0),
            X.astype(np.float32),
        ),
        "linear-sparse": (LinearSVM("ovr", weights="sparse", **options).fit(few, y), few),
        "linear-stream": (stream, X),
        "linear-stream-sparse": (lists, few.astype(np.float32)),
        "linear-float16": (LinearSVM("ww", **options).fit(X, names[y]), X),
        "linear-sparse-float16": (
            LinearSVM("cs", weights="sparse", **options)
            .fit(few.astype(np.float32), y), few.astype(np.float32)
        ),
        "kernel-float16": (KernelSVM(C=2.0, gamma=0.3, **options).fit(X, y), X),
        "kernel-rbf-duals": (
            KernelSVM("cs", C=2.0, gamma=0.3, **options).fit(X, y, np.arange(30) % 4.0), X
        ),
        "kernel-poly-sparse": (
            KernelSVM("llw", kernel="poly", gamma=0.1, coef0=1.0, fit_intercept=True, **options)
            .fit(sparse.csr_array(few), y.astype(np.float64)),
            few,
        ),
        "kernel-laplacian": (KernelSVM(kernel="laplacian", **options).fit(X, y), X),
        "kernel-precomputed": (KernelSVM(kernel="precomputed", **options).fit(X @ X.T, y), X @ X.T),
        "linear-temperature": (
            LinearSVM("ww", calibration="temperature", **options).fit(X, names[y]), X
        ),
        "linear-isotonic-two": (
            LinearSVM("cs", calibration="isotonic", **options).fit(X.astype(np.float32), y > 1),
            X.astype(np.float32),
        ),
        "kernel-sigmoid": (KernelSVM(calibration="sigmoid", **options).fit(X, y), X),
        "pipeline-scaler": (
            make_pipeline(Scaler("standard"), Normalizer(), KernelSVM(**options)).fit(X, y), X
        ),
        "pipeline-sklearn-scalers": (
            make_pipeline(StandardScaler(), MinMaxScaler((0, 2)), LinearSVM(**options)).fit(X, y),
            X,
        ),
        "pipeline-columns": (
            make_pipeline(ColumnEncoder(), Scaler(), LinearSVM(**options)).fit(columns, y), columns
        ),
        "pipeline-kinds": (
            make_pipeline(
                ColumnEncoder("mean", "standard", hash_bits=5, ngram_range=(1, 2)),
                LinearSVM(**options),
            ).fit(every_kind, y),
            every_kind,
        ),
        "pipeline-ranges": (
            make_pipeline(ColumnEncoder("mean", "minmax", hash_bits=5), LinearSVM(**options))
            .fit(every_kind, y),
            every_kind,
        ),
        "pipeline-hashing": (
            make_pipeline(
                HashingVectorizer(n_features=32, alternate_sign=False, ngram_range=(1, 2)),
                TfidfTransformer(),
                LinearSVM(weights="sparse", **options),
            ).fit(TEXTS, TOPICS),
            TEXTS,
        ),
        "pipeline-tfidf": (
            make_pipeline(TfidfVectorizer(stop_words=["the"]), LinearSVM(**options))
            .fit(TEXTS, TOPICS),
            TEXTS,
        ),
    }  # fmt: skip


def as_json(X: Any) -> Any:
    """Rows as plain values; `rows_of` in the test makes them rows again."""
    if isinstance(X, list):
        return {"texts": X}
    if isinstance(X, np.ndarray):
        return {"dtype": X.dtype.name, "rows": X.tolist()}
    values = [v.astype(str) if v.dtype.kind == "M" else v for v in X.values]
    columns = {"names": X.names, "columns": [v.tolist() for v in values]}
    return (
        columns if set(X.kinds.values()) <= {"number", "category"} else columns | {"kinds": X.kinds}
    )


def main() -> None:
    if MPI.COMM_WORLD.size > 1:
        add_shards()
    else:
        add_whole()


def add_shards() -> None:
    """A model of which each process has a part, and writes it."""
    X, y = load_iris(return_X_y=True)
    X, names = X[::5] - 3.0, np.array(["setosa", "versicolor", "virginica"])[y[::5]]
    options: dict[str, Any] = {"tol": 1e-4, "random_state": 0, "gather": False}
    model = distributed.LinearSVM("llw", C=0.1, **options).fit(X, names)
    file = FOLDER / f"v{FORMAT[0]}-linear-shards.safetensors"
    if MPI.COMM_WORLD.bcast(file.exists()):
        return
    save(model, file, data_hash=data_hash(X), reading={"format": "none"})
    expected = what_is_expected(model, X)
    if MPI.COMM_WORLD.rank == 0:
        write_expected(file, expected)


def what_is_expected(model: Any, X: Any) -> dict[str, Any]:
    expected = {
        "X": as_json(X),
        "decisions": model.decision_function(X).tolist(),
        "labels": model.predict(X).tolist(),
    }
    if hasattr(model, "predict_proba"):
        expected["probabilities"] = model.predict_proba(X).tolist()
    return expected


def write_expected(file: Path, expected: dict[str, Any]) -> None:
    text = json.dumps(expected, ensure_ascii=False, separators=(",", ":"))
    file.with_suffix(".json").write_text(text + "\n", encoding="utf-8")


def add_whole() -> None:
    """All that one process writes."""
    for name, (model, X) in golden_models().items():
        file = FOLDER / f"v{FORMAT[0]}-{name}.safetensors"
        if file.exists():
            continue
        more = SAVED_WITH.get(name, {})
        save(model, file, data_hash=data_hash(X), reading={"format": "none"}, **more)
        if more:
            model = load(file)  # which is not quite what was saved
        write_expected(file, what_is_expected(model, X))
    file = FOLDER / f"v{FORMAT[0]}-checkpoint.safetensors"
    if not file.exists():
        model, _ = golden_models()["kernel-rbf-duals"]
        write_checkpoint(file, StoredFit.of(model, seconds=1.5, epochs=2.0, data_hash="00"))


if __name__ == "__main__":
    main()
