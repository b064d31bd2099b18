"""Estimators in the manner of scikit-learn."""

from polymargin.estimators._base import BaseSVM, check_whole
from polymargin.estimators._best import best_classes
from polymargin.estimators._blocks import score_blocks
from polymargin.estimators._kernel import KernelSVM
from polymargin.estimators._linear import LinearSVM
from polymargin.estimators._path import RegularizationPath, path

__all__ = [
    "BaseSVM",
    "KernelSVM",
    "LinearSVM",
    "RegularizationPath",
    "best_classes",
    "check_whole",
    "path",
    "score_blocks",
]
