"""The kernel estimator."""

import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from polymargin._attempt import Attempt, unchanged_on_failure
from polymargin._sklearn import Interval, StrOptions, fit_context
from polymargin._threads import blas_threads, count_threads
from polymargin.block_solvers import BLOCK_SOLVERS, BlockSolver
from polymargin.calibration import CALIBRATIONS, CrossFit
from polymargin.estimators._base import BaseSVM
from polymargin.fit import (
    DualState,
    FitTask,
    Keeper,
    Past,
    Problem,
    ProblemKeeper,
    RandomSource,
    as_rows,
    check_finite,
    check_row_norms,
    check_sample_weight,
    check_X,
    draw_seed,
    find_start,
    make_problem,
    warn_not_converged,
)
from polymargin.kernel import (
    KERNELS,
    Goal,
    IndefiniteKernelWarning,
    KernelOutcome,
    PrecomputedKernel,
    as_array,
    kernel_scores,
    make_kernel,
    share_values,
    train_kernel,
)
from polymargin.solvers import KERNEL_SOLVERS, Blocks, Choice, Decomposition, choose
from polymargin.storage import Checkpoint

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import NDArray

    from polymargin.core import Duals, MachineInfo
    from polymargin.kernel import Kernel, Points


class KernelSVM(BaseSVM):
    """All-in-one multi-class support vector machine with a kernel.

    Minimises ``1/2 sum_c ||w_c||^2 + sum_i C_i L(y_i, f(x_i))`` over the functions of all classes
    at once, where the `machine` decides on the loss L and ``C_i`` is `C` times the weight of the
    example times the weight of its class. The fit ends on a certificate, the relative duality
    gap in `dual_gap_`.

    Parameters
    ----------
    machine : str, default="ww"
        The loss, and whether the scores of all classes sum to zero: ``"ww"`` Weston-Watkins,
        ``"cs"`` Crammer-Singer, ``"llw"`` Lee-Lin-Wahba, ``"adm"``, ``"ats"``, ``"atm"``,
        ``"mmr"``, ``"rm"`` or ``"ovr"``.
    C : float, default=1.0
        Weight of the loss against the regulariser. ``np.inf`` lets no example violate its margins:
        `polymargin.errors.NotSeparableError` where that cannot be.
    kernel : str or callable, default="rbf"
        ``"linear"``, ``"rbf"``, ``"poly"``, ``"normalized-poly"``, ``"sigmoid"``,
        ``"laplacian"``, ``"precomputed"``, or a function of two arrays of rows that returns the
        matrix of all pairs.
    gamma : {"scale", "auto"} or float, default="scale"
        Factor of the distance or the inner product: ``"scale"`` is 1 / (d X.var()), ``"auto"``
        1 / d.
    degree : int, default=3
        Of the polynomial kernels.
    coef0 : float, default=0.0
        Added to the inner product by the polynomial kernels and the sigmoid.
    fit_intercept : bool, default=False
        Whether to add 1 to the kernel: a constant feature, regularised like all others.
    tol : float, default=1e-3
        Relative duality gap at which the fit stops or, with ``stopping="kkt"``, largest
        violation of the optimality conditions.
    max_iter : int, default=100_000
        Bound on the passes over the data, counted by the visits to examples; n steps of the other
        solvers are a pass. With ``C=np.inf`` it bounds each fit at a finite C.
    stopping : {"gap", "kkt"}, default="gap"
        The stopping rule. Only the gap means the same for every machine and `C`.
    solver : str or options object, default="auto"
        The outer loop: ``"blocks"``, which is what ``"auto"`` means, or one of the literature:
        ``"smo"``, ``"s2do"`` or, for the machines ``"cs"`` and ``"adm"``, ``"crammer-singer"``.
        Options objects are `Blocks`, `solvers.SMO`, `S2DO` and `CrammerSinger`.
    block_solver : str or options object, default="auto"
        How the problem of one example is solved, see `LinearSVM`; used by ``"blocks"``.
    cache_size : float, default=1024
        Memory for kernel rows in MiB.
    class_weight : dict or "balanced", default=None
        Weight of each class; classes that a dict leaves out have weight 1. ``"balanced"``
        weighs inversely to the total sample weight of the class.
    n_jobs : int, default=None
        Threads, also those of the matrix products. None is 1 unless in a joblib context, -1 all
        cores (but 1 inside a worker of joblib).
    warm_start : bool, default=False
        Whether to start from the dual variables of the last fit, cut to the new `C`. The rows
        have to be the same; another shape, machine, dtype or other labels start cold with a
        warning.
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
    support_ : ndarray of shape (n_sv,)
        Rows given to `fit` that the scores depend on.
    support_vectors_ : ndarray or csr of shape (n_sv, d)
        Those rows; not with a precomputed kernel.
    dual_coef_ : ndarray of shape (k, n_sv)
        Their coefficients in the score of each class.
    n_support_ : ndarray of shape (k,)
        How many of them belong to each class.
    intercept_ : ndarray of shape (k,)
        Constant part of the scores, zero without `fit_intercept`.
    gamma_ : float
        The value of `gamma` in use.
    n_iter_ : int
        Passes over the data.
    dual_gap_ : float
        ``(primal_objective_ - dual_objective_) / primal_objective_``; NaN where the kernel is
        not positive semi-definite, which leaves both without a meaning.
    primal_objective_, dual_objective_ : float
        The two bounds on the optimum.
    converged_ : bool
        Whether the stopping rule was met.
    history_ : structured ndarray
        One record for each check, with the fields ``epoch``, ``seconds``, ``primal``, ``dual``,
        ``gap``, ``violation`` and ``active``.
    duals_ : csr_array of shape (n, k)
        The dual vectors of all rows given to `fit`.
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
    >>> from polymargin import KernelSVM
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KernelSVM("cs", C=10.0, gamma=0.1, random_state=0).fit(scale(X), y)
    >>> model.dual_coef_.shape[0]
    3
    >>> bool(model.dual_gap_ <= 1e-3)
    True
    """

    _solvers = KERNEL_SOLVERS

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "machine": [str],
        "C": [Interval(Real, 0, None, closed="right")],
        "kernel": [StrOptions(set(KERNELS)), callable],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0, None, closed="neither")],
        "degree": [Interval(Integral, 0, 2**31 - 1, closed="both")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "fit_intercept": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, 2**62, closed="left")],
        "stopping": [StrOptions({"gap", "kkt"})],
        "solver": [str, *KERNEL_SOLVERS.values()],
        "block_solver": [str, *BLOCK_SOLVERS.values()],
        "cache_size": [Interval(Real, 0, None, closed="neither")],
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
        kernel: str | Callable[[Any, Any], Any] = "rbf",
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        fit_intercept: bool = False,
        tol: float = 1e-3,
        max_iter: int = 100_000,
        stopping: str = "gap",
        solver: str | Blocks | Decomposition = "auto",
        block_solver: str | BlockSolver = "auto",
        cache_size: float = 1024,
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
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.stopping = stopping
        self.solver = solver
        self.block_solver = block_solver
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose
        self.calibration = calibration
        self.checkpoint = checkpoint

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        # Far from all examples only a constant part can say that one class outweighs the others;
        # scikit-learn's check with such a kernel matrix asks for that.
        tags.classifier_tags.poor_score = tags.input_tags.pairwise and not self.fit_intercept
        return tags

    @fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "Self":
        """Fit the functions of all classes at once.

        Rows of weight zero are removed before `classes_` is determined. An interrupt (Ctrl-C)
        sets all attributes to what was reached and then raises `KeyboardInterrupt`; before the
        first check, and when it is repeated after a second, it leaves them as they were; so does a
        fit that fails.

        Parameters
        ----------
        X : array-like or sparse of shape (n, d), or (n, n) with a precomputed kernel
            float32 stays float32. All other types become float64, all other sparse formats CSR.
        y : array-like of shape (n,)
            Labels of two or more classes.
        sample_weight : array-like of shape (n,), default=None
            Factors of `C`, zero or positive.

        Returns
        -------
        self : KernelSVM
        """
        with unchanged_on_failure(self) as attempt:
            n_threads = count_threads(self.n_jobs)
            pairwise = self.kernel == "precomputed"
            choose(self)  # what does not fit is refused before any work
            X, y = check_X(self, X, y)
            check_classification_targets(y)
            problem = make_problem(X, y, self._upper(X, y, sample_weight), pairwise=pairwise)
            weight = check_sample_weight(sample_weight, X)
            kernel = make_kernel(
                self.kernel,
                problem.X,
                weight if problem.kept is None else weight[problem.kept],
                gamma=self.gamma,
                degree=self.degree,
                coef0=self.coef0,
                bias=bool(self.fit_intercept),
            )
            cross_fit = self._plan_cross_fit(problem, sample_weight, X)
            with blas_threads(n_threads):
                self._train(problem, kernel, X, y, sample_weight, n_threads, attempt, cross_fit)
        return self

    def _train(
        self,
        problem: Problem,
        kernel: "Kernel",
        X: Any,
        y: "NDArray[Any]",
        sample_weight: Any,
        n_threads: int,
        attempt: Attempt,
        cross_fit: CrossFit | None = None,
        watch: Keeper | None = None,
    ) -> None:
        """Fit the problem that was made of X, y and the weights, whatever its kernel reads.

        Without a checkpoint, `watch` sees the dual variables on the way.
        """
        choice: Choice[Blocks | Decomposition] = choose(self)
        machine = choice.machine
        warm, past = find_start(self._start_state(), problem, machine)
        writer = self._open_writer(X, y, problem, past)
        watching = watch if writer is None else writer
        keeper = None if watching is None else ProblemKeeper(watching, problem, machine, past)
        task = FitTask(self, X, y, sample_weight)
        cache_bytes = int(min(self.cache_size * 2**20, 2**62))
        train = partial(
            train_kernel,
            machine=machine,
            options=choice.solver,
            block_solver=choice.block_solver,
            goal=Goal(float(self.tol), int(self.max_iter), self.stopping == "gap"),
            seed=draw_seed(self.random_state),
            n_threads=n_threads,
            verbose=int(self.verbose),
        )
        result, stopped = train(
            problem, kernel=kernel, warm=warm, cache_bytes=cache_bytes, task=task, keeper=keeper
        )
        self._store(result, problem, machine, past, kernel, X)
        attempt.reached()
        if writer is not None:
            writer.keep(self._dual_state, self.history_)
        if result.exception is not None:
            raise result.exception
        if cross_fit is not None:
            kernel, X, cache_bytes = share_values(kernel, problem.X, cache_bytes, n_threads)
            task_of_part = FitTask(None, None, None, None)
            train = partial(train, kernel=kernel, cache_bytes=cache_bytes, task=task_of_part)
            parts = _Parts(problem, kernel, X, machine, train, n_threads)
            self._calibrate(cross_fit, parts.fit)
        task.end()
        if not result.converged and not stopped:
            warn_not_converged(result, self, problem, choice)

    def _store(
        self,
        result: KernelOutcome,
        problem: Problem,
        machine: "MachineInfo",
        past: Past,
        kernel: "Kernel",
        X: Any,
    ) -> None:
        self.gamma_ = getattr(kernel, "gamma", np.nan)
        # The values of a precomputed kernel are not part of the model.
        self._kernel = PrecomputedKernel(None) if self.kernel == "precomputed" else kernel
        self._store_certificate(result, problem, machine, past)
        state = DualState.of(result.scoring, problem, machine)
        alphas = state.csr.astype(problem.rows.dtype, copy=False)
        self.support_ = np.flatnonzero(np.diff(alphas.indptr))
        coef = alphas[self.support_].toarray().T
        if machine.zero_sum:
            coef = coef - coef.mean(axis=0)
        self.dual_coef_: NDArray[Any] = coef
        kept = (
            self.support_ if problem.kept is None else np.searchsorted(problem.kept, self.support_)
        )
        self.n_support_ = np.bincount(problem.labels[kept], minlength=len(problem.classes))
        self.intercept_ = (
            coef.sum(axis=1) if self.fit_intercept else np.zeros(len(coef), coef.dtype)
        )
        self.__dict__.pop("support_vectors_", None)
        if self.kernel != "precomputed":
            self.support_vectors_ = X[self.support_]

    def class_scores(self, X: Any) -> "NDArray[Any]":
        """Scores of all classes, computed in the dtype of `dual_coef_` and in bounded memory.

        Parameters
        ----------
        X : array-like or sparse of shape (n, d), or (n, n_train) with a precomputed kernel
            Rows, or their kernel with all rows given to `fit`.

        Returns
        -------
        scores : ndarray of shape (n, k)
            Also for two classes. The largest of a row decides `predict`.

        Examples
        --------
        >>> from polymargin import KernelSVM
        >>> model = KernelSVM(random_state=0).fit([[0.0], [1.0]], ["a", "b"])
        >>> model.class_scores([[0.0], [0.5], [1.0]]).shape
        (3, 2)
        """
        return self._all_scores(X)

    def _scorer(self, X: Any) -> "tuple[Any, Callable[[slice], NDArray[Any]]]":
        check_is_fitted(self)
        # Of a precomputed kernel NaN is the first thing to name, a wrong shape the second.
        options = {"reset": False, "dtype": self.dual_coef_.dtype} | (
            {"ensure_all_finite": True} if self.kernel == "precomputed" else {}
        )
        given, X = X, check_X(self, X, **options)
        rows = as_rows(X)
        check_finite(rows, X, given)
        if self.kernel != "precomputed":
            check_row_norms(rows, X)
        return X, self._scores_of(X, count_threads(self.n_jobs))

    def _scores_of(self, X: Any, n_threads: int) -> "Callable[[slice], NDArray[Any]]":
        """What gives the scores of consecutive rows of validated `X`."""
        kernel, right = self._scoring_kernel(X)

        def take(part: slice) -> "Points":
            if isinstance(kernel, PrecomputedKernel):
                return kernel.points(np.arange(part.start, part.stop))
            return kernel.prepare(_like(self.support_vectors_, X[part]))

        def score(part: slice) -> "NDArray[Any]":
            with blas_threads(n_threads), np.errstate(over="ignore", invalid="ignore"):
                scores = kernel_scores(kernel, part, take, right, self.dual_coef_, n_threads)
                scores += self.intercept_
            return scores

        return score

    def _scoring_kernel(self, X: Any) -> "tuple[Kernel, Points]":
        """The kernel without its constant part, and the support vectors as it reads them."""
        kernel = replace(self._kernel, bias=False)
        if isinstance(kernel, PrecomputedKernel):
            kernel = replace(kernel, matrix=X)
            return kernel, kernel.points(self.support_)
        return kernel, kernel.prepare(self.support_vectors_)


def _like(model: Any, X: Any) -> Any:
    """`X` as an array or as CSR, whichever `model` is."""
    return sparse.csr_array(X) if sparse.issparse(model) else as_array(X)


@dataclass(frozen=True)
class _Parts:
    """Fits to parts of a problem, for a cross-fit."""

    problem: Problem
    kernel: "Kernel"
    X: Any  # what the kernel reads for the rows of the problem
    machine: "MachineInfo"
    train: "Callable[..., tuple[KernelOutcome, bool]]"
    n_threads: int

    def fit(
        self,
        rows: "NDArray[np.int64]",
        others: "NDArray[np.int64]",
        warm: "Duals",
        title: str,
    ) -> "tuple[NDArray[Any], bool]":
        """Scores of the others by a fit to these rows alone, and whether it converged."""
        part = self.problem.part(rows, self.X[rows])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", IndefiniteKernelWarning)  # said of all rows already
            result, _ = self.train(part, warm=warm, title=title)
        if result.exception is not None:
            raise result.exception
        state = DualState.of(result.scoring, part, self.machine)
        alphas = state.csr.astype(part.rows.dtype, copy=False)
        support = np.flatnonzero(np.diff(alphas.indptr))
        coef = alphas[support].toarray().T
        if self.machine.zero_sum:
            coef = coef - coef.mean(axis=0)
        points = self.kernel.prepare(self.X)
        scores = kernel_scores(
            self.kernel,
            slice(0, len(others)),
            lambda part: points[others[part]],
            points[rows[support]],
            coef,
            self.n_threads,
        )
        return scores, result.converged
