"""Kernel functions, and the loops that train kernel machines."""

from polymargin.kernel._digits import LostDigitsWarning
from polymargin.kernel._fit import IndefiniteKernelWarning, KernelOutcome, train_kernel
from polymargin.kernel._functions import Kernel, Points, PrecomputedKernel, as_array
from polymargin.kernel._goal import Goal
from polymargin.kernel._gram import GramKernel, row_numbers, share_values
from polymargin.kernel._make import KERNELS, find_gamma, has_gamma, make_kernel
from polymargin.kernel._named import NAMED_KERNELS, NamedKernel
from polymargin.kernel._scores import kernel_scores

__all__ = [
    "KERNELS",
    "NAMED_KERNELS",
    "Goal",
    "GramKernel",
    "IndefiniteKernelWarning",
    "Kernel",
    "KernelOutcome",
    "LostDigitsWarning",
    "NamedKernel",
    "Points",
    "PrecomputedKernel",
    "as_array",
    "find_gamma",
    "has_gamma",
    "kernel_scores",
    "make_kernel",
    "row_numbers",
    "share_values",
    "train_kernel",
]
