"""`scan`: what a file holds, without its rows."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from os import PathLike
from typing import Any

import numpy as np

from polymargin.errors import DataError
from polymargin.readers._batches import format_batches
from polymargin.readers._checks import with_delimiter, wrong_count
from polymargin.readers._csv import scanned_tables
from polymargin.readers._formats import find_format
from polymargin.readers._labels import label_kind_of, labels_from_texts, read_labels
from polymargin.readers._options import Options
from polymargin.readers._source import Source
from polymargin.readers._svmlight import scan_svmlight
from polymargin.readers._table import Columns, Scan, Table

__all__ = ["scan"]

_ROWS = 8192


def scan(
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
    n_jobs: int | None = None,
) -> Scan:
    """Go through a data file once: classes, sizes and how to read it, with no row kept.

    Parameters
    ----------
    path : str or path-like
        The file. It is read to its end, so standard input is of no use afterwards.
    format, label, n_features, zero_based, has_labels, kinds, label_kind, labels_path, delimiter, \
    header, extra, n_jobs
        As in `read`.

    Returns
    -------
    scan : Scan
        ``read_batches(path, **scan.reading)`` reads the file in batches that fit together.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from polymargin.readers import scan
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "small.svm")
    ...     _ = file.write_text("1 1:0.5\\n2 2:1\\n1 3:1\\n")
    ...     found = scan(file)
    >>> found.n_rows, found.n_features, found.classes.tolist()
    (3, 3, [1, 2])
    """
    options = Options(
        format, label, n_features, zero_based, has_labels, kinds, label_kind, labels_path,
        delimiter, header, extra, n_jobs,
    )  # fmt: skip
    with Source(path, options.n_threads) as source:
        form = options.format or find_format(source)
        if form == "svmlight":
            found = scan_svmlight(source, options)
        else:
            found = _scan_tables(_string_labelled(source, form, options), source, options)
    if found.n_rows == 0:
        raise DataError("there are no rows", path=source.name)
    if options.labels_path is None:
        return found
    y = read_labels(options.labels_path, options.label_kind)
    if len(y) != found.n_rows:
        raise wrong_count(options, len(y), found.n_rows)
    reading = {**found.reading, "label_kind": label_kind_of(y)}
    return replace(found, classes=np.unique(y), reading=reading)


def _string_labelled(source: Source, form: str, options: Options) -> Iterator[Table]:
    """Tables whose labels are strings: what else they are shows at the end."""
    options = replace(options, label_kind="string")
    if form in ("csv", "tsv"):
        return scanned_tables(source, with_delimiter(form, options))
    return format_batches(source, form, _ROWS, options)


def _scan_tables(tables: Iterator[Table], source: Source, options: Options) -> Scan:
    n_rows = 0
    n_features: int | None = None
    distinct: dict[str, None] = {}
    has_labels = True
    reading: dict[str, Any] = {}
    for table in tables:
        n_rows += table.n_rows
        reading = table.reading
        if isinstance(table.X, Columns):
            n_features = len(table.X.names)
        elif not isinstance(table.X, list):
            n_features = int(table.X.shape[1])
        if table.y is None:
            has_labels = False
        else:
            distinct.update(dict.fromkeys(table.y))
    reading.pop("label_kind", None)
    if not has_labels or not distinct:
        return Scan(n_rows, n_features, None, reading)
    texts = list(distinct)
    classes = labels_from_texts(
        texts, texts, options.label_kind, lambda _, message: DataError(message, path=source.name)
    )
    reading["label_kind"] = label_kind_of(classes)
    return Scan(n_rows, n_features, np.unique(classes), reading)
