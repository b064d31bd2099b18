"""Seconds of Walrus, which this command does not run, and the targets of the race.

This project measured them once, Walrus and LIBLINEAR on one machine, whose load moved them by up
to 1.8 times. They serve as proportions only: Walrus over LIBLINEAR there, times LIBLINEAR measured
here, stands for Walrus here.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Measured:
    """CPU seconds to a relative gap of 1e-3 at C = 1; None where it was not reached."""

    liblinear_cs: float
    walrus_ww: float | None
    note: str = ""


MEASURED: dict[str, Measured] = {
    "news20": Measured(0.92, 1.05),
    "wordnet45": Measured(2.2, 8.0),
    "clinc150": Measured(0.50, 2.8),
    "onet": Measured(6.5, None, "gap 0.37 at 20 s"),
    "satimage": Measured(0.032, 0.092),
    "letter": Measured(0.15, 1.74),
    "mnist": Measured(40.8, None, "gap 0.28 at 25 s"),
    "usps": Measured(9.3, None, "gap 5e-2 at 15 s"),
}

TEXT = frozenset({"news20", "ohsumed23", "wordnet45", "clinc150", "onet"})
MANY_CLASSES = frozenset({"wordnet45", "clinc150", "onet", "letter"})


def target(race: str, dataset: str) -> float | None:
    """What is aimed for: a floor of "peer seconds / our seconds" unless it says otherwise."""
    match race:
        case "cs":  # LIBLINEAR -s 4 over ours
            return 3.0 if dataset in TEXT else 1.5
        case "ww":  # Walrus, by proportion, over ours
            return 5.0 if dataset in MANY_CLASSES else 2.0
        case "llw":  # ceiling of LLW seconds over WW seconds
            return 3.0
        case "threads":  # one thread over two, wall
            return 1.7
        case "memory":  # ceiling of peak over 1.2 (d k + n k) itemsize
            return 1.0
    return None


def walrus_seconds(dataset: str, liblinear_now: float) -> float | None:
    """Walrus's seconds carried over to this machine by LIBLINEAR's."""
    measured = MEASURED.get(dataset)
    if measured is None or measured.walrus_ww is None:
        return None
    return measured.walrus_ww / measured.liblinear_cs * liblinear_now


def memory_bound(n: int, d: int, k: int, itemsize: int) -> float:
    """1.2 (d k + n k) items: the weights and the duals, and a fifth more."""
    return 1.2 * (d * k + n * k) * itemsize
