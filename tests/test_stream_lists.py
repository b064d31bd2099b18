"""Streams of very many classes: weights in lists, the same answers as an array of all."""

import copy
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from stream_helpers import as_array, assert_same, in_batches

from polymargin import LinearSVM, core, load, save
from polymargin.fit._problem import make_problem
from polymargin.fit._weights import choose_stream_weights
from polymargin.streams import fit_stream

K = 150  # rows of lists are full from 65 classes down


@pytest.fixture
def rare(seed: int) -> tuple[Any, Any]:
    """Rows of six features out of 400, more classes than a list may have."""
    rng = np.random.default_rng(seed)
    n, d = 300, 400
    y = rng.integers(0, K, n)
    columns = np.where(rng.random((n, 6)) < 0.5, 2 * y[:, None] + np.arange(6) % 2, 0)
    columns += (rng.random((n, 6)) ** 2 * (d - 2 * K)).astype(int)
    X = sparse.csr_array((rng.random(6 * n), columns.ravel(), np.arange(0, 6 * n + 1, 6)), (n, d))
    X.sum_duplicates()
    return X, y


def streams(machine: str, X: Any, y: Any, **params: Any) -> tuple[LinearSVM, LinearSVM]:
    """The same stream with weights in an array and in lists."""
    dense, lists = (
        LinearSVM(machine, weights=weights, random_state=0, **params).partial_fit(X, y, range(K))
        for weights in ("dense", "sparse")
    )
    return dense, lists


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_one_pass_is_the_same(
    machine: str, dtype: Any, fit_intercept: bool, rare: tuple[Any, Any]
) -> None:
    X, y = rare[0].astype(dtype), rare[1]
    dense, lists = streams(machine, X, y, fit_intercept=fit_intercept)
    assert lists.coef_.format == "csr"
    assert lists.coef_.dtype == dtype
    exact = {"atol": 1e-4 if dtype == np.float32 else 1e-10}
    np.testing.assert_allclose(lists.coef_.toarray(), dense.coef_, **exact)
    np.testing.assert_allclose(lists.intercept_, dense.intercept_, **exact)
    np.testing.assert_allclose(lists.class_scores(X), dense.class_scores(X), **exact)
    assert lists.predict_topk(X, 3).shape == (len(y), 3)


def test_several_passes_are_certified_the_same(machine: str, rare: tuple[Any, Any]) -> None:
    X, y = rare
    dense, lists = (
        fit_stream(
            LinearSVM(machine, C=0.3, weights=weights, random_state=0),
            in_batches(X, y, 40),
            range(K),
            passes=4,
        )
        for weights in ("dense", "sparse")
    )
    for name in ("primal_objective_", "dual_objective_", "dual_gap_"):
        assert getattr(lists, name) == pytest.approx(getattr(dense, name), rel=1e-9)
    np.testing.assert_allclose(lists.coef_.toarray(), dense.coef_, atol=1e-10)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_copy_goes_on(machine: str, dtype: Any, rare: tuple[Any, Any], tmp_path: Path) -> None:
    X, y = rare[0].astype(dtype), rare[1]
    stream = LinearSVM(machine, weights="sparse").partial_fit(X[:200], y[:200], range(K))
    save(stream, tmp_path / "stream.safetensors")
    twins = [
        copy.deepcopy(stream),
        pickle.loads(pickle.dumps(stream)),
        load(tmp_path / "stream.safetensors"),
    ]
    coef = stream.coef_
    after = as_array(stream.partial_fit(X[200:], y[200:]).coef_)
    for twin in twins:
        assert_same(twin.coef_, coef)
        twin.partial_fit(X[200:], y[200:])
        np.testing.assert_allclose(as_array(twin.coef_), after, atol=100 * np.finfo(dtype).eps)
        assert twin.n_samples_seen_ == len(y)
    assert not hasattr(clone(stream), "coef_")


def test_the_store_is_that_of_the_first_batch(rare: tuple[Any, Any]) -> None:
    X, y = rare
    dense, lists = streams("ww", X[:100], y[:100])
    dense.set_params(weights="sparse").partial_fit(X[100:], y[100:])
    lists.set_params(weights="dense").partial_fit(X[100:], y[100:])
    for model in (dense, lists):
        assert sparse.issparse(model.coef_)
    np.testing.assert_allclose(lists.coef_.toarray(), dense.coef_.toarray(), atol=1e-10)
    model = lists.fit(X, y).partial_fit(X, y, range(K))
    assert not sparse.issparse(model.coef_)


@pytest.mark.parametrize(
    "lists",
    [
        ([1.0], [0], [0, 1]),  # of too few features
        ([1.0], [2], [0, 1, 1, 1]),  # of no class
        ([1.0], [-1], [0, 1, 1, 1]),
        ([1.0, 1.0], [1, 1], [0, 2, 2, 2]),  # a class twice
        ([1.0, 1.0], [0], [0, 2, 2, 2]),
        ([1.0], [0], [0, 1, 0, 1]),
        ([1.0], [0], [0, 0, 0, 0]),
    ],
)
def test_lists_that_cannot_be_are_refused(lists: tuple[Any, Any, Any]) -> None:
    data, indices, indptr = lists
    weights = (np.array(data), np.array(indices, np.int32), np.array(indptr, np.int64))
    stream = core.LinearStream.__new__(core.LinearStream)
    options = core.LinearOptions().state()
    with pytest.raises(ValueError, match="inconsistent"):
        stream.__setstate__((2, 2, "ww", options, 0, weights))  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("d", "k", "machine", "rows", "expected"),
    [
        (100_000, 300, "ww", "sparse", "dense"),  # 240 MB
        (120_000, 300, "ww", "sparse", "sparse"),
        (120_000, 300, "cs", "sparse", "sparse"),
        (120_000, 300, "llw", "sparse", "dense"),  # zero-sum
        (120_000, 300, "ww", "dense", "dense"),  # every feature in every row
        (400_000, 100, "ww", "sparse", "dense"),  # 40 classes of 100 are no short list
    ],
)
def test_the_choice_follows_what_is_known(
    d: int, k: int, machine: str, rows: str, expected: str
) -> None:
    X = sparse.csr_array(([1.0], [0], [0, 1]), (1, d))
    batch = make_problem(
        X if rows == "sparse" else X.toarray(), np.zeros(1, int), np.ones(1), classes=np.arange(k)
    )
    info = {info.name: info for info in core.machines()}[machine]
    assert choose_stream_weights("auto", batch, info, False) == expected
    for weights in ("dense", "sparse"):
        assert choose_stream_weights(weights, batch, info, False) == weights


_VERY_MANY = """
import re
from pathlib import Path
import numpy as np
from scipy import sparse
from polymargin import LinearSVM
from polymargin.streams import fit_stream

n, d, k = 60, 200_000, 20_000
random = np.random.default_rng(0)
columns = random.integers(0, d, (n, 5))
columns[:, 0] = np.arange(n) % 3
X = sparse.csr_array((random.random(5 * n), columns.ravel(), np.arange(0, 5 * n + 1, 5)), (n, d))
y = random.integers(0, k, n)
stream = LinearSVM().partial_fit(X.astype(np.float32), y, classes=np.arange(k))
assert stream.coef_.format == "csr"
assert stream.score(X, y) > 0.5
model = fit_stream(LinearSVM(), lambda: [(X, y)], np.arange(k), passes=2)
assert 0 < model.dual_objective_ <= model.primal_objective_
print(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs VmHWM")
def test_memory_follows_the_weights_that_are_not_zero() -> None:
    """An array of all would take 16 GB in single precision, and 64 GB with its certificate."""
    run = subprocess.run(
        [sys.executable, "-c", _VERY_MANY], capture_output=True, text=True, check=True
    )
    assert int(run.stdout) < 600_000  # kB
