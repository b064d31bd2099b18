"""All-in-one multi-class support vector machines, fast, exact and certified."""

from polymargin._versions import show_versions, version_of
from polymargin.block_solvers import (
    SMO,
    Bisection,
    FixedPoint,
    FrankWolfe,
    Greedy,
    GreedyPairs,
    Newton,
    Pivot,
    Sort,
    Walrus,
)
from polymargin.errors import DataError, ModelFileError
from polymargin.estimators import KernelSVM, LinearSVM, Path, path
from polymargin.files import load, read_info, save
from polymargin.solvers import S2DO, BlockDescent, Blocks, CrammerSinger, SMOSolver

__all__ = [
    "S2DO",
    "SMO",
    "Bisection",
    "BlockDescent",
    "Blocks",
    "CrammerSinger",
    "DataError",
    "FixedPoint",
    "FrankWolfe",
    "Greedy",
    "GreedyPairs",
    "KernelSVM",
    "LinearSVM",
    "ModelFileError",
    "Newton",
    "Path",
    "Pivot",
    "SMOSolver",
    "Sort",
    "Walrus",
    "load",
    "path",
    "read_info",
    "save",
    "show_versions",
]

__version__ = version_of("polymargin") or "0+unknown"
