"""Inputs of the fuzzer for the readers, those that once failed among them."""

import os
import resource
from pathlib import Path

import pytest
from fuzz.fuzz_readers import WAYS, try_bytes

CORPUS = sorted((Path(__file__).parent / "fuzz" / "corpus" / "readers").iterdir())


def test_every_way_has_an_input() -> None:
    assert {file.read_bytes()[0] for file in CORPUS} >= set(WAYS)


@pytest.mark.parametrize("file", CORPUS, ids=lambda file: file.name)
def test_input(file: Path) -> None:
    pytest.importorskip("pyarrow")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try_bytes(file.read_bytes())
    if os.uname().sysname == "Linux":  # there in kilobytes
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 600_000


@pytest.mark.parametrize("way", list(WAYS), ids=chr)
def test_cut_and_changed_inputs(way: int) -> None:
    """A small fuzzer of its own: each stored input of this way, cut and with bytes changed."""
    pytest.importorskip("pyarrow")
    for file in CORPUS:
        content = file.read_bytes()
        if content[0] != way or len(content) > 2000:
            continue
        for cut in range(1, len(content), max(1, len(content) // 8)):
            try_bytes(content[:cut])
            try_bytes(content[:cut] + bytes([content[cut] ^ 0x55]) + content[cut + 1 :])
