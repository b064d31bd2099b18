"""Which columns of a table are used, and columns put together from parts."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from polymargin._wording import listed_names
from polymargin.errors import DataError
from polymargin.readers._formats import LABEL_NAMES, TEXT_NAMES
from polymargin.readers._kinds import base_kind
from polymargin.readers._options import Options
from polymargin.readers._table import Columns, MissingCell, Table

__all__ = [
    "check_names",
    "check_some_left",
    "features_among",
    "find_label",
    "first_missing",
    "ignored_among",
    "join_tables",
    "keep_columns",
    "kept_among",
    "why_label",
]

MOST_COLUMNS = 1 << 16


def check_names(names: Sequence[str], options: Options, path: str) -> None:
    """Names must differ, and those that options speak of must be there."""
    if len(names) > MOST_COLUMNS:
        raise DataError(
            f"{len(names)} columns are more than the {MOST_COLUMNS} a table may have; "
            "use svmlight, NPZ or Parquet with fewer columns",
            path=path,
        )
    if len(set(names)) < len(names):
        seen: set[str] = set()
        twice = next(name for name in names if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        is_guessed = options.header == "auto" and options.format in ("csv", "tsv")
        raise DataError(
            f"two columns are named {twice!r}; rename one of them"
            + (", or say that the first line is a row (header=False, --no-header)" * is_guessed),
            path=path,
        )
    known = set(names)
    absent = [
        name
        for name, kind in (options.kinds or {}).items()
        if name not in known and not (kind == "drop" and options.extra == "ignore")
    ]
    if absent:
        are_none = "is no column" if len(absent) == 1 else "are no columns"
        raise DataError(
            f"there {are_none} {listed_names(absent)}; the columns are {listed_names(names)}",
            path=path,
        )


def find_label(names: Sequence[str], options: Options, path: str) -> int | None:
    """Which column holds the labels; None if the file has none.

    Without a choice it is the first of "label", "class", "target" or "y" in any case, else the
    last column of a file that has labels whose name is not that of texts.
    """
    if options.label is None:
        return _find_usual_label(names, options.takes_own_labels)
    if options.label in names:
        return names.index(str(options.label))
    position = _position(options.label)
    if position is not None and 1 <= abs(position) <= len(names):
        return position - 1 if position > 0 else len(names) + position
    if not options.takes_own_labels:
        return None
    raise DataError(
        f"there is no column {options.label!r} for the labels; the columns are "
        f"{listed_names(names)}",
        path=path,
    )


def _find_usual_label(names: Sequence[str], has_labels: bool) -> int | None:
    lower = [name.strip().lower() for name in names]
    for candidate in LABEL_NAMES:
        if candidate in lower:
            return lower.index(candidate)
    if not has_labels:
        return None
    others = [j for j, name in enumerate(lower) if name not in TEXT_NAMES]
    return others[-1] if others else len(names) - 1


def why_label(names: Sequence[str], label: int, options: Options) -> str:
    """Why this column is taken for that of the labels."""
    if options.label is not None:
        return "as asked"
    if names[label].strip().lower() in LABEL_NAMES:
        return "by its name"
    if label == len(names) - 1:
        return "the last column"
    return "the last column that is not named like texts"


def _position(label: str | int) -> int | None:
    try:
        return int(label)
    except ValueError:
        return None


def features_among(
    names: Sequence[str], label: int | None, options: Options, path: str
) -> list[int]:
    """The columns besides that of the labels; only those of `kinds` where others are ignored."""
    kinds = options.kinds or {}
    if label is not None and names[label] in kinds and options.extra == "error":
        raise DataError(
            f"column {names[label]!r} holds the labels, so that it has no kind; name another "
            "column of labels (label=, --label) or leave out its kind",
            path=path,
        )
    is_known = kinds.__contains__ if kinds and options.extra == "ignore" else lambda _: True
    return [
        j
        for j, name in enumerate(names)
        if j != label and is_known(name) and kinds.get(name) != "drop"
    ]


def ignored_among(names: Sequence[str], label: int | None, options: Options) -> tuple[str, ...]:
    """Columns of which `kinds` says nothing, where these are left out."""
    if not options.kinds or options.extra != "ignore":
        return ()
    return tuple(n for j, n in enumerate(names) if j != label and n not in options.kinds)


def kept_among(kinds: Mapping[str, str]) -> dict[str, str]:
    """The columns that are not left out."""
    return {name: kind for name, kind in kinds.items() if kind != "drop"}


def check_some_left(kinds: Mapping[str, str], path: str) -> None:
    """Refuse a table in which every column seems to name the rows."""
    if kept_among(kinds):
        return
    name = next(iter(kinds))
    raise DataError(
        f"nothing is left to learn from: of {listed_names(list(kinds))} nearly all values differ, "
        "as if they named the rows. Say what a column holds (kinds=, --column NAME=KIND): "
        f"{name[:40]!r} may be text (with --analyzer char_wb for its letters), category or number",
        path=path,
    )


def keep_columns(columns: Columns, kinds: Mapping[str, str]) -> Columns:
    """The columns that are not left out, with their kinds."""
    kept = kept_among(kinds)
    values = dict(zip(columns.names, columns.values, strict=True))
    told = {name: _kind_of_values(kind) for name, kind in kept.items()}
    return Columns(tuple(kept), tuple(values[name] for name in kept), told)


def _kind_of_values(kind: str) -> str:
    """Of what a column holds once it is read: hours are numbers."""
    if base_kind(kind) == "text":
        return kind
    return "number" if kind == "time" else base_kind(kind)


def first_missing(
    columns: Columns, places: Sequence[int], lines: NDArray[np.int64] | None
) -> MissingCell | None:
    """The first number or date that is missing; `places` count columns, `lines` rows."""
    assert lines is not None
    found: list[MissingCell] = []
    for name, values, place in zip(columns.names, columns.values, places, strict=True):
        if values.dtype == object:
            continue
        is_missing = np.isnat(values) if values.dtype.kind == "M" else np.isnan(values)
        if is_missing.any():
            found.append(MissingCell(int(lines[np.argmax(is_missing)]), place, name))
    return min(found, default=None)


def join_tables(tables: Sequence[Table]) -> Table:
    """One table of `Columns` from its parts; the last one knows how it was read."""
    first, last = tables[0], tables[-1]
    if len(tables) == 1:
        return first
    values = tuple(
        np.concatenate([table.X.values[j] for table in tables]) for j in range(len(first.X.names))
    )
    labels = [table.y for table in tables if table.y is not None]
    lines = [table.lines for table in tables if table.lines is not None]
    return Table(
        Columns(first.X.names, values, first.X.kinds),
        np.concatenate(labels) if len(labels) == len(tables) else None,
        last.reading,
        np.concatenate(lines) if lines else None,
        next((table.first_missing for table in tables if table.first_missing), None),
    )
