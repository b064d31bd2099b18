"""The labelled column of a table, and columns put together from parts."""

from collections.abc import Sequence

import numpy as np

from polymargin.errors import DataError
from polymargin.readers._formats import LABEL_NAMES
from polymargin.readers._options import Options
from polymargin.readers._table import Columns, Table

__all__ = ["check_names", "find_label", "join_tables", "list_names"]

MOST_COLUMNS = 1 << 16


def list_names(names: Sequence[str]) -> str:
    """The first names, for messages."""
    shown = ", ".join(repr(name[:40]) for name in names[:10])
    return shown + (", ..." if len(names) > 10 else "")


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
        raise DataError(f"two columns are named {twice!r}; rename one of them", path=path)
    for name in options.kinds or {}:
        if name not in names:
            raise DataError(
                f"there is no column {name!r}; the columns are {list_names(names)}", path=path
            )


def find_label(names: Sequence[str], options: Options, path: str) -> int | None:
    """Which column holds the labels; None if the file has none.

    Without a choice it is the first of "label", "class", "target" or "y" in any case, else the
    last column of a file that has labels.
    """
    if options.label is None:
        lower = [name.strip().lower() for name in names]
        for candidate in LABEL_NAMES:
            if candidate in lower:
                return lower.index(candidate)
        return len(names) - 1 if options.takes_own_labels else None
    if options.label in names:
        return names.index(str(options.label))
    position = _position(options.label)
    if position is not None and 1 <= abs(position) <= len(names):
        return position - 1 if position > 0 else len(names) + position
    if not options.takes_own_labels:
        return None
    raise DataError(
        f"there is no column {options.label!r} for the labels; the columns are {list_names(names)}",
        path=path,
    )


def _position(label: str | int) -> int | None:
    try:
        return int(label)
    except ValueError:
        return None


def features_among(names: list[str], label: int | None, options: Options) -> list[int]:
    """The columns besides that of the labels; only those of `kinds` where others are ignored."""
    known = options.kinds if options.kinds and options.extra == "ignore" else None
    return [j for j, name in enumerate(names) if j != label and (known is None or name in known)]


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
        Columns(first.X.names, values),
        np.concatenate(labels) if len(labels) == len(tables) else None,
        last.reading,
        np.concatenate(lines) if lines else None,
        next((table.first_missing for table in tables if table.first_missing), None),
    )
