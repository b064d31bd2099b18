"""Examples that are set aside while a kernel machine is trained."""

import os
import signal
from collections.abc import Callable
from functools import lru_cache
from typing import Any, cast

import numpy as np
import pytest
from conftest import make_clusters
from kernel_helpers import make_problem, open_examples

from polymargin import S2DO, Blocks, KernelSVM
from polymargin.kernel._active import ActiveExamples
from polymargin.kernel._functions import CallableKernel
from polymargin.kernel._processor import Processor

pytestmark = pytest.mark.usefixtures("device")


def make_model(machine: str, **params: Any) -> KernelSVM:
    given = {"C": 10.0, "tol": 1e-7, "solver": Blocks(size=32), "random_state": 0} | params
    return KernelSVM(machine, **given)


@lru_cache
def plain_optimum(machine: str, seed: int) -> float:
    """Of the problem, without setting any example aside."""
    X, y = make_clusters(seed)
    model = make_model(machine, solver=S2DO(shrinking=False), tol=1e-5).fit(X, y)
    assert np.all(model.history_["active"] == len(X))
    return float(model.primal_objective_)


def test_optimum_is_the_same(machine: str, clusters: tuple[Any, Any], seed: int) -> None:
    model = make_model(machine).fit(*clusters)
    assert model.history_["active"].min() < len(clusters[0])
    assert model.history_["active"][-1] == len(clusters[0])
    assert model.dual_gap_ <= 1e-7
    assert model.primal_objective_ == pytest.approx(plain_optimum(machine, seed), rel=1e-5)


# No row fits, the rows of those left take the place of all others, or have room beside them.
@pytest.mark.parametrize("cache_size", [1e-3, 0.3, 100.0])
def test_cache_does_not_matter(cache_size: float, clusters: tuple[Any, Any]) -> None:
    model = make_model("ww", cache_size=cache_size).fit(*clusters)
    assert model.history_["active"].min() < len(clusters[0])
    assert model.dual_gap_ <= 1e-7
    assert_certified(model, *clusters)


def test_dual_objective_is_that_of_all_examples(machine: str, clusters: tuple[Any, Any]) -> None:
    history = make_model(machine).fit(*clusters).history_
    growing = np.flatnonzero(np.diff(history["active"]) > 0)
    assert len(growing) > 0
    np.testing.assert_allclose(history["dual"][growing + 1], history["dual"][growing], rtol=1e-12)
    assert np.all(np.diff(history["dual"]) >= -1e-9 * history["dual"][-1])


def test_interrupt_brings_them_back(
    clusters: tuple[Any, Any],
    monkeypatch: pytest.MonkeyPatch,
    interrupt_after: Callable[[float], None],
) -> None:
    shrink = ActiveExamples.shrink

    def shrink_and_interrupt(self: ActiveExamples, active: Any) -> None:
        shrink(self, active)
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(ActiveExamples, "shrink", shrink_and_interrupt)
    model = make_model("ww")
    with pytest.raises(KeyboardInterrupt):
        model.fit(*clusters)
    assert model.history_["active"][-2] < model.history_["active"][-1] == len(clusters[0])
    assert model.dual_gap_ > 1e-7
    assert_certified(model, *clusters)


# Where it pays


@pytest.mark.parametrize(
    ("n_active", "n_used", "pays"),
    [(40, 60, False), (40, 67, True), (50, 99, False), (50, 100, True), (51, 10_000, False)],
)
def test_rows_used_so_far_pay_for_one_use_of_those_left(
    n_active: int, n_used: int, pays: bool
) -> None:
    examples, device = make_examples(100, cache_bytes=1 << 20)
    examples._now.n_used = n_used
    device.n_computed = n_used  # there is room: no row is lost
    assert examples.pays_to_shrink(n_active) == pays


@pytest.mark.parametrize(("n_computed", "pays"), [(0, False), (66, False), (67, True)])
def test_rows_without_room_have_to_pay_for_their_computation(n_computed: int, pays: bool) -> None:
    examples, device = make_examples(100, cache_bytes=0)
    examples._now.n_used, device.n_computed = 67, n_computed
    assert examples.pays_to_shrink(40) == pays


def test_work_done_before_they_were_back_does_not_count() -> None:
    examples, device = make_examples(100, cache_bytes=0)
    examples._now.n_used = device.n_computed = 1000
    assert examples.pays_to_shrink(40)
    examples.shrink(np.arange(40))
    examples.grow()
    assert not examples.pays_to_shrink(40)
    device.n_computed += 67
    examples._now.n_used = 67
    assert examples.pays_to_shrink(40)


def make_examples(n: int, cache_bytes: int) -> tuple[ActiveExamples, Processor]:
    """With a kernel whose values cost a hundred times what their use does."""
    kernel = CallableKernel(lambda A, B: A @ B.T)
    problem = make_problem("ww", np.ones((n, 1)), np.arange(n) % 2, kernel)
    assert kernel.cost(problem.points) == 100
    examples = open_examples(Processor, problem, cache_bytes)
    return examples, cast(Processor, examples._now.device)


def test_the_answer_decides(clusters: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    pays_to_shrink = ActiveExamples.pays_to_shrink
    answers: list[tuple[int, bool]] = []

    def overheard(self: ActiveExamples, n_active: int) -> bool:
        answers.append((n_active, pays_to_shrink(self, n_active)))
        return answers[-1][1]

    monkeypatch.setattr(ActiveExamples, "pays_to_shrink", overheard)
    active = make_model("ww").fit(*clusters).history_["active"].astype(int)
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
