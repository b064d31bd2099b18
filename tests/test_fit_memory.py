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


def test_an_array_of_zeros_is_turned_into_rows_without_them(seed: int) -> None:
    random = np.random.default_rng(seed)
    y = random.integers(3, size=N)
    X = random.normal(size=(N, D)) * (random.random((N, D)) < 0.1)
    X[np.arange(N), y] += 1
    estimator = LinearSVM(tol=1e-6, solver="block-descent", random_state=0)
    clone(estimator).fit(X[:10], y[:10])
    assert peak_of_fit(estimator, X, y) < X.nbytes / 2
    as_array, as_rows = estimator, clone(estimator).fit(sparse.csr_array(X), y)
    np.testing.assert_array_equal(as_array.coef_, as_rows.coef_)
    assert as_array.n_iter_ == as_rows.n_iter_
