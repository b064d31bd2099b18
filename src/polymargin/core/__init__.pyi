"""The compiled core, one build per SIMD level; `_levels.py` decides which one is loaded."""

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float32] | NDArray[np.float64]
Indices: TypeAlias = NDArray[np.int32] | NDArray[np.int64]

LEVELS: tuple[str, ...]
VARIABLE: str

def usable_levels() -> list[str]: ...
def choose_level(usable: list[str], forced: str | None) -> str: ...

class MachineInfo:
    """What a machine is made of: one row of the table in the user guide."""

    name: str  # canonical, "ww"
    title: str  # "Weston–Watkins"
    aliases: list[str]  # other names accepted
    relative: bool  # rows e_y - e_c; else absolute rows
    zero_sum: bool
    simplex: bool  # joined by "max"; else "sum"
    separable: bool  # a problem of its own for each class
    has_others: bool  # hinges of the other classes
    has_own: bool  # hinge of the own class
    weight_other: float  # of the hinges of other classes in a sum, and of the own class
    weight_own: float
    block_solvers: list[str]  # those defined for this machine, default first
    def own_margin(self, n_classes: int) -> float:
        """Target margin of the own class's hinge; that of all others is 1."""

def machines() -> list[MachineInfo]: ...
def simd_level() -> str: ...

class Rows:
    """A view of n rows with d features. Holds references to the arrays, copies nothing."""

    n_rows: int
    n_features: int
    dtype: np.dtype[Any]
    def find_non_finite(self) -> tuple[int, int] | None:
        """Row and column of the first NaN or infinite value, if there is one."""

    def squared_norms(self) -> NDArray[np.float64]:
        """|x|^2 of each row, in double: not finite where a value or its square is not. Computed
        once, for all who ask; read-only."""

def dense_rows(X: Floats) -> Rows:
    """Any strides (C, Fortran, slices); float32 or float64; native byte order; may be read-only."""

def sparse_rows(data: Floats, indices: Indices, indptr: Indices, n_features: int) -> Rows:
    """CSR. Raises ValueError when indptr is not monotone from 0 to len(data) or an index is
    outside [0, n_features). Unsorted and duplicate indices are allowed: duplicates add up."""

class Duals:
    """The dual variables beta of a fit, sparse by rows; see `__getstate__` for their parts."""

    shape: tuple[int, int]
    nnz: int  # number of beta > 0
    @staticmethod
    def zeros(n: int, n_classes: int, dtype: np.dtype[Any]) -> Duals: ...
    def __getstate__(self) -> tuple[int, NDArray[np.int64], NDArray[np.int32], Floats]: ...
    def __setstate__(
        self, state: tuple[int, NDArray[np.int64], NDArray[np.int32], NDArray[Any]]
    ) -> None: ...
    def alphas(
        self, machine: str, labels: NDArray[np.int32]
    ) -> tuple[NDArray[np.int64], NDArray[np.int32], Floats]:
        """CSR arrays (indptr, indices, data) of a_i = sum_p beta_ip nu_p, un-centred, sorted."""

    def support(self) -> NDArray[np.int64]:
        """Rows with any beta > 0."""

    def part(
        self, rows: tuple[int, int], classes: tuple[int, int]
    ) -> tuple[NDArray[np.int64], NDArray[np.int32], Floats]:
        """CSR arrays (indptr, indices, data) of rows and classes from the first number to before
        the second."""

    def set_part(
        self,
        rows: tuple[int, int],
        classes: tuple[int, int],
        entries: tuple[NDArray[np.int64], NDArray[np.int32], NDArray[Any]],
    ) -> None:
        """Replace them, by ascending indices in each row."""

def relative_gap(primal: float, dual: float) -> float:
    """(P - D) / P; 0 where rounding has put P below D, NaN where P is NaN, infinite or negative."""

class LinearOptions:
    fit_intercept: bool  # True
    tol: float  # 1e-3
    max_iter: int  # 1000; passes over the data, inner passes counted by the visits they make
    stopping: str  # "gap" | "kkt"
    block_solver: str  # "newton", ...
    block_tol: float  # tolerance of bisection and fixed-point, threshold of the greedy ones
    block_max_iter: int  # step bound of the inexact block solvers; 0: the solver's own default
    weights: str  # "dense" | "sparse"
    shrinking: bool  # True
    class_lists: bool  # True
    second_order: bool  # True
    relaxation: float  # 1.5; 1 is the step that is best for the example alone
    record_passes: bool  # False: a record for every check
    seed: int
    n_threads: int  # 1
    shared_from: float  # 1e7; number of dual variables from which threads share a sweep
    searched_from: float  # 1e7; and from which sparse weights are seen by listed classes alone
    single_from: float  # 65536; number of weights and dual variables from which fits in double to
    # sparse rows begin in single precision
    memory: float  # inf; bytes beyond which sparse weights are refused
    def __init__(self) -> None: ...
    def state(self) -> dict[str, Any]:
        """All of them by name."""
    @staticmethod
    def fields() -> list[str]: ...

class LinearResult:
    # (k, d) view of the solver's own (d + 1, padded k) matrix, or data, indices and indptr of
    # compressed rows; centred when zero-sum
    coef: Floats | tuple[Floats, NDArray[Any], NDArray[Any]]
    intercept: Floats  # (k,)
    duals: Duals
    n_iter: int
    primal_objective: float
    dual_objective: float
    dual_gap: float  # relative, (P - D) / P
    violation: float  # largest KKT violation
    converged: bool
    history: NDArray[Any]  # structured: epoch, seconds, primal, dual, gap, violation, active
    exception: BaseException | None  # a signal handler's or the monitor's: raise it after storing

CheckCallback: TypeAlias = Callable[[tuple[float, float, float, float, float, float, int]], object]

class DualsKeeper(Protocol):
    """Takes dual variables and the history so far while a fit runs."""

    def is_due(self) -> bool: ...
    def keep(self, duals: Duals, history: NDArray[Any]) -> None: ...

def train_linear(
    rows: Rows,
    labels: NDArray[np.int32],  # 0 .. n_classes - 1
    upper: NDArray[np.float64],  # C_i > 0
    n_classes: int,
    machine: str,
    options: LinearOptions,
    warm: Duals | None = None,
    monitor: CheckCallback | None = None,
    keeper: DualsKeeper | None = None,
    poll: Callable[[], object] | None = None,
) -> LinearResult:
    """Dual block coordinate descent. Releases the GIL; polls signals several times a second, and
    calls `poll` then, which raises what is to end the fit;
    calls `monitor` with each record of the history (epoch, seconds, primal, dual, gap,
    violation, active); a true return value stops the fit, as if max_iter were reached. Where
    `keeper.is_due()` after a check, a copy of the dual variables goes to `keeper.keep`. The
    norms are those of `rows.squared_norms()`."""

class LocalDescent:
    """Block descent on the rows of one of several holders, each with all weights."""

    # U, a view of the solver's own (d + 1, padded k) matrix: it becomes W + sigma V, V being what
    # the rows have changed since it was W. The bias is in the last row, if there is one.
    weights: Floats
    def __new__(
        cls,
        rows: Rows,
        labels: NDArray[np.int32],
        upper: NDArray[np.float64],
        n_classes: int,
        machine: str,
        options: LinearOptions,
        warm: Duals | None = None,
        held: int = 0,  # of the classes how many count in a check, the first ones; 0: all
        has_mean: bool = True,  # False: a zero-sum machine takes the mean over classes as fixed
        memory: Floats | None = None,  # for `weights`, flat, with whatever is there
    ) -> LocalDescent: ...
    def set_sigma(self, sigma: float) -> None:
        """At least 1, where it is at first."""

    # A number for each row, writable, for those who keep it between passes: how long its dual
    # variables have been at rest.
    idle: NDArray[np.uint32]
    def take_back(self) -> None:
        """Variables that are left out, for they have not moved in three passes, are so no more."""

    def left_out(self) -> NDArray[np.uint8]:
        """1 for each row of which all variables are."""

    def begin(self, all: bool) -> None:
        """A pass over all rows, or over those that the last one left active; then its parts in
        order, then `end`. With shrinking, without what is left out."""

    def descend(
        self, part: int, parts: int, negligible: float, poll: Callable[[], None] | None = None
    ) -> tuple[float, float, BaseException | None]:
        """The gap of the rows as it was met, visits, and what `poll` or a signal raised, which
        ends it. Blocks of a negligible gap stay as they are."""

    def end(self) -> None: ...
    def check(self) -> tuple[float, float, float, NDArray[np.float64]]:
        """Losses at U, which is centred where the machine is zero-sum, sum of the margins of the
        dual variables, largest KKT violation, and W = sum_i a_i x_i^T of these rows, flat; of
        the classes that count."""

    def duals(self) -> Duals:
        """A copy."""

class DealtCheck:
    """The certificate of some classes, at the weights of the dual variables, and of all rows; for
    machines joined by a sum whose weights need not add up to zero."""

    # (d + 1, number of these classes), the bias last: sum_i a_i x_i^T, rounded.
    weights: Floats
    norms: tuple[float, float]  # squared: of the weights, and of those that were not rounded

    def __new__(
        cls,
        rows: Rows,
        labels: NDArray[np.int32],
        upper: NDArray[np.float64],
        n_classes: int,
        machine: str,
        classes: NDArray[np.int32],  # ascending
        duals: Duals,  # at least those of rows of these classes, and of all rows in their columns
        fit_intercept: bool,
    ) -> DealtCheck: ...
    def own_scores(self) -> NDArray[np.float64]:
        """The scores f_y of the rows of these classes, 0 for all others."""

    def check(self, own_scores: NDArray[np.float64]) -> tuple[float, float, float]:
        """Losses and margins of the hinges of these classes, and the largest KKT violation, from
        the scores f_y of all rows."""

    def correct(self, weights: Floats, classes: NDArray[np.int32]) -> None:
        """Replace weights of some of these classes, a column for each, by those that are here,
        where they differ by more than a few roundings."""

class LinearStream:
    """Weights of a stream: each example is visited once and forgotten."""

    n_seen: int
    dtype: np.dtype[Any]
    def __init__(
        self,
        n_features: int,
        n_classes: int,
        machine: str,
        options: LinearOptions,
        dtype: np.dtype[Any],
    ) -> None: ...
    def visit(
        self,
        rows: Rows,
        labels: NDArray[np.int32],
        upper: NDArray[np.float64],
        duals: Duals | None = None,
    ) -> None:
        """In the order given. `duals` are those of these rows, read and changed. Pickles."""

    def weights(self) -> tuple[Floats | tuple[Floats, NDArray[Any], NDArray[Any]], Floats]:
        """Copies of coef (k, d), of sparse weights data, indices and indptr of compressed rows, and
        of intercept (k,); centred when zero-sum."""

class StreamCertificate:
    """Objectives at the weights of a stream, which must not be visited in between. Rebuilds the
    weights of the dual variables in a store of its own, in double."""

    def __init__(self, stream: LinearStream) -> None: ...
    def add(
        self, rows: Rows, labels: NDArray[np.int32], upper: NDArray[np.float64], duals: Duals
    ) -> None:
        """Some rows; all of them once."""

    def objectives(self) -> tuple[float, float, float]:
        """Primal, dual, largest KKT violation."""

def scores(rows: Rows, coef: Floats, intercept: Floats, n_threads: int = 1) -> Floats:
    """(n, k) = rows @ coef.T + intercept. coef (k, d) of the rows' dtype and any strides."""

def solve_block(
    machine: str,
    block_solver: str,
    gradient: Floats,  # (k,) g_c = t_c - nu_c^T f; entries of absent rows are ignored
    beta: Floats,  # (k,) current, feasible
    q: float,  # K_ii
    C: float,
    label: int,
    block_tol: float = 0.0,
    block_max_iter: int = 0,
) -> Floats:
    """One call of a block solver, for tests: the new beta (k,)."""

class Changes:
    """How the vectors a_i = sum_p beta_ip nu_p of some examples changed."""

    examples: NDArray[np.int64]  # those that changed
    def __len__(self) -> int: ...
    def arrays(self) -> tuple[NDArray[np.int64], NDArray[np.int32], Floats]:
        """CSR arrays (indptr, indices, data) of a_i - a_i_old, one row per example."""

class WorkingSetSolver:
    """The dual variables of a kernel problem. It moves those of working sets; kernel values and
    scores, (m, k) in double and not centred, come from the caller."""

    def __init__(
        self,
        labels: NDArray[np.int32],  # 0 .. n_classes - 1
        upper: NDArray[np.float64],  # C_i > 0
        n_classes: int,
        machine: str,
        diagonal: Floats,  # K_ii >= 0; its dtype is the working precision
        options: LinearOptions,  # block solver, seed
        by_pairs: bool,  # of variables, where that is defined; else by the block solver
        warm: Duals | None = None,
    ) -> None: ...
    def part(self, examples: NDArray[np.int64]) -> WorkingSetSolver:
        """For some examples, all others fixed."""

    def solve(
        self,
        examples: NDArray[np.int64],
        gram: Floats,  # of the examples, in their order
        scores: NDArray[np.float64],
        fraction: float,
        passes: int,
    ) -> tuple[Changes, int]:
        """Visit a working set until its gap is this fraction; changes and the number of visits or
        steps."""

    def gain(
        self,
        part: WorkingSetSolver,
        examples: NDArray[np.int64],
        before: NDArray[np.float64],
        now: NDArray[np.float64],
    ) -> float:
        """By how much the dual objective rose while a part, made of these examples, moved. Their
        scores were `before` and are `now`."""

    def absorb(self, part: WorkingSetSolver, examples: NDArray[np.int64]) -> Changes:
        """Take over the dual variables of a part that was made of these examples."""

    def changes_from_zero(self, examples: NDArray[np.int64]) -> Changes:
        """The whole a_i of these examples."""

    def check(
        self,
        scores: NDArray[np.float64],
        gaps: NDArray[np.float64],
        violations: NDArray[np.float64],
        n_threads: int = 1,
    ) -> tuple[float, float, float]:
        """Primal and dual objective and largest KKT violation, from the scores of all examples;
        fills in those of each example."""

    def betas(self, examples: NDArray[np.int64]) -> Floats:
        """The dual variables of some examples, (m, k)."""

    def duals(self) -> Duals:
        """A copy."""

    def duals_with(self, part: WorkingSetSolver, examples: NDArray[np.int64]) -> Duals:
        """A copy with those of a part that was made of these examples."""

def add_scores(
    scores: NDArray[np.float64],  # (k, n), contiguous
    changes: Changes,
    which: NDArray[np.int64],
    kernel: Floats,
    rows: NDArray[np.int64],
    first: int = 0,
    n_threads: int = 1,
) -> None:
    """Bring the scores of some columns, from `first` on, up to date with `which` of the changes,
    whose kernel rows are those `rows` of `kernel`."""

class DecompositionOptions:
    solver: str  # "smo" | "s2do" | "crammer-singer"
    tol: float
    max_iter: int  # passes: n steps each
    stopping: str  # "gap" | "kkt"
    has_gap: bool  # True; else the objectives bound nothing, and "gap" is read as "kkt"
    shrinking: bool  # of smo and s2do
    record_passes: bool  # False: a record for every check
    selection: str  # of crammer-singer, as all that follow: "kkt" | "cyclic" | "random"
    active_set: bool
    cooling: str  # "none" | "exponential" | "linear" | "log"
    cached: bool
    block_tol: float  # of the fixed-point iteration; 0: half of the accuracy in force
    seed: int
    cache_bytes: int  # of kernel rows; two are always kept
    def __init__(self) -> None: ...
    def state(self) -> dict[str, Any]:
        """All of them by name."""
    @staticmethod
    def fields() -> list[str]: ...

class DecompositionResult:
    duals: Duals
    history: NDArray[Any]  # structured: epoch, seconds, primal, dual, gap, violation, active
    exception: BaseException | None  # a signal's or the monitor's: raise it after storing
    n_steps: int
    n_rows: int  # kernel rows computed
    primal_objective: float
    dual_objective: float
    violation: float
    converged: bool

def train_decomposition(
    labels: NDArray[np.int32],  # 0 .. n_classes - 1
    upper: NDArray[np.float64],  # C_i > 0
    n_classes: int,
    machine: str,
    diagonal: Floats,  # K_ii >= 0; its dtype is the working precision
    fill_row: Callable[[int, NDArray[Any]], None],  # row i of the kernel into an array of n
    options: DecompositionOptions,
    warm: Duals | None = None,
    monitor: CheckCallback | None = None,
    poll: Callable[[], None] | None = None,  # called several times a second; may raise
    keeper: DualsKeeper | None = None,
) -> DecompositionResult:
    """Releases the GIL except in the callbacks. What `fill_row` raises comes out at once."""

def two_variable_gain(
    g: tuple[float, float], Q: tuple[tuple[float, float], tuple[float, float]]
) -> float:
    """max g^T mu - mu^T Q mu / 2; for tests."""

def solve_two_variables(
    g: tuple[float, float],
    Q: tuple[tuple[float, float], tuple[float, float]],
    lower: tuple[float, float],
    upper: tuple[float, float],
) -> list[float]:
    """The mu of that maximum with lower <= mu <= upper; for tests."""

def apply_kernel(
    products: Floats,  # (m, n) inner products or distances, become kernel values
    row_norms: Floats,  # (m,) squared
    column_norms: Floats,  # (n,)
    kernel: str,
    gamma: float,
    coef0: float,
    degree: int,
    bias: bool,  # adds 1
    n_threads: int = 1,
) -> None: ...
def inner_products(left: Rows, right: Rows, out: Floats, n_threads: int = 1) -> None: ...
def manhattan_distances(left: Rows, right: Rows, out: Floats, n_threads: int = 1) -> None: ...
def gather(
    matrix: Floats, rows: NDArray[np.int64], columns: NDArray[np.int64], out: Floats
) -> None:
    """out = matrix[rows][:, columns]."""
