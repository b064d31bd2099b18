"""The lines before the rows of a text table: comments, and the header.

Lines at the start of a file that begin with ``#`` are comments. The last of them is the header if
it has as many cells as the line below, unless that line has no number and the next one has: then
the line below is the header.
"""

from dataclasses import dataclass

from polymargin.readers._cells import could_be_number, to_numbers
from polymargin.readers._delimiters import cut_cells, find_delimiter
from polymargin.readers._formats import told_delimiter
from polymargin.readers._source import Source

__all__ = ["COMMENT", "TableStart", "could_be_data", "start_of_table"]

COMMENT = "#"


@dataclass(frozen=True)
class TableStart:
    """What the first lines of a text table tell.

    Parameters
    ----------
    delimiter : str
        What separates cells.
    above : list of str
        The lines before the header: comments, or one that tells the delimiter.
    below : list of str
        The lines from there on, as far as they were looked at; blank ones are left out.
    """

    delimiter: str
    above: list[str]
    below: list[str]


def start_of_table(source: Source, delimiter: str | None, has_header: bool = True) -> TableStart:
    """Look at the first lines of a file; `delimiter` is what was asked for."""
    lines = [line.decode("utf-8", "replace") for line in source.sample()]
    told = told_delimiter(source.first_line)
    n_above = 1 if told is not None else _count_comments(lines, delimiter, has_header)
    below = [line for line in lines[n_above:] if line.strip()]
    found = delimiter or told or find_delimiter(below[0] if below else "")
    return TableStart(found, lines[:n_above], below)


def _count_comments(lines: list[str], delimiter: str | None, has_header: bool) -> int:
    """How many of the first lines of a file are comments, blank ones among them included."""
    is_other = [bool(line.strip()) and not line.startswith(COMMENT) for line in lines]
    n = is_other.index(True) if True in is_other else 0
    marked = [place for place, line in enumerate(lines[:n]) if line.strip()]
    if not marked or not has_header:
        return n if marked else 0
    below = [line for line in lines[n:] if line.strip()][:2]
    mark = delimiter or find_delimiter(below[0])
    first, *second = ([cell.strip() for cell in cut_cells(line, mark)] for line in below)
    last = lines[marked[-1]]
    width = len(cut_cells(last.lstrip(COMMENT) if mark == " " else last, mark))
    is_named_below = not _has_number(first) and any(map(_has_number, second))
    is_header = width == len(first) > 1 and not is_named_below
    return marked[-1] if is_header else n


def could_be_data(names: list[str]) -> bool:
    """Whether all cells but one, which may be a label, are numbers."""
    _, wrong = to_numbers(names)
    if wrong is None:
        return True
    return len(names) > 1 and to_numbers(names[:wrong] + names[wrong + 1 :])[1] is None


def _has_number(cells: list[str]) -> bool:
    return any(could_be_number(cell) for cell in cells if cell)
