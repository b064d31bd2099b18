"""Outer loops, and the options that only they have."""

from polymargin.solvers._kernel import KERNEL_SOLVERS as KERNEL_SOLVERS
from polymargin.solvers._kernel import S2DO, SMO, Blocks, CrammerSinger
from polymargin.solvers._kernel import Decomposition as Decomposition
from polymargin.solvers._kernel import find_kernel_solver as find_kernel_solver
from polymargin.solvers._linear import SOLVERS as SOLVERS
from polymargin.solvers._linear import BlockDescent
from polymargin.solvers._linear import find_solver as find_solver

__all__ = ["S2DO", "SMO", "BlockDescent", "Blocks", "CrammerSinger"]
