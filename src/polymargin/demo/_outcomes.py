"""A fit by the clock, and what can be said of it afterwards."""

import time
import warnings
from dataclasses import dataclass
from typing import Any

from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from polymargin._threads import blas_threads
from polymargin.datasets import Split
from polymargin.demo._entrants import Entrant


@dataclass(frozen=True)
class EntrantOutcome:
    """What an entrant reached."""

    entrant: Entrant
    model: Any
    accuracy: float
    seconds: float
    converged: bool

    @property
    def gap(self) -> float | None:
        """The certified one; None without a certificate."""
        return getattr(self.model, "dual_gap_", None)


def run(entrant: Entrant, data: Split) -> EntrantOutcome:
    """Train on one thread and test, `seconds` of the processor for the training alone.

    Examples
    --------
    >>> from polymargin.datasets import load_satimage
    >>> from polymargin.demo import entrants, run
    >>> outcome = run(entrants(tol=1e-4)[0], load_satimage())
    >>> outcome.gap <= 1e-4
    True
    """
    model = clone(entrant.estimator)
    with warnings.catch_warnings(record=True) as caught, blas_threads(1):
        warnings.simplefilter("always")
        start = time.process_time()
        model.fit(data.X_train, data.y_train)
        seconds = time.process_time() - start
    return EntrantOutcome(
        entrant=entrant,
        model=model,
        accuracy=float(model.score(data.X_test, data.y_test)),
        seconds=seconds,
        converged=not any(issubclass(item.category, ConvergenceWarning) for item in caught),
    )
