"""Which examples a round of working sets takes, and which are at rest."""

import numpy as np
import pytest

from polymargin.kernel._round import Rest, Selection


@pytest.mark.parametrize("n", [1, 3, 4])
def test_small_problems_are_taken_whole(n: int) -> None:
    selection = Selection(n, 4)
    for gains in (np.zeros(n), np.arange(n, dtype=float)):
        np.testing.assert_array_equal(selection.next(gains), np.arange(n))


def test_first_set_has_the_largest_gains_in_order() -> None:
    gains = np.array([0.0, 5.0, 1.0, 4.0, 2.0, 3.0])
    np.testing.assert_array_equal(Selection(6, 3).next(gains), [1, 3, 5])


def test_examples_without_a_gain_are_not_taken() -> None:
    gains = np.array([0.0, 2.0, 0.0, 1.0, 0.0])
    selection = Selection(5, 3)
    for _ in range(3):
        np.testing.assert_array_equal(selection.next(gains), [1, 3])


def test_of_many_the_largest_are_found() -> None:
    gains = np.random.default_rng(0).random(1000)
    ascending = np.argsort(gains)
    for size in range(2, 1000):
        largest = np.sort(ascending[-size:])
        np.testing.assert_array_equal(Selection(1000, size).next(gains), largest)


def test_examples_that_have_lost_their_gain_do_not_stay() -> None:
    selection = Selection(6, 2)
    selection.next(np.array([1.0, 1.0, 0.0, 0.0, 0.0, 0.0]))
    np.testing.assert_array_equal(selection.next(np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0])), [3])


def n_staying(size: int, large: list[float]) -> int:
    """Examples of a set that stay although others have these gains and they next to nothing."""
    selection = Selection(10 * size, size)
    gains = np.full(10 * size, 1e-9)
    gains[:size] = 1.0
    assert np.all(selection.next(gains) < size)
    gains[:size] = 1e-9
    gains[size : size + len(large)] = large
    return int(np.sum(selection.next(gains) < size))


@pytest.mark.parametrize(
    ("n_large", "kept"), [(1, 25), (25, 37), (40, 45), (50, 50), (60, 50), (900, 50)]
)
def test_more_stay_where_many_share_the_gain(n_large: int, kept: int) -> None:
    """1/4 + 1/4 min(1, 2 sharing / size) of the set, the sharing that of `n_large` equals."""
    assert n_staying(100, [1.0] * n_large) == kept


def test_sharing_need_not_be_a_whole_number() -> None:
    assert n_staying(7, [1.0, 1.0]) == 2
    assert n_staying(7, [1.0, 1.0, 0.45]) == 3  # 7/4 + 2.73/2


def test_those_that_stay_are_the_largest() -> None:
    selection = Selection(8, 4)
    selection.next(np.array([9.0, 8.0, 7.0, 6.0, 1.0, 1.0, 1.0, 1.0]))
    # Two of the set stay, and two others have more than what is left of it.
    np.testing.assert_array_equal(
        selection.next(np.array([1.0, 3.0, 0.5, 4.0, 2.0, 2.0, 0.1, 0.1])), [1, 3, 4, 5]
    )


def test_waiting_counts_by_its_square_root() -> None:
    # The last one is behind by 0.6: after three rounds sqrt(3) makes up for it.
    selection = Selection(3, 2)
    sets = [selection.next(np.array([10.0, 1.0, 0.6])).tolist() for _ in range(6)]
    assert sets == [[0, 1], [0, 1], [0, 2], [0, 1], [0, 1], [0, 2]]


def test_sets_have_their_size_and_are_ascending() -> None:
    random = np.random.default_rng(0)
    selection = Selection(50, 7)
    for _ in range(20):
        chosen = selection.next(random.random(50))
        assert len(chosen) == 7
        assert np.all(np.diff(chosen) > 0)


def test_rest_is_long_at_the_tenth_check() -> None:
    rest, gains = Rest(3), np.array([1.0, 0.0, 2.0])
    for _ in range(9):
        np.testing.assert_array_equal(rest.without(gains), [0, 1, 2])
    for _ in range(3):
        np.testing.assert_array_equal(rest.without(gains), [0, 2])


def test_where_nobody_gains_all_are_at_rest() -> None:
    rest = Rest(2)
    for _ in range(10):
        found = rest.without(np.zeros(2))
    assert len(found) == 0


def test_a_gain_ends_the_rest() -> None:
    rest, gains = Rest(2), np.array([1.0, 0.0])
    for _ in range(9):
        rest.without(gains)
    assert len(rest.without(np.array([1.0, 1.0]))) == 2
    for _ in range(9):
        assert len(rest.without(gains)) == 2
    assert rest.without(gains).tolist() == [0]


@pytest.mark.parametrize(("part", "left"), [(0.9e-9, 1), (1.1e-9, 2)])
def test_rounding_is_no_gain(part: float, left: int) -> None:
    """Up to 1e-9 of the mean."""
    rest, gains = Rest(2), np.array([8.0, 4 * part])
    for _ in range(10):
        found = rest.without(gains)
    assert len(found) == left


def test_few_examples_are_taken_by_their_gain_where_asked() -> None:
    selection = Selection(4, 4, takes_all=False)
    np.testing.assert_array_equal(selection.next(np.array([0.0, 1e-9, 0.0, 2.0])), [1, 3])


def test_sets_can_grow() -> None:
    selection, gains = Selection(9, 2), np.arange(9.0)
    assert len(selection.next(gains)) == 2
    selection.size = 5
    assert len(selection.next(gains)) == 5
