"""All that the page of a report shows. The templates have the words."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from polymargin.inspect._confusion import count_confusion
from polymargin.inspect._features import largest_weights
from polymargin.inspect._figures import draw_margins, plot_convergence
from polymargin.inspect._patterns import Ranking
from polymargin.inspect._pictures import weight_picture
from polymargin.inspect._pixels import signed_picture
from polymargin.inspect._reliability import Stated, draw_reliability
from polymargin.inspect._report_data import ReportData
from polymargin.inspect._report_rows import Picture, find_examples
from polymargin.inspect._report_tables import (
    Pair,
    Pattern,
    Suspect,
    find_pairs,
    find_patterns,
    find_suspects,
)
from polymargin.inspect._svg import Svg, inline_svg
from polymargin.metrics import f1_score

_MATRIX_CLASSES = 60
_PICTURED_CLASSES = 100
_SHADES = 8


@dataclass(frozen=True)
class Certificate:
    primal: float
    dual: float
    gap: float
    converged: bool


@dataclass(frozen=True)
class Tested:
    """How good the model is on other rows; `top` where there are many classes."""

    n: int
    errors: int
    top: float | None
    micro_f1: float
    macro_f1: float


@dataclass(frozen=True)
class Summary:
    machine: str
    kernel: str | None
    gamma: float | None
    C: float
    n: int
    d: int | None
    k: int
    errors: int
    tested: Tested | None
    n_support: int | None
    certificate: Certificate | None


@dataclass(frozen=True)
class Count:
    """A cell of the matrix; it has a shade from 1 on where the count is not zero."""

    count: int
    shade: int
    is_right: bool


@dataclass(frozen=True)
class Line:
    label: str
    counts: Sequence[Count]


@dataclass(frozen=True)
class Confusion:
    classes: Sequence[str]
    lines: Sequence[Line]


@dataclass(frozen=True)
class Weights:
    """The features of the largest weights of a class; `own` is its number."""

    own: int
    label: str
    positive: Sequence[tuple[str, float]]
    negative: Sequence[tuple[str, float]]


@dataclass(frozen=True)
class Tile:
    label: str
    picture: Picture


@dataclass(frozen=True)
class Page:
    """Sections in their order, None where there is nothing to show, and what several need."""

    title: str
    place: Literal["row", "line", "file"]  # what rows are numbered by
    judged: Literal["training", "test"]  # rows that margins and confusion are of
    by: Ranking
    has_eta: bool
    summary: Summary
    convergence: Svg | None
    margins: Svg
    suspicious: Sequence[Suspect]
    patterns: Sequence[Pattern] | None
    pairs: Sequence[Pair]
    confusion: Confusion | None
    reliability: Svg | None
    features: Sequence[Weights] | None
    weights: Sequence[Tile] | None


def make_page(title: str | None, data: ReportData) -> Page:
    examples = find_examples(data, np.union1d(data.suspicious, data.patterns))
    is_linear = data.subject.is_linear
    shape = data.image_shape
    return Page(
        title=str(title or f"{data.subject.machine.title}, {data.k} classes"),
        place="row" if data.lines is None else "file" if data.are_files else "line",
        judged="training" if data.tested is None else "test",
        by=data.by,
        has_eta=data.taus is not None and data.taus.has_eta,
        summary=_summary(data),
        convergence=_convergence(data) if hasattr(data.subject.svm, "history_") else None,
        margins=_margins(data),
        suspicious=find_suspects(data, examples),
        patterns=None if data.taus is None else find_patterns(data, data.taus, examples),
        pairs=find_pairs(data),
        confusion=_confusion(data) if data.k <= _MATRIX_CLASSES else None,
        reliability=None if data.stated is None else _reliability(data.stated),
        features=_features(data) if is_linear and shape is None else None,
        weights=_weights(data, shape) if is_linear and shape is not None else None,
    )


def _summary(data: ReportData) -> Summary:
    subject, svm = data.subject, data.subject.svm
    kernel = gamma = certificate = None
    if not subject.is_linear:
        kernel = svm.kernel if isinstance(svm.kernel, str) else "own function"
        gamma = svm.gamma_ if np.isfinite(svm.gamma_) else None
    if hasattr(svm, "dual_gap_"):
        certificate = Certificate(
            svm.primal_objective_, svm.dual_objective_, svm.dual_gap_, svm.converged_
        )
    return Summary(
        machine=subject.machine.title,
        kernel=kernel,
        gamma=gamma,
        C=svm.C,
        n=len(data.y),
        d=None if subject.is_precomputed else svm.n_features_in_,
        k=data.k,
        errors=int(data.scored.error.sum()),
        tested=_tested(data),
        n_support=None if data.taus is None else int(data.taus.is_support.sum()),
        certificate=certificate,
    )


def _tested(data: ReportData) -> Tested | None:
    if data.tested is None or data.y_test is None:
        return None
    predicted = data.subject.classes[data.tested.predicted]
    micro, macro = (
        f1_score(data.y_test, predicted, average=average) for average in ("micro", "macro")
    )
    errors = data.tested.error
    return Tested(len(errors), int(errors.sum()), data.tested_top, micro, macro)


def _convergence(data: ReportData) -> Svg:
    return inline_svg(plot_convergence(data.subject.svm), "gap", "relative gap over seconds")


def _margins(data: ReportData) -> Svg:
    figure = draw_margins(data.scored if data.tested is None else data.tested)
    return inline_svg(figure, "margins", "histogram of the margins")


def _reliability(stated: Stated) -> Svg:
    return inline_svg(draw_reliability(stated), "reliability", "share right over probability")


def _confusion(data: ReportData) -> Confusion:
    scored, y = data.scored, data.y
    if data.tested is not None and data.y_test is not None:
        scored, y = data.tested, data.y_test
    labels, counts = count_confusion(data.subject, scored, y)
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    # The square root lets single errors show beside a full diagonal.
    shades = np.ceil(_SHADES * np.sqrt(share)).astype(int)
    lines = [
        Line(
            str(label), [Count(int(counts[i, c]), int(shades[i, c]), i == c) for c in range(data.k)]
        )
        for i, label in enumerate(labels)
    ]
    return Confusion([str(c) for c in data.subject.classes], lines)


def _features(data: ReportData) -> list[Weights]:
    of_class, feature, weight = largest_weights(data.subject, data.n_features, data.names)
    terms = list(zip(map(str, data.names.of(feature)), weight.tolist(), strict=True))
    rows = []
    for c, label in enumerate(data.subject.classes):
        own = [terms[j] for j in np.flatnonzero(of_class == c)]
        positive, negative = ([t for t in own if sign * t[1] > 0] for sign in (1, -1))
        rows.append(Weights(c, str(label), positive, negative))
    return rows


def _weights(data: ReportData, image_shape: tuple[int, int]) -> list[Tile]:
    height, width = image_shape
    tiles = []
    for c, label in enumerate(data.subject.classes[:_PICTURED_CLASSES]):
        address = signed_picture(weight_picture(data.subject, c, image_shape))
        tiles.append(Tile(str(label), Picture(address, 4 * width, 4 * height)))
    return tiles
