"""Whether a point that is behind on some folds can be expected to catch up on the others."""

from collections.abc import Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from polymargin.model_selection._watch import Verdict

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polymargin.model_selection._fits import Data, Score

_ALIKE = 1.1  # ratio of the sizes of training parts up to which folds tell of each other
_LIKELY = 1.0  # deviations up to which a point is likely to stay in the race
_PRIOR = 2.0  # rows that two points are taken to differ on, before any was seen


class Odds:
    """A test on pairs: rows that one of two points has right and the other has wrong.

    The difference of two means over all folds is a sum over rows of v_i z_i, z_i in {-1, 0, 1}.
    Were the points level, the sum over the share q of it that was seen would have mean 0 and,
    drawn without replacement, a variance of about (1 - q) sum v_i^2 z_i^2. Rows of a group count
    as one. Folds whose training parts differ in size, as in order of time, are no sample.
    """

    def __init__(self, risk: float, data: "Data", groups: Any) -> None:
        """At a `risk` of 0 nobody is ever given up."""
        self._limit = -NormalDist().inv_cdf(risk) if risk > 0 else np.inf
        sizes = [len(train) for train, _ in data.folds]
        if max(sizes) > _ALIKE * min(sizes):
            self._limit = np.inf
        n_rows = len(data.y)
        units = np.arange(n_rows)
        if groups is not None:
            units = np.unique(np.asarray(groups), return_inverse=True)[1]
        self._shares = [_shares(data, rows, len(data.folds)) for _, rows in data.folds]
        self._units = [units[rows] for _, rows in data.folds]

    def judge(self, scores: "Sequence[Score | None]", best: "Sequence[Score | None]") -> Verdict:
        """What to do where these are behind the best ones, on the folds known of both."""
        if self._limit == np.inf:
            return Verdict.GO_ON
        pairs = zip(scores, best, strict=True)
        folds = [fold for fold, pair in enumerate(pairs) if None not in pair]
        shares = np.concatenate([self._shares[fold] for fold in folds])
        units = np.concatenate([self._units[fold] for fold in folds])
        behind = np.concatenate([_behind(scores[fold], best[fold]) for fold in folds])
        lost = np.bincount(units, weights=shares * behind)
        typical = np.square(np.bincount(units, weights=shares)).sum() / len(np.unique(units))
        variance = (1 - len(folds) / len(scores)) * (np.square(lost).sum() + _PRIOR * typical)
        behind_by = lost.sum() / np.sqrt(variance) if variance > 0 else 0.0  # in deviations
        if behind_by > self._limit:
            return Verdict.GIVE_UP
        return Verdict.POSTPONE if behind_by > min(_LIKELY, self._limit) else Verdict.GO_ON


def _behind(score: "Score | None", best: "Score | None") -> "NDArray[np.int8]":
    """1 for rows that the best point alone has right, -1 for those that it alone has wrong."""
    assert score is not None
    assert best is not None
    return best.is_right.astype(np.int8) - score.is_right


def _shares(data: "Data", rows: "NDArray[np.int64]", n_folds: int) -> "NDArray[np.float64]":
    """What each validation row of a fold adds to a mean over folds."""
    weight = data.weight_of(rows)
    weight = np.ones(len(rows)) if weight is None else weight
    shares: NDArray[np.float64] = weight / (weight.sum() * n_folds)
    return shares
