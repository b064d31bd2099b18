"""Examples that are set aside while a kernel machine is trained."""

import os
import signal
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from polymargin import S2DO, Blocks, KernelSVM, core
from polymargin.kernel._functions import CallableKernel
from polymargin.kernel._processor import Processor


@pytest.fixture
def problem(seed: int) -> tuple[Any, Any]:
    """Most rows are far from all other classes."""
    X, y = make_blobs(500, 3, centers=4, cluster_std=1.6, random_state=seed)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def make_model(machine: str, **params: Any) -> KernelSVM:
    given = {"C": 10.0, "tol": 1e-7, "solver": Blocks(size=32), "random_state": 0} | params
    return KernelSVM(machine, **given)


def test_optimum_is_the_same(machine: str, problem: tuple[Any, Any]) -> None:
    plain = make_model(machine, solver=S2DO(shrinking=False), tol=1e-5).fit(*problem)
    assert np.all(plain.history_["active"] == len(problem[0]))
    model = make_model(machine).fit(*problem)
    assert model.history_["active"].min() < len(problem[0])
    assert model.history_["active"][-1] == len(problem[0])
    assert model.dual_gap_ <= 1e-7
    assert model.primal_objective_ == pytest.approx(plain.primal_objective_, rel=1e-5)


# No row fits, the rows of those left take the place of all others, or have room beside them.
@pytest.mark.parametrize("cache_size", [1e-3, 0.3, 100.0])
def test_cache_does_not_matter(cache_size: float, problem: tuple[Any, Any]) -> None:
    model = make_model("ww", cache_size=cache_size).fit(*problem)
    assert model.history_["active"].min() < len(problem[0])
    assert model.dual_gap_ <= 1e-7
    assert_certified(model, *problem)


def test_dual_objective_is_that_of_all_examples(machine: str, problem: tuple[Any, Any]) -> None:
    history = make_model(machine).fit(*problem).history_
    growing = np.flatnonzero(np.diff(history["active"]) > 0)
    assert len(growing) > 0
    np.testing.assert_allclose(history["dual"][growing + 1], history["dual"][growing], rtol=1e-12)
    assert np.all(np.diff(history["dual"]) >= -1e-9 * history["dual"][-1])


def test_interrupt_brings_them_back(
    problem: tuple[Any, Any],
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


# Where it pays


@pytest.mark.parametrize(
    ("n_active", "n_used", "pays"),
    [(40, 60, False), (40, 67, True), (50, 99, False), (50, 100, True), (51, 10_000, False)],
)
def test_rows_used_so_far_pay_for_one_use_of_those_left(
    n_active: int, n_used: int, pays: bool
) -> None:
    device = make_device(100, cache_bytes=1 << 20)
    device._now.n_used = n_used
    device._now.n_computed = n_used  # there is room: no row is lost
    assert device.pays_to_shrink(n_active) == pays


@pytest.mark.parametrize(("n_computed", "pays"), [(0, False), (66, False), (67, True)])
def test_rows_without_room_have_to_pay_for_their_computation(n_computed: int, pays: bool) -> None:
    device = make_device(100, cache_bytes=0)
    device._now.n_used, device._now.n_computed = 67, n_computed
    assert device.pays_to_shrink(40) == pays


def make_device(n: int, cache_bytes: int) -> Processor:
    """With a kernel whose values cost a hundred times what their use does."""
    kernel = CallableKernel(lambda A, B: A @ B.T)
    points = kernel.prepare(np.ones((n, 1)))
    labels, ones = np.arange(n, dtype=np.int32) % 2, np.ones(n)
    dual = core.KernelDual(labels, ones, 2, "ww", ones, core.LinearOptions(), None)
    assert kernel.cost(points) == 100
    return Processor(dual, kernel, points, ones, cache_bytes, 1)


def test_the_answer_decides(problem: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    pays_to_shrink = Processor.pays_to_shrink
    answers: list[tuple[int, bool]] = []

    def overheard(self: Processor, n_active: int) -> bool:
        answers.append((n_active, pays_to_shrink(self, n_active)))
        return answers[-1][1]

    monkeypatch.setattr(Processor, "pays_to_shrink", overheard)
    active = make_model("ww").fit(*problem).history_["active"].astype(int)
    assert {pays for _, pays in answers} == {False, True}
    shrunk_to = active[1:][np.diff(active) < 0]
    assert shrunk_to.tolist() == [n_active for n_active, pays in answers if pays]


def assert_certified(model: KernelSVM, X: Any, y: Any) -> None:
    """The primal objective of Weston and Watkins's machine as its definition reads."""
    scores = model.class_scores(X)
    own = scores[np.arange(len(y)), y][:, None]
    losses = np.maximum(0, 1 - own + scores).sum() - len(y)
    norm = np.sum(model.duals_.toarray() * scores)
    assert norm / 2 + model.C * losses == pytest.approx(model.primal_objective_, rel=1e-9)
