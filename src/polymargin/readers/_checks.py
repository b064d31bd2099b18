"""Checks that all formats share."""

from dataclasses import replace

from polymargin._wording import counted
from polymargin.errors import DataError
from polymargin.readers._options import Options
from polymargin.readers._source import Source
from polymargin.readers._table import Columns, Table

__all__ = ["TEXT_TABLES", "as_table", "check_seekable", "check_width", "wrong_count"]

TEXT_TABLES = ("csv", "tsv", "jsonl")


def as_table(form: str, options: Options) -> Options:
    """The options for a table of text in a format."""
    if form == "tsv" and options.delimiter is None:
        return replace(options, format=form, delimiter="\t")
    return replace(options, format=form)


def check_seekable(source: Source, form: str) -> None:
    if source.is_standard_input:
        raise DataError(
            f"{form} files are not read from standard input; name a file", path=source.name
        )
    if source.packing is not None:
        raise DataError(
            f"the {form} file is packed by {source.packing}; unpack it first", path=source.name
        )


def check_width(table: Table, options: Options, name: str) -> None:
    if options.n_features is None or isinstance(table.X, Columns | list):
        return
    if table.X.shape[1] != options.n_features:
        raise DataError(
            f"{counted(table.X.shape[1], 'feature')} where {options.n_features} are expected; "
            "check that the file belongs to the same data",
            path=name,
        )


def wrong_count(options: Options, n_labels: int, n_rows: int) -> DataError:
    return DataError(
        f"{counted(n_labels, 'label')} for {counted(n_rows, 'row')}; they must be as many",
        path=str(options.labels_path),
    )
