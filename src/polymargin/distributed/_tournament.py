"""Who meets whom when everybody meets everybody: a 1-factorisation of the complete graph.

One team has a fixed seat, the others sit around a table and move on by one seat after each round;
those who face each other meet. Alber, Zimmert, Dogan & Kloft (2017), section 3.2.3 and figure 1.
"""


def tournament(n_teams: int) -> list[list[tuple[int, int]]]:
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
