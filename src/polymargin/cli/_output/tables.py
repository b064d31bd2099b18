"""Tables of predictions: the label of each row, and a number for each class."""

import csv
import json
from collections.abc import Sequence
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from polymargin.cli._options import TableFormat
from polymargin.cli._output.files import escaped

if TYPE_CHECKING:
    from numpy.typing import NDArray


class TableWriter:
    """Writes a line of names and a line for each row; in JSON an object for each row."""

    def __init__(
        self,
        file: IO[str],
        form: TableFormat,
        classes: "NDArray[Any]",
        what: str,
        has_files: bool = False,
    ) -> None:
        """`what` the numbers are, in JSON; `has_files` where each row is a file, which is named."""
        self._file, self._form, self._what = file, form, what
        self._labels = classes.tolist()
        self._names = [str(label) for label in self._labels]
        self._fields = [escaped(label) for label in self._labels]
        self._csv = csv.writer(file, lineterminator="\n")
        first = ["file", "label"] if has_files else ["label"]
        if form == "tsv":
            file.write("\t".join([*first, *self._fields]) + "\n")
        elif form == "csv":
            self._csv.writerow([*first, *self._names])

    def write(
        self, best: list[int], values: "NDArray[Any]", files: Sequence[str] | None = None
    ) -> None:
        """Rows with the numbers of their labels, and the files they are."""
        for i, (c, row) in enumerate(zip(best, values, strict=True)):
            names = [] if files is None else [files[i]]
            if self._form == "json":
                numbers = dict(zip(self._names, row.astype(float).tolist(), strict=True))
                line = {"label": self._labels[c], self._what: numbers}
                named = dict(zip(["file"], names, strict=False))
                self._file.write(json.dumps(named | line, ensure_ascii=False) + "\n")
            elif self._form == "csv":
                self._csv.writerow([*names, self._names[c], *map(_number, row)])
            else:
                fields = [*map(escaped, names), self._fields[c], *map(_number, row)]
                self._file.write("\t".join(fields) + "\n")


def _number(value: "np.floating") -> str:
    """The shortest text that is this number again."""
    return np.format_float_positional(value, trim="-") if value == value else "nan"
