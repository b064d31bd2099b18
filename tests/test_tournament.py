"""Everybody meets everybody."""

from itertools import combinations

import pytest

from polymargin.distributed._tournament import tournament


@pytest.mark.parametrize("n_teams", range(201))
def test_each_pair_meets_once_and_nobody_twice_in_a_round(n_teams: int) -> None:
    rounds = tournament(n_teams)
    met = [tuple(sorted(pair)) for matches in rounds for pair in matches]
    assert sorted(met) == list(combinations(range(n_teams), 2))
    for matches in rounds:
        present = [team for pair in matches for team in pair]
        assert len(set(present)) == len(present)
        assert len(matches) == n_teams // 2
    assert len(rounds) == max(0, n_teams - 1 + n_teams % 2)
