"""The linear estimator."""

import os
from functools import cached_property, partial
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from polymargin._attempt import unchanged_on_failure
from polymargin._sklearn import Interval, StrOptions, fit_context
from polymargin._threads import count_threads
from polymargin.block_solvers import BLOCK_SOLVERS, BlockSolver
from polymargin.calibration import CALIBRATIONS
from polymargin.estimators._base import BaseSVM
from polymargin.fit import (
    FitTask,
    LinearOutcome,
    Past,
    Problem,
    ProblemKeeper,
    RandomSource,
    Run,
    StreamEngine,
    as_coef,
    as_rows,
    check_finite,
    check_no_calibration,
    check_X,
    find_start,
    make_options,
    make_problem,
    score_with,
    solve_linear,
    take_rows,
    warn_not_converged,
)
from polymargin.solvers import LINEAR_SOLVERS, Choice, LinearLoop, choose
from polymargin.storage import Checkpoint

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

    from numpy.typing import NDArray

    from polymargin.core import Duals, LinearOptions, LinearStream, MachineInfo


def _check_streaming(estimator: "LinearSVM") -> bool:
    check_no_calibration(estimator)
    return True


class LinearSVM(BaseSVM):
    """All-in-one multi-class linear support vector machine.

    Minimises ``1/2 sum_c ||w_c||^2 + sum_i C_i L(y_i, f(x_i))`` over the weights of all classes
    at once, where the `machine` decides on the loss L and ``C_i`` is `C` times the weight of the
    example times the weight of its class. The fit ends on a certificate, the relative duality
    gap in `dual_gap_`.

    Parameters
    ----------
    machine : str, default="ww"
        The loss, and whether the weights of all classes sum to zero: ``"ww"`` Weston-Watkins,
        ``"cs"`` Crammer-Singer, ``"llw"`` Lee-Lin-Wahba, ``"adm"``, ``"ats"``, ``"atm"``,
        ``"mmr"``, ``"rm"`` or ``"ovr"``.
    C : float, default=1.0
        Weight of the loss against the regulariser. ``np.inf`` lets no example violate its margins:
        `polymargin.errors.NotSeparableError` where that cannot be.
    fit_intercept : bool, default=True
        Whether to add a constant feature of 1, whose weights are regularised like all others.
    tol : float, default=1e-3
        Relative duality gap at which the fit stops or, with ``stopping="kkt"``, largest
        violation of the optimality conditions.
    max_iter : int, default=1000
        Bound on the passes over the data; with ``C=np.inf`` on those of each fit at a finite C.
    stopping : {"gap", "kkt"}, default="gap"
        The stopping rule. Only the gap means the same for every machine and `C`.
    solver : str or BlockDescent, default="auto"
        The outer loop: ``"block-descent"``, which is what ``"auto"`` means.
    block_solver : str or options object, default="auto"
        How the problem of one example is solved: a name, or an object such as
        ``Bisection(tol=1e-2)`` where the block solver has options. Not all are defined for all
        machines.
    weights : {"auto", "dense", "sparse"}, default="auto"
        How the weights are stored during the fit and after it. ``"sparse"``, for very many
        classes, takes memory for those that are not zero, and `coef_` is a CSR array then.
        ``"auto"`` is sparse where a dense array would be larger than 256 MiB and than what the
        sparse weights are expected to take; zero-sum machines stay dense. A stream keeps the store
        that it starts with.
    class_weight : dict or "balanced", default=None
        Weight of each class; classes that a dict leaves out have weight 1. ``"balanced"``
        weighs inversely to the total sample weight of the class.
    n_jobs : int, default=None
        Threads. None is 1 unless in a joblib context, -1 all cores (but 1 inside a worker of
        joblib).
    warm_start : bool, default=False
        Whether to start from the dual variables of the last fit, cut to the new `C`. The rows
        have to be the same; another shape, machine, dtype or other labels start cold with a
        warning. `partial_fit` leaves no dual variables to start from.
    random_state : int, RandomState, Generator or None, default=None
        Source of the order in which examples are visited: a seed, or one of NumPy's generators, of
        which each fit takes one number. A generator in the same state gives the same fit.
    verbose : int, default=0
        1 shows a progress bar, 2 or more prints a line for each check of the gap.
    calibration : {"sigmoid", "isotonic", "temperature"}, default=None
        What makes probabilities of scores; with None there is no `predict_proba`. After the fit,
        which it does not change, five fits to four fifths of the rows score those left out, from
        which one temperature for all classes is learnt, or a sigmoid or a rising curve for each.
    checkpoint : path-like or Checkpoint, default=None
        File to write what was reached to, every two minutes or as often as a `Checkpoint` says,
        and when the fit ends; `resume` goes on from it. Not part of model files.

    Attributes
    ----------
    classes_ : ndarray of shape (k,)
        The labels of the examples of positive weight.
    coef_ : ndarray or csr_array of shape (k, d)
        Weights of each class, also for two classes.
    intercept_ : ndarray of shape (k,)
        Weights of the constant feature, zero without `fit_intercept`.
    n_iter_ : int
        Passes over the data.
    dual_gap_ : float
        ``(primal_objective_ - dual_objective_) / primal_objective_``.
    primal_objective_, dual_objective_ : float
        The two bounds on the optimum.
    converged_ : bool
        Whether the stopping rule was met.
    history_ : structured ndarray
        One record for each check, with the fields ``epoch``, ``seconds``, ``primal``, ``dual``,
        ``gap``, ``violation`` and ``active``.
    duals_ : csr_array of shape (n, k)
        The dual vectors of all rows given to `fit`.
    n_samples_seen_ : int
        Visits of a stream to rows; only after `partial_fit` or `fit_stream`.
    calibrator_ : Temperature, Sigmoid or Isotonic
        What `calibration` has learnt, see `polymargin.calibration`.
    n_features_in_ : int
        Features seen in `fit`.
    feature_names_in_ : ndarray of str
        Their names, where X has names that are all strings.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.preprocessing import scale
    >>> from polymargin import LinearSVM
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearSVM("cs", C=0.1, random_state=0).fit(scale(X), y)
    >>> model.coef_.shape
    (3, 4)
    >>> bool(model.dual_gap_ <= 1e-3)
    True
    """

    _solvers = LINEAR_SOLVERS
    # All that a fit or a stream leaves behind, apart from what is set whenever rows are.
    _learnt: ClassVar[tuple[str, ...]] = (
        "coef_",
        "intercept_",
        "n_samples_seen_",
        "n_iter_",
        "dual_gap_",
        "primal_objective_",
        "dual_objective_",
        "converged_",
        "history_",
        "calibrator_",
        "_dual_state",
        "_n_examples",
        "_stream",
        "_stream_of",
    )
    _stream: "LinearStream | None" = None  # what `partial_fit` goes on from
    _stream_of: tuple[str, bool]  # machine and `fit_intercept` that it was begun with

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "machine": [str],
        "C": [Interval(Real, 0, None, closed="right")],
        "fit_intercept": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, 2**62, closed="left")],
        "stopping": [StrOptions({"gap", "kkt"})],
        "solver": [str, *LINEAR_SOLVERS.values()],
        "block_solver": [str, *BLOCK_SOLVERS.values()],
        "weights": [StrOptions({"auto", "dense", "sparse"})],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "n_jobs": [Integral, None],
        "warm_start": ["boolean"],
        "random_state": ["random_state", np.random.Generator],
        "verbose": ["verbose"],
        "calibration": [StrOptions(set(CALIBRATIONS)), None],
        "checkpoint": [str, os.PathLike, Checkpoint, None],
    }

    def __init__(
        self,
        machine: str = "ww",
        C: float = 1.0,
        *,
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
        self.machine = machine
        self.C = C
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.stopping = stopping
        self.solver = solver
        self.block_solver = block_solver
        self.weights = weights
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose
        self.calibration = calibration
        self.checkpoint = checkpoint

    @fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "Self":
        """Fit all weights at once.

        Rows of weight zero are removed before `classes_` is determined. An interrupt (Ctrl-C)
        sets all attributes to what was reached and then raises `KeyboardInterrupt`. A fit that
        fails leaves all attributes as they were.

        Parameters
        ----------
        X : array-like or sparse of shape (n, d)
            float32 and float64, dense with any strides or CSR, are read without a copy. All
            other types become float64, all other sparse formats CSR.
        y : array-like of shape (n,)
            Labels of two or more classes.
        sample_weight : array-like of shape (n,), default=None
            Factors of `C`, zero or positive.

        Returns
        -------
        self : LinearSVM
        """
        with unchanged_on_failure(self) as attempt:
            # What does not fit is refused before any work.
            choice = self._choose()
            options = make_options(self, choice)
            machine = choice.machine
            X, y = check_X(self, X, y, **self._rows_to_fit)
            check_classification_targets(y)
            problem = self._make_problem(X, y, sample_weight)
            cross_fit = self._plan_cross_fit(problem, sample_weight, X)
            warm, past = find_start(self._start_state(), problem, machine)

            writer = self._open_writer(X, y, problem, past)
            keeper = None if writer is None else ProblemKeeper(writer, problem, machine, past)
            task = FitTask(self, X, y, sample_weight)
            result, stopped = self._solve(problem, choice, options, warm, task, keeper)
            self._store(result, problem, machine, past)
            attempt.reached()
            if writer is not None:
                writer.keep(self._dual_state, self.history_)
            if result.exception is not None:
                raise result.exception
            if cross_fit is not None:
                self._calibrate(cross_fit, partial(self._fit_part, problem, choice, options))
            task.end()
            if not result.converged and not stopped:
                warn_not_converged(result, self, problem, choice)
        return self

    @property
    def _rows_to_fit(self) -> dict[str, Any]:
        """How `fit` checks rows, in the words of scikit-learn."""
        return {}

    def _make_problem(self, X: Any, y: "NDArray[Any]", sample_weight: Any) -> Problem:
        """Of rows that were checked."""
        return make_problem(X, y, self._upper(X, y, sample_weight))

    def _choose(self) -> Choice[LinearLoop]:
        """What the parameters mean."""
        return choose(self)

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
        """What a fit to these rows reached, and whether a callback stopped it."""
        return solve_linear(
            problem,
            choice,
            options,
            warm,
            task,
            int(self.verbose),
            keeper,
            title,
            self._find_run(choice),
        )

    def _find_run(self, choice: Choice[LinearLoop]) -> Run | None:
        """What runs such a fit; None for this process alone."""
        return None

    def _fit_part(
        self,
        problem: Problem,
        choice: Choice[LinearLoop],
        options: "LinearOptions",
        rows: "NDArray[np.int64]",
        others: "NDArray[np.int64]",
        warm: "Duals",
        title: str,
    ) -> "tuple[NDArray[Any], bool]":
        """Scores of the others by a fit to these rows alone, and whether it converged."""
        task = FitTask(None, None, None, None)
        result, _ = self._solve(problem.part(rows), choice, options, warm, task, title=title)
        if result.exception is not None:
            raise result.exception
        score = score_with(result.coef, result.intercept, problem.X, options.n_threads)
        return score(problem.X[others]), result.converged

    def _store(
        self, result: LinearOutcome, problem: Problem, machine: "MachineInfo", past: Past
    ) -> None:
        self._forget()
        self._store_certificate(result, problem, machine, past)
        self.coef_, self.intercept_ = result.coef, result.intercept
        if self.weights == "sparse":
            self.sparsify()

    @available_if(_check_streaming)  # type: ignore[untyped-decorator]
    @fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> "Self":
        """Visit each row once, in the order given, and forget it.

        Memory does not grow with the rows seen. In exchange nothing is certified: a stream has
        no `dual_gap_`, `duals_`, `history_` or the like. Visiting the same rows again solves a
        problem of larger `C`.

        The first call starts a stream with weights of zero. So does the first call after `fit` or
        after several passes of `fit_stream`, whose weights are given up: they are those of dual
        variables, which a stream does not have. A single pass of `fit_stream` is a stream itself
        and goes on. The machine, the solvers, `fit_intercept`, the dtype and the store of the
        weights are fixed when a stream starts, and another machine or `fit_intercept` is refused;
        `C` and `class_weight` are read at each call. An interrupt (Ctrl-C) keeps the rows visited
        so far, of which `n_samples_seen_` gives the number. A batch that is refused leaves all
        attributes as they were.

        ``weights="auto"`` goes by what the first batch shows, whatever its length: sparse where an
        array would be larger than 256 MiB, the rows are sparse, there are more than 266 classes and
        the machine is not zero-sum.

        `coef_` and `intercept_` are copied from the stream when they are read first after a call,
        so that small batches cost no more than their rows.

        Parameters
        ----------
        X : array-like or sparse of shape (n, d)
            Rows; converted to the dtype of the first batch.
        y : array-like of shape (n,)
            Their labels, all in `classes`.
        classes : array-like of shape (k,), default=None
            All labels of the stream. Needed in the first call; after a fit they are `classes_`
            by default.
        sample_weight : array-like of shape (n,), default=None
            Factors of `C`; rows of weight zero are passed over and not counted as seen.

        Returns
        -------
        self : LinearSVM

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from polymargin import LinearSVM
        >>> X, y = load_iris(return_X_y=True)
        >>> stream = LinearSVM(C=0.1)
        >>> for i in range(0, 150, 10):
        ...     stream = stream.partial_fit(X[i : i + 10], y[i : i + 10], classes=[0, 1, 2])
        >>> stream.coef_.shape
        (3, 4)
        """
        with unchanged_on_failure(self) as attempt:
            stream = StreamEngine(self, classes, anew=False)
            batch = stream.prepare(X, y, sample_weight)
            stream.begin(batch)
            attempt.reached()
            stream.visit(batch)
        return self

    @cached_property
    def coef_(self) -> Any:
        """An array, or a CSR array once sparsified; `fit` sets it, and a stream is copied."""
        self._read_stream("coef_")
        return vars(self)["coef_"]

    @cached_property
    def intercept_(self) -> "NDArray[Any]":
        """Weights of the constant feature."""
        self._read_stream("intercept_")
        intercept: NDArray[Any] = vars(self)["intercept_"]
        return intercept

    def _read_stream(self, wanted: str) -> None:
        """Copy the weights of the stream, all at once."""
        if self._stream is None:
            raise AttributeError(
                f"{type(self).__name__!r} object has no attribute {wanted!r}", name=wanted, obj=self
            )
        coef, self.intercept_ = self._stream.weights()
        self.coef_ = as_coef(coef, len(self.classes_), self.n_features_in_)
        if self.weights == "sparse":
            self.sparsify()

    def _end_stream(self) -> None:
        """Keep the weights, but not what `partial_fit` would go on from."""
        if self._stream is not None:
            if "coef_" not in vars(self):
                self._read_stream("coef_")
            self._forget("_stream", "_stream_of")

    def _forget(self, *names: str) -> None:
        """Remove these attributes, by default all that was learnt."""
        for name in names or self._learnt:
            self.__dict__.pop(name, None)

    def class_scores(self, X: Any) -> "NDArray[Any]":
        """Scores of all classes, computed in the dtype of `coef_`.

        Parameters
        ----------
        X : array-like or sparse of shape (n, d)
            Rows.

        Returns
        -------
        scores : ndarray of shape (n, k)
            Also for two classes. The largest of a row decides `predict`.

        Examples
        --------
        >>> from polymargin import LinearSVM
        >>> model = LinearSVM(random_state=0).fit([[0.0], [1.0]], ["a", "b"])
        >>> model.class_scores([[0.0], [0.5], [1.0]]).shape
        (3, 2)
        """
        return self._all_scores(X)

    def _scorer(self, X: Any) -> "tuple[Any, Callable[[slice], NDArray[Any]]]":
        check_is_fitted(self)
        coef, intercept, n_threads = self.coef_, self.intercept_, count_threads(self.n_jobs)
        given, X = X, check_X(self, X, reset=False, dtype=coef.dtype)
        check_finite(as_rows(X), X, given)
        score = score_with(coef, intercept, X, n_threads)
        return X, lambda part: score(take_rows(X, part))

    def sparsify(self) -> "Self":
        """Store `coef_` as a CSR array, which pays where most weights are zero.

        Returns
        -------
        self : LinearSVM

        Examples
        --------
        >>> from polymargin import LinearSVM
        >>> model = LinearSVM(random_state=0).fit([[0.0, 0.0], [1.0, 0.0]], [0, 1])
        >>> model.sparsify().coef_.nnz
        2
        >>> model.densify().coef_.shape
        (2, 2)
        """
        check_is_fitted(self)
        if not sparse.issparse(self.coef_):
            self.coef_ = sparse.csr_array(self.coef_)
        return self

    def densify(self) -> "Self":
        """Store `coef_` as an array again.

        Returns
        -------
        self : LinearSVM
        """
        check_is_fitted(self)
        if sparse.issparse(self.coef_):
            self.coef_ = self.coef_.toarray()
        return self
