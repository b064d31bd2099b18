"""Block solvers against brute force, for every machine that each is defined for.

The block of one example: from the gradient g at the present beta, maximise over d = new - beta

    gain(d) = g^T d - q/2 (|d|^2 + rho (s^T d)^2)

over a box or a simplex. Nothing here shares code with the core. Two references judge an answer:
the enumeration of all active sets, for few classes, and for any number of them the shortfall

    max_u G^T (u - new) >= best gain - gain,     G the gradient at the answer, u feasible,

which is zero exactly where the KKT conditions hold. Tolerances are multiples of the rounding unit
of the gradient, eps (max |g| + q C p) for p variables.
"""

import itertools
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pytest
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from polymargin import core

Floats: TypeAlias = NDArray[np.float64]

INFO = {info.name: info for info in core.machines()}
OWN = {"ats", "atm", "mmr", "rm", "ovr"}  # have a variable of the own class
OTHERS = set(INFO) - {"mmr"}  # have variables of the other classes
FLAT = ("ats", "atm", "rm")  # singular where all variables are free
EXACT = ("newton", "sort", "pivot", "walrus")
DTYPES = (np.float64, np.float32)

hypothesis = settings(
    max_examples=50,
    deadline=None,
    derandomize=True,
    database=None,
    phases=(Phase.generate,),  # blocks are small as they are
)


def pairs(*solvers: str) -> list[Any]:
    """(machine, block solver) for all machines that these are defined for."""
    return [
        pytest.param(name, solver, id=f"{name}-{solver}")
        for name, info in INFO.items()
        for solver in info.block_solvers
        if solver in solvers or not solvers
    ]


@dataclass(frozen=True, eq=False)
class Block:
    """The dual variables of one example, all else fixed."""

    machine: str
    label: int
    gradient: Floats  # (k,) at beta
    beta: Floats  # (k,) feasible
    q: float
    C: float

    @property
    def k(self) -> int:
        return len(self.beta)

    @property
    def sign(self) -> Floats:
        """s, 0 where there is no variable."""
        s = np.full(self.k, 1.0 if self.machine in OTHERS else 0.0)
        s[self.label] = -1.0 if self.machine in OWN else 0.0
        return s

    @property
    def present(self) -> NDArray[np.bool_]:
        present: NDArray[np.bool_] = self.sign != 0
        return present

    @property
    def rho(self) -> float:
        info = INFO[self.machine]
        return 1.0 if info.relative else -1.0 / self.k if info.zero_sum else 0.0

    @property
    def bound(self) -> float:
        """Of a single variable."""
        return self.C / 2 if self.machine == "rm" else self.C

    @property
    def unit(self) -> float:
        """What a gradient is known to in double precision."""
        size = np.abs(self.gradient[self.present]).max() + self.q * self.C * self.present.sum()
        return float(np.finfo(np.float64).eps * size)

    @property
    def width(self) -> float:
        """The largest sum of the variables."""
        return self.C if INFO[self.machine].simplex else self.bound * float(self.present.sum())

    def curved(self, d: Floats) -> Floats:
        """q (d + rho s s^T d)."""
        product: Floats = self.q * (d + self.rho * self.sign * (self.sign @ d))
        return product

    def gain(self, new: Floats) -> float:
        d = new - self.beta
        return float(self.gradient[self.present] @ d[self.present] - 0.5 * d @ self.curved(d))

    def gradient_at(self, new: Floats) -> Floats:
        gradient: Floats = self.gradient - self.curved(new - self.beta)
        return gradient

    def shortfall(self, new: Floats) -> float:
        """An upper bound on what `new` lacks of the best gain; 0 at an optimum only."""
        G, b = self.gradient_at(new)[self.present], new[self.present]
        if INFO[self.machine].simplex:
            return float(self.C * max(0.0, G.max()) - G @ b)
        return float((self.bound * np.maximum(G, 0.0) - G * b).sum())

    def made_feasible(self, new: Floats) -> Floats:
        feasible = np.where(self.present, np.clip(new, 0.0, self.bound), 0.0)
        if INFO[self.machine].simplex and feasible.sum() > self.C:
            feasible *= self.C / feasible.sum()
        return feasible

    def best_gain(self) -> float:
        """By enumeration: each variable at zero, at its bound or free; a simplex full or not."""
        variables = np.flatnonzero(self.present)
        simplex = INFO[self.machine].simplex
        states = itertools.product("0f" if simplex else "0fu", repeat=len(variables))
        best = 0.0
        for state in states:
            at = np.array(state)
            free, fixed = variables[at == "f"], np.zeros(self.k)
            fixed[variables[at == "u"]] = self.bound
            for full in (False, True) if simplex and len(free) else (False,):
                best = max(best, self.gain(self.made_feasible(self._stationary(free, fixed, full))))
        return best

    def _stationary(self, free: NDArray[np.intp], fixed: Floats, full: bool) -> Floats:
        """Zero gradient in the `free` variables, equal ones where they have to sum to C."""
        s, m = self.sign[free], len(free)
        system = np.zeros((m + full, m + full))
        system[:m, :m] = np.eye(m) + self.rho * np.outer(s, s)
        right = np.zeros(m + full)
        right[:m] = (self.gradient_at(fixed) / self.q)[free]
        if full:
            system[:m, m] = system[m, :m] = 1.0
            right[m] = self.C
        point = fixed.copy()
        if m:
            point[free] = np.linalg.lstsq(system, right, rcond=1e-12)[0][:m]
        return point

    def solve(self, solver: str, dtype: type = np.float64, tol: float = 0.0, steps: int = 0) -> Any:
        new = core.solve_block(
            self.machine,
            solver,
            self.gradient.astype(dtype),
            self.beta.astype(dtype),
            self.q,
            self.C,
            self.label,
            tol,
            steps,
        )
        assert new.dtype == dtype
        return new.astype(np.float64)

    def after(self, new: Floats) -> "Block":
        """The same block, seen from `new`."""
        return Block(self.machine, self.label, self.gradient_at(new), new, self.q, self.C)


def rounded(block: Block, dtype: type) -> Block:
    """The block as `dtype` holds it."""
    gradient, beta = (v.astype(dtype).astype(np.float64) for v in (block.gradient, block.beta))
    return Block(
        block.machine, block.label, gradient, beta, float(dtype(block.q)), float(dtype(block.C))
    )


def assert_feasible(block: Block, new: Floats, eps: float) -> None:
    assert np.isfinite(new).all()
    assert (new[~block.present] == 0).all()
    assert new.min() >= 0
    assert new.max() <= block.bound * (1 + 2 * eps)  # beta is updated by differences
    if INFO[block.machine].simplex:
        assert new.sum() <= block.C * (1 + 8 * eps * block.present.sum())


def assert_optimal(block: Block, new: Floats, dtype: type) -> None:
    """Feasible and, to rounding, without anything left to gain."""
    unit = rounding(block, dtype)
    assert_feasible(block, new, float(np.finfo(dtype).eps))
    feasible = block.made_feasible(new)
    assert block.shortfall(feasible) <= unit * block.width
    assert block.gain(feasible) >= -unit * block.width


def rounding(block: Block, dtype: type) -> float:
    """The tolerance on gradients in `dtype`."""
    return 32 * block.unit * float(np.finfo(dtype).eps / np.finfo(np.float64).eps)


@st.composite
def blocks(draw: st.DrawFn, machine: str, max_k: int, dtype: type = np.float64) -> Block:
    """Blocks with ties, variables at their bounds and all scales of q and C."""
    k = draw(st.integers(2, max_k))
    q, C = (10.0 ** draw(st.integers(-6, 6)) for _ in "qC")
    level = draw(st.sampled_from([1.0, q * C]))
    values = st.one_of(st.integers(-16, 16).map(lambda i: i / 8), st.floats(-3, 3, width=16))
    gradient = level * np.array(draw(st.lists(values, min_size=k, max_size=k)))
    filled = np.array(draw(st.lists(st.integers(0, 8), min_size=k, max_size=k)))
    block = Block(machine, draw(st.integers(0, k - 1)), gradient, np.zeros(k), q, C)
    beta = block.made_feasible(filled / 8 * block.bound)
    if INFO[machine].simplex:
        beta *= 1 - 4 * np.finfo(dtype).eps  # feasible also when rounded
    return rounded(Block(machine, block.label, gradient, beta, q, C), dtype)


# Exact block solvers


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("machine", "solver"), pairs(*EXACT))
def test_exact_solvers_equal_brute_force(machine: str, solver: str, dtype: type) -> None:
    @hypothesis
    @given(blocks(machine, 4, dtype))
    def check(block: Block) -> None:
        unit = rounding(block, dtype)
        new = block.solve(solver, dtype)
        assert_optimal(block, new, dtype)
        reached = block.gain(block.made_feasible(new))
        # The point is feasible: to reach more can only be the brute force's own inaccuracy.
        assert reached >= block.best_gain() - unit * block.width

    check()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("machine", "solver"), pairs(*EXACT))
def test_exact_solvers_meet_the_kkt_conditions(machine: str, solver: str, dtype: type) -> None:
    @hypothesis
    @given(blocks(machine, 40, dtype))
    def check(block: Block) -> None:
        unit = rounding(block, dtype)
        new = block.solve(solver, dtype)
        assert_optimal(block, new, dtype)
        # There is nothing to do at the solution.
        solved = rounded(block.after(block.made_feasible(new)), dtype)
        again = solved.made_feasible(solved.solve(solver, dtype))
        assert abs(solved.gain(again)) <= 4 * unit * block.width

    check()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("machine", "solver"), pairs(*EXACT))
def test_exact_solvers_with_many_classes(machine: str, solver: str, dtype: type, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for C, level, filled in [(1.0, 1.0, 0.0), (0.01, 1.0, 0.1), (1.0, 3.0, 1.0), (100.0, 1.0, 0.5)]:
        block = many_classes(machine, C, level, filled, rng)
        assert_optimal(rounded(block, dtype), block.solve(solver, dtype), dtype)


def many_classes(
    machine: str, C: float, level: float, filled: float, rng: np.random.Generator
) -> Block:
    """10,000 classes, the part `filled` of them with a variable off zero."""
    k = 10_000
    block = Block(machine, 17, level * rng.normal(size=k), np.zeros(k), 2.0, C)
    beta = np.where(rng.random(k) < filled, rng.random(k) * block.bound, 0.0)
    if INFO[machine].simplex:
        beta *= 0.9 * C / max(beta.sum(), C)
    return Block(machine, 17, block.gradient, block.made_feasible(beta), 2.0, C)


@pytest.mark.parametrize("drift", [0.0, 1e-3, 1.0, 100.0, -100.0])
@pytest.mark.parametrize("k", [2, 3, 4])
@pytest.mark.parametrize("machine", FLAT)
@pytest.mark.parametrize("dtype", DTYPES)
def test_flat_direction(machine: str, k: int, drift: float, dtype: type) -> None:
    """All variables free: along s the objective is linear with slope `drift`, or constant."""
    start = Block(machine, k - 1, np.zeros(k), np.zeros(k), 1.0, 1.0)
    across = np.arange(k) - (k - 1) / 2
    across -= start.sign * (start.sign @ across) / k
    beta = np.full(k, start.bound / 2 / (k if machine == "atm" else 1))
    block = Block(machine, k - 1, 0.01 * across + drift * start.sign / k, beta, 1.0, 1.0)
    block = rounded(block, dtype)
    for solver in INFO[machine].block_solvers:
        if solver in EXACT:
            new = block.solve(solver, dtype)
            assert_optimal(block, new, dtype)
            gain = block.gain(block.made_feasible(new))
            assert abs(gain - block.best_gain()) <= rounding(block, dtype) * block.width


# Inexact block solvers

INEXACT = ("bisection", "fixed-point", "smo", "frank-wolfe", "greedy", "greedy-pairs")
# As their options have it; the threshold of the first greedy one is that of a tight fit.
TOLERANCE = {"bisection": 1e-3, "fixed-point": 1e-3, "greedy": 1e-12, "greedy-pairs": 1e-3}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("machine", "solver"), pairs(*INEXACT))
def test_inexact_solvers_stay_feasible_and_never_lose(
    machine: str, solver: str, dtype: type
) -> None:
    @hypothesis
    @given(blocks(machine, 12, dtype), st.integers(0, 3))
    def check(block: Block, steps: int) -> None:
        new = block.solve(solver, dtype, TOLERANCE.get(solver, 0.0), steps)
        assert_feasible(block, new, float(np.finfo(dtype).eps))
        assert block.gain(new) >= -rounding(block, dtype) * block.width

    check()


@pytest.mark.parametrize(("machine", "solver"), pairs("smo", "greedy", "greedy-pairs"))
def test_repeated_inexact_solvers_converge(machine: str, solver: str) -> None:
    @hypothesis
    @given(blocks(machine, 5))
    def check(block: Block) -> None:
        # Along the direction without curvature, steps of single variables are as long as those
        # with it: about g / q, to a bound that is C away.
        assume(block.rho >= 0 or block.q * block.C <= 1e3 * np.abs(block.gradient).max())
        start, threshold = block, TOLERANCE["greedy"] if solver == "greedy" else 0.0
        for _ in range(300):
            new = block.solve(solver, tol=TOLERANCE.get(solver, 0.0))
            block = block.after(new)
            left = start.shortfall(start.made_feasible(new))
            exact = 1e-9 * start.unit / np.finfo(np.float64).eps
            if left <= (exact + threshold) * start.width:
                return
        pytest.fail(f"after 300 calls {left} is left to gain")

    check()


@pytest.mark.parametrize(("machine", "solver"), pairs("bisection", "fixed-point"))
def test_solvers_with_a_tolerance_are_as_exact_as_it_says(machine: str, solver: str) -> None:
    @hypothesis
    @given(blocks(machine, 5))
    def check(block: Block) -> None:
        best, scale = block.best_gain(), block.unit / np.finfo(np.float64).eps * block.width
        for tol in (1e-3, 1e-6, 1e-12):
            new = block.solve(solver, tol=tol, steps=100_000)
            assert (
                best - block.gain(block.made_feasible(new)) <= (16 * block.k * tol + 1e-13) * scale
            )

    check()


@pytest.mark.parametrize("machine", INFO)
def test_frank_wolfe_converges_at_its_rate(machine: str) -> None:
    """What is left after t steps is at most 2 q |Q| diameter^2 / (t + 2)."""

    @hypothesis
    @given(blocks(machine, 5))
    def check(block: Block) -> None:
        square = 2 * block.C**2 if INFO[machine].simplex else block.width * block.bound
        curvature = block.q * (1 + max(0.0, block.rho) * block.present.sum()) * square
        start, best, new = block, block.best_gain(), block.beta
        for step in range(1, 51):
            new = block.solve("frank-wolfe", steps=1)
            block = block.after(new)
            left = best - start.gain(start.made_feasible(new))
            assert left <= 2 * curvature / (step + 2) + rounding(start, np.float64) * start.width
        at_once = start.gain(start.made_feasible(start.solve("frank-wolfe", steps=50)))
        assert best - at_once <= 2 * curvature / 52 + rounding(start, np.float64) * start.width

    check()


@pytest.mark.parametrize(("machine", "solver"), pairs(*INEXACT))
def test_inexact_solvers_with_many_classes(machine: str, solver: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for C, level, filled in [(1.0, 1.0, 0.0), (0.01, 1.0, 0.01), (100.0, 1.0, 0.01)]:
        block = many_classes(machine, C, level, filled, rng)
        new = block.solve(solver, tol=TOLERANCE.get(solver, 0.0), steps=20)
        assert_feasible(block, new, float(np.finfo(np.float64).eps))
        assert block.gain(new) >= -rounding(block, np.float64) * block.width
        # The first steps of SMO may find nothing to move.
        if solver != "smo" and block.shortfall(block.beta) > 0:
            assert block.gain(new) > 0
