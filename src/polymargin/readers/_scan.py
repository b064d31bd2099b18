"""`scan`: what a file holds, without its rows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Any

import numpy as np

from polymargin.errors import DataError
from polymargin.readers._arrow import scan_arrow
from polymargin.readers._batches import format_batches
from polymargin.readers._checks import TEXT_TABLES, as_table, check_seekable, wrong_count
from polymargin.readers._folder import Folder, folder_batches
from polymargin.readers._labels import label_kind_of, labels_from_texts, read_labels
from polymargin.readers._opening import open_data
from polymargin.readers._options import Options
from polymargin.readers._source import Source
from polymargin.readers._svmlight import scan_svmlight
from polymargin.readers._table import Columns, Scan, Table
from polymargin.readers._text_tables import scan_text_table

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
    image_shape: Sequence[int] | None = None,
    encoding: str = "utf-8",
    n_jobs: int | None = None,
) -> Scan:
    """Go through a data file once: classes, sizes and how to read it, with no row kept.

    Parameters
    ----------
    path : str or path-like
        The file or folder. It is read to its end, so standard input is of no use afterwards.
    format, label, n_features, zero_based, has_labels, kinds, label_kind, labels_path, delimiter, \
    header, extra, image_shape, encoding, n_jobs
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
        delimiter, header, extra, image_shape, encoding, n_jobs,
    )  # fmt: skip
    with open_data(path, options) as (source, form, options):
        if isinstance(source, Source) and form == "svmlight":
            found = scan_svmlight(source, options)
        else:
            found = _scan_tables(source, form, options)
    found = replace(found, reading=options.described(found.reading))
    if found.n_rows == 0:
        raise DataError("there are no rows", path=source.name)
    if options.labels_path is None:
        return found
    y = read_labels(options.labels_path, options.label_kind, options.encoding)
    if len(y) != found.n_rows:
        raise wrong_count(options, len(y), found.n_rows)
    reading = {**found.reading, "label_kind": label_kind_of(y)}
    return replace(found, classes=np.unique(y), reading=reading)


@dataclass
class _Counted:
    """What the tables of a file add up to."""

    n_rows: int = 0
    n_features: int | None = None
    labels: dict[str, None] = field(default_factory=dict)
    has_labels: bool = True
    reading: dict[str, Any] = field(default_factory=dict)


def _count(tables: Iterator[Table]) -> _Counted:
    counted = _Counted()
    for table in tables:
        counted.n_rows += table.n_rows
        counted.reading = table.reading
        if isinstance(table.X, Columns):
            counted.n_features = len(table.X.names)
        elif not isinstance(table.X, list):
            counted.n_features = int(table.X.shape[1])
        if table.y is None:
            counted.has_labels = False
        else:
            counted.labels.update(dict.fromkeys(table.y))
    return counted


def _scan_tables(source: Source | Folder, form: str, options: Options) -> Scan:
    as_strings = replace(options, label_kind="string")  # what else labels are shows at the end
    if isinstance(source, Folder):
        counted = _count(folder_batches(source, _ROWS, as_strings))
        found = Scan(0, counted.n_features, None, counted.reading)
    elif form in TEXT_TABLES:
        counted, found = scan_text_table(source, as_table(form, as_strings), _count)
    elif form in ("parquet", "arrow"):
        check_seekable(source, form)
        counted, found = scan_arrow(source.path, form, as_strings, _count)
    else:
        counted = _count(format_batches(source, form, _ROWS, as_strings))
        found = Scan(0, counted.n_features, None, counted.reading)
    found.reading.pop("label_kind", None)
    found = replace(found, n_rows=counted.n_rows)
    if not counted.has_labels or not counted.labels:
        return found
    texts = list(counted.labels)
    classes = labels_from_texts(
        texts, texts, options.label_kind, lambda _, message: DataError(message, path=source.name)
    )
    reading = {**found.reading, "label_kind": label_kind_of(classes)}
    return replace(found, classes=np.unique(classes), reading=reading)
