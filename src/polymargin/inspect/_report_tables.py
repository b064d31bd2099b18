"""The tables of single rows and of pairs in a report."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from polymargin.inspect._confusion import pair_columns
from polymargin.inspect._patterns import Ranking
from polymargin.inspect._report_data import ReportData
from polymargin.inspect._report_rows import Example
from polymargin.inspect._taus import Taus, eta_pairs

_ETA_SHOWN = 5


@dataclass(frozen=True)
class Suspect:
    """A row whose label looks wrong; `own` is the number of the label it has."""

    own: int
    place: int
    label: str
    suggested: str
    example: Example
    margin: float
    norm: float | None


@dataclass(frozen=True)
class Suspicious:
    name: ClassVar[str] = "suspicious"
    title: ClassVar[str] = "Suspicious labels"
    template: ClassVar[str] = "sections/suspicious.html"

    by: Ranking
    has_lines: bool
    rows: Sequence[Suspect]


def suspicious(data: ReportData, examples: Mapping[int, Example]) -> Suspicious:
    classes, scored = data.subject.classes, data.judged
    rows = [
        Suspect(
            own=int(scored.own[i]),
            place=data.place(i),
            label=str(classes[scored.own[i]]),
            suggested=str(classes[scored.rival[i]]),
            example=examples[i],
            margin=float(scored.margin[i]),
            norm=float(data.taus.norm[i]) if data.taus is not None else None,
        )
        for i in data.suspicious.tolist()
    ]
    return Suspicious(data.by, data.lines is not None, rows)


@dataclass(frozen=True)
class Eta:
    """The largest weights of other labels, and how many more there are."""

    weights: Sequence[tuple[str, float]]
    n_left_out: int


@dataclass(frozen=True)
class Pattern:
    """A support pattern; `own` is the number of its label."""

    own: int
    place: int
    label: str
    predicted: str
    example: Example
    eta: Eta
    norm: float
    margin: float
    states: Sequence[str]


@dataclass(frozen=True)
class Patterns:
    name: ClassVar[str] = "patterns"
    title: ClassVar[str] = "Support patterns"
    template: ClassVar[str] = "sections/patterns.html"

    n: int
    n_support: int
    has_eta: bool
    has_lines: bool
    rows: Sequence[Pattern]


def patterns(data: ReportData, examples: Mapping[int, Example]) -> Patterns | None:
    if data.taus is None:
        return None
    rows = [_pattern(data, data.taus, i, examples[i]) for i in data.patterns.tolist()]
    return Patterns(
        n=len(data.y),
        n_support=int(data.taus.is_support.sum()),
        has_eta=data.taus.has_eta,
        has_lines=data.lines is not None,
        rows=rows,
    )


def _pattern(data: ReportData, taus: Taus, i: int, example: Example) -> Pattern:
    classes, scored = data.subject.classes, data.scored
    states = {"error": scored.error[i], "at bound": taus.bounded[i]}
    eta = [(str(classes[c]), float(weight)) for c, weight in eta_pairs(taus, i)]
    return Pattern(
        own=int(scored.own[i]),
        place=data.place(i),
        label=str(classes[scored.own[i]]),
        predicted=str(classes[scored.predicted[i]]),
        example=example,
        eta=Eta(eta[:_ETA_SHOWN], max(len(eta) - _ETA_SHOWN, 0)),
        norm=float(taus.norm[i]),
        margin=float(scored.margin[i]),
        states=[state for state, holds in states.items() if holds],
    )


@dataclass(frozen=True)
class Pair:
    """Two labels; `own` is the number of the first."""

    own: int
    label: str
    confused_with: str
    eta: float | None
    patterns: int | None
    errors: int
    test_errors: int | None


@dataclass(frozen=True)
class Pairs:
    name: ClassVar[str] = "pairs"
    title: ClassVar[str] = "Confusable pairs"
    template: ClassVar[str] = "sections/pairs.html"

    has_eta: bool
    has_test: bool
    rows: Sequence[Pair]


def pairs(data: ReportData) -> Pairs:
    classes = data.subject.classes.tolist()
    found = pair_columns(data.subject, data.scored, data.taus, data.tested, data.max_patterns)
    position = {name: c for c, name in enumerate(classes)}
    has_eta, has_test = "eta" in found, "test_errors" in found
    rows = [
        Pair(
            own=position[label],
            label=str(label),
            confused_with=str(found["confused_with"][place]),
            eta=float(found["eta"][place]) if has_eta else None,
            patterns=int(found["patterns"][place]) if has_eta else None,
            errors=int(found["errors"][place]),
            test_errors=int(found["test_errors"][place]) if has_test else None,
        )
        for place, label in enumerate(found["label"].tolist())
    ]
    return Pairs(has_eta, has_test, rows)
