"""Wrong options and missing packages: a message that helps, a code, nothing written."""

import sys
from pathlib import Path
from typing import Any

import pytest
from cli_helpers import (
    SATIMAGE,
    names_in,
    one_error,
    run,
)

USAGE = 2


BAD_OPTIONS: dict[str, tuple[tuple[Any, ...], str]] = {
    "C": (("-C", "-1"), "'-C' / '--C': -1 is neither a positive number nor inf"),
    "C not a number": (("-C", "nan"), "'-C' / '--C': nan is neither a positive number nor inf"),
    "C a word": (("-C", "one"), "'-C'"),
    "tol": (("--tol", "-1"), "--tol"),
    "gamma": (("--kernel", "rbf", "--gamma", "abc"), "--gamma: 'abc'"),
    "negative gamma": (
        ("--kernel", "rbf", "--gamma", "-1"),
        "--gamma: '-1' is neither a positive number",
    ),
    "gamma without kernel": (("--gamma", "1"), "--gamma: goes with --kernel only"),
    "degree without kernel": (("--degree", "2"), "--degree: goes with --kernel only"),
    "kernel": (("--kernel", "xyz"), "--kernel"),
    "ngrams": (("--ngrams", "3-1"), "--ngrams: '3-1'"),
    "ngrams of words": (("--ngrams", "a-b"), "--ngrams: 'a-b'"),
    "machine": (("--machine", "xyz"), "unknown machine 'xyz'"),
    "kernel solver": (("--solver", "s2do"), "unknown solver 's2do'"),
    "linear solver": (("--kernel", "rbf", "--solver", "block-descent"), "unknown solver"),
    "block solver": (("--block-solver", "xyz"), "unknown --block-solver 'xyz'"),
    "block solver of others": (("-m", "ww", "--block-solver", "sort"), "is not defined for"),
    "jobs": (("--jobs", "0"), "--jobs"),
    "delimiter": (("--delimiter", "ab"), "--delimiter 'ab'"),
    "scale": (("--scale", "big"), "--scale"),
    "hash bits": (("--hash-bits", "31"), "--hash-bits"),
    "max iter": (("--max-iter", "0"), "--max-iter"),
    "unknown": (("--unknown", "1"), "--unknown"),
    "passes without stream": (("--passes", "2"), "--passes: goes with --stream only"),
    "classes without stream": (("--classes", "1,2"), "--classes: goes with --stream only"),
    "model on standard output": (("-o", "-"), "not to standard output"),
}


@pytest.mark.parametrize("name", BAD_OPTIONS)
def test_bad_options_of_train(tmp_path: Path, name: str) -> None:
    options, message = BAD_OPTIONS[name]
    result = run("train", SATIMAGE, "-o", tmp_path / "m.safetensors", *options)
    assert message in one_error(result, USAGE)
    assert names_in(tmp_path) == set()


def test_bad_options_of_others(model: Path, tmp_path: Path) -> None:
    for command, message in (
        (("select", SATIMAGE, "--machines", "ww,xyz"), "unknown machine 'xyz'"),
        (("select", SATIMAGE, "--log2-C", "1:2"), "--log2-C: '1:2'"),
        (("select", SATIMAGE, "--log2-C", "2:1:1"), "--log2-C: '2:1:1'"),
        (("select", SATIMAGE, "--log2-gamma", "1:2:1"), "--log2-gamma: goes with --kernel"),
        (("select", SATIMAGE, "--folds", "1"), "--folds"),
        (("select", SATIMAGE, "--race", "0.5"), "--race"),
        (("select", SATIMAGE, "--race", "0.01", "--full"), "--race: goes without --full"),
        (("select", SATIMAGE, "--plot", tmp_path / "x.foo"), "--plot"),
        (("path", SATIMAGE, "--Cs", "1,-1"), "--Cs: '1,-1'"),
        (("path", SATIMAGE, "--Cs", "0:1:0"), "--Cs: '0:1:0'"),
        (("path", SATIMAGE, "--Cs=-2000:2000:1000"), "--Cs: '-2000:2000:1000'"),
        (("path", SATIMAGE, "--machine", "xyz"), "unknown machine"),
        (("path", SATIMAGE, "--plot", tmp_path / "x"), "--plot"),
        (("inspect", model, SATIMAGE, "--image-shape", "6x6"), "goes with --report only"),
        (
            ("inspect", model, SATIMAGE, "--report", tmp_path / "x.html", "--image-shape", "6"),
            "--image-shape: '6'",
        ),
        (("inspect", model, SATIMAGE, "--by", "size"), "--by"),
        (("convert", model, tmp_path / "x.foo"), "tells no format to write"),
        (("convert", model, tmp_path / "x.npz"), "a model cannot become npz"),
        (("convert", SATIMAGE, tmp_path / "x.onnx"), "is no model of polymargin or LIBLINEAR"),
        (("convert", SATIMAGE, tmp_path / "x.svm", "--shuffle", "--to", "npz"), "--to"),
        (("demo", tmp_path / "x.foo"), "ends in one of"),
        (("predict", model), "Missing argument"),
        (("trian", SATIMAGE), "Did you mean 'train'?"),
    ):
        assert message in one_error(run(*command), USAGE), command
    assert names_in(tmp_path) == set()


def test_the_way_to_the_help_is_named() -> None:
    assert "polymargin path --help tells more" in run("path", SATIMAGE, "--Cs", "x").err


@pytest.mark.parametrize("package", ["matplotlib", "onnx", "pyarrow"])
def test_packages_that_are_not_installed(
    model: Path, tmp_path: Path, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    command = {
        "matplotlib": ("path", SATIMAGE, "--plot", tmp_path / "x.png"),
        "onnx": ("convert", model, tmp_path / "x.onnx"),
        "pyarrow": ("train", tmp_path / "a.parquet", "-o", tmp_path / "x"),
    }[package]
    message = one_error(run(*command), USAGE)
    assert f"need the package {package}: pip install 'polymargin[" in message
    assert names_in(tmp_path) == {"a.parquet"}
