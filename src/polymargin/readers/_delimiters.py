"""What separates the cells of a text table."""

from polymargin.readers._cells import could_be_number

__all__ = ["SHOWN_DELIMITERS", "cut_cells", "find_delimiter", "fitting_delimiter"]

SHOWN_DELIMITERS = {
    ",": "commas",
    ";": "semicolons",
    "\t": "tabs",
    "|": "bars",
    " ": "blanks",
}

_DELIMITERS = (",", ";", "\t")
_OTHERS = ("|", " ")  # which are never taken without being named
_LOOKED_AT = 20  # lines


def find_delimiter(line: str) -> str:
    """The comma, semicolon or tab that cuts a line into most cells."""
    return max(_DELIMITERS, key=lambda mark: len(cut_cells(line, mark)))


def cut_cells(line: str, delimiter: str) -> list[str]:
    """The cells of a line as far as they tell what it is; a quoted delimiter separates none.

    A blank stands for any number of them.
    """
    if delimiter == " ":
        return line.split()
    parts = line.split('"')
    parts[::2] = [part.replace(delimiter, "\n") for part in parts[::2]]
    return '"'.join(parts).split("\n")


def fitting_delimiter(lines: list[str]) -> str | None:
    """The one that cuts all of the first lines into as many cells, and into most; None if none.

    Blanks also separate words, so that below a header each line needs a number.
    """
    counts = {}
    for mark in (*_DELIMITERS, *_OTHERS):
        rows = [cut_cells(line, mark) for line in lines[:_LOOKED_AT]]
        widths = {len(row) for row in rows}
        is_sure = mark != " " or all(any(map(could_be_number, row)) for row in rows[1:])
        if len(widths) == 1 and widths != {1} and is_sure:
            counts[mark] = widths.pop()
    return max(counts, key=lambda mark: counts[mark], default=None)
