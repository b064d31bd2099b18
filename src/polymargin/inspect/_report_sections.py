"""The sections of a report, each with one sentence on what it shows."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from polymargin.inspect._confusion import count_confusion
from polymargin.inspect._features import largest_weights
from polymargin.inspect._figures import draw_margins, plot_convergence
from polymargin.inspect._html import Cell, Column, Row, cut, escape, label, number, table
from polymargin.inspect._pictures import weight_picture
from polymargin.inspect._png import signed_picture
from polymargin.inspect._report_data import ReportData
from polymargin.inspect._report_rows import show_rows
from polymargin.inspect._report_tables import (
    Section,
    pairs_section,
    patterns_section,
    suspicious_section,
)
from polymargin.inspect._svg import inline_svg

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MATRIX_CLASSES = 60
_PICTURED_CLASSES = 100
_SHADES = 8


def sections(data: ReportData) -> Iterator[Section | None]:
    shown = show_rows(data, np.union1d(data.suspicious, data.patterns))
    yield _summary(data)
    yield _convergence(data)
    yield _margins(data)
    yield suspicious_section(data, shown)
    yield patterns_section(data, shown)
    yield pairs_section(data)
    yield _matrix(data)
    yield _features(data)


def _summary(data: ReportData) -> Section:
    svm = data.subject.svm
    facts: list[tuple[str, ...]] = [("machine", data.subject.machine.title)]
    if not data.subject.is_linear:
        kernel = svm.kernel if isinstance(svm.kernel, str) else "own function"
        facts.append(("kernel", kernel))
        if np.isfinite(svm.gamma_):
            facts.append(("gamma", f"{svm.gamma_:.4g}"))
    facts += [
        ("C", f"{svm.C:g}"),
        ("training rows", f"{len(data.y):,}"),
        *([] if data.subject.is_precomputed else [("features", f"{svm.n_features_in_:,}")]),
        ("classes", f"{data.k:,}"),
        ("training accuracy", *_accuracy(data.scored.error)),
    ]
    if data.tested is not None:
        facts.append(("test accuracy", *_accuracy(data.tested.error)))
    if data.taus is not None:
        support = data.taus.is_support
        facts.append(
            ("support patterns", f"{support.sum():,}", f"{support.mean():.0%} of the rows")
        )
    if hasattr(svm, "dual_gap_"):
        facts += [
            ("primal objective", f"{svm.primal_objective_:,.6g}"),
            ("dual objective", f"{svm.dual_objective_:,.6g}"),
            ("relative gap", f"{svm.dual_gap_:.2e}"),
            ("converged", "yes" if svm.converged_ else "no"),
        ]
    items = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)}{_small(note)}</dd></div>"
        for name, value, *note in facts
    )
    lead = "The trained model, its data and how exact it is."
    if hasattr(svm, "dual_gap_"):
        lead += " The gap bounds how far the objective can be from the best possible one."
    return Section("summary", "Summary", lead, f'<dl class="facts">{items}</dl>')


def _small(note: list[str]) -> str:
    return "".join(f"<small>{escape(part)}</small>" for part in note)


def _accuracy(error: "NDArray[np.bool_]") -> tuple[str, str]:
    wrong = int(error.sum())
    return f"{1 - error.mean():.2%}", f"{wrong:,} error{'' if wrong == 1 else 's'}"


def _convergence(data: ReportData) -> Section | None:
    if not hasattr(data.subject.svm, "history_"):
        return None
    drawn = inline_svg(plot_convergence(data.subject.svm), "gap", "relative gap over seconds")
    lead = (
        "The relative duality gap at each check of the fit. It ends where the fit stopped; below "
        "the dashed line is what was asked for."
    )
    return Section("convergence", "Convergence", lead, f"<figure>{drawn}</figure>")


def _margins(data: ReportData) -> Section:
    scored = data.scored if data.tested is None else data.tested
    drawn = inline_svg(draw_margins(scored), "margins", "histogram of the margins")
    which = "training" if data.tested is None else "test"
    lead = (
        f"How far the label of each {which} row is ahead of the best other one. Below zero the "
        "row is misclassified; the machines aim at one, the dashed line."
    )
    return Section("margins", "Margins", lead, f"<figure>{drawn}</figure>")


def _matrix(data: ReportData) -> Section | None:
    if data.k > _MATRIX_CLASSES:
        return None
    tested = data.tested is not None and data.y_test is not None
    scored, y = (data.tested, data.y_test) if tested else (data.scored, data.y)
    assert scored is not None
    assert y is not None
    labels, counts = count_confusion(data.subject, scored, y)
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    heads = "".join(f'<th scope="col">{label(cut(c, 16))}</th>' for c in data.subject.classes)
    lines = []
    for i, name in enumerate(labels):
        cells = "".join(_matrix_cell(counts[i, c], share[i, c], i == c) for c in range(data.k))
        lines.append(f'<tr><th scope="row">{label(cut(name, 24))}</th>{cells}</tr>')
    which = "test" if tested else "training"
    kind = "matrix tall" if any(len(str(c)) > 4 for c in data.subject.classes) else "matrix"
    lead = (
        f"How many {which} rows of each label (line) are predicted as each class (column). "
        "Shades are shares of the line."
    )
    body = (
        f'<div class="scroll"><table class="{kind}"><caption class="unseen">{escape(lead)}'
        f"</caption><thead><tr><td></td>{heads}</tr></thead><tbody>{''.join(lines)}</tbody>"
        "</table></div>"
    )
    return Section("confusion", "Confusion matrix", lead, body)


def _matrix_cell(count: int, share: float, right: bool) -> str:
    if count == 0:
        return "<td></td>"
    # The square root lets single errors show beside a full diagonal.
    shade = max(1, int(np.ceil(_SHADES * float(np.sqrt(share)))))
    return f'<td class="{"right" if right else "wrong"} shade-{shade}">{count:,}</td>'


def _features(data: ReportData) -> Section | None:
    if not data.subject.is_linear:
        return None
    if data.image_shape is not None:
        return _weight_pictures(data, data.image_shape)
    of_class, feature, weight = largest_weights(data.subject, data.n_features, data.names)
    names = data.names.of(feature)
    columns = [Column("label"), Column("for", "plain"), Column("against", "plain")]
    rows = []
    for c, name in enumerate(data.subject.classes):
        sides = []
        for sign in (1, -1):
            chosen = np.flatnonzero((of_class == c) & (sign * weight > 0))
            sides.append(Cell(_terms([(names[j], weight[j]) for j in chosen])))
        rows.append(Row([Cell(label(name)), *sides], c))
    lead = "The features of the largest weights: what speaks for each class, and what against it."
    return Section("features", "Top features", lead, table("features-table", lead, columns, rows))


def _terms(terms: list[tuple[str, Any]]) -> str:
    items = "".join(
        f"<li>{escape(cut(name, 40))} <b>{number(weight, 2)}</b></li>" for name, weight in terms
    )
    return f'<ul class="values">{items}</ul>'


def _weight_pictures(data: ReportData, image_shape: tuple[int, int]) -> Section:
    height, width = image_shape
    figures = "".join(
        f'<figure class="tile"><img class="weights" width="{4 * width}" height="{4 * height}" '
        f'alt="weights of {escape(cut(name))}" '
        f'src="{signed_picture(weight_picture(data.subject, c, image_shape))}">'
        f"<figcaption>{label(name)}</figcaption></figure>"
        for c, name in enumerate(data.subject.classes[:_PICTURED_CLASSES])
    )
    lead = (
        "The weights of each class as a picture: blue pixels speak for the class, orange ones "
        "against it."
    )
    return Section("features", "Weights", lead, f'<div class="tiles">{figures}</div>')
