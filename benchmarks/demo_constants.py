"""The constants of the demo: ``python -m benchmarks.demo_constants``, five minutes on one core.

For each entrant the values with the best accuracy in stratified 3-fold cross-validation on the
training part of satimage, ours and scikit-learn's by the same rule on the same folds. Prints the
lines of ``CHOSEN`` in ``src/polymargin/demo/_entrants.py``.
"""

from __future__ import annotations

import sys
import warnings

from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold, cross_val_score

from polymargin.datasets import load_satimage
from polymargin.demo import CHOSEN, Entrant, entrants

LOG2_C = range(-14, 5, 2)
LOG2_GAMMA = range(-4, 5, 2)
DEFAULT_TOL = 1e-3


def choose(entrant: Entrant) -> dict[str, int]:
    """Exponents of the best constants; of equals the largest C, then the smallest gamma."""
    X, y, _, _ = load_satimage()
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    gammas = LOG2_GAMMA if "gamma" in CHOSEN[entrant.name] else [None]
    found = []
    for log2_C in LOG2_C:
        for log2_gamma in gammas:
            exponents = {"C": log2_C} | ({} if log2_gamma is None else {"gamma": log2_gamma})
            model = clone(entrant.estimator).set_params(**{n: 2.0**e for n, e in exponents.items()})
            accuracy = cross_val_score(model, X, y, cv=folds).mean()
            found.append((accuracy, log2_C, -(log2_gamma or 0), exponents))
    return max(found, key=lambda candidate: candidate[:3])[3]


def main(names: list[str]) -> None:
    """A line for each entrant, or for those of these names."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    for entrant in entrants(tol=DEFAULT_TOL):
        if not names or entrant.name in names:
            print(f'    "{entrant.name}": {choose(entrant)},'.replace("'", '"'), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
