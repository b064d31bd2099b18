"""Kernel functions, and the loops that train kernel machines."""

from polymargin.kernel._fit import IndefiniteKernelWarning, KernelOutcome, train_kernel
from polymargin.kernel._functions import (
    DOT_KERNELS,
    KERNELS,
    DotKernel,
    Kernel,
    LaplacianKernel,
    Points,
    PrecomputedKernel,
    as_array,
    find_gamma,
    make_kernel,
)
from polymargin.kernel._working_sets import Goal

__all__ = [
    "DOT_KERNELS",
    "KERNELS",
    "DotKernel",
    "Goal",
    "IndefiniteKernelWarning",
    "Kernel",
    "KernelOutcome",
    "LaplacianKernel",
    "Points",
    "PrecomputedKernel",
    "as_array",
    "find_gamma",
    "make_kernel",
    "train_kernel",
]
