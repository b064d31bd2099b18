"""Dual variables taken while a fit runs: another fit goes on from them."""

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from polymargin import Blocks, KernelSVM, LinearSVM
from polymargin.fit._state import DualState

EXACT: dict[str, Any] = {"tol": 1e-7, "max_iter": 10**6, "random_state": 0}


class Recorder:
    """Wants the dual variables after every check."""

    def __init__(self) -> None:
        self.states: list[DualState] = []
        self.histories: list[Any] = []

    def is_due(self) -> bool:
        return True

    def keep(self, state: DualState, history: Any) -> None:
        if len(history) == len(self.states):
            return  # the end of the fit, which its last check has told
        self.states.append(state)
        self.histories.append(history)


def recording(model: Any, recorder: Recorder | None = None) -> Recorder:
    """Let a recorder take what would be written to a checkpoint."""
    keeper = recorder or Recorder()
    model._open_writer = lambda *given: keeper
    return keeper


ESTIMATORS = [
    LinearSVM("ww", **EXACT),
    LinearSVM("cs", C=10.0, **EXACT),
    KernelSVM("ww", C=10.0, **EXACT),
    KernelSVM("llw", **EXACT),
    KernelSVM("ww", C=10.0, solver="s2do", **EXACT),
    KernelSVM("cs", solver="crammer-singer", **EXACT),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_every_state_is_a_start(estimator: Any, dtype: Any, crowd: tuple[Any, Any]) -> None:
    X, y = crowd[0].astype(dtype), crowd[1]
    tol = 1e-7 if dtype == np.float64 else 1e-4
    model = clone(estimator).set_params(tol=tol)
    recorder = recording(model)
    model.fit(X, y)
    assert len(recorder.states) == len(model.history_)
    for n_checks, history in enumerate(recorder.histories, 1):
        np.testing.assert_array_equal(history, model.history_[:n_checks])
    checks = range(0, len(recorder.states), max(1, len(recorder.states) // 4))
    for state, check in [(recorder.states[at], model.history_[at]) for at in checks]:
        resumed = clone(estimator).set_params(tol=tol, warm_start=True)
        resumed._dual_state = state
        resumed.fit(X, y)
        assert resumed.converged_
        assert resumed.primal_objective_ == pytest.approx(model.primal_objective_, rel=2 * tol)
        # It begins where the state was taken.
        assert resumed.history_["dual"][0] == pytest.approx(check["dual"], rel=0.1 * tol)


@pytest.mark.usefixtures("device")
def test_states_of_examples_set_aside_are_whole() -> None:
    """While a part is solved alone, its variables are those of the whole problem."""
    random = np.random.default_rng(0)
    y = random.integers(4, size=1500)
    X = random.normal(size=(1500, 2)) + 2.5 * np.c_[y % 2, y // 2]
    blocks = Blocks(pairs=False)
    model = KernelSVM(C=1.0, gamma=0.5, solver=blocks, **EXACT)
    recorder = recording(model)
    model.fit(X, y)
    assert np.any(model.history_["active"] < 1500)
    kernel = clone(model).set_params(warm_start=True, max_iter=1)
    for state, check in zip(recorder.states, model.history_, strict=True):
        if check["active"] == 1500:
            continue
        resumed = clone(kernel)
        resumed._dual_state = state
        with pytest.warns(UserWarning, match="stopped after"):
            resumed.fit(X, y)
        # The dual objective of the whole is known while examples are set aside.
        assert resumed.history_["dual"][0] == pytest.approx(check["dual"], rel=1e-9)
        break


@pytest.mark.parametrize("solver", ["blocks", "s2do"])
@pytest.mark.filterwarnings("ignore:The kernel is not positive")
def test_a_history_without_bounds_has_no_gaps(solver: str, blobs: tuple[Any, Any]) -> None:
    model = KernelSVM(kernel="sigmoid", gamma=1.0, coef0=-1.0, solver=solver, random_state=0)
    recorder = recording(model)
    model.fit(*blobs)
    assert np.isnan(model.dual_gap_)
    for n_checks, history in enumerate(recorder.histories, 1):
        np.testing.assert_array_equal(history["gap"], model.history_["gap"][:n_checks])
    assert np.isnan(recorder.histories[-1]["gap"][-1])


def test_an_error_of_the_keeper_ends_the_fit(blobs: tuple[Any, Any]) -> None:
    class Broken(Recorder):
        def keep(self, state: DualState, history: Any) -> None:
            raise OSError("the disk is full")

    for model in (LinearSVM(**EXACT), KernelSVM(**EXACT), KernelSVM(solver="s2do", **EXACT)):
        recording(model, Broken())
        with pytest.raises(OSError, match="the disk is full"):
            model.fit(*blobs)
