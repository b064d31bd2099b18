"""Data files, the same way in all commands."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from polymargin._sklearn import InvalidParameterError
from polymargin._wording import column_option
from polymargin.cli._alike import pairs_alike
from polymargin.cli._exit import is_refusal
from polymargin.cli._garbage import start_search
from polymargin.cli._model_kind import model_kind
from polymargin.cli._option_sets import Reading
from polymargin.cli._output.terminal import shown_warnings, warn
from polymargin.errors import DataError, NotSeparableError
from polymargin.readers import Columns, Table, read

if TYPE_CHECKING:
    from numpy.typing import NDArray


_MANY = 20  # classes that are not of one row each by chance


def read_rows(path: Path, reading: Reading) -> Table:
    """All rows, which need labels."""
    with opening(path), shown_warnings():
        table = labelled(read(path, **reading.options), path)
    check_columns(table, reading, path)
    return table


def check_columns(table: Table, reading: Reading, path: Path) -> None:
    """Kinds of columns need columns."""
    if reading.kinds and not isinstance(table.X, Columns):
        raise DataError(
            f"--column is for tables, and this is a file of format {table.reading['format']}; "
            "--format reads it as something else",
            path=str(path),
        )


def read_to_train(path: Path, reading: Reading) -> Table:
    """All rows, of two classes at least."""
    table = read_rows(path, reading)
    assert table.y is not None
    classes = np.unique(table.y)
    check_classes(classes, path, table.reading)
    _tell_alike(classes)
    if isinstance(table.X, Columns) and len(classes) > max(_MANY, 0.9 * table.n_rows):
        raise DataError(
            f"nearly all of the {table.n_rows:,} labels in column {table.reading.get('label')!r} "
            "differ; name the column of the labels with --label",
            path=str(path),
        )
    if not isinstance(table.X, Columns | list):
        check_width(table.X.shape[1], path)
    return table


def _tell_alike(classes: "NDArray[Any]") -> None:
    """Warn of classes that are hardly meant to be two."""
    for one, other in pairs_alike(classes.tolist() if classes.dtype.kind == "O" else ()):
        warn(
            f"the labels {one[:40]!r} and {other[:40]!r} differ in capitals or blanks alone and "
            "are two classes; if they mean the same, write them alike"
        )


def check_width(n_features: int | None, path: Path) -> None:
    """There is nothing to learn from labels alone."""
    if n_features == 0:
        raise DataError(
            "there are labels and no features: a row needs numbers beside its label", path=str(path)
        )


def labelled(table: Table, path: Path) -> Table:
    """The table itself; DataError where it has no labels."""
    if table.y is None:
        raise DataError("there are no labels", path=str(path))
    return table


def check_classes(classes: "NDArray[Any]", path: Path, reading: dict[str, Any]) -> None:
    """There is nothing to learn from one class, nor classes to learn from measurements."""
    if classes.dtype.kind == "f":
        # A column could be another one; svmlight data have their labels in one place.
        other = "name their column with --label, or " if "label" in reading else ""
        fractions = classes[classes != np.floor(classes)]
        what = (
            f"numbers such as {fractions[0]:g}, as if to be measured"
            if len(fractions)
            else f"whole numbers such as {classes[-1]:g}, too large to be told apart"
        )
        raise DataError(
            f"the labels are {what}; {other}take them as words with --label-kind string",
            path=str(path),
        )
    if len(classes) == 1:
        raise DataError(
            f"all rows have the label {classes[0]}; two classes are needed", path=str(path)
        )


@contextmanager
def opening(path: Path) -> Iterator[None]:
    """Errors of the operating system in here concern an input file, which is no model."""
    start_search()
    try:
        if model_kind(path) is not None:
            raise DataError("this is a model, not data", path=str(path))
        yield
    except OSError as error:
        raise DataError(error.strerror or str(error), path=str(error.filename or path)) from error


@contextmanager
def concerning(path: Path) -> Iterator[None]:
    """What is refused in here was found in that file."""
    try:
        yield
    except ValueError as error:
        has_place = getattr(error, "path", None) is not None
        if has_place or isinstance(error, InvalidParameterError) or not is_refusal(error):
            raise
        raise DataError(str(error), path=str(path)) from error


@contextmanager
def separating(table: Table, path: Path) -> Iterator[None]:
    """Rows that cannot be separated are named by their places in the file."""
    try:
        yield
    except NotSeparableError as error:
        raise DataError(error.with_names(table.place), path=str(path)) from error


def check_missing(table: Table, path: Path, remedy: str) -> None:
    """Refuse a number or a date that is not there, and tell where that is."""
    cell = table.first_missing
    if cell is not None:
        without = column_option(cell.name[:40], "drop")
        raise DataError(
            f"the {table.X.kinds[cell.name]} of column {cell.name!r} is missing here; {remedy}, or "
            f"do without the column ({without})",
            path=str(path),
            line=cell.line,
            column=cell.column,
        )
