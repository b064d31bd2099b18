"""Training, prediction and scores from files of all formats agree with the same in Python."""

import csv
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli_helpers import LETTER, LETTER_TEST, SATIMAGE, SATIMAGE_TEST, done, run
from conftest import data_file
from scipy import sparse
from sklearn.datasets import load_svmlight_file
from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer
from sklearn.pipeline import Pipeline

from polymargin import KernelSVM, LinearSVM, load
from polymargin.preprocessing import ColumnEncoder, Scaler, _hashing
from polymargin.readers import Columns

COLOURS = ("red", "green", "blue [bold]x[/bold]")


def read_svmlight(path: Path) -> tuple[Any, Any]:
    with lzma.open(path, "rb") as file:
        X, y = load_svmlight_file(file)
    return X, y.astype(np.int64)


def predicted_scores(model: Path, data: Path, *options: Any) -> tuple[list[str], list[str], Any]:
    """Names of the classes, predicted labels, and scores."""
    lines = done("predict", model, data, "--scores", *options).out.splitlines()
    header, *rows = (line.split("\t") for line in lines)
    assert header[0] == "label"
    return header[1:], [row[0] for row in rows], np.array([row[1:] for row in rows], float)


def check_against(model: Path, data: Path, expected: Pipeline, X: Any, y: Any) -> None:
    """Labels, scores and accuracy are those of a pipeline."""
    names, labels, scores = predicted_scores(model, data)
    assert names == [str(label) for label in expected.classes_]
    np.testing.assert_allclose(
        scores, expected[-1].class_scores(expected[:-1].transform(X)), rtol=1e-9, atol=1e-12
    )
    assert labels == [str(label) for label in expected.predict(X)]
    found = done("score", model, data, "--json").json
    assert found["accuracy"] == pytest.approx(expected.score(X, y))
    assert found["n"] == len(y)
    assert sum(row["n"] for row in found["classes"]) == len(y)


def test_satimage_as_in_python(tmp_path: Path) -> None:
    model = tmp_path / "sat.safetensors"
    done("train", SATIMAGE, "--scale", "minmax", "-C", 0.1, "-m", "cs", "-o", model)
    expected = Pipeline(
        [("scaler", Scaler("minmax")), ("svm", LinearSVM("cs", C=0.1, random_state=0))]
    ).fit(*read_svmlight(SATIMAGE))
    check_against(model, SATIMAGE_TEST, expected, *read_svmlight(SATIMAGE_TEST))


def test_letter_with_a_kernel_as_in_python(tmp_path: Path) -> None:
    X, y = read_svmlight(LETTER)
    X, y = X[:500].toarray(), y[:500]
    np.savez(tmp_path / "letter.npz", X=X, y=y)
    model = tmp_path / "letter.safetensors"
    options = ("--scale", "standard", "--kernel", "rbf", "--gamma", 0.1, "-C", 3)
    done("train", tmp_path / "letter.npz", *options, "-o", model)
    svm = KernelSVM(C=3.0, kernel="rbf", gamma=0.1, random_state=0)
    expected = Pipeline([("scaler", Scaler("standard")), ("svm", svm)]).fit(X, y)
    X_test, y_test = read_svmlight(LETTER_TEST)
    check_against(model, LETTER_TEST, expected, X_test, y_test)


def test_single_precision_is_kept(tmp_path: Path) -> None:
    model = tmp_path / "m.safetensors"
    done("train", SATIMAGE, "--scale", "maxabs", "--precision", "float32", "-C", 0.1, "-o", model)
    assert load(model)[-1].coef_.dtype == np.float32
    assert done("score", model, SATIMAGE_TEST, "--json").json["accuracy"] > 0.75


@pytest.fixture(scope="module")
def columns() -> tuple[Columns, Any]:
    """Numbers, some missing, and a category, some missing, with labels of words."""
    random = np.random.default_rng(0)
    width, height = random.normal(size=(2, 300))
    colour = random.choice(COLOURS, 300).astype(object)
    kind = np.where(width + height > 0.5, "big one", np.where(colour == "red", "red:", "smäll"))
    width[7::50] = np.nan
    colour[11::60] = None
    return Columns(("width", "height", "colour"), (width, height, colour)), kind.astype(object)


def part_of(columns: tuple[Columns, Any], rows: slice) -> tuple[Columns, Any]:
    table, labels = columns
    return Columns(table.names, tuple(values[rows] for values in table.values)), labels[rows]


def write_table(path: Path, table: Columns, labels: Any, delimiter: str = ",") -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow([*table.names, "kind"])
        for *cells, label in zip(*table.values, labels, strict=True):
            shown = ["" if cell is None or cell != cell else cell for cell in cells]
            writer.writerow([*shown, label])
    return path


def as_arrow(table: Columns, labels: Any) -> Any:
    pa = pytest.importorskip("pyarrow")
    arrays = [pa.array(values, from_pandas=True) for values in (*table.values, labels)]
    return pa.table(arrays, names=[*table.names, "kind"])


def write_parquet(path: Path, table: Columns, labels: Any) -> Path:
    made = as_arrow(table, labels)
    from pyarrow import parquet

    parquet.write_table(made, path)
    return path


def write_arrow(path: Path, table: Columns, labels: Any) -> Path:
    made = as_arrow(table, labels)
    from pyarrow import feather

    feather.write_feather(made, str(path))
    return path


TABLES: dict[str, Callable[..., Path]] = {
    "csv": write_table,
    "tsv": lambda path, table, labels: write_table(path, table, labels, "\t"),
    "parquet": write_parquet,
    "arrow": write_arrow,
}


@pytest.mark.parametrize("ending", TABLES)
def test_tables_as_in_python(tmp_path: Path, columns: tuple[Columns, Any], ending: str) -> None:
    first, rest = part_of(columns, slice(200)), part_of(columns, slice(200, None))
    data = TABLES[ending](tmp_path / f"train.{ending}", *first)
    other = TABLES[ending](tmp_path / f"test.{ending}", *rest)
    model = tmp_path / "m.safetensors"
    done("train", data, "--missing", "mean", "--scale", "standard", "-o", model)
    steps = [
        ("columns", ColumnEncoder("mean", scale="standard")),
        ("svm", LinearSVM(random_state=0)),
    ]
    check_against(model, other, Pipeline(steps).fit(*first), *rest)


@pytest.mark.parametrize("other", ["tsv", "parquet", "arrow"])
def test_a_model_of_one_table_format_reads_the_others(
    tmp_path: Path, columns: tuple[Columns, Any], other: str
) -> None:
    data = write_table(tmp_path / "train.csv", *columns)
    model, same = tmp_path / "m.safetensors", TABLES[other](tmp_path / f"same.{other}", *columns)
    done("train", data, "--missing", "mean", "-o", model)
    assert done("predict", model, same).out == done("predict", model, data).out


def test_columns_in_another_order_with_others_and_without_labels(
    tmp_path: Path, columns: tuple[Columns, Any]
) -> None:
    table, _labels = part_of(columns, slice(50))
    data = write_table(tmp_path / "train.csv", *columns)
    model = tmp_path / "m.safetensors"
    done("train", data, "--missing", "mean", "-o", model)
    lines = ["colour,more,height,width"]
    for width, height, colour in zip(*table.values, strict=True):
        lines.append(f"{colour or ''},zz,{height},{'' if width != width else width}")
    (tmp_path / "other.csv").write_text("\n".join(lines) + "\n")
    expected = done("predict", model, data).out.splitlines()[:50]
    assert done("predict", model, tmp_path / "other.csv").out.splitlines() == expected


def test_a_missing_column_is_named(tmp_path: Path, columns: tuple[Columns, Any]) -> None:
    model = tmp_path / "m.safetensors"
    data = write_table(tmp_path / "train.csv", *columns)
    done("train", data, "--missing", "mean", "-o", model)
    (tmp_path / "less.csv").write_text("width,colour,kind\n1,red,big one\n")
    for command in ("predict", "score"):
        result = run(command, model, tmp_path / "less.csv")
        assert result.code == 3
        assert "less.csv: there is no column 'height'" in result.err


def test_a_missing_number_is_refused_with_its_place(
    tmp_path: Path, columns: tuple[Columns, Any]
) -> None:
    data = write_table(tmp_path / "train.csv", *columns)
    result = run("train", data, "-o", tmp_path / "m.safetensors")
    assert result.code == 3
    assert "train.csv:9:1: the number of column 'width' is missing" in result.err
    assert "--missing mean" in result.err
    whole = part_of(columns, slice(6))
    model = tmp_path / "m.safetensors"
    done("train", write_table(tmp_path / "whole.csv", *whole), "-o", model)
    result = run("predict", model, data)
    assert result.code == 3
    assert "train.csv:9:1" in result.err


@pytest.mark.parametrize("is_sparse", [False, True])
def test_npz_as_in_python(tmp_path: Path, is_sparse: bool) -> None:
    X, y = read_svmlight(SATIMAGE)
    X, y = X[:800], y[:800]
    data = tmp_path / "sat.npz"
    if is_sparse:
        rows = sparse.csr_array(X)
        arrays = {"data": rows.data, "indices": rows.indices, "indptr": rows.indptr}
        np.savez(data, **arrays, shape=rows.shape, format=np.array(b"csr"), y=y)
    else:
        np.savez(data, X=X.toarray(), y=y)
    model = tmp_path / "m.safetensors"
    done("train", data, "--scale", "maxabs", "-C", 0.1, "-o", model)
    steps = [("scaler", Scaler("maxabs")), ("svm", LinearSVM(C=0.1, random_state=0))]
    expected = Pipeline(steps).fit(X.toarray(), y)
    check_against(model, SATIMAGE_TEST, expected, *read_svmlight(SATIMAGE_TEST))
    assert done("score", model, data, "--json").json["n"] == 800


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str], list[str]]:
    """Part of clinc150."""
    with lzma.open(data_file("clinc150.train.tsv.xz"), "rt", encoding="utf-8") as file:
        lines = [line for line in file if hash_of(line.partition("\t")[0]) % 15 == 0]
    path = tmp_path_factory.mktemp("texts") / "clinc.tsv"
    path.write_text("".join(lines), encoding="utf-8")
    labels, found = zip(*(line.rstrip("\n").split("\t") for line in lines), strict=True)
    return path, list(found), list(labels)


def hash_of(text: str) -> int:
    return sum(text.encode())


@pytest.mark.parametrize("kind", ["tfidf", "hashing"])
def test_texts_as_in_python(
    tmp_path: Path, texts: tuple[Path, list[str], list[str]], kind: str
) -> None:
    path, X, labels = texts
    y = np.array(labels, dtype=object)
    model = tmp_path / "m.safetensors"
    options = ("--text-features", kind, "--ngrams", "1-2", "--hash-bits", 12)
    done("train", path, *options, "-o", model)
    vectorizer: Any = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True)
    if kind == "hashing":
        vectorizer = HashingVectorizer(
            ngram_range=(1, 2), n_features=2**12, alternate_sign=False, dtype=np.float64
        )
    expected = Pipeline([("text", vectorizer), ("svm", LinearSVM(random_state=0))]).fit(X, y)
    check_against(model, path, expected, X, y)


@pytest.mark.parametrize("how", [(), ("--stream",)])
@pytest.mark.parametrize("name", ["texts.tsv", "table.csv"])
def test_jobs_are_threads_that_hash_texts(
    tmp_path: Path, name: str, how: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[int] = []
    compiled = _hashing.hash_terms

    def hash_terms(*texts: Any, **options: Any) -> Any:
        threads.append(options["n_threads"])
        return compiled(*texts, **options)

    monkeypatch.setattr(_hashing, "hash_terms", hash_terms)
    data, model = tmp_path / name, tmp_path / "m.safetensors"
    between = "\t" if name == "texts.tsv" else ","
    header = "" if name == "texts.tsv" else "label,text\n"
    rows = (f"{'ab'[i % 2]}{between}words {i} {'xy'[i % 2] * 3}\n" for i in range(60))
    data.write_text(header + "".join(rows))
    options = ("--text-features", "hashing", "--hash-bits", 8, "-q")
    kind = () if name == "texts.tsv" else ("--column", "text=text")
    done("train", data, *options, *kind, *how, "--jobs", 2, "-o", model)
    assert set(threads) == {2}
    for command in ("predict", "score"):
        for given, expected in (((), 1), (("--jobs", 3), 3)):
            threads.clear()
            done(command, model, data, *given)
            assert set(threads) == {expected}


def test_packed_files_and_standard_input(tmp_path: Path) -> None:
    text = lzma.decompress(SATIMAGE.read_bytes())
    plain = tmp_path / "a.svm"
    plain.write_bytes(text)
    options = ("--scale", "minmax", "-C", 0.1, "-q", "-o")
    done("train", SATIMAGE, *options, tmp_path / "packed.safetensors")
    done("train", plain, *options, tmp_path / "plain.safetensors")
    done("train", "-", *options, tmp_path / "stdin.safetensors", stdin=text)
    expected = load(tmp_path / "packed.safetensors")[-1].coef_
    for name in ("plain", "stdin"):
        np.testing.assert_array_equal(load(tmp_path / f"{name}.safetensors")[-1].coef_, expected)
    model = tmp_path / "plain.safetensors"
    assert done("predict", model, "-", stdin=text).out == done("predict", model, plain).out
    assert done("score", model, "-", "--json", stdin=text).json["n"] == 4435


def test_a_file_without_a_header(tmp_path: Path) -> None:
    data = tmp_path / "data.csv"
    data.write_text("".join(f"{i / 7:.3f},{i % 5},{i % 3}\n" for i in range(60)))
    refused = run("train", data, "-o", tmp_path / "m.safetensors")
    assert refused.code == 3
    assert "data.csv:1: " in refused.err
    assert "--no-header" in refused.err
    found = done("train", data, "--no-header", "-o", tmp_path / "m.safetensors", "--json").json
    assert (found["n"], found["d"]) == (60, 2)
    assert done("score", tmp_path / "m.safetensors", data, "--json").json["n"] == 60


def test_other_delimiters_and_columns_at_prediction(tmp_path: Path) -> None:
    rows = [(f"{i / 7:.3f}", "ab"[i % 2], f"c{i % 3}") for i in range(60)]
    data = tmp_path / "data.csv"
    data.write_text("size,kind,label\n" + "".join(",".join(row) + "\n" for row in rows))
    done("train", data, "-q", "-o", tmp_path / "m.safetensors")
    data.write_text("size;kind;label\n" + "".join(";".join(row) + "\n" for row in rows))
    assert done("score", tmp_path / "m.safetensors", data, "--json").json["n"] == 60
    arrow = pytest.importorskip("pyarrow")
    size, kind, label = zip(*rows, strict=True)
    when = arrow.array([0] * 60, arrow.timestamp("us"))
    columns = {"when": when, "size": [float(x) for x in size], "kind": kind, "label": label}
    pytest.importorskip("pyarrow.parquet").write_table(
        arrow.table(columns), tmp_path / "data.parquet"
    )
    found = done("score", tmp_path / "m.safetensors", tmp_path / "data.parquet", "--json").json
    assert found["n"] == 60


def test_labels_that_look_measured(tmp_path: Path) -> None:
    data = tmp_path / "data.csv"
    data.write_text("size,stars\n" + "1,1.5\n2,2\n3,3.5\n" * 9)
    refused = run("train", data, "-o", tmp_path / "m.safetensors")
    assert refused.code == 3
    assert "--label-kind string" in refused.err
    done("train", data, "--label-kind", "string", "-q", "-o", tmp_path / "m.safetensors")
    assert load(tmp_path / "m.safetensors").classes_.tolist() == ["1.5", "2", "3.5"]
