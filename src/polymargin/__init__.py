"""All-in-one multi-class support vector machines, fast, exact and certified."""

from polymargin._kernel import KernelSVM
from polymargin._linear import LinearSVM
from polymargin._options import (
    SMO,
    Bisection,
    BlockDescent,
    Blocks,
    FixedPoint,
    FrankWolfe,
    Greedy,
    Newton,
    Pivot,
    Sort,
    Walrus,
)
from polymargin._path import Path, path
from polymargin._versions import show_versions, version_of

__all__ = [
    "SMO",
    "Bisection",
    "BlockDescent",
    "Blocks",
    "FixedPoint",
    "FrankWolfe",
    "Greedy",
    "KernelSVM",
    "LinearSVM",
    "Newton",
    "Path",
    "Pivot",
    "Sort",
    "Walrus",
    "path",
    "show_versions",
]

__version__ = version_of("polymargin") or "0+unknown"
