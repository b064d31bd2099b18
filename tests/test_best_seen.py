"""Fits that end early keep the best primal point and the best dual variables that they met."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import StandardScaler

from polymargin import KernelSVM, LinearSVM
from polymargin._machines import find_machine
from polymargin.datasets import load_letter
from polymargin.fit import Check, Handover
from polymargin.second_order import Variables, best_multiple


@pytest.fixture(scope="module")
def wine() -> tuple[Any, Any]:
    X, y = load_wine(return_X_y=True)
    return X[:, :5], y


def hinges(scores: Any, y: Any) -> float:
    """The loss of Weston and Watkins."""
    own = scores[np.arange(len(y)), y][:, None]
    return float(np.maximum(0.0, 1.0 + scores - own).sum() - len(y))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("max_iter", [60, 100, 150, 200])
def test_an_unconverged_linear_fit_ends_with_its_best_weights(
    wine: tuple[Any, Any], max_iter: int
) -> None:
    X, y = wine
    model = LinearSVM(C=1e4, max_iter=max_iter, solver="block-descent", random_state=0).fit(X, y)
    assert not model.converged_
    late = model.history_["epoch"] >= 50
    assert model.primal_objective_ <= model.history_["primal"][late].min() * (1 + 1e-12)
    assert model.dual_objective_ >= model.history_["dual"].max() * (1 - 1e-8)
    squares = float(np.sum(model.coef_**2) + np.sum(model.intercept_**2))
    primal = squares / 2 + 1e4 * hinges(model.class_scores(X), y)
    assert model.primal_objective_ == pytest.approx(primal, rel=1e-9)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("max_iter", [60, 150, 400])
def test_an_unconverged_kernel_fit_ends_with_its_best_scores(
    wine: tuple[Any, Any], max_iter: int
) -> None:
    X, y = wine
    X, gamma, C = StandardScaler().fit_transform(X), 0.01, 1e6
    model = KernelSVM(
        C=C, gamma=gamma, max_iter=max_iter, tol=1e-9, solver="blocks", random_state=0
    ).fit(X, y)
    assert not model.converged_
    late = model.history_["epoch"] >= 50
    assert model.primal_objective_ <= model.history_["primal"][late].min() * (1 + 1e-12)
    coef = model.dual_coef_
    gram = rbf_kernel(X[model.support_], gamma=gamma)
    primal = np.sum(coef * (coef @ gram)) / 2 + C * hinges(model.class_scores(X), y)
    assert model.primal_objective_ == pytest.approx(primal, rel=1e-6)


def test_second_order_steps_that_are_interrupted_lose_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X, y = load_digits(return_X_y=True)

    def interrupted(*arguments: Any) -> Any:
        from polymargin.second_order import finish

        *others, _, max_free = arguments

        def interrupt(_: Any) -> bool:
            raise KeyboardInterrupt

        return finish(*others, interrupt, max_free)

    monkeypatch.setattr("polymargin.fit._second_order.finish", interrupted)
    model = LinearSVM(C=1e6, tol=1e-12, max_iter=10**6, random_state=0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.dual_objective_ > 0
    assert model.score(X, y) > 0.9


def test_a_descent_that_was_told_to_hand_over_does() -> None:
    handover = Handover(pass_cost=1.0, finish_cost=10.0, tol=1e-3, max_iter=1000)
    for epoch, gap in ((20.0, 0.9), (25.0, 0.9), (25.0, 0.0011)):
        asked = handover(Check(epoch, 0.0, 1.0, 1.0 - gap, gap, 0.0, 1))
    assert asked


def test_a_fit_that_ends_early_says_so(wine: tuple[Any, Any]) -> None:
    with pytest.warns(ConvergenceWarning, match="after 60 passes"):
        LinearSVM(C=1e4, max_iter=60, solver="block-descent", random_state=0).fit(*wine)


def test_longer_scores_end_a_kernel_fit_at_large_C() -> None:
    X, y = load_digits(return_X_y=True)
    X, gamma, C = X / 16, 0.02, 1e6
    model = KernelSVM(C=C, gamma=gamma, solver="blocks", random_state=0).fit(X, y)
    assert model.converged_
    coef = model.dual_coef_
    gram = rbf_kernel(X[model.support_], gamma=gamma)
    norm = float(np.sum(coef * (coef @ gram)))
    assert model.primal_objective_ == pytest.approx(
        norm / 2 + C * hinges(model.class_scores(X), y), rel=1e-6
    )
    own = model.duals_.toarray()
    own_norm = float(np.sum(own.T * (own.T @ rbf_kernel(X, gamma=gamma))))
    own_primal = own_norm / 2 + C * hinges(rbf_kernel(X, gamma=gamma) @ own, y)
    assert model.primal_objective_ < own_primal


def test_best_multiple_of_scores(machine: str, seed: int) -> None:
    random = np.random.default_rng(seed)
    labels = random.integers(0, 4, 30).astype(np.int32)
    variables = Variables(find_machine(machine), labels, np.full(30, 1e4), 4)
    scores = 2.0 * np.eye(4)[labels] + random.normal(scale=1e-3, size=(30, 4))
    norm = 5.0

    def primal(scale: float) -> float:
        return scale**2 * norm + variables.loss(variables.margins(scale * scores))

    best = best_multiple(variables, scores, primal(1.0))
    assert best.primal == pytest.approx(primal(best.scale), rel=1e-12)
    assert best.primal <= min(primal(s) for s in (1.0, 1.25, 1.03125, 1 + 2.0**-10))


@pytest.mark.parametrize("C", [100.0, 1e5, np.inf])
@pytest.mark.parametrize("seconds", [0.3, 0.7])
def test_an_interrupted_fit_is_no_worse_than_one_of_some_passes(
    C: float, seconds: float, interrupt_after: Callable[[float], None]
) -> None:
    X, y, X_test, y_test = load_letter()
    model = LinearSVM(C=C, tol=1e-12, max_iter=10**6, random_state=0)
    interrupt_after(seconds)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.score(X_test, y_test) > 0.3
