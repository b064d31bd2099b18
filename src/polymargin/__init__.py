"""All-in-one multi-class support vector machines, fast, exact and certified."""

from polymargin._versions import show_versions, version_of
from polymargin.block_solvers import (
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
from polymargin.estimators import KernelSVM, LinearSVM, RegularizationPath, path
from polymargin.files import load, read_info, resume, save
from polymargin.solvers import S2DO, BlockDescent, Blocks, CrammerSinger
from polymargin.storage import Checkpoint

__all__ = [
    "S2DO",
    "Bisection",
    "BlockDescent",
    "Blocks",
    "Checkpoint",
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
    "Pivot",
    "RegularizationPath",
    "Sort",
    "Walrus",
    "load",
    "path",
    "read_info",
    "resume",
    "save",
    "show_versions",
]

__version__ = version_of("polymargin") or "0+unknown"
