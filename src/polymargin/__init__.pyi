from polymargin import block_solvers as block_solvers
from polymargin import calibration as calibration
from polymargin import core as core
from polymargin import datasets as datasets
from polymargin import distributed as distributed
from polymargin import errors as errors
from polymargin import estimators as estimators
from polymargin import files as files
from polymargin import fit as fit
from polymargin import inspect as inspect
from polymargin import kernel as kernel
from polymargin import metrics as metrics
from polymargin import model_selection as model_selection
from polymargin import preprocessing as preprocessing
from polymargin import readers as readers
from polymargin import second_order as second_order
from polymargin import solvers as solvers
from polymargin import storage as storage
from polymargin import streams as streams
from polymargin._versions import show_versions
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
from polymargin.solvers import (
    S2DO,
    BlockDescent,
    Blocks,
    CrammerSinger,
    Leagues,
    LocalDescent,
    MeanWeights,
    SecondOrder,
)
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
    "Leagues",
    "LinearSVM",
    "LocalDescent",
    "MeanWeights",
    "ModelFileError",
    "Newton",
    "Pivot",
    "RegularizationPath",
    "SecondOrder",
    "Sort",
    "Walrus",
    "load",
    "path",
    "read_info",
    "resume",
    "save",
    "show_versions",
]

__version__: str
