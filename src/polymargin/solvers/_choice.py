"""Machine, outer loop and block solver, and whether they go together."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from polymargin import core
from polymargin._machines import find_machine
from polymargin._options import by_name
from polymargin.block_solvers import BlockSolver, find_block_solver
from polymargin.solvers._base import OuterLoop

if TYPE_CHECKING:
    from polymargin.core import MachineInfo

_Loop = TypeVar("_Loop", bound=OuterLoop)


@dataclass(frozen=True)
class Choice(Generic[_Loop]):
    """What the parameters `machine`, `solver` and `block_solver` of an estimator mean."""

    machine: "MachineInfo"
    solver: _Loop
    block_solver: BlockSolver


class Chooser(Protocol[_Loop]):
    """An estimator with these parameters."""

    machine: str
    solver: str | _Loop
    block_solver: str | BlockSolver
    _solvers: Mapping[str, type[_Loop]]  # all it knows, "auto" among them


def choose(estimator: Chooser[_Loop], machine: str | None = None) -> Choice[_Loop]:
    """What an estimator means, also with another machine; ValueError where that is not defined."""
    info = find_machine(estimator.machine if machine is None else machine)
    solver = _find_solver(estimator.solver, info, estimator._solvers)
    return Choice(info, solver, find_block_solver(estimator.block_solver, info))


def _find_solver(
    solver: str | _Loop, machine: "MachineInfo", known: Mapping[str, type[_Loop]]
) -> _Loop:
    if isinstance(solver, str):
        solver = by_name("solver", solver, known)
    if not solver.is_defined_for(machine):
        defined = [info.name for info in core.machines() if solver.is_defined_for(info)]
        raise ValueError(
            f"solver {solver.name!r} is not defined for machine {machine.name!r}; it is defined "
            f"for {', '.join(defined)}"
        )
    return solver
