"""The folds that `select` validates on: at random, along groups, or in order of time."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polymargin._wording import column_option, listed_names
from polymargin.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polymargin.readers import Table

_PANEL = "The folds"


@dataclass(frozen=True)
class FoldOptions:
    """How rows are dealt to folds."""

    folds: Annotated[
        int, typer.Option(min=2, help="Of cross-validation.", rich_help_panel=_PANEL)
    ] = 5
    groups: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Keep rows of a group together: a column of DATA, or a file with a group a line.",
            rich_help_panel=_PANEL,
        ),
    ] = None
    time: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Validate on rows later than those trained on: a column of DATA, or a file with a "
            "number or a date a line.",
            rich_help_panel=_PANEL,
        ),
    ] = None
    ordered: Annotated[
        bool,
        typer.Option(
            "--ordered", help="The same, for rows in order of time.", rich_help_panel=_PANEL
        ),
    ] = False

    def check(self) -> None:
        """Refuse what does not go together."""
        for name, is_given in (("--time", self.time is not None), ("--ordered", self.ordered)):
            if is_given and self.groups is not None:
                raise typer.BadParameter(f"does not go with {name}", param_hint="--groups")
        if self.ordered and self.time is not None:
            raise typer.BadParameter(
                "does not go with --time, which puts rows in order", param_hint="--ordered"
            )


@dataclass(frozen=True)
class Dealt:
    """A table without the columns that folds are made of, and what the search takes for them."""

    table: "Table"
    cv: Any
    groups: "NDArray[Any] | None" = None
    used: str | None = None  # the column, which is no feature


def deal(options: FoldOptions, table: "Table", path: Path) -> Dealt:
    """Take the folds out of a table or the files that options name."""
    import numpy as np

    if options.groups is not None:
        values, rest, used = _take(options.groups, "--groups", "group", table, path)
        return Dealt(rest, options.folds, np.unique(values, return_inverse=True)[1], used)
    if options.time is not None:
        values, rest, used = _take(options.time, "--time", "time", table, path)
        order = np.argsort(_as_times(values, options.time), kind="stable")
        return Dealt(rest, _later_folds(order, options.folds), None, used)
    if options.ordered:
        return Dealt(table, _later_folds(np.arange(table.n_rows), options.folds))
    return Dealt(table, options.folds)


def _later_folds(order: "NDArray[Any]", n_folds: int) -> "list[tuple[NDArray[Any], NDArray[Any]]]":
    """Each trains on the first rows of an order, and validates on those that come next."""
    from sklearn.model_selection import TimeSeriesSplit

    if len(order) <= n_folds:
        raise typer.BadParameter(
            f"{n_folds} in order of time need {n_folds + 1} rows at least, and there are "
            f"{len(order)}",
            param_hint="--folds",
        )
    return [(order[a], order[b]) for a, b in TimeSeriesSplit(n_folds).split(order)]


def _take(
    name: str, option: str, noun: str, table: "Table", path: Path
) -> "tuple[list[Any], Table, str | None]":
    """The values of a column, which leaves the table, or the lines of a file."""
    from polymargin.readers import Columns

    if isinstance(table.X, Columns):
        if name == table.reading.get("label"):
            raise typer.BadParameter(
                f"{name!r} is the column of the labels; name that with --label", param_hint=option
            )
        if name in table.X.names:
            return _take_column(name, noun, table, path)
    if Path(name).is_file():
        return _read_values(Path(name), noun, table.n_rows), table, None
    if table.reading.get("kinds", {}).get(name) == "drop":
        raise typer.BadParameter(
            f"column {name!r} was left out: {table.left_out.get(name, 'as asked')}; "
            f"{column_option(name, 'category')} or {column_option(name, 'number')} keeps it",
            param_hint=option,
        )
    if isinstance(table.X, Columns):
        raise typer.BadParameter(
            f"there is neither a column {name!r} ({listed_names(table.X.names)} are there) nor "
            "such a file",
            param_hint=option,
        )
    raise typer.BadParameter(
        f"there is no file {name!r}; for rows without named columns it has one {noun} a line",
        param_hint=option,
    )


def _take_column(
    name: str, noun: str, table: "Table", path: Path
) -> "tuple[list[Any], Table, str]":
    from polymargin.readers import Columns

    columns: Columns = table.X
    place = columns.names.index(name)
    values = columns.values[place].tolist()
    for row, value in enumerate(values):
        if value is None or value != value:
            raise DataError(
                f"the {noun} in column {name!r} is missing here; fill it in",
                path=str(path),
                line=None if table.lines is None else int(table.lines[row]),
            )
    if len(columns.names) == 1:
        raise DataError(f"there is no column besides {name!r} and the labels", path=str(path))
    rest = Columns(
        columns.names[:place] + columns.names[place + 1 :],
        columns.values[:place] + columns.values[place + 1 :],
        {key: kind for key, kind in columns.kinds.items() if key != name},
    )
    reading = dict(table.reading)
    if "kinds" in reading:
        reading["kinds"] = reading["kinds"] | {name: "drop"}
    return values, replace(table, X=rest, reading=reading), name


def _read_values(path: Path, noun: str, n_rows: int) -> list[Any]:
    """One a line."""
    from polymargin._wording import counted
    from polymargin.cli._data import opening
    from polymargin.readers import read_lines

    with opening(path):
        values = [line.strip() for line in read_lines(path)]
    if "" in values:
        raise DataError(
            f"the {noun} is missing here; fill it in", path=str(path), line=values.index("") + 1
        )
    if len(values) != n_rows:
        found = counted(len(values), noun)
        raise DataError(f"{found} for {counted(n_rows, 'row')}", path=str(path))
    return values


def _as_times(values: list[Any], source: str) -> list[float]:
    """Numbers as they are, dates as seconds; those without a zone are of one."""
    times: list[float] = []
    for kind in (float, _seconds):
        try:
            times = [kind(value) for value in values]
        except (ValueError, TypeError):
            continue
        if all(time == time for time in times):
            return times
    wrong = next(value for value in values if not _is_time(value))
    raise typer.BadParameter(
        f"{str(wrong)[:40]!r} in {source!r} is neither a number nor a date such as 2024-01-31; all "
        "have to be the one or the other",
        param_hint="--time",
    )


def _seconds(value: Any) -> float:
    moment = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _is_time(value: Any) -> bool:
    try:
        _seconds(value)
    except (ValueError, TypeError):
        return False
    return True
