"""Descent by the core, from dual variables to an outcome."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from scipy import sparse

from polymargin import core
from polymargin.fit._interrupts import held_interrupts
from polymargin.fit._past import Past
from polymargin.fit._problem import Problem
from polymargin.fit._progress import Check
from polymargin.fit._sparse import as_coef, without_zeros
from polymargin.fit._state import ProblemKeeper, scale_duals
from polymargin.fit._weights import choose_weights

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from polymargin.core import Duals, Floats, LinearOptions, LinearResult, MachineInfo, Rows


@dataclass
class LinearOutcome:
    """What a fit of a linear machine reached."""

    coef: "Floats | sparse.csr_array"
    intercept: "Floats"
    duals: "Duals"
    n_iter: int
    primal_objective: float
    dual_objective: float
    dual_gap: float
    violation: float
    converged: bool
    history: "NDArray[Any]"
    exception: BaseException | None
    held: "NDArray[np.int64] | None" = None  # the classes whose weights these are; None: all

    @classmethod
    def of(cls, result: "LinearResult", past: Past, n_features: int) -> "LinearOutcome":
        """What the core says, after what was before."""
        return cls(
            coef=as_coef(result.coef, len(result.intercept), n_features),
            intercept=result.intercept,
            duals=result.duals,
            n_iter=past.passes_with(result.n_iter, result.history),
            primal_objective=result.primal_objective,
            dual_objective=result.dual_objective,
            dual_gap=result.dual_gap,
            violation=result.violation,
            converged=result.converged,
            history=past.followed_by(result.history),
            exception=result.exception,
        )

    def with_best_of(self, earlier: "LinearOutcome", tol: float) -> "LinearOutcome":
        """The better weights and the better dual variables of this and of an earlier one."""
        primal = min(self, earlier, key=lambda outcome: outcome.primal_objective)
        dual = max(self, earlier, key=lambda outcome: outcome.dual_objective)
        gap = core.relative_gap(primal.primal_objective, dual.dual_objective)
        history = self.history.copy()
        history[-1]["primal"] = primal.primal_objective
        history[-1]["dual"] = dual.dual_objective
        history[-1]["gap"] = gap
        return replace(
            self,
            coef=primal.coef,
            intercept=primal.intercept,
            duals=dual.duals,
            primal_objective=primal.primal_objective,
            dual_objective=dual.dual_objective,
            dual_gap=gap,
            violation=dual.violation,
            converged=gap <= tol,
            history=history,
        )

    def scaled(self, factor: float) -> "LinearOutcome":
        """The same with weights and dual variables times a factor."""
        weight = self.coef.dtype.type(factor)
        return replace(
            self,
            coef=self.coef * weight,
            intercept=self.intercept * weight,
            duals=scale_duals(self.duals, factor),
        )


def with_options(options: "LinearOptions", **changes: Any) -> "LinearOptions":
    """A copy in which some are different."""
    copy = core.LinearOptions()
    for name, value in (options.state() | changes).items():
        setattr(copy, name, value)
    return copy


@dataclass(frozen=True)
class Descent:
    """Block descent on one problem."""

    problem: Problem
    machine: "MachineInfo"
    options: "LinearOptions"
    monitor: Callable[[Any], bool] | None  # only where somebody watches
    keeper: ProblemKeeper | None

    def run(
        self,
        warm: "Duals | None",
        past: Past | None = None,
        stop: Callable[[Check], bool] | None = None,
    ) -> LinearOutcome:
        """The passes that are left after `past`, or until `stop` says so."""
        past = past or Past()
        passes = max(self.options.max_iter - int(past.epochs), 0)
        return self._train(warm, past, passes, self._watch(stop))

    def certify(self, duals: "Duals", past: Past) -> LinearOutcome:
        """Weights, objectives and gap of these dual variables, which do not move."""
        return self._train(duals, past, 0, None)

    def _train(
        self,
        warm: "Duals | None",
        past: Past,
        passes: int,
        monitor: Callable[[Any], bool] | None,
    ) -> LinearOutcome:
        options = with_options(self.options, max_iter=passes, weights=self._weights)
        keeper = None if self.keeper is None else self.keeper.after(past)
        rows = self._rows
        # An interrupt that comes too late for the core to see it finds the outcome all the same.
        with held_interrupts() as interrupts:
            result = core.train_linear(
                rows,
                self.problem.labels,
                self.problem.upper,
                len(self.problem.classes),
                self.machine.name,
                options,
                warm,
                monitor,
                keeper,
                interrupts.raise_pending,
            )
            outcome = LinearOutcome.of(result, past, self.problem.rows.n_features)
            try:
                interrupts.raise_pending()
            except KeyboardInterrupt as interrupt:
                outcome.exception = interrupt
        return outcome

    @cached_property
    def _rows(self) -> "Rows":
        return without_zeros(self.problem.X) or self.problem.rows

    @cached_property
    def _weights(self) -> str:
        wanted, bias = self.options.weights, self.options.fit_intercept
        return choose_weights(wanted, self.problem, self.machine, bias)

    def _watch(self, stop: Callable[[Check], bool] | None) -> Callable[[Any], bool] | None:
        if stop is None:
            return self.monitor

        def watch(record: Any) -> bool:
            stopped = self.monitor is not None and self.monitor(record)
            return stop(Check(*record)) or stopped

        return watch
