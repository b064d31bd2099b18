"""What each section of a report shows. The templates have the words."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from polymargin.inspect._confusion import count_confusion
from polymargin.inspect._features import largest_weights
from polymargin.inspect._figures import draw_margins, plot_convergence
from polymargin.inspect._page import Section
from polymargin.inspect._pictures import weight_picture
from polymargin.inspect._pixels import signed_picture
from polymargin.inspect._report_data import ReportData
from polymargin.inspect._report_rows import Picture, find_examples
from polymargin.inspect._report_tables import pairs, patterns, suspicious
from polymargin.inspect._svg import Svg, inline_svg

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MATRIX_CLASSES = 60
_PICTURED_CLASSES = 100
_SHADES = 8

Which = Literal["training", "test"]


def make_sections(data: ReportData) -> list[Section]:
    """All that there is something to show in, from top to bottom."""
    examples = find_examples(data, np.union1d(data.suspicious, data.patterns))
    sections = (
        _summary(data),
        _convergence(data),
        _margins(data),
        suspicious(data, examples),
        patterns(data, examples),
        pairs(data),
        _confusion(data),
        _features(data) if data.image_shape is None else _weights(data, data.image_shape),
    )
    return [section for section in sections if section is not None]


@dataclass(frozen=True)
class Certificate:
    primal: float
    dual: float
    gap: float
    converged: bool


@dataclass(frozen=True)
class Summary:
    name: ClassVar[str] = "summary"
    title: ClassVar[str] = "Summary"
    template: ClassVar[str] = "sections/summary.html"

    machine: str
    kernel: str | None
    gamma: float | None
    C: float
    n: int
    d: int | None
    k: int
    errors: int
    n_test: int | None
    test_errors: int | None
    n_support: int | None
    certificate: Certificate | None


def _summary(data: ReportData) -> Summary:
    subject, svm = data.subject, data.subject.svm
    tested = None if data.tested is None else data.tested.error
    certificate = None
    if hasattr(svm, "dual_gap_"):
        certificate = Certificate(
            svm.primal_objective_, svm.dual_objective_, svm.dual_gap_, svm.converged_
        )
    return Summary(
        machine=subject.machine.title,
        kernel=None if subject.is_linear else _kernel_name(svm.kernel),
        gamma=None if subject.is_linear or not np.isfinite(svm.gamma_) else svm.gamma_,
        C=svm.C,
        n=len(data.y),
        d=None if subject.is_precomputed else svm.n_features_in_,
        k=data.k,
        errors=int(data.scored.error.sum()),
        n_test=None if tested is None else len(tested),
        test_errors=None if tested is None else int(tested.sum()),
        n_support=None if data.taus is None else int(data.taus.is_support.sum()),
        certificate=certificate,
    )


def _kernel_name(kernel: Any) -> str:
    return kernel if isinstance(kernel, str) else "own function"


@dataclass(frozen=True)
class Convergence:
    name: ClassVar[str] = "convergence"
    title: ClassVar[str] = "Convergence"
    template: ClassVar[str] = "sections/convergence.html"

    figure: Svg


def _convergence(data: ReportData) -> Convergence | None:
    if not hasattr(data.subject.svm, "history_"):
        return None
    figure = plot_convergence(data.subject.svm)
    return Convergence(inline_svg(figure, "gap", "relative gap over seconds"))


@dataclass(frozen=True)
class Margins:
    name: ClassVar[str] = "margins"
    title: ClassVar[str] = "Margins"
    template: ClassVar[str] = "sections/margins.html"

    which: Which
    figure: Svg


def _margins(data: ReportData) -> Margins:
    figure = draw_margins(data.scored if data.tested is None else data.tested)
    return Margins(
        "training" if data.tested is None else "test",
        inline_svg(figure, "margins", "histogram of the margins"),
    )


@dataclass(frozen=True)
class Count:
    """A cell of the matrix; it has a shade from 1 on where the count is not zero."""

    count: int
    shade: int
    is_right: bool


@dataclass(frozen=True)
class Line:
    label: str
    cells: Sequence[Count]


@dataclass(frozen=True)
class Confusion:
    name: ClassVar[str] = "confusion"
    title: ClassVar[str] = "Confusion matrix"
    template: ClassVar[str] = "sections/confusion.html"

    which: Which
    is_tall: bool
    classes: Sequence[str]
    lines: Sequence[Line]


def _confusion(data: ReportData) -> Confusion | None:
    if data.k > _MATRIX_CLASSES:
        return None
    which: Which = "training"
    scored, y = data.scored, data.y
    if data.tested is not None and data.y_test is not None:
        which, scored, y = "test", data.tested, data.y_test
    labels, counts = count_confusion(data.subject, scored, y)
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    # The square root lets single errors show beside a full diagonal.
    shades = np.ceil(_SHADES * np.sqrt(share)).astype(int)
    classes = [str(c) for c in data.subject.classes]
    lines = [
        Line(
            str(label),
            [Count(int(counts[i, c]), int(shades[i, c]), i == c) for c in range(data.k)],
        )
        for i, label in enumerate(labels)
    ]
    return Confusion(which, any(len(c) > 4 for c in classes), classes, lines)


@dataclass(frozen=True)
class Weights:
    """The features of the largest weights of a class; `own` is its number."""

    own: int
    label: str
    positive: Sequence[tuple[str, float]]
    negative: Sequence[tuple[str, float]]


@dataclass(frozen=True)
class Features:
    name: ClassVar[str] = "features"
    title: ClassVar[str] = "Top features"
    template: ClassVar[str] = "sections/features.html"

    rows: Sequence[Weights]


def _features(data: ReportData) -> Features | None:
    if not data.subject.is_linear:
        return None
    of_class, feature, weight = largest_weights(data.subject, data.n_features, data.names)
    names = data.names.of(feature)

    def terms(chosen: "NDArray[np.bool_]") -> list[tuple[str, float]]:
        return [(str(names[j]), float(weight[j])) for j in np.flatnonzero(chosen)]

    return Features(
        [
            Weights(
                own=c,
                label=str(label),
                positive=terms((of_class == c) & (weight > 0)),
                negative=terms((of_class == c) & (weight < 0)),
            )
            for c, label in enumerate(data.subject.classes)
        ]
    )


@dataclass(frozen=True)
class Tile:
    label: str
    picture: Picture


@dataclass(frozen=True)
class WeightPictures:
    name: ClassVar[str] = "features"
    title: ClassVar[str] = "Weights"
    template: ClassVar[str] = "sections/weights.html"

    tiles: Sequence[Tile]


def _weights(data: ReportData, image_shape: tuple[int, int]) -> WeightPictures | None:
    if not data.subject.is_linear:
        return None
    height, width = image_shape
    tiles = []
    for c, label in enumerate(data.subject.classes[:_PICTURED_CLASSES]):
        address = signed_picture(weight_picture(data.subject, c, image_shape))
        tiles.append(Tile(str(label), Picture(address, 4 * width, 4 * height)))
    return WeightPictures(tiles)
