"""Weights between processes: both ends have the same, and what has not changed does not travel."""

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from polymargin.distributed._lines import (
    Changed,
    Dense,
    Lines,
    decode,
    decode_sparse,
    encode,
    encode_sparse,
)

TYPES = [np.float32, np.float64]
weights_that_change = st.lists(
    st.dictionaries(st.integers(0, 59), st.sampled_from([0.0, 1.0, -2.5]), max_size=30), max_size=6
)


def size(message: Any) -> int:
    return len(pickle.dumps(message, protocol=5))


@settings(deadline=None)
@given(weights_that_change, st.sampled_from(TYPES))
def test_both_ends_have_the_same_weights_whichever_way_they_go(
    changes: list[dict[int, float]], dtype: Any
) -> None:
    weights = np.zeros((20, 3), dtype)
    here, there = None, None
    for turn, change in enumerate(changes):
        for place, value in change.items():
            weights.reshape(-1)[place] = value
        message, here = encode(weights, here)
        arrived, there = decode(message, weights.shape, weights.dtype, there)
        np.testing.assert_array_equal(arrived, weights)
        assert arrived.dtype == dtype
        assert (here is None) == (there is None) == isinstance(message, Dense)
        if here is not None and there is not None:
            np.testing.assert_array_equal(here.places, there.places)
            np.testing.assert_array_equal(here.values, there.values)
            assert np.all(np.diff(here.places.astype(np.int64)) > 0)
        if turn % 2:  # and back
            here, there = there, here


@settings(deadline=None)
@given(weights_that_change, st.sampled_from(TYPES))
def test_both_ends_have_the_same_sparse_matrix(changes: list[dict[int, float]], dtype: Any) -> None:
    matrix = np.zeros((20, 3), dtype)
    here, there = None, None
    for change in changes:
        before = matrix.copy()
        for place, value in change.items():
            matrix.reshape(-1)[place] = value
        message, here = encode_sparse(sparse.csr_array(matrix), here)
        arrived, there = decode_sparse(message, matrix.shape, matrix.dtype, there)
        np.testing.assert_array_equal(arrived.toarray(), matrix)
        assert arrived.dtype == dtype
        assert arrived.nnz == np.count_nonzero(matrix)
        assert len(message.values) + len(message.added) == np.count_nonzero(matrix != before)
        np.testing.assert_array_equal(here.places, there.places)
        here, there = there, here


@pytest.mark.parametrize("dtype", TYPES)
def test_only_what_has_changed_travels(dtype: Any) -> None:
    random = np.random.default_rng(0)
    weights = np.zeros((1000, 10), dtype)
    used = random.choice(weights.size, 1000, replace=False)
    weights.reshape(-1)[used] = random.normal(size=1000)
    first, known = encode(weights, None)
    again, known = encode(weights, known)
    weights.reshape(-1)[used[:10]] += 1
    weights.reshape(-1)[used[10]] = 0
    later, known = encode(weights, known)
    assert isinstance(again, Changed)
    assert isinstance(later, Changed)
    assert len(again.values) == len(again.added) == len(later.added) == 0
    assert len(later.values) == 11
    overhead = 600
    assert size(first) <= 1000 * (4 + weights.itemsize) + overhead
    assert size(later) <= 1000 / 8 + 11 * weights.itemsize + overhead


def test_lines_are_told_apart_by_team_and_process() -> None:
    one, other = Lines(), Lines()
    weights = np.zeros((30, 2))
    weights[4, 1] = 3.0
    for team in (5, 6):
        message = one.pack(1, team, weights)
        assert isinstance(message, Changed)
        assert len(message.added) == 1
        arrived = other.unpack(0, team, message, weights.shape, weights.dtype)
        np.testing.assert_array_equal(arrived, weights)
    back = other.pack(0, 5, weights)
    assert isinstance(back, Changed)
    assert len(back.values) == len(back.added) == 0
    elsewhere = other.pack(2, 5, weights)
    assert isinstance(elsewhere, Changed)
    assert len(elsewhere.added) == 1


def test_weights_that_are_not_sparse_go_as_they_are() -> None:
    weights = np.ones((4, 2))
    message, known = encode(weights, None)
    assert isinstance(message, Dense)
    assert known is None
