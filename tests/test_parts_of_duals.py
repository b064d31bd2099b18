"""Parts of dual variables, and descent on weights in memory of somebody else."""

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from polymargin import core
from polymargin.fit import as_csr, as_rows, from_csr


def random_duals(seed: int, k: int, dtype: str) -> sparse.csr_array:
    random = np.random.default_rng(seed)
    matrix = sparse.random_array((20, k), density=0.3, rng=random, format="csr", dtype=dtype)
    matrix.data += 0.1
    return matrix


def csr(entries: tuple[Any, ...], shape: tuple[int, int]) -> np.ndarray:
    indptr, columns, values = entries
    return sparse.csr_array((values, columns, indptr), shape=shape).toarray()


@pytest.mark.parametrize("k", [7, 100])  # an array, lists
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_part_of_dual_variables(k: int, dtype: str, seed: int) -> None:
    matrix = random_duals(seed, k, dtype)
    duals = from_csr(matrix.copy())
    for first, last in ((0, k), (2, 5), (3, 3), (5, k)):
        expected = matrix.toarray()[4:15, first:last]
        told = csr(duals.part((4, 15), (first, last)), expected.shape)
        np.testing.assert_array_equal(told, expected)
        assert told.dtype == dtype


@pytest.mark.parametrize("k", [7, 100])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_others_in_the_place_of_a_part(k: int, dtype: str, seed: int) -> None:
    matrix, others = random_duals(seed, k, dtype), random_duals(seed + 1, k, dtype)
    duals, expected = from_csr(matrix.copy()), matrix.toarray()
    for first, last in ((0, 3), (2, 5), (5, k)):
        other = sparse.csr_array(others[4:15][:, first:last])
        other.sort_indices()
        entries = other.indptr.astype(np.int64), other.indices.astype(np.int32), other.data
        duals.set_part((4, 15), (first, last), entries)
        expected[4:15, first:last] = other.toarray()
        np.testing.assert_array_equal(as_csr(duals).toarray(), expected)


@pytest.mark.parametrize(
    ("rows", "classes", "indptr", "columns"),
    [
        ((0, 21), (0, 3), [0] * 22, []),  # more rows than there are
        ((3, 2), (0, 3), [0], []),
        ((0, 1), (0, 101), [0, 0], []),
        ((0, 1), (0, 3), [0, 1, 1], [0]),  # rows and part do not match
        ((0, 1), (0, 3), [0, 2], [0]),
        ((0, 1), (0, 3), [-1, 1], [0]),
        ((0, 1), (0, 3), [0, 1], [3]),
        ((0, 1), (0, 3), [0, 2], [1, 1]),  # not ascending
    ],
)
def test_what_is_no_part_is_refused(
    rows: tuple[int, int], classes: tuple[int, int], indptr: list[int], columns: list[int]
) -> None:
    duals = from_csr(random_duals(0, 100, "float64"))
    entries = np.array(indptr), np.array(columns, np.int32), np.ones(len(columns))
    with pytest.raises(ValueError, match="dual variables"):
        duals.set_part(rows, classes, entries)


def problem() -> tuple[Any, Any, Any]:
    random = np.random.default_rng(0)
    labels = (np.arange(60) % 3).astype(np.int32)
    X = random.normal(size=(3, 8))[labels] + random.normal(size=(60, 8))
    return as_rows(X), labels, np.ones(60)


def descend(memory: Any) -> core.LocalDescent:
    rows, labels, upper = problem()
    options = core.LinearOptions()
    options.fit_intercept, options.seed = True, 1
    local = core.LocalDescent(rows, labels, upper, 3, "ww", options, memory=memory)
    local.begin(True)
    local.descend(0, 1, 0.0)
    local.end()
    return local


def test_descent_on_weights_in_other_memory_is_the_same() -> None:
    own = descend(None).weights
    memory = np.zeros(9 * own.shape[1] + 5)
    other = descend(memory).weights
    np.testing.assert_array_equal(own, other)
    assert np.shares_memory(other, memory)


def test_memory_that_is_too_small_is_refused() -> None:
    with pytest.raises(ValueError, match="more memory"):
        descend(np.zeros(10))


def test_weights_are_corrected_where_they_differ_by_more_than_roundings() -> None:
    rows, labels, upper = problem()
    duals = descend(None).duals()
    classes = np.array([0, 2], np.int32)
    check = core.DealtCheck(rows, labels, upper, 3, "ww", classes, duals, True)
    right = check.weights.copy()
    np.testing.assert_allclose(check.norms, (right**2).sum(), rtol=1e-12)
    near = right * (1 + 2 * np.finfo(float).eps)
    near[3, 1] += 0.5
    expected = near.copy()
    expected[3, 1] = right[3, 1]
    check.correct(near, classes)
    np.testing.assert_array_equal(near, expected)
    swapped = np.zeros((9, 2))
    check.correct(swapped, classes[::-1].copy())
    np.testing.assert_array_equal(swapped, right[:, ::-1])
    with pytest.raises(ValueError, match="not here"):
        check.correct(near, np.array([0, 1], np.int32))
    with pytest.raises(ValueError, match="a column per class"):
        check.correct(near[:, :1], classes)
