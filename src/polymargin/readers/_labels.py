"""Labels: whole numbers where all are, else numbers, else strings."""

import re
from collections.abc import Callable, Sequence
from os import PathLike, fspath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin.errors import DataError
from polymargin.readers._idx import is_idx, read_idx_labels
from polymargin.readers._source import Source

__all__ = [
    "LabelTexts",
    "label_kind_of",
    "labels_from_array",
    "labels_from_numbers",
    "labels_from_texts",
    "parse_labels",
    "read_labels",
    "settle_labels",
]

# Leading zeros tell labels apart, so that they are no whole numbers.
_INTEGER = re.compile(r"[+-]?(0|[1-9][0-9]{0,17})")
_LONG = re.compile(r"[+-]?[0-9]{16,}")  # whole numbers that a float could not tell apart
_LEADING_ZERO = re.compile(r"[+-]?0[0-9]+")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_EXACT = 2.0**53

Complaint = Callable[[int, str], DataError]  # about the label of a row


def labels_from_numbers(
    values: NDArray[np.float64], kind: str | None, complain: Complaint
) -> NDArray[Any]:
    """Labels that were read as numbers, as the kind that is asked for or fits."""
    whole = (values == np.floor(values)) & (np.abs(values) < _EXACT)
    if kind == "integer" and not whole.all():
        row = int(np.argmin(whole))
        raise complain(row, f"the label {values[row]:g} is not a whole number, unlike others")
    if kind == "string":
        texts = [str(int(v)) if w else repr(float(v)) for v, w in zip(values, whole, strict=True)]
        return np.array(texts, dtype=object)
    if kind == "number" or not whole.all():
        return values
    return values.astype(np.int64)


def settle_labels(values: NDArray[Any], kind: str | None, complain: Complaint) -> NDArray[Any]:
    """Labels stored as whole numbers, numbers or strings, as the kind asked for or that fits."""
    if values.dtype.kind == "i":
        if kind in (None, "integer"):
            return values
        if kind == "number":
            return values.astype(np.float64)
        return np.array([str(value) for value in values.tolist()], dtype=object)
    if values.dtype.kind == "f":
        return labels_from_numbers(values, kind, complain)
    texts = values.tolist()
    return labels_from_texts(texts, list(dict.fromkeys(texts)), kind, complain)


def label_kind_of(labels: NDArray[Any]) -> str:
    """The kind that the labels of another file have to be of."""
    return {"i": "integer", "f": "number"}.get(labels.dtype.kind, "string")


def labels_from_array(values: NDArray[Any], kind: str | None, path: str) -> NDArray[Any]:
    """Labels that a file holds as an array, as the kind that is asked for or fits."""

    def complain(row: int, message: str) -> DataError:
        return DataError(f"row {row + 1}: {message}", path=path)

    if values.ndim != 1:
        raise DataError(f"the labels have {values.ndim} dimensions instead of 1", path=path)
    if values.dtype.kind in "iub":
        if values.dtype.kind == "u" and len(values) and values.max() > np.iinfo(np.int64).max:
            raise complain(int(np.argmax(values)), "the label is too large for 64 bits")
        return settle_labels(values.astype(np.int64), kind, complain)
    if values.dtype.kind == "f":
        numbers = values.astype(np.float64)
        if not np.isfinite(numbers).all():
            raise complain(int(np.argmin(np.isfinite(numbers))), "the label is not finite")
        return settle_labels(numbers, kind, complain)
    if values.dtype.kind != "U":
        raise DataError(
            f"the labels are of type {values.dtype}; save numbers or strings", path=path
        )
    try:
        return settle_labels(values.astype(object), kind or "string", complain)
    except (ValueError, SystemError) as error:
        raise DataError(f"the labels are damaged ({error})", path=path) from error


class LabelTexts:
    """Labels that come as text; equal ones are stored once."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}
        self.texts: list[str] = []

    def add(self, text: str) -> None:
        self.texts.append(self._known.setdefault(text, text))

    def extend(self, texts: Sequence[str]) -> None:
        self.texts.extend(map(self._known.setdefault, texts, texts))

    def distinct(self) -> list[str]:
        return list(self._known)

    def to_array(self, kind: str | None, complain: Complaint) -> NDArray[Any]:
        """Labels of the kind that is asked for or fits."""
        return labels_from_texts(self.texts, self.distinct(), kind, complain)


def labels_from_texts(
    texts: Sequence[str], distinct: Sequence[str], kind: str | None, complain: Complaint
) -> NDArray[Any]:
    """Labels of the kind that is asked for or fits; `distinct` are those that occur."""
    if kind is None:
        kind = "string"
        if all(map(_is_whole, distinct)):
            kind = "integer"
        elif all(map(_is_number, distinct)) and not any(map(_LONG.fullmatch, distinct)):
            kind = "number"
    if kind == "string":
        labels = np.empty(len(texts), dtype=object)
        labels[:] = texts
        return labels
    if kind == "integer":
        wrong = {text for text in distinct if not _is_whole(text)}
        convert: Callable[[str], float | int] = _to_int
    else:
        wrong = {text for text in distinct if not _is_number(text)}
        convert = float
    if wrong:
        row = next(row for row, text in enumerate(texts) if text in wrong)
        noun = "a whole number" if kind == "integer" else "a number"
        raise complain(row, f"the label {texts[row][:40]!r} is not {noun}, unlike others")
    values = {text: convert(text) for text in distinct}
    return np.array(
        [values[text] for text in texts], dtype=np.int64 if kind == "integer" else np.float64
    )


def parse_labels(texts: Sequence[str]) -> NDArray[Any]:
    """Labels from their texts, as the readers do it.

    Parameters
    ----------
    texts : sequence of str
        One for each label.

    Returns
    -------
    labels : ndarray
        int64 where all are whole numbers, else float64 where all are numbers, else strings.

    Examples
    --------
    >>> from polymargin.readers import parse_labels
    >>> parse_labels(["1", "2"]).tolist(), parse_labels(["1", "b"]).tolist()
    ([1, 2], ['1', 'b'])
    """
    stripped = [text.strip() for text in texts]
    return labels_from_texts(
        stripped, list(dict.fromkeys(stripped)), None, lambda _, message: DataError(message)
    )


def _is_number(text: str) -> bool:
    if _LEADING_ZERO.fullmatch(text):
        return False
    return bool(_NUMBER.fullmatch(text)) and abs(float(text)) < np.inf


def _is_whole(text: str) -> bool:
    if _INTEGER.fullmatch(text):
        return True
    return _is_number(text) and float(text).is_integer() and abs(float(text)) < _EXACT


def _to_int(text: str) -> int:
    return int(text) if _INTEGER.fullmatch(text) else int(float(text))


def read_labels(
    path: str | PathLike[str], kind: str | None, encoding: str = "utf-8"
) -> NDArray[Any]:
    """Labels of a file of their own: one on each line, an idx file, or an array in ``.npy``.

    Parameters
    ----------
    path : str or path-like
        The file.
    kind : {"integer", "number", "string"} or None
        What the labels have to be.
    encoding : str, default="utf-8"
        That of lines.

    Returns
    -------
    labels : ndarray of shape (n,)
    """
    if fspath(path).endswith(".npy"):
        from polymargin.readers._npz import read_label_array

        return read_label_array(path, kind)
    labels = LabelTexts()
    lines = []
    with Source(path, encoding=encoding) as source:
        if is_idx(source.head):
            return labels_from_array(read_idx_labels(source), kind, source.name)
        for number, line in enumerate(source.text_lines(), start=1):
            text = line.strip()
            if text:
                labels.add(text)
                lines.append(number)
        return labels.to_array(
            kind, lambda row, message: DataError(message, path=source.name, line=lines[row])
        )
