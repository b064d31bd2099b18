"""`read_batches`: a file piece by piece."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from os import PathLike

from polymargin._wording import counted
from polymargin.errors import DataError
from polymargin.readers._arrow import arrow_batches
from polymargin.readers._checks import (
    TEXT_TABLES,
    as_table,
    check_seekable,
    check_width,
    wrong_count,
)
from polymargin.readers._folder import Folder, folder_batches
from polymargin.readers._idx import idx_batches
from polymargin.readers._labels import label_kind_of, read_labels
from polymargin.readers._npz import npz_batches
from polymargin.readers._opening import open_data
from polymargin.readers._options import Options
from polymargin.readers._source import Source
from polymargin.readers._svmlight import svmlight_batches
from polymargin.readers._table import Table
from polymargin.readers._text_tables import text_table_batches
from polymargin.readers._texts import text_batches

__all__ = ["format_batches", "read_batches"]


def read_batches(
    path: str | PathLike[str],
    *,
    rows: int = 8192,
    format: str | None = None,
    label: str | int | None = None,
    n_features: int | None = None,
    zero_based: bool | str = "auto",
    has_labels: bool = True,
    kinds: Mapping[str, str] | None = None,
    label_kind: str | None = None,
    labels_path: str | PathLike[str] | None = None,
    delimiter: str | None = None,
    header: bool | str = "auto",
    extra: str = "error",
    image_shape: Sequence[int] | None = None,
    encoding: str = "utf-8",
    n_jobs: int | None = None,
) -> Iterator[Table]:
    """Read a data file in batches, with memory that does not grow with the file.

    What is not given is decided by the first batch: where indices start, which columns are
    numbers, what the labels are. A later row that differs is an error; `scan` finds out for the
    whole file. A svmlight file needs `n_features`. Sparse NPZ files are read as a whole first.

    Parameters
    ----------
    path : str or path-like
        The file or folder; ``"-"`` is standard input.
    rows : int, default=8192
        Rows of a batch, at most.
    format, label, n_features, zero_based, has_labels, kinds, label_kind, labels_path, delimiter, \
    header, extra, image_shape, encoding, n_jobs
        As in `read`. Labels of `labels_path` are read as a whole.

    Returns
    -------
    batches : iterator of Table

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from polymargin.readers import read_batches
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "small.svm")
    ...     _ = file.write_text("1 1:0.5\\n2 2:1\\n1 3:1\\n")
    ...     [table.X.shape for table in read_batches(file, rows=2, n_features=3)]
    [(2, 3), (1, 3)]
    """
    options = Options(
        format, label, n_features, zero_based, has_labels, kinds, label_kind, labels_path,
        delimiter, header, extra, image_shape, encoding, n_jobs,
    )  # fmt: skip
    if rows < 1:
        raise ValueError(f"rows={rows}: use a positive number")
    return _batches(path, rows, options)


def _batches(path: str | PathLike[str], rows: int, options: Options) -> Iterator[Table]:
    y = None
    n_rows = 0
    with open_data(path, options) as (source, form, options):
        if options.labels_path is not None:
            y = read_labels(options.labels_path, options.label_kind, options.encoding)
        for table in format_batches(source, form, rows, options):
            check_width(table, options, source.name)
            table = replace(table, reading=options.described(table.reading))
            start, n_rows = n_rows, n_rows + table.n_rows
            if y is None:
                yield table
            elif n_rows <= len(y):
                reading = {**table.reading, "label_kind": label_kind_of(y)}
                yield replace(table, y=y[start:n_rows], reading=reading)
            else:
                raise DataError(
                    f"{counted(len(y), 'label')}, but more rows in {source.name}",
                    path=str(options.labels_path),
                )
    if n_rows == 0:
        raise DataError("there are no rows", path=source.name)
    if y is not None and n_rows < len(y):
        raise wrong_count(options, len(y), n_rows)


def format_batches(
    source: Source | Folder, form: str, rows: int, options: Options
) -> Iterator[Table]:
    if isinstance(source, Folder):
        return folder_batches(source, rows, options)
    if form == "svmlight":
        return svmlight_batches(source, rows, options)
    if form in TEXT_TABLES:
        return text_table_batches(source, rows, as_table(form, options))
    if form == "text":
        return text_batches(source, rows, options)
    if form == "idx":
        return idx_batches(source, rows, options)
    check_seekable(source, form)
    if form == "npz":
        return npz_batches(source.path, rows, options)
    return arrow_batches(source.path, rows, form, options)
