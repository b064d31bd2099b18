"""What a fit takes beside the data: nothing of their size."""

import tracemalloc
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from polymargin import LinearSVM

N, D = 4000, 500
LAYOUTS = {
    "rows": lambda X: X,
    "columns": np.asfortranarray,
    "every other": lambda X: np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
    "reversed": lambda X: X[::-1, ::-1],
    "read-only": lambda X: np.frombuffer(X.tobytes(), X.dtype).reshape(X.shape),
    "zero": lambda X: np.zeros_like(np.asfortranarray(X))[::-1],
    "sparse": sparse.csr_array,
}


def peak_of_fit(estimator: Any, X: Any, y: Any) -> int:
    """Memory that Python and NumPy took at most."""
    tracemalloc.start()
    try:
        estimator.fit(X, y)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.filterwarnings("ignore:The fit stopped after")
def test_rows_are_not_copied_nor_masked(dtype: Any, layout: str, seed: int) -> None:
    random = np.random.default_rng(seed)
    y = random.integers(3, size=N)
    X = LAYOUTS[layout](random.normal(size=(N, D)).astype(dtype) + y[:, None].astype(dtype))
    estimator = LinearSVM(C=1e-3, max_iter=1, tol=0.1, random_state=0)
    clone(estimator).fit(X[:10], y[:10])  # what is imported late
    # A byte for each value would be N * D; labels and the like are a few numbers a row.
    assert peak_of_fit(estimator, X, y) < N * D / 4
