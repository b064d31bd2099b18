"""Examples that are set aside while a kernel machine is trained."""

import os
import signal
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from polymargin import Blocks, KernelSVM
from polymargin._processor import Processor


@pytest.fixture
def shrink_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether it pays is not asked."""
    monkeypatch.setattr(Processor, "pays_to_shrink", lambda self, n_active: True)


@pytest.fixture
def problem(seed: int) -> tuple[Any, Any]:
    """Most rows are far from all other classes."""
    X, y = make_blobs(500, 3, centers=4, cluster_std=1.6, random_state=seed)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def make_model(machine: str, **params: Any) -> KernelSVM:
    given = {"C": 10.0, "tol": 1e-7, "solver": Blocks(size=32), "random_state": 0} | params
    return KernelSVM(machine, **given)


def test_optimum_is_the_same(
    machine: str, problem: tuple[Any, Any], request: pytest.FixtureRequest
) -> None:
    plain = make_model(machine).fit(*problem)
    request.getfixturevalue("shrink_at_once")
    model = make_model(machine).fit(*problem)
    assert model.history_["active"].min() < len(problem[0])
    assert model.history_["active"][-1] == len(problem[0])
    assert model.dual_gap_ <= 1e-7
    assert model.primal_objective_ == pytest.approx(plain.primal_objective_, rel=1e-6)


# No row fits, the rows of those left take the place of all others, or have room beside them.
@pytest.mark.parametrize("cache_size", [1e-3, 0.3, 100.0])
def test_cache_does_not_matter(
    cache_size: float, problem: tuple[Any, Any], shrink_at_once: None
) -> None:
    model = make_model("ww", cache_size=cache_size).fit(*problem)
    assert model.history_["active"].min() < len(problem[0])
    assert model.dual_gap_ <= 1e-7
    assert_certified(model, *problem)


def test_dual_objective_is_that_of_all_examples(
    machine: str, problem: tuple[Any, Any], shrink_at_once: None
) -> None:
    history = make_model(machine).fit(*problem).history_
    growing = np.flatnonzero(np.diff(history["active"]) > 0)
    assert len(growing) > 0
    np.testing.assert_allclose(history["dual"][growing + 1], history["dual"][growing], rtol=1e-12)
    assert np.all(np.diff(history["dual"]) >= -1e-9 * history["dual"][-1])


def test_interrupt_brings_them_back(
    problem: tuple[Any, Any],
    shrink_at_once: None,
    monkeypatch: pytest.MonkeyPatch,
    interrupt_after: Callable[[float], None],
) -> None:
    shrink = Processor.shrink

    def shrink_and_interrupt(self: Processor, active: Any) -> None:
        shrink(self, active)
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(Processor, "shrink", shrink_and_interrupt)
    model = make_model("ww")
    with pytest.raises(KeyboardInterrupt):
        model.fit(*problem)
    assert model.history_["active"][-2] < model.history_["active"][-1] == len(problem[0])
    assert model.dual_gap_ > 1e-7
    assert_certified(model, *problem)


def assert_certified(model: KernelSVM, X: Any, y: Any) -> None:
    """The primal objective of Weston and Watkins's machine as its definition reads."""
    scores = model.class_scores(X)
    own = scores[np.arange(len(y)), y][:, None]
    losses = np.maximum(0, 1 - own + scores).sum() - len(y)
    norm = np.sum(model.duals_.toarray() * scores)
    assert norm / 2 + model.C * losses == pytest.approx(model.primal_objective_, rel=1e-9)
