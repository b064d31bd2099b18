"""Cells of text: numbers, words, missing.

Numbers are written in one of two manners: with a decimal point and perhaps commas between groups
of three digits, as in 1,234.5, or with a decimal comma and points between groups, as in 1.234,5.
Groups may also be separated by blanks or apostrophes. A unit may stand beside the number, as in
`_units`, which has to be the same in all cells of a column that have one.

Some cells are missing in any column. Others, such as a dash, stand for a missing value among
numbers, dates and times of day, and are words among words.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polymargin.readers._cut_rows import CutCells
from polymargin.readers._units import split_unit

__all__ = [
    "NUMBER_MANNERS",
    "Fit",
    "any_has_point",
    "could_be_number",
    "first_present",
    "fit_numbers",
    "has_ambiguous_comma",
    "is_missing",
    "lacks_value",
    "to_numbers",
    "to_words",
]

NUMBER_MANNERS = ("point", "comma")

_MOST_KNOWN = 1 << 16  # strings, beyond which they seem not to come again
_MISSING = frozenset({"", "na", "nan", "?", "null", "n/a", "#n/a", "<na>"})
_PLACEHOLDERS = frozenset(
    {
        *("-", "--", "---", "\u2013", "\u2014", ".", "..", "..."),
        *("none", "nil", "nat", "n.a.", "k.a.", "unknown", "missing"),
        *("#div/0!", "#name?", "#null!", "#num!", "#ref!", "#value!"),
    }
)
_PLAIN = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_INFINITE = re.compile(r"[+-]?inf(inity)?", re.IGNORECASE)
_BLANKS = " \u00a0\u202f'\u2019"  # between groups of digits


def _written_with(decimal: str, group: str) -> re.Pattern[str]:
    mark = re.escape(decimal)
    return re.compile(
        rf"[+-]?(?:(?:[0-9]+{mark}?[0-9]*|{mark}[0-9]+)(?:[eE][+-]?[0-9]+)?"
        rf"|[1-9][0-9]{{0,2}}(?P<group>[{re.escape(group)}{_BLANKS}])[0-9]{{3}}"
        rf"(?:(?P=group)[0-9]{{3}})*(?:{mark}[0-9]*)?)"
    )


_WRITTEN = {"point": _written_with(".", ","), "comma": _written_with(",", ".")}
_ALL_WRITTEN, _ALL_PLAIN = (  # all lines of a text, some of them empty
    {manner: re.compile(rf"(?>(?:{one.pattern})?\n)*+") for manner, one in patterns.items()}
    for patterns in (_WRITTEN, {"point": _PLAIN})
)
_TO_PLAIN = {
    "point": str.maketrans("", "", "," + _BLANKS),
    "comma": str.maketrans(",", ".", "." + _BLANKS),
}
_ONE_COMMA = re.compile(r"[+-]?[1-9][0-9]{0,2},[0-9]{3}")


@dataclass(frozen=True)
class Fit:
    """Which manners read all of some cells.

    Parameters
    ----------
    manners : frozenset of str
        Those that read every cell that is not missing.
    wrong : int or None
        The first cell that no manner reads.
    clash : int or None
        The first cell that is read, but by no manner that also reads all cells before it.
    is_plain : bool
        Whether all cells are numbers without groups or units, with a decimal point if any.
    numbers : ndarray or None
        Their values where they are plain and finite and none is missing.
    """

    manners: frozenset[str]
    wrong: int | None = None
    clash: int | None = None
    is_plain: bool = False
    numbers: NDArray[np.float64] | None = None
    unit: str | None = None


def is_missing(cell: str) -> bool:
    """Whether the cell is empty or one of NA, N/A, #N/A, <NA>, nan, ?, null, in any case."""
    return cell.strip().lower() in _MISSING


def lacks_value(cell: str) -> bool:
    """Whether the cell is missing, or would be among numbers or dates, as ``-`` and none are."""
    text = cell.strip().lower()
    return text in _MISSING or text in _PLACEHOLDERS


def fit_numbers(cells: Sequence[str]) -> Fit:
    """The manners in which all cells are numbers; infinite ones are left in place."""
    if isinstance(cells, CutCells) and cells.are_plain:
        manners = frozenset(("point",) if cells.has_decimals else NUMBER_MANNERS)
        return Fit(manners, is_plain=True, numbers=None if cells.has_gaps else cells.numbers)
    simple = _all_simple(cells)
    if simple is not None:
        return Fit(_manners_of_plain(cells), is_plain=True, numbers=simple)
    lines = _as_lines(cells)
    at_once = frozenset(m for m, written in _ALL_WRITTEN.items() if written.fullmatch(lines))
    if lines and at_once:
        return Fit(at_once, is_plain=_ALL_PLAIN["point"].fullmatch(lines) is not None)
    present = [cell for cell in cells if not lacks_value(cell)]
    if _all_simple(present) is not None:
        return Fit(_manners_of_plain(present), is_plain=True)
    manners = frozenset(NUMBER_MANNERS)
    clash: int | None = None
    is_plain = True
    unit: str | None = None
    for row, cell in enumerate(cells):
        text, own_unit = cell.strip(), None
        found = _manners_of(text)
        if not found:
            if lacks_value(text) or _INFINITE.fullmatch(text):
                continue
            text, own_unit = split_unit(text)
            found = _manners_of(text)
        if not found or (own_unit is not None and own_unit != (unit := unit or own_unit)):
            return Fit(frozenset(), row)
        is_plain = is_plain and own_unit is None and _PLAIN.fullmatch(text) is not None
        if clash is None and not manners & found:
            clash = row
        manners &= found
    return Fit(manners, None, clash, is_plain, unit=unit)


def could_be_number(word: str) -> bool:
    """Whether a word that is not empty is a number in one of the manners."""
    if not (word[0].isdigit() or word[0] in "+-" or word[-1].isdigit()):
        return False
    return bool(_manners_of(word) or _manners_of(split_unit(word)[0]))


def _as_lines(cells: Sequence[str]) -> str:
    """One cell a line, to look at all of them at once; nothing where a cell has lines itself."""
    lines = "\n".join(cells) + "\n"
    return lines if lines.count("\n") == len(cells) else ""


def _manners_of(text: str) -> frozenset[str]:
    return frozenset(m for m, written in _WRITTEN.items() if written.fullmatch(text))


def _manners_of_plain(cells: Sequence[str]) -> frozenset[str]:
    """Of cells that are numbers with a decimal point: points may also stand between groups."""
    if not any("." in cell for cell in cells):
        return frozenset(NUMBER_MANNERS)
    if all(_WRITTEN["comma"].fullmatch(cell.strip()) for cell in cells):
        return frozenset(NUMBER_MANNERS)
    return frozenset({"point"})


def first_present(cells: Sequence[str]) -> int | None:
    """The first cell that does not lack a value."""
    if isinstance(cells, CutCells) and cells.are_plain:
        present = np.flatnonzero(~np.isnan(cells.numbers)) if cells.has_gaps else range(len(cells))
        return int(present[0]) if len(present) else None
    return next((row for row, cell in enumerate(cells) if not lacks_value(cell)), None)


def any_has_point(cells: Sequence[str]) -> bool:
    """Whether one of the cells has a point."""
    if isinstance(cells, CutCells) and cells.are_plain:
        return cells.has_point
    return any("." in cell for cell in cells)


def has_ambiguous_comma(cell: str) -> bool:
    """Whether the comma may stand before a fraction as well as before a group, as in 1,234."""
    return _ONE_COMMA.fullmatch(split_unit(cell)[0]) is not None


def to_numbers(
    cells: Sequence[str], manner: str = "point"
) -> tuple[NDArray[np.float64], int | None]:
    """Numbers, NaN where a cell lacks a value.

    Returns
    -------
    numbers : ndarray of shape (n,)
    wrong : int or None
        The first cell that is not a number of this manner; infinite ones are left in place.
    """
    if manner == "point" and isinstance(cells, CutCells) and cells.are_plain:
        return cells.numbers, None
    simple = _all_simple(cells) if manner == "point" else None
    if simple is not None:
        return simple, None
    written, to_plain = _WRITTEN[manner], _TO_PLAIN[manner]
    lines = _as_lines(cells)
    if lines and _ALL_WRITTEN[manner].fullmatch(lines):
        plain = lines.translate(to_plain).split("\n")[:-1]
        return np.array([float(text) if text else np.nan for text in plain]), None
    numbers = np.full(len(cells), np.nan)
    for row, cell in enumerate(cells):
        text = cell.strip()
        if not written.fullmatch(text):
            if lacks_value(text):
                continue
            if _INFINITE.fullmatch(text):
                numbers[row] = np.inf
                continue
            text, _ = split_unit(text)
            if not written.fullmatch(text):
                return numbers, row
        numbers[row] = float(text.translate(to_plain))
    return numbers, None


def _all_simple(cells: Sequence[str]) -> NDArray[np.float64] | None:
    """The usual case at once: finite numbers only, none written as Python alone allows."""
    text = "".join(cells)
    if "_" in text or not text.isascii():
        return None
    try:
        numbers = np.fromiter(map(float, cells), np.float64, len(cells))
    except ValueError:
        return None
    return numbers if np.isfinite(numbers).all() else None


def to_words(cells: Sequence[str], known: dict[str, str]) -> NDArray[np.object_]:
    """Stripped strings, None where a cell is missing; equal ones are stored once, in `known`."""
    if len(known) > _MOST_KNOWN:
        known.clear()
    values = np.empty(len(cells), dtype=object)
    for row, cell in enumerate(cells):
        text = cell.strip()
        if text.lower() not in _MISSING:
            values[row] = known.setdefault(text, text)
    return values
