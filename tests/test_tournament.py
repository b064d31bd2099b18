"""Everybody meets everybody."""

from itertools import combinations

import pytest

from polymargin.distributed._tournament import matches_of_leagues, tournament


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


@pytest.mark.parametrize("n_hosts", [1, 2, 3, 7])
@pytest.mark.parametrize("n_teams", [1, 2, 3, 8])
def test_teams_of_leagues_meet_once_and_none_plays_two_matches_at_a_time(
    n_hosts: int, n_teams: int
) -> None:
    met = []
    for number, hosted in enumerate(tournament(2 * n_hosts)):
        matches = [matches_of_leagues(match, n_teams, is_first=number == 0) for match in hosted]
        for at_a_time in zip(*matches, strict=True):
            present = [team for host in at_a_time for pair in host for team in pair]
            assert len(set(present)) == len(present) == 2 * n_hosts * n_teams
        met += [pair for host in matches for pairs in host for pair in pairs]
    assert sorted(met) == list(combinations(range(2 * n_hosts * n_teams), 2))
