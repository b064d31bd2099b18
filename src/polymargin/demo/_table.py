"""What everyone reached, in a table."""

import math
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from polymargin.demo._outcomes import EntrantOutcome

_NUMBERS = {"C, gamma": 8, "accuracy": 8, "seconds": 7, "gap": 14}
_NAME = 12


def outcome_table(outcomes: Sequence[EntrantOutcome], width: int) -> Table:
    """A section for each library and kind of score; a narrow one has the titles cut."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, collapse_padding=True)
    left = width - _NAME - sum(2 + wide for wide in (*_NUMBERS.values(), 0))
    table.add_column("", no_wrap=True, min_width=_NAME)
    table.add_column("machine", style="dim", no_wrap=True, max_width=left)
    for name, wide in _NUMBERS.items():
        table.add_column(name, justify="right", no_wrap=True, min_width=wide)
    for group, members in groupby(outcomes, key=lambda outcome: outcome.entrant.group):
        table.add_section()
        table.add_row("", Text(group, style="not dim bold"))
        for outcome in members:
            table.add_row(
                outcome.entrant.name,
                outcome.entrant.title,
                _constants(outcome.entrant.estimator.get_params()),
                f"{outcome.accuracy:.1%}",
                f"{outcome.seconds:.2f}",
                _gap(outcome),
            )
    return table


def _constants(parameters: dict[str, Any]) -> str:
    chosen = (parameters[name] for name in ("C", "gamma") if name in parameters)
    return ", ".join(f"2^{math.log2(value):g}" for value in chosen)


def _gap(outcome: EntrantOutcome) -> Text:
    if outcome.gap is None:
        return Text("no certificate", "dim") if outcome.converged else Text("not converged", "red")
    return Text(f"{outcome.gap:.1e}", "" if outcome.converged else "red")
