"""The subproblem of S2DO in every rank case, against brute force."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polymargin import core

numbers = st.floats(-4, 4).map(lambda x: round(x, 2))
bounds = st.tuples(st.floats(-3, 0), st.floats(0, 3)).map(
    lambda b: (round(b[0], 2), round(b[1], 2))
)
vectors = st.tuples(numbers, numbers)


@st.composite
def matrices(draw: Any, rank: int) -> Any:
    if rank == 0:
        return np.zeros((2, 2))
    if rank == 1:
        root = np.array(draw(st.tuples(numbers, numbers).filter(any)))
        return np.outer(root, root)
    root = np.array([[draw(numbers), 0.0], [draw(numbers), draw(numbers)]])
    return root @ root.T + 0.1 * np.eye(2)


def value(g: Any, Q: Any, mu: Any) -> float:
    mu = np.asarray(mu)
    return float(np.asarray(g) @ mu - 0.5 * mu @ Q @ mu)


def best_by_trial(g: Any, Q: Any, lower: Any, upper: Any) -> float:
    """The best of all corners, of the optimum of each edge and of the optimum without bounds."""
    points = [np.array(corner) for corner in product(*zip(lower, upper, strict=True))]
    for fixed, at in product((0, 1), (lower, upper)):
        mu = np.zeros(2)
        mu[fixed], other = at[fixed], 1 - fixed
        if Q[other, other] > 0:
            mu[other] = (g[other] - Q[0, 1] * mu[fixed]) / Q[other, other]
        points.append(mu)
    points.append(np.linalg.lstsq(Q, np.asarray(g), rcond=1e-9)[0])
    inside = [np.clip(mu, lower, upper) for mu in points]
    return max(value(g, Q, mu) for mu in inside)


@pytest.mark.parametrize("rank", [0, 1, 2])
@given(data=st.data(), g=vectors, first=bounds, second=bounds)
def test_two_variables_in_their_box(rank: int, data: Any, g: Any, first: Any, second: Any) -> None:
    Q = data.draw(matrices(rank))
    lower, upper = (first[0], second[0]), (first[1], second[1])
    mu = core.solve_two_variables(g, Q.tolist(), lower, upper)
    assert np.all(mu >= np.array(lower) - 1e-12)
    assert np.all(mu <= np.array(upper) + 1e-12)
    best = best_by_trial(g, Q, lower, upper)
    assert value(g, Q, mu) >= best - 1e-8 * (1 + abs(best))


@given(g=vectors, root=vectors.filter(any), scale=numbers, first=bounds, second=bounds)
def test_two_variables_whose_gradient_is_orthogonal_to_the_null_space(
    g: Any, root: Any, scale: float, first: Any, second: Any
) -> None:
    root = np.array(root)
    Q, g = np.outer(root, root), scale * root
    lower, upper = (first[0], second[0]), (first[1], second[1])
    mu = core.solve_two_variables(tuple(g), Q.tolist(), lower, upper)
    best = best_by_trial(g, Q, lower, upper)
    assert value(g, Q, mu) >= best - 1e-8 * (1 + abs(best))


@given(g=vectors, entries=st.tuples(numbers, numbers, numbers), first=bounds, second=bounds)
def test_two_variables_of_an_indefinite_kernel_stay_in_their_box(
    g: Any, entries: Any, first: Any, second: Any
) -> None:
    a, b, c = entries
    lower, upper = (first[0], second[0]), (first[1], second[1])
    mu = core.solve_two_variables(g, ((abs(a), b), (b, abs(c))), lower, upper)
    assert np.all(mu >= np.array(lower) - 1e-12)
    assert np.all(mu <= np.array(upper) + 1e-12)


@given(data=st.data(), g=vectors)
def test_gain_of_full_rank(data: Any, g: Any) -> None:
    Q = data.draw(matrices(2))
    best = value(g, Q, np.linalg.solve(Q, np.array(g)))
    assert core.two_variable_gain(g, Q.tolist()) == pytest.approx(best, rel=1e-6, abs=1e-12)


@given(root=vectors.filter(lambda r: max(map(abs, r)) >= 0.1), scale=numbers)
def test_gain_of_rank_one(root: Any, scale: float) -> None:
    root = np.array(root)
    Q = np.outer(root, root)
    along = scale * root
    # In the range of Q: (w^T g)^2 / (2 w^T Q w) with w along g.
    assert core.two_variable_gain(tuple(along), Q.tolist()) == pytest.approx(scale**2 / 2)
    null = np.array([-root[1], root[0]])
    assert core.two_variable_gain(tuple(along + null), Q.tolist()) == np.inf


def test_gain_of_a_normalised_kernel_of_rank_one() -> None:
    for Q_ab in (1.0, -1.0):
        g_a = 0.7
        g_b = Q_ab * g_a
        gain = core.two_variable_gain((g_a, g_b), ((1.0, Q_ab), (Q_ab, 1.0)))
        assert gain == pytest.approx((g_a + Q_ab * g_b) ** 2 / 8)


def test_gain_without_curvature() -> None:
    zero = ((0.0, 0.0), (0.0, 0.0))
    assert core.two_variable_gain((0.0, 0.0), zero) == 0
    assert core.two_variable_gain((0.0, 1.0), zero) == np.inf
    with pytest.raises(ValueError, match="not symmetric"):
        core.two_variable_gain((0.0, 1.0), ((1.0, 0.0), (0.5, 1.0)))
