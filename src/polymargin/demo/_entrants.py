"""Who takes part: our machines and scikit-learn's, each with constants chosen by one rule."""

from dataclasses import dataclass
from typing import Any

from sklearn.svm import SVC, LinearSVC

from polymargin._machines import find_machine
from polymargin.estimators import KernelSVM, LinearSVM

LINEAR, KERNEL, PEERS = "polymargin, linear", "polymargin, kernel", "scikit-learn"

# Exponents of 2. Each entrant has the constants with the best accuracy in stratified 3-fold
# cross-validation on the training part, at its library's default tolerance: C of 2^-14, 2^-12,
# ..., 2^4, gamma of 2^-4, 2^-2, ..., 2^4; of equals the largest C, then the smallest gamma.
# `python -m benchmarks.demo_constants` makes these lines.
CHOSEN = {
    "WW": {"C": 2},
    "CS": {"C": 4},
    "LLW": {"C": -4},
    "ADM": {"C": -10},
    "ATS": {"C": -4},
    "ATM": {"C": -10},
    "MMR": {"C": -6},
    "RM": {"C": 0},
    "OVR": {"C": 0},
    "WW rbf": {"C": 0, "gamma": 2},
    "CS rbf": {"C": 0, "gamma": 2},
    "LLW rbf": {"C": 4, "gamma": 2},
    "LinearSVC": {"C": 4},
    "LinearSVC CS": {"C": 4},
    "SVC rbf": {"C": 2, "gamma": 0},
}


@dataclass(frozen=True)
class Entrant:
    """An estimator that has not seen data."""

    name: str
    title: str
    group: str
    estimator: Any


def entrants(tol: float) -> list[Entrant]:
    """All of them; `tol` is the relative duality gap asked of ours.

    Examples
    --------
    >>> from polymargin.demo import entrants
    >>> [entrant.name for entrant in entrants(1e-4)][:3]
    ['WW', 'CS', 'LLW']
    """
    ours: dict[str, Any] = {"tol": tol, "max_iter": 10_000, "random_state": 0}
    linear = [
        Entrant(name, find_machine(name.lower()).title, LINEAR, LinearSVM(name.lower(), **ours))
        for name in ("WW", "CS", "LLW", "ADM", "ATS", "ATM", "MMR", "RM", "OVR")
    ]
    kernel = [
        Entrant(
            f"{name} rbf", find_machine(name.lower()).title, KERNEL, KernelSVM(name.lower(), **ours)
        )
        for name in ("WW", "CS", "LLW")
    ]
    peers = [
        Entrant("LinearSVC", "one-vs-rest, squared hinge", PEERS, LinearSVC(random_state=0)),
        # Its solver stops at 100 000 whatever max_iter is: a smaller one only makes it warn.
        Entrant(
            "LinearSVC CS",
            "Crammer–Singer",
            PEERS,
            LinearSVC(multi_class="crammer_singer", max_iter=100_000, random_state=0),
        ),
        Entrant("SVC rbf", "one-vs-one", PEERS, SVC()),
    ]
    everyone = linear + kernel + peers
    for entrant in everyone:
        constants = {name: 2.0**exponent for name, exponent in CHOSEN[entrant.name].items()}
        entrant.estimator.set_params(**constants)
    return everyone
