"""Damaged, foreign and hostile files are refused in words, in little memory and time."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
from fuzz.fuzz_models import CORPUS, Tensor, bases, check, mutated, packed, unpacked
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from polymargin.errors import ModelFileError
from polymargin.files import load, read_checkpoint, read_info

GOLDEN = Path(__file__).parent / "golden"
BASES = bases()

Change = Callable[[Any, dict[str, Tensor]], None]


def base(name: str) -> bytes:
    return (GOLDEN / f"v1-{name}.safetensors").read_bytes()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "model.safetensors"


def refuse(file: Path, content: bytes, message: str) -> None:
    file.write_bytes(content)
    with pytest.raises(ModelFileError, match=message) as caught:
        load(file)
    assert str(file) in str(caught.value)


def with_header(text: bytes, data: bytes = b"") -> bytes:
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + data


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "0 bytes: it is cut off or empty"),
        (b"\x80\x04\x95\x10\x00\x00\x00\x00 pickle", "not in the safetensors format"),
        (b"\xff" * 7 + b"\x7f{}", "the header should have .* cut off"),
        (b"\x08" + bytes(6) + b"\x01{}" + b" " * 6, "the header should have 72057594037927944 by"),
        (b"\x08" + bytes(7) + b"{}", "the header should have 8 bytes and the file has 10"),
        (b"\x03" + bytes(7) + b"{} ", "do not start at a multiple of 8"),
        (with_header(b'{"a": '), "the safetensors header is not valid JSON"),
        (with_header(b'{"a": "\xff"}'), "the header is not UTF-8"),
        (with_header(b'{"a": "\\ud800"}'), "not valid Unicode"),
        (with_header(b'{"a": NaN}'), "holds NaN"),
        (with_header(b'{"a": 1, "a": 2}'), "the key 'a' twice"),
        (with_header(b'{"a":' * 5000 + b"1" + b"}" * 5000), "nested too deeply"),
        (with_header(b'{"a":' + b"[" * 32 + b"]" * 32 + b"}"), "nested too deeply"),
        (with_header(b'{"a":' + b"[" * 31 + b"]" * 31 + b"}"), "not one of polymargin"),
        (with_header(b'{"a":' + b"9" * 5000 + b"}"), "not valid JSON"),
        (with_header(b"{}"), "a safetensors file, but not one of polymargin"),
        (with_header(b'{"__metadata__": {"format": "pt"}}'), "but not one of polymargin"),
        (with_header(b'{"__metadata__": {"polymargin": 1}}'), "the header was altered"),
        (with_header(b'{"__metadata__": {"polymargin": "{}"}}'), "the header was altered"),
        (with_header(b"{" + b" " * (9 << 20) + b"}"), "more than the 4194304 allowed"),
        (packed([], {}), "the header is not a JSON object"),
        (packed({}, {}), "format is missing"),
        (packed({"format": [1]}, {}), "the version of the format is not two numbers"),
        (packed({"format": [1, 0]}, {}), "kind is missing"),
        (packed({"format": [0, 9]}, {}), "there is no format 0.9"),
        (packed({"format": [1, 0], "kind": "x"}, {}), "the unknown kind 'x'"),
        (
            packed({"format": [2, 1], "kind": "model", "version": "9.0"}, {}),
            r"format 2\.1, and this version of polymargin reads up to 1\.x; .* written by '9\.0'",
        ),
    ],
)  # fmt: skip
def test_bad_headers(content: bytes, message: str, file: Path) -> None:
    refuse(file, content, message)


def test_foreign_safetensors(file: Path) -> None:
    safetensors.numpy.save_file({"weight": np.zeros(3, np.float16)}, file)
    with pytest.raises(ModelFileError, match="a safetensors file, but not one of polymargin"):
        load(file)


def test_what_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "absent")
    with pytest.raises(IsADirectoryError):
        load(tmp_path)
    with pytest.raises(ModelFileError, match="not a regular file"):
        load("/dev/null")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ModelFileError, match="this is a pipe"):
        load(tmp_path / "pipe")


def test_a_newer_minor_format_is_read(file: Path) -> None:
    document, tensors = unpacked(base("linear-dense"))
    file.write_bytes(packed(document | {"format": [1, 99], "new": {"a": 1}}, tensors))
    assert load(file).predict([[0.0] * 4]).shape == (1,)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"shape": [3]}, "not described by dtype, shape and data_offsets"),
        ({"dtype": "BF16", "shape": [4], "data_offsets": [0, 8]}, "a type that models do not have"),
        ({"dtype": ["F64"], "shape": [1], "data_offsets": [0, 8]}, "a type that models do not"),
        ({"dtype": "F64", "shape": [-1], "data_offsets": [0, 8]}, "an impossible shape"),
        ({"dtype": "F64", "shape": [True], "data_offsets": [0, 8]}, "an impossible shape"),
        ({"dtype": "F64", "shape": [1.0], "data_offsets": [0, 8]}, "an impossible shape"),
        ({"dtype": "F64", "shape": [1, 1, 1], "data_offsets": [0, 8]}, "an impossible shape"),
        ({"dtype": "F64", "shape": [1], "data_offsets": [0, 8, 9]}, "an impossible shape"),
        ({"dtype": "F64", "shape": [2**62, 2**62], "data_offsets": [0, 8]}, "impossible shape"),
        ({"dtype": "F64", "shape": [0, 2**48, 0], "data_offsets": [0, 0]}, "impossible shape"),
        ({"dtype": "F64", "shape": [2**30, 2**30], "data_offsets": [0, 8]}, "is too large"),
        ({"dtype": "F64", "shape": [2], "data_offsets": [0, 8]}, "does not fit its shape"),
        ({"dtype": "F64", "shape": [1], "data_offsets": [8, 0]}, "does not fit its shape"),
        ({"dtype": "F64", "shape": [1], "data_offsets": [8, 16]}, "leaves a gap before it"),
        ({"dtype": "F64", "shape": [2], "data_offsets": [0, 16]}, "overlaps another"),
        ({"dtype": "U8", "shape": [3], "data_offsets": [0, 3]}, "leaves a gap|too long"),
        ([], "not described"),
    ],
)
def test_bad_tensor_entries(entry: Any, message: str, file: Path) -> None:
    document, _ = unpacked(base("linear-dense"))
    length = int.from_bytes(packed(document, {})[:8], "little")
    header = json.loads(packed(document, {})[8 : 8 + length])
    header["x"] = entry
    if message == "overlaps another":
        header["y"] = {"dtype": "F64", "shape": [1], "data_offsets": [8, 16]}
    refuse(file, with_header(json.dumps(header).encode(), bytes(16)), message)


def test_too_many_tensors(file: Path) -> None:
    document, tensors = unpacked(base("linear-dense"))
    tensors |= {f"x{i}": ("U8", [0], b"") for i in range(10_001)}
    refuse(file, packed(document, tensors), "tensors, more than 10000")


def setting(*path: Any) -> Change:
    """Sets the value at a path of the document; the last item is the value."""

    def change(document: Any, tensors: dict[str, Tensor]) -> None:
        for key in path[:-2]:
            document = document[key]
        document[path[-2]] = path[-1]

    return change


def tensor(name: str, values: Any, dtype: str | None = None) -> Change:
    codes = {"float64": "F64", "float32": "F32", "int64": "I64", "int32": "I32", "uint8": "U8"}

    def change(document: Any, tensors: dict[str, Tensor]) -> None:
        array = np.array(values, dtype)
        tensors[name] = (codes[array.dtype.name], list(array.shape), array.tobytes())

    return change


def item(name: str, dtype: str, at: int, value: Any) -> Change:
    def change(document: Any, tensors: dict[str, Tensor]) -> None:
        code, shape, data = tensors[name]
        array = np.frombuffer(data, dtype).copy()
        array[at] = value
        tensors[name] = (code, shape, array.tobytes())

    return change


def without(name: str) -> Change:
    return lambda document, tensors: tensors.pop(name) and None


def minmax_without_offsets(document: Any, tensors: dict[str, Tensor]) -> None:
    setting("steps", 0, "parameters", "scale", "minmax")(document, tensors)
    without("0.offsets")(document, tensors)


LAST = ("steps", -1)
BAD_CONTENTS: list[tuple[str, Change, str]] = [
    ("linear-dense", without("0.coef_transposed"), "tensor '0.coef_transposed' is missing"),
    ("linear-dense", item("0.coef_transposed", "f8", 3, np.nan), "holds NaN or infinity"),
    ("linear-dense", item("0.intercept", "f8", 0, np.inf), "holds NaN or infinity"),
    ("linear-dense", tensor("0.intercept", [1.0]), r"has the shape \(1,\), not 3"),
    ("linear-dense", tensor("0.intercept", [1, 2, 3], "float32"), "of the wrong type float32"),
    ("linear-dense", tensor("0.coef_transposed", np.zeros((3, 4))), r"shape \(3, 4\), not 4 x 3"),
    ("linear-dense", setting(*LAST, "n_features", 5), r"not 5 x 3"),
    ("linear-dense", setting(*LAST, "n_features", True), "n_features should be an integer"),
    ("linear-dense", setting(*LAST, "n_features", -1), r"n_features=-1 is outside \[1"),
    ("linear-dense", setting(*LAST, "weights", "both"), "dense or sparse, not 'both'"),
    ("linear-dense", setting(*LAST, "class", "Pipeline"), "the last step is no estimator"),
    ("linear-dense", setting(*LAST, "class", 3), "class should be text"),
    ("linear-dense", setting("format", [1, -1]), "is not two numbers"),
    ("linear-dense", setting("format", [1.5, 0]), "is not two numbers"),
    ("linear-dense", setting("steps", []), "1 to 20 steps, not 0"),
    ("linear-dense", setting("steps", [3]), "should be a list of objects"),
    ("linear-dense", setting("is_pipeline", 1), "is_pipeline should be true or false"),
    ("linear-dense", setting(*LAST, "parameters", "C", -1), "'C' parameter of LinearSVM must be"),
    ("linear-dense", setting(*LAST, "parameters", "C", "x"), "'C' parameter of LinearSVM must be"),
    ("linear-dense", setting(*LAST, "parameters", "x", 1), "unexpected keyword argument"),
    ("linear-dense", setting(*LAST, "parameters", "machine", "x"), "unknown machine 'x'"),
    ("linear-dense", setting(*LAST, "parameters", "solver", "x"), "unknown solver 'x'"),
    (
        "linear-dense",
        setting(*LAST, "parameters", "block_solver", {"options": "eval", "fields": {}}),
        "no options called 'eval'",
    ),
    (
        "linear-dense",
        setting(*LAST, "parameters", "block_solver", {"options": "Greedy", "fields": {"name": 1}}),
        "the parameters of Greedy are wrong",
    ),
    ("linear-dense", setting(*LAST, "parameters", "C", {"number": "9"}), "should be a number"),
    ("linear-dense", setting(*LAST, "parameters", "C", {"code": "1"}), "unknown form 'code'"),
    ("linear-dense", setting(*LAST, "labels", "bytes"), "of the unknown type 'bytes'"),
    ("linear-dense", setting(*LAST, "certificate", "n_iter", -1), "n_iter=-1 is outside"),
    ("linear-dense", setting(*LAST, "certificate", "dual_gap", "x"), "should be a number"),
    ("linear-dense", setting(*LAST, "certificate", "dual_gap", 10**400), "beyond the range"),
    ("linear-dense", tensor("0.history", np.full((1, 7), -1.0)), "impossible numbers of active"),
    ("linear-dense", tensor("0.history", [[0.0] * 6 + [-1.0]]), "impossible numbers of active"),
    ("linear-dense", tensor("0.history", [[0.0] * 6 + [2.0**54]]), "impossible numbers of active"),
    ("linear-dense", item("0.classes.bytes", "u1", 0, 255), "is not UTF-8"),
    ("linear-dense", item("0.classes.bytes", "u1", 0, ord("z")), "in ascending order"),
    ("linear-dense", item("0.classes.offsets", "i8", 0, -1), "does not ascend from 0"),
    ("linear-dense", item("0.classes.offsets", "i8", 1, -1), "does not ascend from 0"),
    ("linear-dense", item("0.classes.offsets", "i8", 1, 1 << 60), "does not ascend from 0"),
    ("linear-dense", item("0.classes.offsets", "i8", 3, 1), "does not ascend from 0"),
    ("linear-dense", tensor("0.classes.offsets", [], "int64"), "does not ascend from 0"),
    ("linear-sparse", item("0.classes", "i8", 0, 1), "in ascending order"),
    ("linear-sparse", setting(*LAST, "labels", "bool"), "outside the range of bool"),
    ("linear-sparse", item("0.coef.indices", "i4", 0, 4), r"is outside \[0, 4\)"),
    ("linear-sparse", item("0.coef.indices", "i4", 0, -1), r"is outside \[0, 4\)"),
    ("linear-sparse", item("0.coef.indices", "i4", -1, 0), "do not ascend in a row"),
    ("linear-sparse", item("0.coef.indptr", "i4", 1, 100), "does not ascend from 0 to the last"),
    ("linear-sparse", item("0.coef.indptr", "i4", 0, 1), "does not ascend from 0 to the last"),
    ("linear-sparse", item("0.coef.data", "f8", 0, np.nan), "holds NaN or infinity"),
    ("linear-sparse", item("0.duals.indices", "i4", 0, 3), r"is outside \[0, 3\)"),
    ("linear-sparse", item("0.duals.labels", "i4", 0, 3), r"is outside \[0, 3\)"),
    ("linear-sparse", item("0.duals.values", "f8", 0, np.inf), "NaN or infinity"),
    ("linear-sparse", setting(*LAST, "duals", "n_examples", 31), "labels for 30 of 31 examples"),
    ("linear-sparse", setting(*LAST, "duals", "machine", "x"), "unknown machine"),
    (
        "linear-dense",
        setting(*LAST, "parameters", "class_weight", {"pairs": [[0, 1.0], [0, 2.0]]}),
        "has a key twice",
    ),
    (
        "linear-dense",
        setting(*LAST, "parameters", "class_weight", {"pairs": [[0, 1.0, 2.0]]}),
        "should be a dict is none",
    ),
    ("linear-sparse", setting(*LAST, "duals", "n_features", 3), "another number of features"),
    ("linear-sparse", setting(*LAST, "duals", "n_features", 5), "another number of features"),
    ("linear-stream", item("0.stream.weights", "f8", 0, np.nan), "stream hold NaN"),
    ("linear-stream", setting(*LAST, "stream", "block_solver", "x"), "no block solver 'x'"),
    ("linear-stream", setting(*LAST, "stream", "stopping", "x"), "no stopping rule 'x'"),
    ("linear-stream", setting(*LAST, "stream", "seed", 2**62 + 1), "is outside"),
    ("linear-stream", setting(*LAST, "stream", "block_max_iter", 2**40), "out of range"),
    ("linear-stream", setting(*LAST, "stream", "fit_intercept", False), "not 4 x 3"),
    ("linear-stream-sparse", item("0.stream.weights.data", "f4", 0, np.nan), "NaN or infinity"),
    ("linear-stream-sparse", item("0.stream.weights.indices", "i4", 0, 3), r"is outside \[0, 3\)"),
    ("linear-stream-sparse", item("0.stream.weights.indices", "i4", 1, 0), "do not ascend"),
    ("linear-stream-sparse", item("0.stream.weights.indptr", "i4", 0, 1), "does not ascend from 0"),
    ("linear-stream-sparse", without("0.stream.weights.indptr"), "indptr' is missing"),
    ("linear-stream-sparse", without("0.stream.weights.data"), "stream.weights' is missing"),
    ("linear-stream-sparse", setting(*LAST, "stream", "fit_intercept", False), "shape .6,., not 5"),
    (
        "linear-stream-sparse",
        tensor("0.stream.weights.data", np.ones(12)),
        "stream are of float64, not float32",
    ),
    ("kernel-rbf-duals", item("0.support", "i8", 0, -1), "not an ascending selection"),
    ("kernel-rbf-duals", item("0.support", "i8", 1, 0), "not an ascending selection"),
    ("kernel-rbf-duals", item("0.support", "i8", 1, 29), "not an ascending selection"),
    ("kernel-rbf-duals", item("0.n_support", "i8", 0, 1000), "does not add up"),
    ("kernel-rbf-duals", item("0.n_support", "i8", 0, -1), "does not add up"),
    ("kernel-rbf-duals", item("0.duals.kept", "i8", 1, 0), "not an ascending selection"),
    ("kernel-rbf-duals", item("0.duals.kept", "i8", -1, 30), "not an ascending selection"),
    ("kernel-rbf-duals", setting(*LAST, "kernel", "gamma", 0), "gamma=0.0 is out of range"),
    ("kernel-rbf-duals", setting(*LAST, "kernel", "gamma", "nan"), "gamma is nan"),
    ("kernel-rbf-duals", setting(*LAST, "kernel", "degree", 2**31), "degree=2147483648 is outside"),
    ("kernel-rbf-duals", setting(*LAST, "kernel", "name", "poly"), "the kernel is 'poly' and"),
    ("kernel-rbf-duals", setting(*LAST, "kernel", "dense", False), "has a centre"),
    ("kernel-rbf-duals", setting(*LAST, "support_vectors", "x"), "dense or sparse, not 'x'"),
    ("kernel-rbf-duals", setting(*LAST, "parameters", "kernel", "poly"), "kernel is 'rbf' and"),
    (
        "kernel-rbf-duals",
        setting(*LAST, "parameters", "kernel", "precomputed"),
        "not an ascending selection",
    ),
    ("kernel-rbf-duals", tensor("0.centre", [1.0]), r"has the shape \(1,\), not 4"),
    ("kernel-precomputed", item("0.support", "i8", -1, 30), "not an ascending selection"),
    ("kernel-poly-sparse", item("0.support_vectors.indices", "i4", 0, 9), r"outside \[0, 4\)"),
    ("linear-temperature", setting(*LAST, "calibrator", "T", 0), "T=0.0 is not positive"),
    ("linear-temperature", setting(*LAST, "calibrator", "T", -1.5), "T=-1.5 is not positive"),
    ("linear-temperature", setting(*LAST, "calibrator", "T", "nan"), "T is nan"),
    ("linear-temperature", setting(*LAST, "calibrator", "T", "0.5"), "should be a number"),
    ("linear-temperature", setting(*LAST, "calibrator", {}), "calibrator: name is missing"),
    ("linear-temperature", setting(*LAST, "calibrator", "x"), "calibrator should be an object"),
    ("linear-temperature", setting(*LAST, "calibrator", "name", "x"), "calibrator is 'x' and"),
    (
        "linear-temperature",
        setting(*LAST, "parameters", "calibration", "isotonic"),
        "calibrator is 'temperature' and the parameter 'isotonic'",
    ),
    ("linear-temperature", setting(*LAST, "parameters", "calibration", None), "parameter None"),
    (
        "linear-temperature",
        setting(*LAST, "parameters", "calibration", "x"),
        "'calibration' parameter of LinearSVM must be",
    ),
    ("linear-dense", setting(*LAST, "calibrator", {"name": "sigmoid"}), "and the parameter None"),
    ("kernel-sigmoid", without("0.calibrator.slope"), "'0.calibrator.slope' is missing"),
    ("kernel-sigmoid", item("0.calibrator.slope", "f8", 0, np.nan), "holds NaN or infinity"),
    ("kernel-sigmoid", tensor("0.calibrator.offset", [1.0]), r"has the shape \(1,\), not 3"),
    (
        "kernel-sigmoid",
        tensor("0.calibrator.offset", [1, 2, 3], "float32"),
        "of the wrong type float32",
    ),
    (
        "linear-isotonic-two",
        item("0.calibrator.offsets", "i8", 1, 0),
        "'0.calibrator.offsets' does not ascend from 0",
    ),
    (
        "linear-isotonic-two",
        item("0.calibrator.offsets", "i8", 1, 1 << 60),
        "'0.calibrator.offsets' does not ascend from 0",
    ),
    ("linear-isotonic-two", item("0.calibrator.values", "f8", 0, -0.1), "does not rise from 0 to"),
    ("linear-isotonic-two", item("0.calibrator.values", "f8", -1, 1.5), "does not rise from 0 to"),
    ("linear-isotonic-two", item("0.calibrator.scores", "f8", 0, 1e9), "does not rise from 0 to"),
    ("linear-isotonic-two", item("0.calibrator.scores", "f8", 0, -np.inf), "NaN or infinity"),
    ("pipeline-scaler", setting("steps", 0, "class", "PCA"), "there is no step of class 'PCA'"),
    ("pipeline-scaler", setting("steps", 0, "class", "LinearSVM"), "there is no step of class"),
    ("pipeline-scaler", setting("steps", 0, "n_features", 3), r"\(4,\), not 3"),
    ("pipeline-scaler", setting("steps", 0, "parameters", "kind", "x"), "'kind' parameter"),
    ("pipeline-scaler", setting("steps", 0, "name", "a__b"), "the pipeline is wrong"),
    ("pipeline-scaler", setting("steps", 0, "name", "kernelsvm"), "the pipeline is wrong"),
    ("pipeline-scaler", setting("is_pipeline", False), "need a pipeline"),
    ("pipeline-scaler", setting("steps", 1, "n_features", 9), "does not take what step 0 makes"),
    ("pipeline-scaler", item("0.factor_", "f8", 0, np.inf), "holds NaN or infinity"),
    ("pipeline-sklearn-scalers", without("0.mean_"), "tensor '0.mean_' is missing"),
    (
        "pipeline-sklearn-scalers",
        setting("steps", 1, "parameters", "feature_range", {"tuple": ["a", "b"]}),
        "feature_range is not two numbers",
    ),
    (
        "pipeline-sklearn-scalers",
        setting("steps", 1, "parameters", "feature_range", {"tuple": [1, 1]}),
        "feature_range does not ascend",
    ),
    ("pipeline-tfidf", setting("steps", 0, "parameters", "dtype", "x"), "dtype='x' is none"),
    ("pipeline-tfidf", setting("steps", 0, "parameters", "token_pattern", None), "no way to find"),
    ("pipeline-columns", item("0.counts", "i8", 1, 5), "do not add up"),
    ("pipeline-columns", item("0.counts", "i8", 1, 0), "do not add up"),
    ("pipeline-columns", item("0.counts", "i8", 0, -2), "do not add up"),
    ("pipeline-columns", item("0.values.bytes", "u1", 0, ord("z")), "do not ascend"),
    ("pipeline-kinds", setting("steps", 0, "kinds", ["number"] * 6), "do not fit their values"),
    ("pipeline-kinds", setting("steps", 0, "kinds", ["number"]), "do not fit their values"),
    ("pipeline-kinds", setting("steps", 0, "kinds", 2, ["x"]), r"there is no kind \['x'\]"),
    ("pipeline-kinds", setting("steps", 0, "kinds", 2, "number"), "the estimator takes"),
    ("pipeline-kinds", setting("steps", 0, "kinds", 5, "text:tfidf"), "text5.vocabulary.* missing"),
    ("pipeline-kinds", setting("steps", 0, "kinds", "x"), "kinds should be a list"),
    ("pipeline-kinds", setting("steps", 0, "parameters", "hash_bits", 6), "the estimator takes"),
    ("pipeline-kinds", setting("steps", 0, "parameters", "hash_bits", 40), "'hash_bits' parameter"),
    ("pipeline-kinds", setting("steps", 0, "parameters", "scale", "x"), "'scale' parameter"),
    ("pipeline-kinds", setting("steps", 0, "parameters", "analyzer", "x"), "'analyzer' parameter"),
    (
        "pipeline-kinds",
        setting("steps", 0, "parameters", "ngram_range", {"tuple": [2, 1]}),
        "two ascending integers",
    ),
    ("pipeline-kinds", without("0.offsets"), "tensor '0.offsets' is missing"),
    ("pipeline-kinds", minmax_without_offsets, "tensor '0.offsets' is missing"),
    ("pipeline-kinds", item("0.factors", "f8", 0, np.nan), "holds NaN or infinity"),
    ("pipeline-kinds", tensor("0.text4.idf", [1.0]), r"has the shape \(1,\)"),
    ("pipeline-hashing", setting("steps", 0, "parameters", "n_features", 64), "does not take what"),
    ("pipeline-hashing", setting("steps", 0, "parameters", "input", "filename"), "only texts"),
    ("pipeline-hashing", setting("steps", 0, "parameters", "encoding", "hex"), "is unknown"),
    ("pipeline-hashing", setting("steps", 0, "parameters", "encoding", "\0"), "is unknown"),
    ("pipeline-hashing", setting("steps", 0, "parameters", "token_pattern", "("), "not a regular"),
    ("pipeline-hashing", setting("steps", 0, "parameters", "token_pattern", "a" * 2000), "1000"),
    ("pipeline-hashing", setting("steps", 0, "parameters", "token_pattern", "(a)(b)"), "one group"),
    (
        "pipeline-hashing",
        setting("steps", 0, "parameters", "ngram_range", {"tuple": [2, 1]}),
        "two ascending integers",
    ),
    (
        "pipeline-hashing",
        setting("steps", 0, "parameters", "ngram_range", {"tuple": [0, 1]}),
        "two ascending integers",
    ),
    ("pipeline-hashing", setting("steps", 0, "parameters", "tokenizer", "str.split"), "tokenizer"),
    ("pipeline-hashing", without("1.idf_"), "tensor '1.idf_' is missing"),
    ("pipeline-tfidf", setting("steps", 0, "parameters", "stop_words", [1]), "stop_words"),
    ("pipeline-tfidf", tensor("0.idf", [1.0]), r"has the shape \(1,\)"),
    ("pipeline-tfidf", tensor("0.vocabulary.offsets", [0], "int64"), "does not ascend"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "change", "message"), BAD_CONTENTS)
def test_bad_contents(name: str, change: Change, message: str, file: Path) -> None:
    document, tensors = unpacked(base(name))
    change(document, tensors)
    refuse(file, packed(document, tensors), message)
    assert check(file) in ("refused", "read")  # read_info may still tell what it is


def test_bad_checkpoints(file: Path) -> None:
    for change, message in (
        (setting("class", "PCA"), "there is no estimator 'PCA'"),
        (setting("seconds", "nan"), "seconds is nan"),
        (setting("parameters", "tol", -1), "'tol' parameter of KernelSVM"),
        (without("duals.labels"), "tensor 'duals.labels' is missing"),
        (setting("data_hash", 1), "data_hash should be text"),
    ):
        document, tensors = unpacked(base("checkpoint"))
        change(document, tensors)
        file.write_bytes(packed(document, tensors))
        with pytest.raises(ModelFileError, match=message):
            read_checkpoint(file)


@settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(content=st.sampled_from(BASES), data=st.binary(min_size=1, max_size=40))
def test_any_mutation_loads_or_is_refused(content: bytes, data: bytes, file: Path) -> None:
    file.write_bytes(mutated(content, data))
    check(file)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_changed_byte_is_noticed(data: st.DataObject, file: Path) -> None:
    content = bytearray(base("kernel-rbf-duals"))
    at = data.draw(st.integers(0, len(content) - 1))
    content[at] ^= data.draw(st.integers(1, 255))
    file.write_bytes(content)
    try:
        model = load(file)
    except ModelFileError:
        return
    # Only white space of the header can have become other white space.
    X = np.ones((1, 4))
    golden = load(GOLDEN / "v1-kernel-rbf-duals.safetensors")
    assert model.get_params() == golden.get_params()
    np.testing.assert_array_equal(model.class_scores(X), golden.class_scores(X))


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_cut_or_longer_file_is_refused(data: st.DataObject, file: Path) -> None:
    content = base("pipeline-tfidf")
    cut = data.draw(st.integers(0, len(content) - 1))
    more = data.draw(st.binary(min_size=1, max_size=9))
    for changed in (content[:cut], content + more):
        file.write_bytes(changed)
        with pytest.raises(ModelFileError):
            load(file)


@pytest.mark.parametrize("file", sorted(CORPUS.glob("*")), ids=lambda path: path.stem)
def test_corpus(file: Path) -> None:
    check(file)


LIMITED = """
import resource, sys, time
import numpy
from polymargin.errors import ModelFileError
from polymargin.files import load, read_info
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (400 << 20), used + (400 << 20)))
for path in sys.argv[1:]:
    for read in (load, read_info):
        start = time.perf_counter()
        try:
            read(path)
        except ModelFileError as error:
            print(str(error)[-60:])
        else:
            sys.exit(f"{path} was read")
        if time.perf_counter() - start > 10:
            sys.exit(f"{path} took too long")
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are those of Linux")
def test_bombs_are_refused_in_little_memory(tmp_path: Path) -> None:
    bombs = {
        "length": (2**60).to_bytes(8, "little") + b"{" + bytes(100),
        "empty-lists": with_header(b'{"a":[' + b"[]," * 1_300_000 + b"[]]}"),
        "zeros": with_header(b'{"a":[' + b"0," * 2_000_000 + b"0]}"),
        "keys": with_header(b"{" + b",".join(b'"%d":0' % i for i in range(350_000)) + b"}"),
        "same-keys": with_header(b"{" + b'"a":0,' * 690_000 + b'"a":0}'),
        "deep": with_header(b"{" + b'"a":[' + b"[" * 4_000_000),
    }
    document, tensors = unpacked(base("linear-dense"))
    n = 100_000
    offsets = np.concatenate([np.arange(n), [n + 10_000_000]])
    text = np.full(n + 10_000_000, ord("a"), np.uint8)
    bombs["long-label"] = packed(
        document,
        tensors
        | {
            "0.classes.offsets": ("I64", [n + 1], offsets.astype("<i8").tobytes()),
            "0.classes.bytes": ("U8", [len(text)], text.tobytes()),
        },
    )
    paths = []
    for name, content in bombs.items():
        paths.append(tmp_path / f"{name}.safetensors")
        paths[-1].write_bytes(content)
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, *map(str, paths)],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert len(done.stdout.splitlines()) == 2 * len(bombs)


def test_reading_info_of_a_model_does_not_need_the_rest(file: Path) -> None:
    document, tensors = unpacked(base("linear-dense"))
    setting(*LAST, "parameters", "machine", "of the future")(document, tensors)
    file.write_bytes(packed(document, tensors))
    assert read_info(file).parameters["machine"] == "of the future"
