"""Who meets whom when everybody meets everybody: a 1-factorisation of the complete graph.

One team has a fixed seat, the others sit around a table and move on by one seat after each round;
those who face each other meet. Alber, Zimmert, Dogan & Kloft (2017), section 3.2.3 and figure 1.
"""

Match = tuple[int, int]


def tournament(n_teams: int) -> list[list[Match]]:
    """The matches of each round, in which no team has two; each pair meets exactly once.

    An odd number of teams has a round more than rounds of a team: in each round one of them rests.

    Examples
    --------
    >>> from polymargin.distributed._tournament import tournament
    >>> tournament(4)
    [[(0, 3), (1, 2)], [(0, 2), (3, 1)], [(0, 1), (2, 3)]]
    >>> tournament(3)
    [[(1, 2)], [(0, 2)], [(0, 1)]]
    """
    seats = list(range(n_teams + n_teams % 2))  # the last one is empty where the number is odd
    rounds = []
    for _ in seats[1:]:
        facing = zip(seats[: len(seats) // 2], reversed(seats), strict=False)
        rounds.append([pair for pair in facing if max(pair) < n_teams])
        seats[1:] = [seats[-1], *seats[1:-1]]
    return rounds


def matches_of_leagues(leagues: Match, n_teams: int, is_first: bool) -> list[list[Match]]:
    """The matches when two leagues of `n_teams` meet, in rounds in which no team has two.

    Teams of league l are numbered from l * `n_teams`, and come in ascending order. Each team meets
    all of the other league; where a tournament begins, all of its own as well.

    Examples
    --------
    >>> from polymargin.distributed._tournament import matches_of_leagues
    >>> matches_of_leagues((3, 1), 2, is_first=False)
    [[(2, 6), (3, 7)], [(3, 6), (2, 7)]]
    >>> matches_of_leagues((0, 1), 1, is_first=True)
    [[(0, 1)]]
    """
    here, there = (
        list(range(league * n_teams, (league + 1) * n_teams)) for league in sorted(leagues)
    )
    if is_first:
        both = here + there
        return [
            [(min(both[a], both[b]), max(both[a], both[b])) for a, b in matches]
            for matches in tournament(2 * n_teams)
        ]
    return [
        [(here[(i + shift) % n_teams], there[i]) for i in range(n_teams)]
        for shift in range(n_teams)
    ]
