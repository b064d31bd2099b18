"""Probabilities from scores: what is learnt for them, and from which scores.

A calibrator maps the scores of all classes to probabilities. It is learnt from scores of rows that
the scoring model has not seen, which a cross-fit collects.
"""

from polymargin.calibration._base import Calibrator
from polymargin.calibration._cross_fit import CrossFit, FitPart
from polymargin.calibration._folds import FoldPlan
from polymargin.calibration._isotonic import Isotonic
from polymargin.calibration._sigmoid import Sigmoid
from polymargin.calibration._temperature import Temperature

CALIBRATIONS: dict[str, type[Calibrator]] = {
    kind.name: kind for kind in (Sigmoid, Isotonic, Temperature)
}

__all__ = [
    "CALIBRATIONS",
    "Calibrator",
    "CrossFit",
    "FitPart",
    "FoldPlan",
    "Isotonic",
    "Sigmoid",
    "Temperature",
]
