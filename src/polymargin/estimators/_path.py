"""Regularisation path."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from sklearn.base import clone

from polymargin.estimators._linear import LinearSVM

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class RegularizationPath:
    """Models along C, in the order in which the values of C were given.

    As a sequence it is one of pairs (C, model).

    Attributes
    ----------
    Cs : ndarray of shape (m,)
        The values of C.
    models : tuple of LinearSVM
        The fitted models, each independent of the others.
    gaps : ndarray of shape (m,)
        Their relative duality gaps.
    """

    Cs: "NDArray[np.float64]"
    models: tuple[LinearSVM, ...]
    gaps: "NDArray[np.float64]"

    def __len__(self) -> int:
        return len(self.models)

    @overload
    def __getitem__(self, index: int) -> tuple[float, LinearSVM]: ...

    @overload
    def __getitem__(self, index: slice) -> "RegularizationPath": ...

    def __getitem__(self, index: int | slice) -> "tuple[float, LinearSVM] | RegularizationPath":
        if isinstance(index, slice):
            return RegularizationPath(self.Cs[index], self.models[index], self.gaps[index])
        return float(self.Cs[index]), self.models[index]

    def __iter__(self) -> Iterator[tuple[float, LinearSVM]]:
        return zip(self.Cs.tolist(), self.models, strict=True)


def path(
    X: Any,
    y: Any,
    Cs: Iterable[float],
    *,
    machine: str = "ww",
    sample_weight: Any = None,
    **params: Any,
) -> RegularizationPath:
    """Fit `LinearSVM` for each value of C, each fit warm-started from the next smaller one.

    Parameters
    ----------
    X : array-like or sparse of shape (n, d)
        Rows.
    y : array-like of shape (n,)
        Labels.
    Cs : sequence of float
        Values of C, in any order.
    machine : str, default="ww"
        The machine.
    sample_weight : array-like of shape (n,), default=None
        Factors of C.
    **params
        Further parameters of `LinearSVM`, except `C`, `warm_start` and `checkpoint`.

    Returns
    -------
    path : RegularizationPath
        The models in the order of `Cs`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.preprocessing import scale
    >>> import polymargin
    >>> X, y = load_iris(return_X_y=True)
    >>> fitted = polymargin.path(scale(X), y, [0.01, 0.1, 1.0], random_state=0)
    >>> [C for C, model in fitted]
    [0.01, 0.1, 1.0]
    """
    for name in ("C", "warm_start"):
        if name in params:
            raise TypeError(f"path() sets {name} itself")
    if params.get("checkpoint") is not None:
        raise TypeError("path() has no checkpoint: it is several fits")
    values = np.asarray(Cs if isinstance(Cs, np.ndarray) else list(Cs), dtype=np.float64)
    if values.ndim != 1 or len(values) == 0:
        raise ValueError(f"Cs must be a non-empty sequence of numbers, got {Cs!r}")

    template = LinearSVM(machine, warm_start=True, **params)
    models: dict[int, LinearSVM] = {}
    previous: LinearSVM | None = None
    for index in np.argsort(values, kind="stable").tolist():
        model: LinearSVM = clone(template).set_params(C=float(values[index]))
        if previous is not None:
            model._dual_state = previous._dual_state
        previous = models[index] = model.fit(X, y, sample_weight)

    ordered = tuple(models[index] for index in range(len(values)))
    for model in ordered:
        model.set_params(warm_start=False)
    return RegularizationPath(values, ordered, np.array([model.dual_gap_ for model in ordered]))
