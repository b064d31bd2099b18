"""Estimators over the processes of an MPI job, for `mpiexec -n 4 python script.py`."""

from polymargin.distributed._linear import LinearSVM

__all__ = ["LinearSVM"]
