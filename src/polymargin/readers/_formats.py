"""Which format a file is in: by its name, else by its content."""

import codecs
import re
from pathlib import PurePath

from polymargin.errors import DataError
from polymargin.readers._delimiters import SHOWN_DELIMITERS, fitting_delimiter
from polymargin.readers._idx import is_idx
from polymargin.readers._options import FORMATS
from polymargin.readers._source import Source

__all__ = [
    "LABEL_NAMES",
    "TEXT_NAMES",
    "find_format",
    "format_by_name",
    "is_header_of_texts",
    "is_json_array",
    "told_delimiter",
    "without_packing",
]

LABEL_NAMES = ("label", "class", "target", "y")
TEXT_NAMES = ("text", "texts", "sentence", "message", "review", "comment", "document")

_ENDINGS = {
    ".svm": "svmlight",
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".npz": "npz",
    ".idx": "idx",
    "idx3-ubyte": "idx",
}
_SPREADSHEET = "this is a spreadsheet; save it as CSV, with the encoding UTF-8, and bring that"
_PICKLE = "a pickle may run any program and is not read; write the data as Parquet, CSV or NPZ"
_FOREIGN = {  # what people bring, and what to do with it
    ".xlsx": _SPREADSHEET,
    ".xls": _SPREADSHEET,
    ".ods": _SPREADSHEET,
    ".npy": "this is a single array; write rows and labels to one file, np.savez(file, X=X, y=y)",
    ".pkl": _PICKLE,
    ".pickle": _PICKLE,
}
_PACKED_ENDINGS = (".gz", ".bz2", ".xz", ".zst")
_MAGICS = {b"PK\x03\x04": "npz", b"PAR1": "parquet", b"ARROW1": "arrow"}

_NUMBER = rb"[+-]?[0-9.][0-9.eE+-]*"
_ENTRY = rb"([0-9]+:%s|qid:-?[0-9]+)" % _NUMBER
_LABEL_ALONE = re.compile(rb"\s*%s\s*(#.*)?" % _NUMBER)
_SVMLIGHT = re.compile(rb"\s*(%s\s+)?%s(\s+%s)*\s*(#.*)?" % (_NUMBER, _ENTRY, _ENTRY))
_OBJECT = re.compile(rb'\s*\{\s*["}]')
_ARRAY = re.compile(rb'\s*\[\s*\{\s*["}]')
_IS_NUMBER = re.compile(_NUMBER)
_TOLD_DELIMITER = re.compile(r'("?)sep=([^"])\1', re.IGNORECASE)


def find_format(source: Source, label: str | int | None = None) -> str:
    """The format of a file: a member of `FORMATS`.

    A name that ends in ``.tsv`` stands for texts with labels if the file looks like that: see
    `looks_like_texts`. `label` is the column of the labels, if it was named.
    """
    by_name = format_by_name(source.path)
    told = told_delimiter(source.first_line)
    if by_name == "tsv" and told is None and looks_like_texts(source.sample(), label):
        return "text"
    if by_name is not None:
        return by_name
    foreign = next(
        (what for end, what in _FOREIGN.items() if source.path.lower().endswith(end)), None
    )
    if foreign is not None:
        raise DataError(foreign, path=source.name)
    found = _by_content(source, label) if told is None else "csv"
    if found is None:
        raise DataError(
            "the format cannot be told from the name or the content of the file; "
            + _way_out(source.sample()),
            path=source.name,
        )
    return found


def _way_out(lines: list[bytes]) -> str:
    texts = [line.decode("utf-8", "replace") for line in lines]
    rows = [text for text in texts if text.strip() and not text.startswith("#")]
    delimiter = fitting_delimiter(rows) if len(rows) > 1 else None
    if delimiter is None:
        return f"name it with format=: one of {', '.join(FORMATS)}"
    return (
        f"if this is a table whose cells are separated by {SHOWN_DELIMITERS[delimiter]}, say "
        f"format='csv' and delimiter={delimiter!r}; else name the format, one of "
        f"{', '.join(FORMATS)}"
    )


def told_delimiter(first_line: str) -> str | None:
    """The delimiter that the first line of a file tells, as spreadsheets write it: ``sep=;``."""
    found = _TOLD_DELIMITER.fullmatch(first_line)
    return None if found is None else found[2]


def format_by_name(path: str) -> str | None:
    """The format that the ending tells, below that of a packed file; None where it tells none."""
    name = without_packing(PurePath(path).name)
    for ending, found in _ENDINGS.items():
        if name.endswith(ending):
            return found
    return None


def without_packing(name: str) -> str:
    """The name of a file in small letters, without the ending that a packer has added."""
    name = name.lower()
    for ending in _PACKED_ENDINGS:
        name = name.removesuffix(ending)
    return name


def _by_content(source: Source, label: str | int | None) -> str | None:
    if is_idx(source.head):
        return "idx"
    for magic, found in _MAGICS.items():
        if source.head.startswith(magic):
            return found
    lines = [line for line in source.sample() if line.strip()]
    if (lines and all(map(_OBJECT.match, lines))) or _ARRAY.match(
        source.head.removeprefix(codecs.BOM_UTF8)
    ):
        return "jsonl"
    rows = [line for line in lines if not line.lstrip().startswith(b"#")]
    rows = [row for row in rows[:20] if not _LABEL_ALONE.fullmatch(row)]
    if rows and all(map(_SVMLIGHT.fullmatch, rows)):
        return "svmlight"
    if looks_like_texts(lines, label):
        return "text"
    lines = [line for line in lines if not line.startswith(b"#")]
    for delimiter, found in ((b"\t", "tsv"), (b",", "csv"), (b";", "csv")):
        counts = {line.count(delimiter) for line in lines[:20]}
        if len(counts) == 1 and counts != {0}:
            return found
    return None


def is_json_array(head: bytes) -> bool:
    """Whether a file of JSON begins with the bracket of an array."""
    return head.removeprefix(codecs.BOM_UTF8).lstrip().startswith(b"[")


def looks_like_texts(lines: list[bytes], label: str | int | None = None) -> bool:
    """Whether these first lines of a file are ``label<TAB>text``, perhaps below a header.

    They are if each has exactly one tab, the second cells are not all numbers, and the first line
    is no header of another table: that of a table has `label`, one of "label", "class", "target",
    "y" or a name of texts in one of its cells, and the same cell in no other line.
    """
    lines = [line for line in lines if line.strip()]
    rows = [line.split(b"\t") for line in lines]
    if not rows or any(len(row) != 2 for row in rows):
        return False
    below = rows[1:] if is_header_of_texts(lines[0]) else rows
    names = (*LABEL_NAMES, *TEXT_NAMES, *([label.lower()] if isinstance(label, str) else []))
    if below is rows and _is_other_header(rows, {name.encode() for name in names}):
        return False
    return bool(below) and not all(_IS_NUMBER.fullmatch(row[1].strip()) for row in below)


def is_header_of_texts(line: bytes) -> bool:
    """Whether a line names the columns of ``label<TAB>text``."""
    cells = [cell.strip().lower() for cell in line.decode("utf-8", "replace").split("\t")]
    return len(cells) == 2 and cells[0] in LABEL_NAMES and cells[1] in TEXT_NAMES


def _is_other_header(rows: list[list[bytes]], names: set[bytes]) -> bool:
    first = [cell.strip().lower() for cell in rows[0]]
    others = [[cell.strip().lower() for cell in row] for row in rows[1:]]
    return any(
        cell in names and all(row[place] != cell for row in others)
        for place, cell in enumerate(first)
    )
