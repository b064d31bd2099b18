"""Estimators over the processes of an MPI job, for `mpiexec -n 4 python script.py`."""

from polymargin.distributed._linear import LinearSVM
from polymargin.distributed._parts import Parts as Parts
from polymargin.distributed._ranks import Ranks as Ranks
from polymargin.distributed._ranks import world as world
from polymargin.distributed._shares import read_share

__all__ = ["LinearSVM", "read_share"]
