"""Whether rows or classes are dealt to processes, by the shape of a problem.

Processes that have rows add up all weights after each part of a pass, as arrays: that takes memory,
and time that does not depend on how few entries the rows have. The steps of processes that meet no
more than once a pass get in each other's way besides. Leagues send few weights and take full steps,
but copy those of each match. The mean of all weights is small, but takes more passes, since it is
what all classes have to move with.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from scipy import sparse

from polymargin.fit import Problem
from polymargin.solvers import Leagues, LinearLoop, LocalDescent, MeanWeights

if TYPE_CHECKING:
    from polymargin.core import MachineInfo

_EXCHANGE = 8  # visits that take as long as to exchange weights, for rows without zeros
_LEAGUES_FROM = 0.02  # time for exchanges by that for visits
_MEAN_PASSES = 5  # times as many as where rows are dealt
_MEANS = 10  # exchanges of them in a pass
_MOST_BYTES = 1 << 30  # of all arrays of weights that a process needs to have rows
_FEWEST = 2  # classes of a league


@dataclass(frozen=True)
class Shape:
    """What decides."""

    n: int
    d: int
    k: int
    entries: int
    itemsize: int
    size: int  # processes

    @classmethod
    def of(cls, problem: Problem, fit_intercept: bool, size: int) -> "Shape":
        X = problem.X
        return cls(
            n=len(problem),
            d=problem.rows.n_features + fit_intercept,
            k=len(problem.classes),
            entries=X.nnz if sparse.issparse(X) else X.size,
            itemsize=X.dtype.itemsize,
            size=size,
        )

    @property
    def exchange(self) -> float:
        """Time to add up all weights once, by that for a pass."""
        return _EXCHANGE * self.size * self.d / max(self.entries, 1)

    @property
    def bytes_of_rows(self) -> int:
        """Three arrays of all weights, and one in double."""
        return (3 * self.itemsize + 8) * self.d * self.k


def choose_deal(machine: "MachineInfo", shape: Shape) -> LinearLoop:
    """What ``solver="auto"`` means.

    Examples
    --------
    >>> from polymargin import core
    >>> from polymargin.distributed._automatic import Shape, choose_deal
    >>> letter = Shape(n=15_000, d=17, k=26, entries=240_000, itemsize=8, size=2)
    >>> texts = Shape(n=11_314, d=130_108, k=20, entries=1_787_580, itemsize=4, size=2)
    >>> machines = {info.name: info for info in core.machines()}
    >>> [choose_deal(machines["ww"], shape).name for shape in (letter, texts)]
    ['local-descent', 'leagues']
    """
    is_large = shape.bytes_of_rows > _MOST_BYTES
    leagues, mean = Leagues(), MeanWeights()
    if machine.separable and shape.k >= shape.size:
        return mean
    if leagues.is_defined_for(machine) and shape.k >= 2 * _FEWEST * shape.size:
        return leagues if is_large or shape.exchange >= _LEAGUES_FROM else LocalDescent()
    if mean.is_defined_for(machine) and shape.k >= shape.size:
        by_mean = _MEAN_PASSES * (1 + _MEANS * shape.exchange / shape.k)
        return mean if is_large or by_mean <= 1 + shape.exchange else LocalDescent()
    return LocalDescent()
