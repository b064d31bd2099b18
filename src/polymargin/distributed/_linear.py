"""The linear estimator over several processes."""

import math
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from polymargin import estimators
from polymargin._sklearn import HasMethods
from polymargin.block_solvers import BlockSolver
from polymargin.distributed._agreement import agree, agree_on_shares
from polymargin.distributed._automatic import Shape, choose_deal
from polymargin.distributed._by_classes import ClassesDealt
from polymargin.distributed._by_rows import RowsDealt, RowsHere
from polymargin.distributed._leagues import LeaguesDealt
from polymargin.distributed._parts import Parts, class_range
from polymargin.distributed._ranks import KINDS, Ranks, world
from polymargin.distributed._rounds import Deal, Gathered, RoundsRun
from polymargin.distributed._share_problem import (
    make_problem_of_shares,
    refuse_what_needs_all_rows,
)
from polymargin.fit import (
    FitTask,
    Keeper,
    LinearOutcome,
    Past,
    Problem,
    ProblemKeeper,
    RandomSource,
    Run,
    draw_seed,
)
from polymargin.solvers import Automatic, Choice, Leagues, LinearLoop, LocalDescent, MeanWeights
from polymargin.storage import Checkpoint

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import NDArray
    from scipy import sparse

    from polymargin.core import Duals, LinearOptions, MachineInfo


# What of a problem each outer loop deals to processes.
_DEALS: dict[type[LinearLoop], Deal] = {
    LocalDescent: RowsDealt,
    MeanWeights: ClassesDealt,
    Leagues: LeaguesDealt,
}


_SENT = [(kind, "i8") for kind in KINDS]


class LinearSVM(estimators.LinearSVM):
    """All-in-one multi-class linear support vector machine, trained by several processes.

    Under ``mpiexec -n 4 python script.py`` four processes run the same script. All of them call
    `fit` with the same rows and the same parameters, and each gets the same model: that of
    `polymargin.LinearSVM` to within the duality gap. On one process it is that estimator.

    Rows are dealt to the processes, each of which keeps all weights as an array. It descends on its
    own rows, and now and then all add up what they have changed (`LocalDescent`). Classes are dealt
    instead where that pays by the shape of the problem: those of one-vs-rest, where there are
    enough, those of Weston and Watkins' machine on sparse rows (`Leagues`), and where all weights
    would be too large for a process or to be sent (`MeanWeights` for ``"llw"``). `weights` is about
    the model after the fit. Second-order steps are for one process alone, so that fits at large `C`
    take many passes.

    Parameters
    ----------
    comm : mpi4py communicator, default=None
        The processes that train together; None is ``mpi4py.MPI.COMM_WORLD``, also after the
        estimator was pickled. Not part of model files.
    gather : bool, default=True
        Whether every process has the whole model in the end. With False each keeps the weights of
        some classes alone, `local_classes_`. Not part of model files.
    machine, C, fit_intercept, tol, max_iter, stopping, block_solver, weights, class_weight : object
        As in `polymargin.LinearSVM`, and the same on all processes.
    solver : str, LocalDescent, MeanWeights or Leagues, default="auto"
        ``"local-descent"``, for ``"llw"`` and ``"ovr"`` also ``"mean-weights"``, and for ``"ww"``
        also ``"leagues"``.
    n_jobs : int, default=None
        Threads of each process.
    warm_start, calibration : object
        As in `polymargin.LinearSVM`, and the same on all processes.
    random_state : int, RandomState, Generator or None, default=None
        As in `polymargin.LinearSVM`; the number that rank 0 draws is that of all.
    verbose : int, default=0
        As in `polymargin.LinearSVM`; rank 0 shows it.
    checkpoint : path-like or Checkpoint, default=None
        As in `polymargin.LinearSVM`. Rank 0 writes the file, which any number of processes can go
        on from.

    Attributes
    ----------
    local_classes_ : ndarray
        Only with ``gather=False``: the labels whose weights this process has, in the order of
        `classes_`. They are as evenly dealt as can be; every label is with one process.
    coef_, intercept_ : ndarray
        As in `polymargin.LinearSVM`; with ``gather=False`` those of `local_classes_` alone.
    sent_ : ndarray
        A structured array with a record for each check of the fit: how many bytes all processes
        together had handed to MPI by then, by kind: `weights` while they train and the `mean` of
        them, `duals`, what a `certificate` is made of, a `model` that is gathered, and `meetings`,
        at which they tell each other how it goes. What goes to all counts once, and what is added
        up over all once for each process.

    Notes
    -----
    ``duals_`` holds the dual vectors of all rows given to `fit`, or of those that this process has
    given to `fit_share`. After a `fit` with ``gather=False`` they are given up when the fit ends,
    unless `warm_start`, `checkpoint` or `calibration` needs them.

    All other attributes are those of `polymargin.LinearSVM`, on every process. What they do not
    agree on, be it a parameter, the rows or the version of this package, is a `ValueError` on all
    of them. Where one fails, it raises what it met, and all others raise a
    `polymargin.errors.RankError` that says so.

    Prediction, saving and `partial_fit` work on each process by itself. With ``gather=False``
    prediction and saving are the work of all: each process calls the method with the same rows, or
    `polymargin.save` with the same path, and gets the same answer, that of the whole model.

    Examples
    --------
    >>> from polymargin.datasets import load_letter
    >>> from polymargin.distributed import LinearSVM
    >>> X, y, *_ = load_letter()
    >>> model = LinearSVM("cs", random_state=0).fit(X[:500], y[:500])
    >>> bool(model.dual_gap_ <= 1e-3)
    True
    """

    _has_shares = False  # whether the rows of a fit under way are of this process alone
    _learnt: ClassVar[tuple[str, ...]] = (
        *estimators.LinearSVM._learnt,
        "local_classes_",
        "sent_",
    )
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **estimators.LinearSVM._parameter_constraints,
        "comm": [HasMethods(["allgather", "bcast", "Allreduce", "Bcast"]), None],
        "gather": ["boolean"],
    }

    def __init__(
        self,
        machine: str = "ww",
        C: float = 1.0,
        *,
        comm: Any = None,
        gather: bool = True,
        fit_intercept: bool = True,
        tol: float = 1e-3,
        max_iter: int = 1000,
        stopping: str = "gap",
        solver: str | LinearLoop = "auto",
        block_solver: str | BlockSolver = "auto",
        weights: str = "auto",
        class_weight: dict[Any, float] | str | None = None,
        n_jobs: int | None = None,
        warm_start: bool = False,
        random_state: RandomSource = None,
        verbose: int = 0,
        calibration: str | None = None,
        checkpoint: str | os.PathLike[str] | Checkpoint | None = None,
    ) -> None:
        super().__init__(
            machine,
            C,
            fit_intercept=fit_intercept,
            tol=tol,
            max_iter=max_iter,
            stopping=stopping,
            solver=solver,
            block_solver=block_solver,
            weights=weights,
            class_weight=class_weight,
            n_jobs=n_jobs,
            warm_start=warm_start,
            random_state=random_state,
            verbose=verbose,
            calibration=calibration,
            checkpoint=checkpoint,
        )
        self.comm = comm
        self.gather = gather

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "Self":
        """Fit all weights at once, by all processes together.

        Parameters
        ----------
        X : array-like or sparse of shape (n, d)
            All rows, the same on every process.
        y : array-like of shape (n,)
            Their labels.
        sample_weight : array-like of shape (n,), default=None
            Factors of `C`, zero or positive.

        Returns
        -------
        self : LinearSVM
        """
        return self._fit_by_all(X, y, sample_weight, shares=False)

    def fit_share(self, X: Any, y: Any, sample_weight: Any = None) -> "Self":
        """Fit all weights by all processes, each of which has rows that the others have not.

        The rows stay where they are, so that the data may be larger than the memory of a machine.
        The model is that of all rows, by `LocalDescent`; where a class is seen, or whether a
        process has any row, does not matter. What needs all rows in one place, `calibration`,
        `checkpoint`, ``class_weight="balanced"`` and ``C=np.inf``, is refused.

        Parameters
        ----------
        X : array-like or sparse of shape (n, d)
            The rows of this process, such as `read_share` gives; d and the type are the same on
            all, n need not be.
        y : array-like of shape (n,)
            Their labels, of one type on all processes.
        sample_weight : array-like of shape (n,), default=None
            Factors of `C` of these rows.

        Returns
        -------
        self : LinearSVM
            ``duals_`` is about the rows of this process, all else about those of all.
        """
        return self._fit_by_all(X, y, sample_weight, shares=True)

    def _fit_by_all(self, X: Any, y: Any, sample_weight: Any, shares: bool) -> "Self":
        comm = self._find_comm()
        with warnings.catch_warnings(record=True) as caught:
            if getattr(comm, "size", 1) == 1:  # what is no communicator is refused there
                super().fit(X, y, sample_weight)
            else:
                self._fit_together(comm, X, y, sample_weight, shares)
        for warning in caught:  # at the line that called `fit`
            warnings.warn(warning.message, warning.category, stacklevel=3)
        return self

    def __getstate__(self) -> dict[str, Any]:
        """Without the communicator, which is of this process alone."""
        state: dict[str, Any] = super().__getstate__()
        return state | {"comm": None}

    def __sklearn_clone__(self) -> "Self":
        """With the same communicator, which cannot be copied."""
        cloned: Self = super(LinearSVM, copy(self)).__sklearn_clone__()
        cloned.comm = self.comm
        return cloned

    def _find_comm(self) -> Any:
        return world() if self.comm is None else self.comm

    def _fit_together(self, comm: Any, X: Any, y: Any, sample_weight: Any, shares: bool) -> None:
        source, self._has_shares = self.random_state, shares
        try:
            with Ranks(comm) as self._ranks:
                seed = source if isinstance(source, Integral) else draw_seed(source)
                self.random_state = self._ranks.meet("random numbers", seed)[0]
                super().fit(X, y, sample_weight)
        finally:
            self.random_state = source
            del self._ranks, self._has_shares

    @property
    def _rows_to_fit(self) -> dict[str, Any]:
        return {"ensure_min_samples": 0} if self._has_shares else {}

    def _make_problem(self, X: Any, y: "NDArray[Any]", sample_weight: Any) -> Problem:
        if not self._has_shares:
            return super()._make_problem(X, y, sample_weight)
        refuse_what_needs_all_rows(self)
        known = self._ranks.meet("labels", np.unique(y))
        upper = np.zeros(0)
        if len(y):
            upper = self._upper(X, y, sample_weight, np.unique(np.concatenate(known)))
        return make_problem_of_shares(self._ranks, X, y, upper)

    def _choose(self) -> Choice[LinearLoop]:
        choice = super()._choose()
        if not self._is_together:
            return choice
        if self._has_shares and not isinstance(choice.solver, Automatic | LocalDescent):
            raise ValueError(
                f"solver {choice.solver.name!r} needs all rows, and no process has them: take "
                f"'auto' or {LocalDescent.name!r}"
            )
        if isinstance(choice.solver, tuple(_DEALS)):
            return choice
        if isinstance(choice.solver, Automatic):
            return replace(choice, solver=LocalDescent())  # until the shape of X is known
        raise ValueError(
            f"solver {choice.solver.name!r} is for one process, and there are {self._ranks.size}: "
            f"take 'auto' or {' or '.join(repr(solver.name) for solver in _DEALS)}"
        )

    def _open_writer(self, X: Any, y: Any, problem: Problem, past: Past) -> Keeper | None:
        if self._is_together and self._ranks.rank > 0:
            return None
        return super()._open_writer(X, y, problem, past)

    def _solve(
        self,
        problem: Problem,
        choice: Choice[LinearLoop],
        options: "LinearOptions",
        warm: "Duals | None",
        task: FitTask,
        keeper: ProblemKeeper | None = None,
        title: str | None = None,
    ) -> tuple[LinearOutcome, bool]:
        if self._is_together:
            (agree_on_shares if self._has_shares else agree)(self._ranks, self, problem, warm)
            if self._is_automatic and not self._has_shares:
                shape = Shape.of(problem, bool(self.fit_intercept), self._ranks.size)
                choice = replace(choice, solver=choose_deal(choice.machine, shape))
        return super()._solve(problem, choice, options, warm, task, keeper, title)

    def _find_run(self, choice: Choice[LinearLoop]) -> Run | None:
        if not self._is_together:
            return None
        # Hard margins and calibration are found by each process with all weights.
        weights = self.gather or self.calibration is not None or math.isinf(self.C)
        has_checkpoint = any(self._ranks.meet("checkpoints", self.checkpoint is not None))
        gathered = Gathered(weights, duals=weights or self.warm_start or has_checkpoint)
        deal = RowsHere if self._has_shares else _DEALS[type(choice.solver)]
        return RoundsRun(self._ranks, deal, gathered)

    def _store(
        self, result: LinearOutcome, problem: Problem, machine: "MachineInfo", past: Past
    ) -> None:
        super()._store(result, problem, machine, past)
        self.sent_ = np.zeros(len(result.history), _SENT)
        if self._is_together:
            sent = np.array(self._ranks.log, _SENT)
            # The last check of a hard margin is of what has been reached, and sends nothing.
            again = len(result.history) - len(sent)
            self.sent_ = np.concatenate([sent, np.repeat(sent[-1:], max(again, 0))])
        if self._has_shares:
            self._n_examples = sum(self._ranks.meet("numbers of rows", problem.n_given))
        if not self.gather:
            self._keep_own(result.held)

    def _keep_own(self, held: "NDArray[np.int64] | None") -> None:
        """Of the whole model, or of what was not gathered, what this process is to have."""
        if held is None:
            size, rank = (self._ranks.size, self._ranks.rank) if self._is_together else (1, 0)
            held = class_range(len(self.classes_), size, rank)
            self.coef_, self.intercept_ = self.coef_[held], self.intercept_[held]
        self.local_classes_ = self.classes_[held]
        is_needed = self.warm_start or self.calibration is not None or self.checkpoint is not None
        if self._is_part and not (is_needed or self._has_shares):
            self._n_examples = self._dual_state.n_given
            self._forget("_dual_state")

    @property
    def duals_(self) -> "sparse.csr_array":
        """Dual vectors a_i, as in `polymargin.LinearSVM`."""
        if self._is_part and "_dual_state" not in vars(self):
            raise AttributeError(
                "the dual variables were given up when the fit ended, since no process has those "
                "of all rows with gather=False; warm_start=True or gather=True keeps them"
            )
        return super().duals_

    @property
    def _is_part(self) -> bool:
        """Whether other processes have the weights of some classes."""
        own = vars(self).get("local_classes_")
        return own is not None and len(own) < len(self.classes_)

    @contextmanager
    def _meet_parts(self) -> Iterator[Parts]:
        """The processes that have the other classes, all of which do the same with the model."""
        with Ranks(self._find_comm()) as ranks:
            own = np.searchsorted(self.classes_, self.local_classes_)
            yield Parts(ranks, own, len(self.classes_))

    def _best(self, X: Any, m: int) -> "tuple[NDArray[np.intp], NDArray[Any]]":
        if not self._is_part:
            return super()._best(X, m)
        with self._meet_parts() as parts:
            return parts.best(*self._scorer(X), m)

    def _all_scores(self, X: Any) -> "NDArray[Any]":
        if not self._is_part:
            return super()._all_scores(X)
        with self._meet_parts() as parts:
            return parts.scores(*self._scorer(X))

    @property
    def _is_automatic(self) -> bool:
        return isinstance(self.solver, Automatic) or self.solver == Automatic.name

    @property
    def _is_together(self) -> bool:
        """Whether this is a fit of several processes."""
        return "_ranks" in vars(self)
