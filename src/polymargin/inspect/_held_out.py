"""Scores by models that have not seen the row: a model that fits everything hides wrong labels."""

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from polymargin._wording import counted
from polymargin.inspect._subject import Scored, Subject, label_indices, score_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

_FOLDS = 5


def score_held_out(subject: Subject, rows: Any, y: Any, sample_weight: Any = None) -> Scored:
    """Predictions and margins of each row by a fit of the same estimator to four fifths of them.

    What comes before the estimator in a pipeline stays as it was fitted to all rows. A row whose
    label the other four fifths do not have gets no margin.
    """
    y = np.asarray(y)
    own = label_indices(subject.classes, y)
    n = rows.shape[0]
    if len(own) != n:
        raise ValueError(f"X has {counted(n, 'row')}, y has {counted(len(own), 'label')}")
    if np.any(own < 0):
        raise ValueError("y has labels that the model does not know")
    if hasattr(rows, "tocsr"):
        rows = rows.tocsr()
    weight = None if sample_weight is None else np.asarray(sample_weight)
    predicted, rival = np.empty(n, np.int64), np.empty(n, np.int64)
    margin = np.full(n, np.nan)
    for others, held in _folds(own):
        part = Subject(clone(subject.svm), None)
        part.svm.set_params(warm_start=False, verbose=0, calibration=None).fit(
            _take(rows, others, others if subject.is_precomputed else None),
            y[others],
            None if weight is None else weight[others],
        )
        scored = score_rows(
            part, _take(rows, held, others if subject.is_precomputed else None), y[held]
        )
        places = label_indices(subject.classes, part.classes)
        predicted[held], rival[held] = places[scored.predicted], places[scored.rival]
        margin[held] = scored.margin
    return Scored(own, predicted, rival, margin)


def _folds(own: "NDArray[np.int64]") -> "list[tuple[NDArray[np.int64], NDArray[np.int64]]]":
    with warnings.catch_warnings():  # of classes with fewer rows than folds, which are allowed
        warnings.simplefilter("ignore", UserWarning)
        folds = StratifiedKFold(_FOLDS, shuffle=True, random_state=0)
        try:
            return list(folds.split(np.zeros(len(own)), own))
        except ValueError:
            raise ValueError(
                f"by='held-out' needs a class with at least {_FOLDS} rows to hold some out"
            ) from None


def _take(rows: Any, chosen: "NDArray[np.int64]", columns: "NDArray[np.int64] | None") -> Any:
    part = rows.iloc[chosen] if hasattr(rows, "iloc") else rows[chosen]
    return part if columns is None else part[:, columns]
