"""Rows of the tables of a report; `own` is the number of the label that they are filtered by."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from polymargin.inspect._confusion import pair_columns
from polymargin.inspect._report_data import ReportData
from polymargin.inspect._report_rows import Example
from polymargin.inspect._taus import Taus, eta_pairs

_ETA_SHOWN = 5


@dataclass(frozen=True)
class Suspect:
    own: int
    place: int | str
    label: str
    suggested: str
    example: Example
    margin: float
    norm: float | None


def find_suspects(data: ReportData, examples: Mapping[int, Example]) -> list[Suspect]:
    classes, scored = data.subject.classes, data.judged
    return [
        Suspect(
            own=int(scored.own[i]),
            place=data.place(i),
            label=str(classes[scored.own[i]]),
            suggested=str(classes[scored.rival[i]]),
            example=examples[i],
            margin=float(scored.margin[i]),
            norm=None if data.taus is None else float(data.taus.norm[i]),
        )
        for i in data.suspicious.tolist()
    ]


@dataclass(frozen=True)
class Eta:
    """The largest weights of other labels, and how many more there are."""

    weights: Sequence[tuple[str, float]]
    n_left_out: int


@dataclass(frozen=True)
class Pattern:
    own: int
    place: int | str
    label: str
    predicted: str
    example: Example
    eta: Eta
    norm: float
    margin: float
    states: Sequence[str]


def find_patterns(data: ReportData, taus: Taus, examples: Mapping[int, Example]) -> list[Pattern]:
    classes, scored = data.subject.classes, data.scored
    patterns = []
    for i in data.patterns.tolist():
        states = {"error": scored.error[i], "at bound": taus.bounded[i]}
        eta = [(str(classes[c]), float(weight)) for c, weight in eta_pairs(taus, i)]
        patterns.append(
            Pattern(
                own=int(scored.own[i]),
                place=data.place(i),
                label=str(classes[scored.own[i]]),
                predicted=str(classes[scored.predicted[i]]),
                example=examples[i],
                eta=Eta(eta[:_ETA_SHOWN], max(len(eta) - _ETA_SHOWN, 0)),
                norm=float(taus.norm[i]),
                margin=float(scored.margin[i]),
                states=[state for state, holds in states.items() if holds],
            )
        )
    return patterns


@dataclass(frozen=True)
class Pair:
    own: int
    label: str
    confused_with: str
    errors: int
    eta: float | None = None
    patterns: int | None = None
    test_errors: int | None = None


def find_pairs(data: ReportData) -> list[Pair]:
    found = pair_columns(data.subject, data.scored, data.taus, data.tested, data.max_patterns)
    position = {name: c for c, name in enumerate(data.subject.classes.tolist())}
    labels, others = found.pop("label").tolist(), found.pop("confused_with").tolist()
    counts = {name: values.tolist() for name, values in found.items()}
    return [
        Pair(
            position[label],
            str(label),
            str(other),
            **{name: values[place] for name, values in counts.items()},
        )
        for place, (label, other) in enumerate(zip(labels, others, strict=True))
    ]
