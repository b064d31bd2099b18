"""What a data file holds, once read."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Columns", "MissingCell", "Scan", "Table"]


class MissingCell(NamedTuple):
    """An empty cell of a column of numbers or dates."""

    line: int  # of the file, or the row in files without lines, counted from 1
    column: int  # counted from 1
    name: str


@dataclass(frozen=True)
class Columns:
    """Named columns of a table, without that of the labels.

    Parameters
    ----------
    names : tuple of str
        One for each column, in the order of the file.
    values : tuple of ndarray
        Each of shape (n,): float64 with NaN where a number is missing, datetime64 with NaT where a
        date is, or objects for words, strings and None where a cell is missing.
    kinds : dict of str, optional
        For each column "number", "category", "date" or "text", the latter perhaps with how it
        becomes features, "text:tfidf" or "text:hashing". By default words are a category.

    Examples
    --------
    >>> import numpy as np
    >>> from polymargin.readers import Columns
    >>> columns = Columns(("width", "colour"), (np.array([1.5]), np.array(["red"], dtype=object)))
    >>> columns.n_rows, columns.kinds
    (1, {'width': 'number', 'colour': 'category'})
    """

    names: tuple[str, ...]
    values: "tuple[NDArray[Any], ...]"
    kinds: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        by_type = {"O": "category", "M": "date"}
        told = {
            name: self.kinds.get(name) or by_type.get(values.dtype.kind, "number")
            for name, values in zip(self.names, self.values, strict=True)
        }
        object.__setattr__(self, "kinds", told)

    @property
    def n_rows(self) -> int:
        """Cells of each column."""
        return len(self.values[0]) if self.values else 0


@dataclass(frozen=True)
class Table:
    """Rows and labels of a data file.

    Parameters
    ----------
    X : ndarray of shape (n, d), csr_array of shape (n, d), Columns or list of str
        The rows: CSR from svmlight text, an array or CSR from NPZ, an array from idx, strings from
        files of texts and folders of them, `Columns` from all others.
    y : ndarray of shape (n,) or None
        The labels: int64 where all are whole numbers, else float64 where all are numbers, else
        strings. None where the file has none.
    reading : dict
        Options of `read` that read another file as this one was. Fit for JSON.
    lines : ndarray of shape (n,) or None
        The line of the file on which each row starts, where there are lines.
    first_missing : MissingCell or None
        The first empty cell in a column of numbers or dates, which is NaN or NaT in `X`.
    files : tuple of str or None
        The file of each row below the folder that was read, where each is a file of its own.
    ignored_entries : int
        Entries of a svmlight file left out because of ``extra="ignore"``.
    ignored_columns : tuple of str
        Columns left out because of ``extra="ignore"``.
    left_out : dict of str
        Columns of a table that are left out though nobody has asked for it, and why.
    label_reason : str or None
        Why the column of the labels of a table was taken for it.
    """

    X: Any
    y: "NDArray[Any] | None"
    reading: dict[str, Any] = field(default_factory=dict)
    lines: "NDArray[np.int64] | None" = None
    first_missing: MissingCell | None = None
    files: tuple[str, ...] | None = None
    ignored_entries: int = 0
    ignored_columns: tuple[str, ...] = ()
    left_out: dict[str, str] = field(default_factory=dict)
    label_reason: str | None = None

    @property
    def n_rows(self) -> int:
        """Rows of `X`."""
        if isinstance(self.X, Columns):
            return self.X.n_rows
        return len(self.X) if isinstance(self.X, list) else int(self.X.shape[0])

    def place(self, row: int) -> str:
        """Where a row, counted from 0, is for people: its file, its line, or its number from 1."""
        if self.files is not None:
            return self.files[row]
        return f"row {row + 1}" if self.lines is None else f"line {self.lines[row]}"


@dataclass(frozen=True)
class Scan:
    """What one pass over a data file tells, with no row kept.

    Parameters
    ----------
    n_rows : int
        Rows of the file.
    n_features : int or None
        Columns of the matrix, or columns besides the label; None for texts.
    classes : ndarray or None
        The labels that occur, sorted; None for a file without labels.
    reading : dict
        Options of `read` and `read_batches` that fit the whole file: where indices start, which
        columns are numbers, what the labels are.
    left_out : dict of str
        As of a `Table`.
    label_reason : str or None
        As of a `Table`.
    """

    n_rows: int
    n_features: int | None
    classes: "NDArray[Any] | None"
    reading: dict[str, Any]
    left_out: dict[str, str] = field(default_factory=dict)
    label_reason: str | None = None

    @property
    def zero_based(self) -> bool | None:
        """Whether indices of a svmlight file start from 0; None for other files."""
        return self.reading.get("zero_based")
