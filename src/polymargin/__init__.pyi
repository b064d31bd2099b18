from polymargin import block_solvers as block_solvers
from polymargin import datasets as datasets
from polymargin import errors as errors
from polymargin import estimators as estimators
from polymargin import files as files
from polymargin import inspect as inspect
from polymargin import model_selection as model_selection
from polymargin import preprocessing as preprocessing
from polymargin import readers as readers
from polymargin import solvers as solvers
from polymargin import streams as streams
from polymargin._versions import show_versions
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

__version__: str
