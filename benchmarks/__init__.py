"""Benchmarks of polymargin: data sets, objective and solvers are separate, as in benchopt.

``python -m benchmarks.linear`` races the linear machines; see ``benchmarks/README.md``.
"""

import os

# One thread unless a solver is told otherwise. Set before NumPy loads its BLAS.
for _name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
