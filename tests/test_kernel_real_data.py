"""Certificates of kernel machines on real data: gap 1e-4, for some machines 1e-6, in double.

Features are scaled to [-1, 1]. Of large sets the first rows are used, so that a fit takes seconds;
``python -m benchmarks.kernel gaps`` does the same with all of them.
"""

from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from conftest import MACHINES, load_data

from polymargin import KernelSVM
from polymargin.datasets import load_letter

# name: rows in use, C, gamma
SETS = {
    "glass": (None, 10.0, 0.5),
    "iris": (None, 10.0, 0.5),
    "vehicle": (None, 10.0, 0.25),
    "segment": (700, 10.0, 0.5),
    "satimage.train": (700, 16.0, 1.0),
    "optdigits.train": (700, 10.0, 0.02),
    "usps.train": (700, 10.0, 2.0**-7),
    "letter.train": (700, 16.0, 4.0),
}
EXACT = ("ww", "cs", "llw")


@lru_cache(maxsize=1)
def load(name: str) -> tuple[Any, Any]:
    """The rows, scaled."""
    X, y = load_data(name)
    X, rows = X.toarray(), SETS[name][0]
    low, high = X.min(axis=0), X.max(axis=0)
    X = 2 * (X - low) / np.where(high > low, high - low, 1.0) - 1
    return X[:rows], y[:rows]


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("name", SETS)
def test_gap_closes(name: str, machine: str) -> None:
    X, y = load(name)
    _, C, gamma = SETS[name]
    tol = 1e-6 if machine in EXACT else 1e-4
    model = KernelSVM(machine, C, gamma=gamma, tol=tol, random_state=0).fit(X, y)
    assert model.converged_
    assert model.dual_gap_ <= tol
    assert model.dual_objective_ <= model.primal_objective_


def test_kkt_rule_is_met_with_more_rows_than_a_working_set() -> None:
    """Working sets by their gaps alone left variables near a bound that violate for ever."""
    X, y, _, _ = load_letter()
    model = KernelSVM(gamma=1.0, stopping="kkt", max_iter=2000, random_state=0)
    model.fit(X[:5000], y[:5000])
    assert model.converged_
    assert len(model.history_) < 200
