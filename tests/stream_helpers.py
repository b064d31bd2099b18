"""What tests of streams share."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polymargin import LinearSVM
from polymargin.streams import Batches

SVM = Callable[..., LinearSVM]


def as_array(weights: Any) -> NDArray[Any]:
    """Weights of either kind."""
    array: NDArray[Any] = weights.toarray() if sparse.issparse(weights) else weights
    return array


def assert_same(one: Any, other: Any) -> None:
    """The same weights of the same kind, to the last bit."""
    assert sparse.issparse(one) == sparse.issparse(other)
    np.testing.assert_array_equal(as_array(one), as_array(other))


def in_batches(X: Any, y: Any, size: int = 17) -> Batches:
    """Rows and labels, some at a time."""

    def batches() -> Iterator[tuple[Any, Any]]:
        for first in range(0, len(y), size):
            yield X[first : first + size], y[first : first + size]

    return batches
