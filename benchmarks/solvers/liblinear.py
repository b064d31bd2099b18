"""LIBLINEAR through its C function ``train``: Crammer–Singer (-s 4), one-vs-rest hinge (-s 3).

The problem is built before the clock starts and printing is off, so that a timed run is the C
function alone. Its scale is ours: margin 1, ½‖W‖² + C Σ loss. ``run_certified`` keeps the printed
objective values instead: minus their sum is the dual objective, a lower bound of the optimum.
"""

from __future__ import annotations

import ctypes
import re

import numpy as np
from liblinear.liblinear import PRINT_STRING_FUN, liblinear, parameter, problem, toPyModel

from benchmarks.datasets import Dataset

SOLVER_TYPE = {"cs": 4, "ovr": 3}
_libc = ctypes.CDLL(None)


class Liblinear:
    """The C library; ``tol`` of a run is its -e."""

    name = "liblinear"

    def prepare(self, data: Dataset, machine: str, C: float) -> None:
        self._shape = (data.k, data.d)
        self._options = f"-s {SOLVER_TYPE[machine]} -c {C!r} -B -1 -q"
        self._problem = problem(data.y.astype(np.float64), data.csr())
        self._model = None
        self.setup(0.1, 0)

    def setup(self, tol: float, seed: int) -> None:
        """Parameters and seed of the next run (LIBLINEAR draws from libc's ``rand``)."""
        if self._model:
            toPyModel(self._model)  # frees what the last run left
        self._model = None
        self._parameter = parameter(f"{self._options} -e {tol!r}")
        if message := liblinear.check_parameter(self._problem, self._parameter):
            raise ValueError(message.decode())
        _libc.srand(seed + 1)

    def run(self) -> None:
        self._model = liblinear.train(self._problem, self._parameter)

    def run_certified(self) -> float:
        """Train and return the dual objective from what LIBLINEAR prints."""
        printed: list[bytes] = []
        callback = PRINT_STRING_FUN(printed.append)
        liblinear.set_print_string_function(callback)
        self._model = liblinear.train(self._problem, self._parameter)
        liblinear.set_print_string_function(self._parameter.print_func)  # quiet again
        values = re.findall(rb"Objective value = (\S+)", b"".join(printed))
        if len(values) != (1 if self._parameter.solver_type == 4 else self._shape[0]):
            raise RuntimeError(f"{len(values)} objective values printed")
        return -sum(float(value) for value in values)

    def coef(self) -> np.ndarray:
        model = toPyModel(self._model)
        k, d = self._shape
        weights = np.ctypeslib.as_array(model.w, (d, k))
        coef = np.empty((k, d))
        coef[np.asarray(model.get_labels())] = weights.T
        self._model = None
        return coef
