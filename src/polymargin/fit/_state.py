"""Dual variables between fits: what a warm start and a checkpoint go on from."""

import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from scipy import sparse

from polymargin import core
from polymargin.fit._past import Past
from polymargin.fit._problem import Problem
from polymargin.fit._sparse import duals_to_csr

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polymargin.core import Duals, MachineInfo


@dataclass(frozen=True)
class DualState:
    """The dual variables of a fit with all that is needed to read them or to go on from them."""

    duals: "Duals"
    labels: "NDArray[np.int32]"
    classes: "NDArray[Any]"
    kept: "NDArray[np.int64] | None"
    n_given: int
    n_features: int
    dtype: "np.dtype[Any]"
    machine: str
    past: Past | None = None  # of a fit that is to go on; None: of one that is over

    @classmethod
    def of(cls, duals: "Duals", problem: Problem, machine: "MachineInfo") -> "DualState":
        return cls(
            duals=duals,
            labels=problem.labels,
            classes=problem.classes,
            kept=problem.kept,
            n_given=problem.n_given,
            n_features=problem.rows.n_features,
            dtype=problem.rows.dtype,
            machine=machine.name,
        )

    @cached_property
    def csr(self) -> sparse.csr_array:
        """The vectors a_i, one row for each row that was given."""
        return duals_to_csr(self.duals, self.machine, self.labels, self.kept, self.n_given)

    def difference(self, problem: Problem, machine: "MachineInfo") -> str | None:
        """What makes these duals useless for `problem`, if anything."""
        if (self.n_given, self.n_features) != (problem.n_given, problem.rows.n_features):
            return "the shape of X"
        if not _same_rows(self.kept, problem.kept):
            return "the set of rows of positive weight"
        if not np.array_equal(self.classes, problem.classes):
            return "the set of classes"
        if not np.array_equal(self.labels, problem.labels):
            return "y"
        if self.machine != machine.name:
            return "the machine"
        if self.dtype != problem.rows.dtype:
            return "the dtype of X"
        return None


def restrict_duals(duals: "Duals", rows: "NDArray[np.int64]") -> "Duals":
    """Those of some rows alone, in the order given."""
    return from_csr(as_csr(duals)[rows])


def join_duals(parts: "list[Duals]", rows: "list[NDArray[np.int64]]") -> "Duals":
    """Those of all rows, from parts that are each of these rows."""
    whole = sparse.vstack([as_csr(part) for part in parts], format="csr")
    return from_csr(whole[np.argsort(np.concatenate(rows))])


def duals_of_classes(duals: "Duals", classes: "NDArray[np.int64]", width: int) -> "Duals":
    """Those of some classes in this order, then zeros for all others up to `width`."""
    chosen = sparse.csr_array(as_csr(duals)[:, classes])
    chosen.resize((chosen.shape[0], width))
    return from_csr(chosen)


def join_classes(parts: "list[Duals]", classes: "list[NDArray[np.int64]]", k: int) -> "Duals":
    """Those of all `k` classes, from parts whose first columns are of these classes."""
    columns = [as_csr(part)[:, : len(own)] for part, own in zip(parts, classes, strict=True)]
    whole = sparse.hstack(columns, format="csr")
    whole = sparse.csr_array(whole[:, np.argsort(np.concatenate(classes))])
    return from_csr(whole)


def as_csr(duals: "Duals") -> sparse.csr_array:
    """The variables that are not zero, by rows."""
    k, indptr, classes, values = duals.__getstate__()
    return sparse.csr_array((values, classes, indptr), shape=(len(indptr) - 1, k))


def from_csr(matrix: sparse.csr_array) -> "Duals":
    """What `as_csr` has made of dual variables; indices may have any order."""
    matrix.sort_indices()
    duals = core.Duals.__new__(core.Duals)
    indptr, classes = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32)
    duals.__setstate__((matrix.shape[1], indptr, classes, matrix.data))
    return duals


def scale_duals(duals: "Duals", factor: float) -> "Duals":
    """All of them times a positive factor."""
    k, indptr, classes, values = duals.__getstate__()
    scaled = core.Duals.__new__(core.Duals)
    scaled.__setstate__((k, indptr, classes, (values * factor).astype(values.dtype)))
    return scaled


def _same_rows(one: "NDArray[np.int64] | None", other: "NDArray[np.int64] | None") -> bool:
    if one is None or other is None:
        return one is other
    return np.array_equal(one, other)


def find_start(
    state: DualState | None, problem: Problem, machine: "MachineInfo"
) -> tuple["Duals | None", Past]:
    """The duals to start from, None for a cold start, and what lies behind them."""
    if state is None:
        return None, Past()
    difference = state.difference(problem, machine)
    if difference is None:
        return state.duals, state.past or Past()
    warnings.warn(
        f"warm_start: {difference} differs from the last fit, so this one starts cold.",
        UserWarning,
        stacklevel=4,
    )
    return None, Past()


class Keeper(Protocol):
    """Stores what a fit has reached from time to time, so that another one can go on."""

    def is_due(self) -> bool:
        """Whether it wants that now; asked after each check."""
        ...

    def keep(self, state: DualState, history: "NDArray[Any]") -> None:
        """Take the dual variables and all checks so far."""
        ...


@dataclass(frozen=True)
class ProblemKeeper:
    """Adds to dual variables and history what is needed to read them and what was before."""

    keeper: Keeper
    problem: Problem
    machine: "MachineInfo"
    past: Past

    def is_due(self) -> bool:
        return self.keeper.is_due()

    def after(self, past: Past) -> "ProblemKeeper":
        """The same for what follows this much more."""
        return replace(self, past=self.past.and_then(past))

    def keep(self, duals: "Duals", history: "NDArray[Any]") -> None:
        state = DualState.of(duals, self.problem, self.machine)
        self.keeper.keep(state, self.past.followed_by(history))
