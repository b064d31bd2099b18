"""Where weights live: in the space of the features, or as coefficients of kernel functions."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


class Space(ABC):
    """Weights W = sum_i x_i a_i^T and the scores that they give the examples."""

    @abstractmethod
    def weights(self, alphas: "Floats") -> "Floats":
        """W of vectors a_i, (n, k)."""

    @abstractmethod
    def scores(self, weights: "Floats") -> "Floats":
        """(n, k)."""

    @abstractmethod
    def inner(self, left: "Floats", right: "Floats", right_scores: "Floats") -> float:
        """<left, right> of two W, of which the second has these scores."""

    @abstractmethod
    def gram(self, examples: "NDArray[np.int64]") -> "Floats":
        """Inner products of these examples, a new array."""

    @abstractmethod
    def product_cost(self, n_classes: int) -> float:
        """Operations of `scores`."""


class RowSpace(Space):
    """Of linear machines: W is (d, k). The rows have the constant feature already."""

    def __init__(self, rows: Any) -> None:
        self.rows = rows
        self._transposed = rows.T.tocsr() if sparse.issparse(rows) else rows.T

    @property
    def n_features(self) -> int:
        return int(self.rows.shape[1])

    def weights(self, alphas: "Floats") -> "Floats":
        return np.asarray(self._transposed @ alphas)

    def scores(self, weights: "Floats") -> "Floats":
        return np.asarray(self.rows @ weights)

    def inner(self, left: "Floats", right: "Floats", right_scores: "Floats") -> float:
        return float(np.vdot(left, right))

    def gram(self, examples: "NDArray[np.int64]") -> "Floats":
        chosen = self.rows[examples]
        products = chosen @ chosen.T
        return np.asarray(products.toarray() if sparse.issparse(products) else products)

    def product_cost(self, n_classes: int) -> float:
        entries = self.rows.nnz if sparse.issparse(self.rows) else self.rows.size
        return 2.0 * float(entries) * n_classes


class KernelSpace(Space):
    """Of kernel machines: W is the (n, k) coefficients themselves."""

    _FEW = 0.5  # part of the examples up to which the columns of others are left out

    def __init__(self, kernel: "Floats") -> None:
        self.kernel = kernel

    def weights(self, alphas: "Floats") -> "Floats":
        return alphas

    def scores(self, weights: "Floats") -> "Floats":
        used = np.flatnonzero(np.any(weights, axis=1))
        if len(used) > self._FEW * len(weights):
            return self.kernel @ weights
        return self.kernel[used].T @ weights[used]

    def inner(self, left: "Floats", right: "Floats", right_scores: "Floats") -> float:
        return float(np.vdot(left, right_scores))

    def gram(self, examples: "NDArray[np.int64]") -> "Floats":
        return self.kernel[np.ix_(examples, examples)]

    def product_cost(self, n_classes: int) -> float:
        return 2.0 * self.kernel.size * n_classes
