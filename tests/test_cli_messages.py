"""What a new user meets: every message names options and files, and a way out."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cli_helpers import COMMANDS, SATIMAGE, Result, done, one_error, run

USAGE, INPUT = 2, 3

FILES = {
    "rows.csv": "a,b,label\n1,2,x\n3,4,y\n5,6,x\n2,2,y\n7,1,x\n1,9,y\n",
    "three.svm": "1 1:1\n2 1:2\n3 1:3\n",
    "one.svm": "1 1:1 2:2\n1 1:2 2:1\n",
    "nan.svm": "1 1:nan 2:2\n2 1:2\n",
    "measured.svm": "0.5 1:1\n0.7 1:2\n1.5 1:3\n",
    "measured.csv": "a,b,y\n1,2,0.5\n3,4,0.7\n",
    "gap.csv": "a,b,label\n1,2,x\n3,4,\n",
    "one-column.csv": "label|a\nx|1\n",
    "ragged.csv": "a,b\nx\n",
    "texts.tsv": "spam\thello world\nham\tgood day\n",
    "untold": "hello\n",
    "names.txt": "one\ntwo\n",
    "rows.liblinear": "solver_type L2R_L2LOSS_SVC\nnr_class 2\n",
    "rows.onnx": "\x08\x0a",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("first steps")
    for name, content in FILES.items():
        (path / name).write_text(content)
    done("train", path / "rows.csv", "-q", "--model", path / "rows.safetensors")
    kept = ("--checkpoint", path / "kernel.ckpt", "--model", path / "kernel.safetensors")
    done("train", path / "three.svm", "-q", "--kernel", "rbf", *kept)
    return path


@pytest.fixture(autouse=True)
def _inside(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(folder)
    yield
    assert not (folder / "out").exists()


TRAIN = ("train", "rows.csv", "--model", "out")
KERNEL = (*TRAIN, "--kernel", "rbf")
SELECT = ("select", "rows.csv")
REFUSED: dict[tuple[Any, ...], tuple[int, str]] = {
    # Numbers out of range
    (*TRAIN, "-C", "-1"): (USAGE, "'-C' / '--C': -1 is neither a positive number nor inf"),
    (*TRAIN, "-C", "nan"): (USAGE, "'-C' / '--C': nan is neither a positive number nor inf"),
    ("bench", "rows.csv", "-C", "inf"): (USAGE, "-C: scikit-learn's machines need a finite one"),
    ("bench", "rows.csv", "-C", "0"): (USAGE, "'-C' / '--C': 0 is neither a positive number nor"),
    (*TRAIN, "--tol", "inf"): (USAGE, "'--tol': inf is not a finite number"),
    (*TRAIN, "--max-iter", 10**30): (USAGE, "'--max-iter'"),
    (*TRAIN, "--seed", 10**30): (USAGE, "'--seed'"),
    (*TRAIN, "--n-features", 10**30): (USAGE, "'--n-features'"),
    (*TRAIN, "--checkpoint", "c", "--checkpoint-every", "inf"): (USAGE, "'--checkpoint-every'"),
    (*KERNEL, "--gamma", "-1"): (USAGE, "--gamma: '-1' is neither a positive number nor"),
    (*KERNEL, "--gamma", "nan"): (USAGE, "--gamma: 'nan' is neither a positive number nor"),
    (*KERNEL, "--cache-size", "0"): (USAGE, "'--cache-size': 0 is not a positive number"),
    (*KERNEL, "--coef0", "nan"): (USAGE, "'--coef0': nan is not a finite number"),
    (*KERNEL, "--degree", 10**30): (USAGE, "'--degree'"),
    (*SELECT, "--refinements", "20"): (USAGE, "'--refinements'"),
    (*SELECT, "--machines", "ww,"): (USAGE, "--machines"),
    (*SELECT, "--folds", "10"): (USAGE, "--folds 10: there are 6 rows"),
    ("select", "three.svm", "--folds", "2"): (USAGE, "no class has the 2 rows that --folds 2"),
    (*SELECT, "--kernel", "linear", "--log2-gamma", "0:1:1"): (USAGE, "--log2-gamma: the kernel"),
    # Names that are not known
    (*TRAIN, "--machine", "foo"): (USAGE, "unknown machine 'foo'; known are ww"),
    (*TRAIN, "--block-solver", "foo"): (USAGE, "unknown --block-solver 'foo'"),
    (*TRAIN, "--delimiter", "ab"): (USAGE, "--delimiter 'ab': use one character"),
    (*TRAIN, "--machne", "ww"): (USAGE, "--machine"),
    ("demo", "x.txt"): (USAGE, "FILE: a picture has a name that ends in one of"),
    # Data
    ("train", "measured.svm", "--model", "out"): (INPUT, "with --label-kind string"),
    ("train", "measured.csv", "--model", "out"): (INPUT, "name their column with --label, or"),
    ("train", "one.svm", "--model", "out"): (INPUT, "all rows have the label 1; two classes"),
    ("train", "nan.svm", "--model", "out"): (INPUT, "nan.svm:1:5: the value in '1:nan'"),
    ("train", "gap.csv", "--model", "out"): (INPUT, "is missing; remove the row"),
    ("train", "untold", "--model", "out"): (INPUT, "name it with --format: one of"),
    ("train", "one-column.csv", "--model", "out"): (INPUT, "say --delimiter '|'"),
    ("train", "ragged.csv", "--model", "out"): (INPUT, "1 cell where the header has 2"),
    ("train", "rows.csv", "--format", "npz", "--model", "out"): (INPUT, "format with --format"),
    ("train", "rows.csv", "--format", "parquet", "--model", "out"): (INPUT, "with --format"),
    ("train", "rows.csv", "--format", "text", "--model", "out"): (INPUT, "no tab: a line is"),
    ("train", "rows.safetensors", "--model", "out"): (INPUT, "this is a model, not data"),
    ("score", "rows.safetensors", "kernel.safetensors"): (INPUT, "this is a model, not data"),
    ("train", "texts.tsv", "--ngrams", "5-6", "--model", "out"): (INPUT, "shorten --ngrams"),
    ("path", "rows.csv", "--test", "three.svm"): (INPUT, "the rows to train on are csv; convert"),
    # Models
    ("predict", "rows.liblinear", "three.svm"): (INPUT, "polymargin convert makes a model file"),
    ("info", "rows.liblinear"): (INPUT, "polymargin convert makes a model file"),
    ("predict", "rows.onnx", "three.svm"): (INPUT, "ONNX is written, not read"),
    ("predict", "kernel.ckpt", "three.svm"): (INPUT, "polymargin train --resume goes on from it"),
    ("convert", "kernel.safetensors", "out", "--to", "liblinear"): (
        USAGE, "a LIBLINEAR model is linear; a kernel machine becomes safetensors or onnx"),
    ("convert", "rows.safetensors", "out", "--shuffle"): (INPUT, "this is a model, not data"),
    ("inspect", "kernel.safetensors", "three.svm", "--report", "out", "--image-shape", "2x3"): (
        USAGE, "--image-shape: 2x3 are 6 pixels, but rows have 1 feature"),
    ("inspect", "kernel.safetensors", "three.svm", "--report", "out", "--names", "names.txt"): (
        INPUT, "names.txt: 2 names for 1 feature"),
    ("inspect", "kernel.safetensors", "three.svm", "--by", "held-out"): (
        USAGE, "--by 'held-out' needs a class"),
}  # fmt: skip

# Words that only Python knows: names with an underscore, calls, classes, keyword arguments.
_PYTHON = re.compile(r"\b[a-z]+_[a-z_]+\b|\w\(\)|(?:Linear|Kernel)SVM|RandomState|\b\w+=")


@pytest.mark.parametrize("command", REFUSED, ids=lambda command: " ".join(map(str, command)))
def test_refusals_name_options(command: tuple[Any, ...]) -> None:
    code, message = REFUSED[command]
    said = one_error(run(*command), code)
    assert message in said
    assert not _PYTHON.search(said), said


def test_a_fit_that_does_not_converge_names_options() -> None:
    result = run("train", SATIMAGE, "--model", "new", "--max-iter", "1", "-q")
    assert "after 1 pass at a relative duality gap" in result.err
    assert "above --tol 0.001. Raise --max-iter, lower C" in result.err


@pytest.mark.parametrize("command", COMMANDS)
def test_help_does_not_show_a_value_where_there_is_none(command: str) -> None:
    shown = done(command, "--help").out
    assert "--help" in shown
    assert "bool" not in shown.lower()
    assert "bool" not in done("--help").out.lower()


def counts_in(result: Result) -> str:
    return " ".join(result.err.split())


def test_one_of_a_thing_is_not_several() -> None:
    single = Path("single.csv")
    single.write_text("a,label\n1,x\n2,y\n3,x\n4,y\n")
    trained = done("train", single, "--model", "single.safetensors")
    assert "4 rows, 1 feature, 2 classes" in counts_in(trained)
    assert "columns: 1 number" in counts_in(trained)
    Path("more.csv").write_text("a,label\n1,x\n")
    predicted = done("predict", "single.safetensors", "more.csv", "--output", "labels.txt")
    assert "1 label in labels.txt" in counts_in(predicted)
    Path("unknown.csv").write_text("a,label\n1,x\n1,z\n")
    scored = done("score", "single.safetensors", "unknown.csv")
    assert "errors: 1 row with labels that the model does not know: z" in counts_in(scored)
    shuffled = done("convert", "more.csv", "shuffled.csv", "--shuffle")
    assert "1 row in shuffled.csv" in counts_in(shuffled)
