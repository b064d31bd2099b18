"""Random bytes for all readers: they may be refused, and nothing else may happen.

    python tests/fuzz/fuzz_readers.py -max_total_time=60 tests/fuzz/corpus/readers

New inputs are written into the first folder that is named. `tests/test_fuzz_corpus_readers.py` runs
over the stored ones without atheris.
"""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from polymargin.errors import DataError
from polymargin.readers import Columns, read, read_batches, scan

# The first byte of an input stands for the way the others are read.
WAYS: dict[int, dict[str, Any]] = {
    ord("?"): {},
    ord("s"): {"format": "svmlight"},
    ord("S"): {"format": "svmlight", "n_features": 5, "extra": "ignore", "has_labels": False},
    ord("z"): {"format": "svmlight", "n_features": 5, "zero_based": True},
    ord("t"): {"format": "text"},
    ord("T"): {"format": "text", "has_labels": False},
    ord("c"): {"format": "csv"},
    ord("C"): {"format": "csv", "header": False, "has_labels": False, "label": "2"},
    ord("b"): {"format": "csv", "delimiter": " "},
    ord("v"): {"format": "tsv", "label_kind": "string"},
    ord("n"): {"format": "npz"},
    ord("N"): {"format": "npz", "has_labels": False},
    ord("p"): {"format": "parquet"},
    ord("a"): {"format": "arrow", "has_labels": False},
    ord("i"): {"format": "idx", "has_labels": False},
    ord("j"): {"format": "jsonl"},
    ord("J"): {"format": "jsonl", "has_labels": False, "label": "y"},
}


def try_bytes(data: bytes) -> None:
    """Read the bytes as a file in all three ways; they must agree."""
    if not data:
        return
    ways = list(WAYS.values())
    options = WAYS.get(data[0], ways[data[0] % len(ways)])
    with _file(data[1:]) as path:
        try:
            table = read(path, **options)
        except (DataError, OSError):
            _may_fail(lambda: list(read_batches(path, rows=2, **({"n_features": 5} | options))))
            _may_fail(lambda: scan(path, **options))
            return
        again = read(path, **{**options, **table.reading})
        _assert_same(again, table)
        found = scan(path, **options)
        assert found.n_rows == table.n_rows
        if table.y is None:  # some rows have labels, which need not be of one kind
            _may_fail(lambda: list(read_batches(path, rows=2, **{**options, **found.reading})))
            return
        batches = list(read_batches(path, rows=2, **{**options, **found.reading}))
        assert sum(batch.n_rows for batch in batches) == table.n_rows
        np.testing.assert_array_equal(np.concatenate([batch.y for batch in batches]), table.y)
        np.testing.assert_array_equal(found.classes, np.unique(table.y))


def _may_fail(call: Any) -> None:
    with suppress(DataError, OSError):
        call()


def _assert_same(a: Any, b: Any) -> None:
    assert a.n_rows == b.n_rows
    assert (a.y is None) == (b.y is None)
    if a.y is not None:
        np.testing.assert_array_equal(a.y, b.y)
    if isinstance(a.X, Columns):
        assert a.X.names == b.X.names
        assert a.X.kinds == b.X.kinds
    elif isinstance(a.X, list):
        assert a.X == b.X
    else:
        assert a.X.shape == b.X.shape


@contextmanager
def _file(content: bytes) -> Iterator[str]:
    shared = Path("/dev/shm")
    folder = shared if shared.is_dir() and os.access(shared, os.W_OK) else None
    handle, path = tempfile.mkstemp(prefix="polymargin-fuzz-", dir=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        yield path
    finally:
        Path(path).unlink()


def main() -> None:
    """Let atheris find inputs."""
    import atheris

    for name in [name for name in sys.modules if name.startswith("polymargin.readers.")]:
        module = sys.modules[name]
        for key, value in list(vars(module).items()):
            if callable(value) and getattr(value, "__module__", None) == name:
                _instrument(atheris, module, key, value)
    atheris.Setup(sys.argv, try_bytes)
    atheris.Fuzz()


def _instrument(atheris: Any, module: Any, key: str, value: Any) -> None:
    if isinstance(value, type):
        for method, function in list(vars(value).items()):
            if type(function).__name__ == "function" and not method.startswith("__"):
                setattr(value, method, atheris.instrument_func(function))
    elif type(value).__name__ == "function":
        setattr(module, key, atheris.instrument_func(value))


if __name__ == "__main__":
    main()
