"""What a report shows, worked out once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from polymargin._wording import counted
from polymargin.inspect._examined import Examined
from polymargin.inspect._features import Names, find_names
from polymargin.inspect._patterns import Ranking, check_ranking, judge, rank, suspects
from polymargin.inspect._pictures import check_image_shape
from polymargin.inspect._reliability import Collector, Stated
from polymargin.inspect._subject import (
    Scored,
    Subject,
    as_texts,
    is_columns,
    score_rows,
    take_row,
)
from polymargin.inspect._taus import Taus
from polymargin.inspect._top import TOP, TopCounter

if TYPE_CHECKING:
    from numpy.typing import NDArray

_EVIDENCE = 6  # features that speak most for another label


@dataclass(frozen=True)
class ReportData:
    """The model, what it says of the rows, and how the rows are to be shown."""

    subject: Subject
    X: Any  # as it was given
    rows: Any  # as the estimator sees it
    y: "NDArray[Any]"
    scored: Scored
    judged: Scored  # what suspicious labels are ranked by: `scored`, or by held-out models
    taus: Taus | None
    by: Ranking
    tested: Scored | None
    tested_top: float | None  # share of the test rows whose label is among the best classes
    stated: Stated | None  # of the test rows, where the model gives probabilities
    y_test: "NDArray[Any] | None"
    texts: Sequence[str] | None
    image_shape: tuple[int, int] | None
    names: Names
    lines: "NDArray[Any] | None"
    max_patterns: int
    n_features: int

    @property
    def k(self) -> int:
        return len(self.subject.classes)

    def place(self, i: int) -> int | str:
        """Where row i is found: its line in the file or the file itself, else its number."""
        if self.lines is None:
            return i
        return str(self.lines[i]) if self.are_files else int(self.lines[i])

    @property
    def are_files(self) -> bool:
        """Whether rows are found by the names of files."""
        return self.lines is not None and self.lines.dtype.kind not in "iu"

    @property
    def suspicious(self) -> "NDArray[np.int64]":
        taus = self.taus if self.by == "tau" else None
        return suspects(self.judged, taus)[: self.max_patterns]

    @property
    def patterns(self) -> "NDArray[np.int64]":
        if self.taus is None:
            return np.zeros(0, np.int64)
        order = rank(self.taus.norm, self.scored)
        return order[self.taus.is_support[order]][: self.max_patterns]

    def values_of(self, i: int) -> "tuple[NDArray[np.int64], NDArray[Any]]":
        """Features of row i, as the estimator sees it, that are not zero, and their values."""
        if sparse.issparse(self.rows):
            part = slice(self.rows.indptr[i], self.rows.indptr[i + 1])
            return self.rows.indices[part].astype(np.int64), self.rows.data[part]
        values = take_row(self.rows, i)
        features = np.flatnonzero(values)
        return features, values[features]

    def evidence_for_rival(self, i: int) -> "NDArray[np.int64]":
        """The features of row i that raise the score of the rival most over that of the label."""
        features, values = self.values_of(i)
        own, rival = int(self.scored.own[i]), int(self.scored.rival[i])
        coef = self.subject.svm.coef_
        if sparse.issparse(coef):
            pair = coef[[rival, own]].toarray()[:, features]
        else:
            pair = coef[[rival, own]][:, features]
        pull = values * (pair[0] - pair[1])
        order = np.argsort(-pull, kind="stable")[:_EVIDENCE]
        strongest: NDArray[np.int64] = features[order[pull[order] > 0]]
        return strongest


def gather_findings(
    examined: Examined,
    *,
    X_test: Any,
    y_test: Any,
    texts: Sequence[str] | None,
    image_shape: tuple[int, int] | None,
    feature_names: Sequence[str] | None,
    lines: Any,
    by: Ranking | None,
    max_patterns: int,
    n_features: int,
) -> ReportData:
    subject, rows, X = examined.subject, examined.rows, examined.X
    by = check_ranking(by, subject)
    if by == "tau" and not subject.has_duals:
        raise ValueError("by='tau' needs dual variables, which the model does not have")
    if image_shape is not None:
        check_image_shape(image_shape, rows.shape[1])
    texts = as_texts(X) if texts is None else texts
    if texts is not None and len(texts) != rows.shape[0]:
        raise ValueError(f"{counted(len(texts), 'text')} for {counted(rows.shape[0], 'row')} of X")
    if lines is not None and len(lines) != rows.shape[0]:
        raise ValueError(f"{counted(len(lines), 'line')} for {counted(rows.shape[0], 'row')} of X")
    tested = tested_top = stated = None
    if X_test is not None:
        top = TopCounter(subject, y_test) if len(subject.classes) > TOP else None
        collector = Collector(subject, y_test) if hasattr(subject.svm, "calibrator_") else None
        watches = [watcher.add for watcher in (top, collector) if watcher is not None]
        tested = score_rows(subject, subject.rows(X_test), y_test, *watches)
        tested_top = None if top is None else top.share
        stated = None if collector is None else collector.stated()
    return ReportData(
        subject=subject,
        X=X if is_columns(X) else None,
        rows=rows,
        y=np.asarray(examined.y),
        scored=examined.scored,
        judged=judge(examined, by),
        taus=examined.taus_if_any,
        by=by,
        tested=tested,
        tested_top=tested_top,
        stated=stated,
        y_test=None if y_test is None else np.asarray(y_test),
        texts=texts,
        image_shape=image_shape,
        names=find_names(subject, feature_names, texts),
        lines=None if lines is None else np.asarray(lines),
        max_patterns=max_patterns,
        n_features=n_features,
    )
