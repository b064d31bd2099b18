"""What a command says of the rows it has read, before it trains on them."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from polymargin._wording import counted, listed
from polymargin.cli._hints import kernel_date_hint, scale_hint
from polymargin.cli._option_sets import Features
from polymargin.cli._output.terminal import note
from polymargin.cli._recipe import for_format
from polymargin.readers import Columns, Scan, Table

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MOST = 8  # columns that are shown
_SHOWN_LABELS = 5
_LONGEST_LABEL = 20  # characters
_KINDS = {  # one of them, several of them
    "number": ("number", "numbers"),
    "category": ("category", "categories"),
    "text": ("text", "texts"),
    "date": ("date", "dates"),
    "time": ("time of day", "times of day"),
}
_REASONS = {"as asked": "by --label"}


def announce(
    table: Table,
    X: Any,
    asked: Mapping[str, str],
    features: Features,
    has_kernel: bool = False,
) -> None:
    """Say what was read and made of it, where kinds of columns or a scale were not asked for."""
    assert table.y is not None
    note(describe_rows(X, table.y))
    is_as_read = not isinstance(table.X, Columns | list)
    if is_as_read and for_format(features, table.reading["format"]).scale == "auto":
        hint = scale_hint(X)
        if hint is not None:
            note(hint)
    if isinstance(table.X, Columns):
        columns = dict(zip(table.X.names, table.X.values, strict=True))
        n_values = {
            name: len(set(columns[name].tolist()) - {None})
            for name, kind in table.X.kinds.items()
            if kind == "category"
        }
        announce_columns(table, np.unique(table.y), asked, n_values)
        dates = [name for name, kind in table.X.kinds.items() if kind == "date"]
        if has_kernel and not set(dates) <= set(asked):
            note(kernel_date_hint(dates))


def announce_columns(
    found: Table | Scan,
    classes: "NDArray[Any]",
    asked: Mapping[str, str],
    n_values: Mapping[str, int],
) -> None:
    """Say which column of a table holds the labels, and what each other one was taken for."""
    if found.label_reason is not None:
        note(describe_label(found.reading["label"], classes, found.label_reason))
    note(describe_columns(found.reading["kinds"], asked, n_values, found.left_out))


def describe_rows(X: Any, y: "NDArray[Any]") -> str:
    """One line on what was read."""
    n, d = X.shape
    filled = f", {X.nnz / max(1, n * d):.2%} stored" if sparse.issparse(X) else ""
    classes = f"{len(np.unique(y))} classes{filled}"
    return f"{counted(n, 'row')}, {counted(d, 'feature')}, {classes}"


def describe_label(name: str, classes: "NDArray[Any]", reason: str) -> str:
    """The column of the labels, some of them, and why it was taken for that."""
    values = [_cut(str(label)) for label in classes[:_SHOWN_LABELS].tolist()]
    more = [f"… {len(classes)} in all"] if len(classes) > _SHOWN_LABELS else []
    return f"label: {_shown(name)} ({', '.join(values + more)}), {_REASONS.get(reason, reason)}"


def describe_columns(
    kinds: Mapping[str, str],
    asked: Mapping[str, str],
    n_values: Mapping[str, int],
    left_out: Mapping[str, str],
) -> str:
    """What each column was taken for, and what was not asked for: a slip in a cell shows here."""
    found: dict[str, list[str]] = {kind: [] for kind in _KINDS}
    for name, kind in kinds.items():
        n = f" ({n_values[name]:,})" if name in n_values else ""
        if kind != "drop":
            found[kind.partition(":")[0]].append(_shown(name) + n)
    parts = [_count(kind, names) for kind, names in found.items() if names]
    unasked: dict[str, list[str]] = {}
    for name, reason in left_out.items():
        if name not in asked:
            unasked.setdefault(reason, []).append(_shown(name))
    parts += [f"left out {listed(names, _MOST)}: {reason}" for reason, names in unasked.items()]
    if unasked:
        parts.append("--column NAME=KIND keeps a column")
    return "columns: " + "; ".join(parts)


def _count(kind: str, names: list[str]) -> str:
    return f"{counted(len(names), *_KINDS[kind])}: {listed(names, _MOST)}"


def _shown(name: str) -> str:
    """In quotes where it would be taken for several names, or for none."""
    is_clear = name and name == name.strip() and not set(",;:'\"") & set(name)
    return name if is_clear else repr(name)


def _cut(label: str) -> str:
    return label if len(label) <= _LONGEST_LABEL else label[: _LONGEST_LABEL - 1] + "…"
