"""Outer loops, and the options that only they have."""

from polymargin.solvers._kernel import (
    KERNEL_SOLVERS,
    S2DO,
    Blocks,
    CrammerSinger,
    Decomposition,
    SMOSolver,
    find_kernel_solver,
)
from polymargin.solvers._linear import SOLVERS, BlockDescent, find_solver

__all__ = [
    "KERNEL_SOLVERS",
    "S2DO",
    "SOLVERS",
    "BlockDescent",
    "Blocks",
    "CrammerSinger",
    "Decomposition",
    "SMOSolver",
    "find_kernel_solver",
    "find_solver",
]
