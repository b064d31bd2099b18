"""Outer loops, and the options that only they have."""

from polymargin.solvers._base import OuterLoop as OuterLoop
from polymargin.solvers._choice import Choice as Choice
from polymargin.solvers._choice import Chooser as Chooser
from polymargin.solvers._choice import choose as choose
from polymargin.solvers._kernel import KERNEL_SOLVERS as KERNEL_SOLVERS
from polymargin.solvers._kernel import S2DO, SMO, Blocks, CrammerSinger
from polymargin.solvers._kernel import AutomaticBlocks as AutomaticBlocks
from polymargin.solvers._kernel import Decomposition as Decomposition
from polymargin.solvers._linear import LINEAR_SOLVERS as LINEAR_SOLVERS
from polymargin.solvers._linear import Automatic as Automatic
from polymargin.solvers._linear import BlockDescent, Leagues, LocalDescent, MeanWeights
from polymargin.solvers._linear import DealtClasses as DealtClasses
from polymargin.solvers._linear import LinearLoop as LinearLoop
from polymargin.solvers._second_order import SecondOrder

__all__ = [
    "S2DO",
    "SMO",
    "BlockDescent",
    "Blocks",
    "CrammerSinger",
    "Leagues",
    "LocalDescent",
    "MeanWeights",
    "SecondOrder",
]
