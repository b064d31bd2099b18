"""Which format a file is in: by its name, else by its content."""

import re
from pathlib import PurePath

from polymargin.errors import DataError
from polymargin.readers._options import FORMATS
from polymargin.readers._source import Source

__all__ = ["LABEL_NAMES", "find_format", "format_by_name"]

LABEL_NAMES = ("label", "class", "target", "y")

_ENDINGS = {
    ".svm": "svmlight",
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".npz": "npz",
}
_PACKED_ENDINGS = (".gz", ".bz2", ".xz", ".zst")
_MAGICS = {b"PK\x03\x04": "npz", b"PAR1": "parquet", b"ARROW1": "arrow"}

_NUMBER = rb"[+-]?[0-9.][0-9.eE+-]*"
_ENTRY = rb"([0-9]+:%s|qid:-?[0-9]+)" % _NUMBER
_LABEL_ALONE = re.compile(rb"\s*%s\s*(#.*)?" % _NUMBER)
_SVMLIGHT = re.compile(rb"\s*(%s\s+)?%s(\s+%s)*\s*(#.*)?" % (_NUMBER, _ENTRY, _ENTRY))
_IS_NUMBER = re.compile(_NUMBER)


def find_format(source: Source) -> str:
    """The format of a file: a member of `FORMATS`.

    A name that ends in ``.tsv`` stands for texts with labels if the file looks like that: see
    `looks_like_texts`.
    """
    by_name = format_by_name(source.path)
    if by_name == "tsv" and looks_like_texts(source.sample()):
        return "text"
    if by_name is not None:
        return by_name
    found = _by_content(source)
    if found is None:
        raise DataError(
            "the format cannot be told from the name or the content of the file; "
            f"name it with format=: one of {', '.join(FORMATS)}",
            path=source.name,
        )
    return found


def format_by_name(path: str) -> str | None:
    """The format that the ending tells, below that of a packed file; None where it tells none."""
    name = PurePath(path).name.lower()
    for ending in _PACKED_ENDINGS:
        name = name.removesuffix(ending)
    for ending, found in _ENDINGS.items():
        if name.endswith(ending):
            return found
    return None


def _by_content(source: Source) -> str | None:
    for magic, found in _MAGICS.items():
        if source.head.startswith(magic):
            return found
    lines = [line for line in source.sample() if line.strip()]
    rows = [line for line in lines if not line.lstrip().startswith(b"#")]
    rows = [row for row in rows[:20] if not _LABEL_ALONE.fullmatch(row)]
    if rows and all(map(_SVMLIGHT.fullmatch, rows)):
        return "svmlight"
    if looks_like_texts(lines):
        return "text"
    for delimiter, found in ((b"\t", "tsv"), (b",", "csv"), (b";", "csv")):
        counts = {line.count(delimiter) for line in lines[:20]}
        if len(counts) == 1 and counts != {0}:
            return found
    return None


def looks_like_texts(lines: list[bytes]) -> bool:
    """Whether these first lines of a file are ``label<TAB>text``.

    They are if each has exactly one tab, the first is no header (neither of its cells is one of
    "label", "class", "target", "y" or "text"), and the second cells are not all numbers.
    """
    rows = [line.split(b"\t") for line in lines if line.strip()]
    if not rows or any(len(row) != 2 for row in rows):
        return False
    header_names = {*(name.encode() for name in LABEL_NAMES), b"text"}
    if any(cell.strip().lower() in header_names for cell in rows[0]):
        return False
    return not all(_IS_NUMBER.fullmatch(row[1].strip()) for row in rows)
