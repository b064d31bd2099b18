"""Kernel rows in bounded memory."""

import tracemalloc

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from polymargin import KernelSVM
from polymargin.kernel._row_cache import RowCache


def make_cache(n: int, n_values: int) -> RowCache:
    return RowCache(n, np.zeros(n_values, np.float32))


def test_oldest_rows_are_given_up() -> None:
    cache = make_cache(10, 3 * 10)
    assert cache.store.shape == (3, 10)
    np.testing.assert_array_equal(cache.find(np.array([4, 5])), [-1, -1])
    np.testing.assert_array_equal(cache.reserve(np.array([4, 5])), [0, 1])
    np.testing.assert_array_equal(cache.find(np.array([5, 6])), [1, -1])
    np.testing.assert_array_equal(cache.reserve(np.array([6])), [2])
    np.testing.assert_array_equal(cache.find(np.array([7])), [-1])
    np.testing.assert_array_equal(cache.reserve(np.array([7])), [0])  # 4 was the oldest
    np.testing.assert_array_equal(cache.find(np.array([4, 5, 6, 7])), [-1, 1, 2, 0])
    assert len(cache.reserve(np.array([4]))) == 0  # all in use


def test_memory_for_less_than_a_row_holds_none() -> None:
    cache = make_cache(1000, 999)
    assert cache.store.shape == (0, 1000)
    assert len(cache.reserve(np.array([1, 2]))) == 0


@pytest.mark.parametrize(("n_values", "fits_beside"), [(40, False), (49, True)])
def test_part_has_the_rows_and_columns_of_its_examples(n_values: int, fits_beside: bool) -> None:
    cache = make_cache(10, n_values)
    examples = np.array([1, 4, 7])
    cache.find(examples)
    cache.reserve(np.array([7, 2, 4, 0]))
    cache.store[:] = 10 * np.array([[7], [2], [4], [0]]) + np.arange(10)
    assert cache.has_room_for(3) == fits_beside
    part = cache.part(examples)
    slots = part.find(np.arange(3))
    assert slots[0] == -1
    np.testing.assert_array_equal(part.store[slots[1]], [41, 44, 47])
    np.testing.assert_array_equal(part.store[slots[2]], [71, 74, 77])
    np.testing.assert_array_equal(cache.find(np.array([7, 4])) >= 0, [fits_beside, fits_beside])
    if fits_beside:
        np.testing.assert_array_equal(cache.store[cache.find(np.array([2]))[0]], 20 + np.arange(10))


@pytest.mark.parametrize("megabytes", [1, 8, 24])
def test_cache_size_bounds_the_memory(megabytes: int) -> None:
    X, y = make_blobs(2000, 4, centers=3, cluster_std=4.0, random_state=0)

    def peak(cache_size: float) -> int:
        tracemalloc.start()
        try:
            KernelSVM(cache_size=cache_size, max_iter=20, tol=0.1, random_state=0).fit(X, y)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(0.01)  # what is imported late
    assert peak(megabytes) - peak(0.01) <= 1.1 * megabytes * 2**20


def test_rows_that_are_there_are_not_copied() -> None:
    rows = np.arange(16, dtype=np.float32).reshape(4, 4)
    rows.flags.writeable = False
    cache = RowCache(4, np.zeros(4, np.float32), rows)
    assert cache.store is rows
    np.testing.assert_array_equal(cache.find(np.arange(4)), np.arange(4))
    part = cache.part(np.array([1, 3]))
    np.testing.assert_array_equal(part.store[part.find(np.array([0, 1]))], [[5, 7], [13, 15]])
    np.testing.assert_array_equal(cache.find(np.arange(4)), np.arange(4))
