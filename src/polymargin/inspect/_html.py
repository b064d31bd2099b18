"""Pieces of HTML. Whatever comes from data goes through `escape`."""

import html
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from polymargin.inspect._text import visible

_LABEL_LENGTH = 80
_SHORT_LABEL = 16
_BREAK = re.compile(r"(?<=[._/:-])(?=\w)")
_SHOWN_LENGTH = 180  # of a text before "more"
_TEXT_LENGTH = 2_000  # of a text in all


def escape(value: Any) -> str:
    """Text from data as HTML, also inside quoted attributes."""
    return html.escape(visible(value), quote=True)


def cut(value: Any, length: int = _LABEL_LENGTH) -> str:
    """Text of limited length, not yet escaped."""
    text = str(value)
    return text if len(text) <= length else text[: length - 1] + "…"


def label(value: Any) -> str:
    """A label; a short one stays in one line, others may break after a sign."""
    text = cut(value)
    if len(text) <= _SHORT_LABEL:
        return f'<span class="label short">{escape(text)}</span>'
    pieces = "<wbr>".join(escape(piece) for piece in _BREAK.split(text))
    return f'<span class="label">{pieces}</span>'


def number(value: float, digits: int = 3) -> str:
    return f"{value:.{digits}f}".replace("-", "\N{MINUS SIGN}")


def long_text(value: Any) -> str:
    """A text whose rest is shown on demand, and which ends somewhere."""
    text = str(value).strip()
    if len(text) <= _SHOWN_LENGTH:
        return f'<span class="text">{escape(text)}</span>'
    space = text.rfind(" ", _SHOWN_LENGTH // 2, _SHOWN_LENGTH)
    shown = space if space > 0 else _SHOWN_LENGTH
    rest = escape(text[shown:_TEXT_LENGTH].lstrip())
    if len(text) > _TEXT_LENGTH:
        rest += f'… <span class="note">({len(text) - _TEXT_LENGTH:,} more characters)</span>'
    return (
        f'<details class="text"><summary>{escape(text[:shown])}'
        f'<span class="more">… more</span></summary>{rest}</details>'
    )


@dataclass(frozen=True)
class Column:
    """Head of a column; numbers are aligned right and sorted as numbers."""

    title: str
    kind: Literal["number", "text", "plain"] = "text"  # a plain column is not sorted
    explanation: str = ""


@dataclass(frozen=True)
class Cell:
    """HTML of a cell, and the number that it is sorted by where it has one."""

    html: str
    value: float | None = None


@dataclass(frozen=True)
class Row:
    """Cells, and the number of the label that rows are filtered by."""

    cells: Sequence[Cell]
    label: int | None = None


def table(name: str, caption: str, columns: Sequence[Column], rows: Iterable[Row]) -> str:
    """A table that the script makes sortable and searchable."""
    heads = "".join(
        f'<th scope="col" data-kind="{column.kind}"'
        + (f' title="{escape(column.explanation)}"' if column.explanation else "")
        + f">{escape(column.title)}</th>"
        for column in columns
    )
    body = "\n".join(_row(columns, row) for row in rows)
    return (
        f'<div class="scroll"><table class="data" id="{name}">'
        f'<caption class="unseen">{escape(caption)}</caption>'
        f"<thead><tr>{heads}</tr></thead><tbody>\n{body}\n</tbody></table></div>"
    )


def _row(columns: Sequence[Column], row: Row) -> str:
    cells = []
    for column, cell in zip(columns, row.cells, strict=True):
        value = "" if cell.value is None else f' data-value="{cell.value:.9g}"'
        kind = ' class="number"' if column.kind == "number" else ""
        cells.append(f'<td{kind}{value} data-title="{escape(column.title)}">{cell.html}</td>')
    filtered = "" if row.label is None else f' data-label="{row.label}"'
    return f"<tr{filtered}>{''.join(cells)}</tr>"


def share_bar(share: float) -> str:
    """A bar of that share of its width."""
    return (
        '<svg class="bar" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect class="track" width="100" height="4"/>'
        f'<rect class="fill" width="{100 * share:.0f}" height="4"/></svg>'
    )
