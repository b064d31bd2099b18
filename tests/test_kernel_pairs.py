"""Steps over two variables, where passes over a working set are slow."""

from typing import Any

import numpy as np
import pytest
from working_set_helpers import Script, checked, make_loop, run

from polymargin import Blocks, KernelSVM


@pytest.mark.parametrize(
    ("dtype", "size"), [(np.float32, 0), (np.float32, 50), (np.float64, 0), (np.float64, 16)]
)
@pytest.mark.parametrize("C", [1.0, 1e4])
def test_pairs_reach_the_optimum_of_passes(
    C: float, size: int, dtype: Any, crowd: tuple[Any, Any]
) -> None:
    X, y = crowd[0].astype(dtype), crowd[1]
    tol = 1e-3 if dtype == np.float32 else 1e-5
    params = {"C": C, "gamma": 0.3, "tol": tol, "random_state": 0}
    pairs = KernelSVM(solver=Blocks(size=size), **params).fit(X, y)
    passes = KernelSVM(**params).fit(X, y)
    assert pairs.converged_
    assert pairs.dual_objective_ <= passes.primal_objective_ * (1 + 1e-6)
    assert passes.dual_objective_ <= pairs.primal_objective_ * (1 + 1e-6)


def test_pairs_are_taken_where_passes_are_slow(crowd: tuple[Any, Any]) -> None:
    params = {"C": 100.0, "gamma": 0.3, "random_state": 0}
    pairs, passes, walrus = (
        KernelSVM(solver=Blocks(pairs=flag), block_solver=block_solver, **params).fit(*crowd)
        for flag, block_solver in ((True, "auto"), (False, "auto"), (True, "walrus"))
    )
    assert all(model.converged_ for model in (pairs, passes, walrus))
    assert pairs.n_iter_ < 0.5 * min(passes.n_iter_, walrus.n_iter_)


def test_large_C_needs_hardly_more_steps(blobs: tuple[Any, Any]) -> None:
    """Of rows that can be separated: longer weights undo what is left of the loss."""
    few, many = (
        KernelSVM(C=C, gamma=10.0, random_state=0, solver="blocks").fit(*blobs) for C in (1e3, 1e7)
    )
    assert many.converged_
    assert many.n_iter_ <= 2 * few.n_iter_ + 5


def test_working_sets_double_every_four_rounds() -> None:
    found = [checked(np.ones(5000), 0.5 - 0.01 * i) for i in range(20)]
    script = Script(found)
    run(make_loop(script, 5000, 0, by_pairs=True), lambda check: len(script.sets) >= 18)
    sizes = [len(examples) for examples in script.sets]
    assert sizes[::4] == [256, 512, 1024, 2048, 2048]
    assert sizes == sorted(sizes)


def test_working_sets_of_a_given_size_keep_it() -> None:
    assert Blocks(size=7).sizes_for(3, by_pairs=True) == (7, 7)
    assert Blocks().sizes_for(3, by_pairs=False) == (1024, 1024)
    assert Blocks().sizes_for(33, by_pairs=False) == (512, 512)


def test_examples_at_rest_are_not_in_a_set_of_pairs() -> None:
    script = Script([checked([0, 1, 0, 2, 0], 0.5 - 0.1 * i) for i in range(4)])
    run(make_loop(script, 5, 5, by_pairs=True), lambda check: len(script.sets) >= 1)
    assert script.sets == [[1, 3]]
