"""How many of the numbers of a model are not zero."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from polymargin.inspect._subject import find_subject


@dataclass(frozen=True)
class Density:
    """Shares of what is not zero, each from 0 to 1.

    Rows of weight zero count nowhere. Alber et al. (2017) call the first two W-density and
    alpha-density.

    Attributes
    ----------
    weights : float
        Of the k d entries of `coef_`, bias apart; of a kernel machine of the k s entries of
        `dual_coef_` over its s support vectors. Where the weights of all classes sum to zero they
        have the mean over the classes taken off, which leaves few zeros.
    duals : float or None
        Of the n k pairs of an example and a class, those with a dual variable above zero. The most
        is (k - 1) / k where the own class has none (``"ww"``, ``"cs"``, ``"llw"``, ``"adm"``) and
        1 / k where it has the only one (``"mmr"``). None where the model has no dual variables.
    support : float or None
        Of the n examples, the support vectors: those with a dual variable above zero. None as
        above.
    """

    weights: float
    duals: float | None
    support: float | None


def density(model: Any) -> Density:
    """How much of a model's weights and dual variables is not zero.

    Parameters
    ----------
    model : LinearSVM, KernelSVM or Pipeline that ends in one
        Fitted.

    Returns
    -------
    density : Density
        Shares of weights, dual variables and examples.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from polymargin import LinearSVM
    >>> from polymargin.inspect import density
    >>> X, y = load_iris(return_X_y=True)
    >>> found = density(LinearSVM("cs", random_state=0).fit(X, y))
    >>> found.weights
    1.0
    >>> 0 < found.duals < found.support < 1
    True
    """
    subject = find_subject(model)
    weights = subject.svm.coef_ if subject.is_linear else subject.svm.dual_coef_
    is_sparse = sparse.issparse(weights)
    share = _share(weights.count_nonzero() if is_sparse else np.count_nonzero(weights), weights)
    if not subject.has_duals:
        return Density(share, None, None)
    variables = subject.svm._dual_state.duals
    rows = np.count_nonzero(np.diff(subject.svm.duals_.indptr))
    return Density(share, _share(variables.nnz, variables), float(rows / variables.shape[0]))


def _share(count: Any, matrix: Any) -> float:
    size = matrix.shape[0] * matrix.shape[1]
    return float(count / size) if size else 0.0
