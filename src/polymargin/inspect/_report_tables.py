"""The tables of single rows and of pairs in a report."""

from dataclasses import dataclass

from polymargin.inspect._confusion import pair_columns
from polymargin.inspect._html import Cell, Column, Row, label, number, share_bar, table
from polymargin.inspect._report_data import ReportData
from polymargin.inspect._taus import Taus, eta_pairs

_ETA_SHOWN = 5


@dataclass(frozen=True)
class Section:
    """A heading, a sentence (HTML) and what follows (HTML)."""

    name: str
    title: str
    lead: str
    body: str


def _place_column(data: ReportData) -> Column:
    if data.lines is None:
        return Column("row", "number", "Number of the row, from 0.")
    return Column("line", "number", "Line of the file.")


def suspicious_section(data: ReportData, shown: dict[int, str]) -> Section:
    classes, scored = data.subject.classes, data.judged
    columns = [
        _place_column(data),
        Column("label", "text", "The label that the row has."),
        Column("suggested", "text", "The other label of the largest score."),
        Column("example", "plain"),
        Column("margin", "number", "Score of the label less that of the suggestion."),
    ]
    by_tau = data.by == "tau" and data.taus is not None
    if by_tau:
        columns.append(Column("‖τ‖", "number", "Share of the row in the weights."))
    rows = []
    for i in data.suspicious.tolist():
        cells = [
            Cell(f"{data.place(i)}", data.place(i)),
            Cell(label(classes[scored.own[i]])),
            Cell(label(classes[scored.rival[i]])),
            Cell(shown[i]),
            Cell(number(scored.margin[i]), scored.margin[i]),
        ]
        if by_tau and data.taus is not None:
            cells.append(Cell(number(data.taus.norm[i]), data.taus.norm[i]))
        rows.append(Row(cells, int(scored.own[i])))
    how = {
        "tau": "largest ‖τ‖ first, of equals the smallest margin",
        "margin": "smallest margin first",
        "held-out": "smallest margin by a model that was trained without the row first",
    }[data.by]
    lead = (
        f"Training rows whose label looks wrong, {how}. Look at each before you change it: rare "
        "and difficult rows are here as well."
    )
    return Section("suspicious", "Suspicious labels", lead, table("suspects", lead, columns, rows))


def patterns_section(data: ReportData, shown: dict[int, str]) -> Section | None:
    if data.taus is None:
        return None
    classes, scored, taus = data.subject.classes, data.scored, data.taus
    columns = [
        _place_column(data),
        Column("label", "text"),
        Column("predicted", "text"),
        Column("example", "plain"),
        Column("η", "plain", "Weights of the labels that the row is confusable with."),
        Column("‖τ‖", "number", "Share of the row in the weights, in units of its C."),
        Column("margin", "number", "Score of the label less the largest other one."),
        Column("state", "text"),
    ]
    rows = []
    for i in data.patterns.tolist():
        states = ["error"] if scored.error[i] else []
        states += ["at bound"] if taus.bounded[i] else []
        cells = [
            Cell(f"{data.place(i)}", data.place(i)),
            Cell(label(classes[scored.own[i]])),
            Cell(label(classes[scored.predicted[i]])),
            Cell(shown[i]),
            Cell(_eta(data, taus, i)),
            Cell(number(taus.norm[i]), taus.norm[i]),
            Cell(number(scored.margin[i]), scored.margin[i]),
            Cell(_states(states)),
        ]
        rows.append(Row(cells, int(scored.own[i])))
    total = int(taus.is_support.sum())
    lead = (
        f"The model rests on {total:,} of {len(data.y):,} rows; these {len(rows):,} pull "
        "hardest. η shows between which labels each of them is torn."
    )
    if not taus.has_eta:
        lead += " This machine has no dual variables for other labels, so η is empty."
    return Section("patterns", "Support patterns", lead, table("support", lead, columns, rows))


def _states(states: list[str]) -> str:
    shown = " ".join(f'<span class="state">{state}</span>' for state in states)
    return f"<span>{shown}</span>" if shown else ""


def _eta(data: ReportData, taus: Taus, i: int) -> str:
    pairs = eta_pairs(taus, i)
    items = "".join(
        f"<li>{label(data.subject.classes[c])} <b>{weight:.2f}</b>{share_bar(weight)}</li>"
        for c, weight in pairs[:_ETA_SHOWN]
    )
    more = len(pairs) - _ETA_SHOWN
    rest = f'<li class="note">and {more} more</li>' if more > 0 else ""
    return f'<ul class="eta">{items}{rest}</ul>' if items else ""


def pairs_section(data: ReportData) -> Section:
    classes = data.subject.classes
    found = pair_columns(data.subject, data.scored, data.taus, data.tested, data.max_patterns)
    position = {name: c for c, name in enumerate(classes.tolist())}
    titles = {
        "eta": ("sum of η", "Weight that support patterns of the label give to the other one."),
        "patterns": ("patterns", "How many support patterns give it any."),
        "errors": ("training errors", "Rows of the label predicted as the other one."),
        "test_errors": ("test errors", "The same in the test data."),
    }
    columns = [Column("label"), Column("confused with")]
    counted = [name for name in titles if name in found]
    columns += [Column(titles[name][0], "number", titles[name][1]) for name in counted]
    rows = []
    for place, one in enumerate(found["label"].tolist()):
        cells = [Cell(label(one)), Cell(label(found["confused_with"][place]))]
        for name in counted:
            value = found[name][place]
            text = number(value, 2) if name == "eta" else f"{value:,}"
            cells.append(Cell(text, float(value)))
        rows.append(Row(cells, position[one]))
    lead = "Which label is taken for which, the most confusable pairs first."
    return Section("pairs", "Confusable pairs", lead, table("pairs-table", lead, columns, rows))
