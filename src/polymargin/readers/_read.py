"""`read`: a whole file."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike

from polymargin.errors import DataError
from polymargin.readers._arrow import read_arrow
from polymargin.readers._checks import (
    TEXT_TABLES,
    as_table,
    check_seekable,
    check_width,
    wrong_count,
)
from polymargin.readers._folder import Folder, folder_batches
from polymargin.readers._idx import read_idx
from polymargin.readers._labels import label_kind_of, read_labels
from polymargin.readers._npz import read_npz
from polymargin.readers._opening import open_data
from polymargin.readers._options import Options
from polymargin.readers._source import Source
from polymargin.readers._svmlight import read_svmlight
from polymargin.readers._table import Table
from polymargin.readers._text_tables import read_text_table
from polymargin.readers._texts import text_batches

__all__ = ["read"]


def read(
    path: str | PathLike[str],
    *,
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
) -> Table:
    """Read rows and labels of a data file.

    Plain files and those packed by gzip, bzip2, xz or zstd are read; which one it is, is seen from
    the content.

    Parameters
    ----------
    path : str or path-like
        The file; ``"-"`` is standard input. Or a folder of texts: one folder for each class, or
        files without labels.
    format : {"svmlight", "text", "csv", "tsv", "parquet", "arrow", "jsonl", "npz", "idx", \
    "folder"}, optional
        By default it is taken from the name, else from the content where that is clear. A ``.tsv``
        file whose lines have one tab each is text, unless its header is that of a table.
    label : str or int, optional
        The column of the labels in a table: its name, or its position counted from 1, negative
        from the end. By default the column named label, class, target or y, else the last.
    n_features : int, optional
        Width of a svmlight or NPZ matrix. By default the largest index decides.
    zero_based : bool or "auto", default="auto"
        Whether indices of svmlight text start from 0. "auto": if there is an index 0.
    has_labels : bool, default=True
        Whether every row must have a label. If not, labels are still read where all rows have one.
    kinds : mapping of str to str, optional
        What columns of a table hold: "number", "category", "text", "date", "time", or "drop" for a
        column that is left out. How it is written may follow: "number:point" or "number:comma" for
        the decimal mark, "date:ymd", "date:dmy" or "date:mdy"; and how it becomes features,
        "text:tfidf" or "text:hashing". By default the cells tell; the guide has the rules.
    label_kind : {"integer", "number", "string"}, optional
        What labels are read as. By default the first that all of them are.
    labels_path : str or path-like, optional
        A file with the labels: one on each line, an idx file, or a ``.npy`` array. By default the
        labels of idx images are in the file whose name has "labels" in place of "images".
    delimiter : str, optional
        What separates the cells of a CSV file. By default a comma, semicolon or tab.
    header : bool or "auto", default="auto"
        Whether the first row of a CSV file names the columns. If not they are "1", "2" and so on.
        "auto": it does, and a first row that could hold data is an error; the first line of a file
        of texts does if it is that of "label" and "text".
    extra : {"error", "ignore"}, default="error"
        What to do with svmlight entries beyond `n_features`, which are an error or left out, and
        with columns that are not in `kinds`, which are read or left out.
    image_shape : (int, int), optional
        Height and width that idx images must have.
    encoding : str, default="utf-8"
        That of text files, as Python names it: "windows-1252", "latin-1", "utf-16". A byte order
        mark at the start of a file counts more.
    n_jobs : int, optional
        Threads for svmlight text; None means 1, -1 all processors.

    Returns
    -------
    table : Table
        ``read(other, **table.reading)`` reads another file alike.

    Raises
    ------
    DataError
        If the content cannot be read; the message tells the place.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from polymargin.readers import read
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "small.svm")
    ...     _ = file.write_text("1 1:0.5 3:2\\n2 2:1  # a comment\\n")
    ...     table = read(file)
    >>> table.X.toarray().tolist(), table.y.tolist()
    ([[0.5, 0.0, 2.0], [0.0, 1.0, 0.0]], [1, 2])
    >>> table.reading["zero_based"]
    False
    """
    options = Options(
        format, label, n_features, zero_based, has_labels, kinds, label_kind, labels_path,
        delimiter, header, extra, image_shape, encoding, n_jobs,
    )  # fmt: skip
    with open_data(path, options) as (source, form, options):
        table = _read_whole(source, form, options)
    table = replace(table, reading=options.described(table.reading))
    check_width(table, options, source.name)
    if table.n_rows == 0:
        raise DataError("there are no rows", path=source.name)
    if options.labels_path is None:
        return table
    y = read_labels(options.labels_path, options.label_kind, options.encoding)
    if len(y) != table.n_rows:
        raise wrong_count(options, len(y), table.n_rows)
    return replace(table, y=y, reading={**table.reading, "label_kind": label_kind_of(y)})


def _read_whole(source: Source | Folder, form: str, options: Options) -> Table:
    if isinstance(source, Folder):
        return next(folder_batches(source, None, options))
    if form == "svmlight":
        return read_svmlight(source, options)
    if form in TEXT_TABLES:
        return read_text_table(source, as_table(form, options))
    table: Table | None
    if form == "idx":
        return read_idx(source, options)
    if form == "text":
        table = next(text_batches(source, None, options), None)
    else:
        check_seekable(source, form)
        if form == "npz":
            return read_npz(source.path, options)
        table = read_arrow(source.path, form, options)
    if table is None:
        raise DataError("there are no rows", path=source.name)
    return table
