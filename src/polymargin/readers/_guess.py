"""How the cells of one column of a text file are read, told by the cells themselves."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin._wording import column_option
from polymargin.errors import DataError
from polymargin.readers._cells import (
    NUMBER_MANNERS,
    Fit,
    any_has_point,
    first_present,
    fit_numbers,
    has_ambiguous_comma,
    lacks_value,
    to_numbers,
    to_words,
)
from polymargin.readers._dates import DATE_MANNERS, ShortYears, fit_dates, is_clear, to_dates
from polymargin.readers._kinds import EMPTY, NAMING_WORDS, Facts, base_kind
from polymargin.readers._times import TIME_MANNERS, fit_times, to_hours
from polymargin.readers._units import split_unit

__all__ = ["Column", "ReadCells"]

_MANNERS: dict[str, tuple[str, ...]] = {
    "number": NUMBER_MANNERS,
    "date": DATE_MANNERS,
    "time": TIME_MANNERS,
    "words": (),
}
_ONE = {
    "number": "a number",
    "number:point": "a number with a decimal point",
    "number:comma": "a number with a decimal comma",
    "date": "a date as in 2024-12-31, 31.12.2024, 12/31/2024 or 31 Dec 2024",
    "date:ymd": "a date with the year first or the month by its name",
    "date:dmy": "a date with the day first",
    "date:mdy": "a date with the month first",
    "time": "a time of day as in 17:30",
    "time:clock": "a time of day as in 17:30",
}
_FITS: dict[str, Callable[[Sequence[str]], Fit]] = {
    "number": fit_numbers,
    "date": fit_dates,
    "time": fit_times,
}
_AFTER_NOTHING = "comes after missing cells alone; say what the column holds (kinds=, --column)"
_SETTLING = (",", ";")  # delimiters that tell what a comma between digits stands for

Complaint = Callable[[int, str], DataError]  # about the cell of a row


@dataclass(frozen=True)
class ReadCells:
    """Some cells of a column.

    Parameters
    ----------
    values : ndarray
        Numbers, dates or strings.
    problem : DataError or None
        What is wrong whatever other cells hold.
    change : DataError or None
        That these cells are not like those before, which have to be read again in another way.
    """

    values: NDArray[Any]
    problem: DataError | None = None
    change: DataError | None = None


@dataclass(frozen=True)
class _Look:
    """What some cells are, a family of `_MANNERS`, or None where all of them are missing."""

    family: str | None
    fit: Fit
    first_other: dict[str, int | None]  # the first cell that is not of a family


def _look_at(cells: Sequence[str]) -> _Look:
    numbers = fit_numbers(cells)
    if numbers.wrong is None:
        first = first_present(cells)
        family = None if first is None else "number"
        return _Look(family, numbers, {"number": None, "date": first, "time": first})
    fits = {"number": numbers, "date": fit_dates(cells), "time": fit_times(cells)}
    others = {family: fit.wrong for family, fit in fits.items()}
    found = next((family for family, wrong in others.items() if wrong is None), "words")
    return _Look(found, fits.get(found, Fit(frozenset())), others)


class Column:
    """A column as far as its cells so far tell.

    Parameters
    ----------
    name : str
        Of the column.
    kind : str or None
        What it has to hold; None where the cells decide.
    delimiter : str
        That of the file. A comma between digits that may be of either manner stands before a
        fraction where semicolons separate cells, and between groups where commas do.
    before : Column or None
        What an earlier look at all of the same cells has told.
    may_count : bool, default=False
        Whether the column may count the rows; see `Facts`.
    """

    def __init__(
        self,
        name: str,
        kind: str | None,
        delimiter: str,
        before: "Column | None" = None,
        may_count: bool = False,
    ) -> None:
        self.name = name
        self.facts = Facts(name, may_count)
        self._asked = kind
        self._delimiter = delimiter
        self._known: dict[str, str] = {}
        self._has_cells = False
        self._has_point = False  # in a cell that may also be read with a decimal comma
        asked, _, manner = (kind or "").partition(":")
        # What all cells so far are; None as long as there is nothing to tell by.
        self._family = "words" if asked in ("category", "text") else None
        # How all of them can be read; None for all manners of the family.
        self._manners = {manner} if manner and self._family is None else None
        self._is_plain = True
        self._unit: str | None = None  # beside all numbers so far that have one
        self._mixed: DataError | None = None  # numbers, or dates, that no manner reads together
        self._unclear: DataError | None = None  # a comma between digits that may be of either
        self._short_years = ShortYears()
        self._first_short: DataError | None = None  # what to say if its year seems to come first
        if before is not None:
            self._family, self._manners = before._family, before._manners
            self._is_plain, self._unclear = before._is_plain, before._unclear

    @property
    def _form(self) -> str:
        """How cells are read: a family with its manner, or "words"."""
        family = self._family or base_kind(self._asked or "number")
        manners = _MANNERS[family] if self._manners is None else self._manners
        if family == "number" and len(manners) > 1 and self._unclear is not None:
            return "number:comma" if self._delimiter == ";" else "number:point"
        return next((f"{family}:{m}" for m in _MANNERS[family] if m in manners), "words")

    def read(self, cells: Sequence[str], complain: Complaint) -> ReadCells:
        """The values of more cells, and what is wrong with them."""

        def about(row: int, message: str) -> DataError:
            cell = cells[row].strip()[:40]
            return complain(row, f"{cell!r} in column {self.name!r} {message}")

        before = self._form if self._has_cells else None
        was_empty, was_plain = self._family is None, self._is_plain
        look = _look_at(cells) if self._family != "words" else None
        wrong = None if look is None else self._narrow(look, cells, about)
        if wrong is not None and self._asked is not None:
            is_open = ":" not in self._asked
            problem = (self._mixed if is_open else None) or about(wrong, _refusal(self._asked))
            return ReadCells(to_words(cells, {}), problem)
        form = self._form
        if was_plain and self._family == "date" and base_kind(before or "") == "date":
            before = form  # clear dates read the same in any order
        change = self._change(before, form, was_empty, wrong, cells, about)
        self._has_cells = True
        if form == "number:point" and look is not None and look.fit.numbers is not None:
            values: NDArray[Any] = look.fit.numbers
            infinite = None
        else:
            values = self._convert(cells, form)
            infinite = _not_finite(values, about)
        if self._asked is None:
            self.facts.add(values)
        return ReadCells(values, infinite, change)

    def _change(
        self,
        before: str | None,
        form: str,
        was_empty: bool,
        wrong: int | None,
        cells: Sequence[str],
        about: Complaint,
    ) -> DataError | None:
        """Where cells before these were read in a way that turns out to be wrong."""
        had_point, is_open = self._has_point, self._manners is None or len(self._manners) > 1
        if self._family == "number" and is_open:
            self._has_point = had_point or any_has_point(cells)
        if before is None or before == form:
            return None
        family, _, manner = before.partition(":")
        if base_kind(form) == family and (was_empty or (family == "number" and not had_point)):
            return None  # missing cells, and numbers without a point, are the same in all manners
        if wrong is None:
            others = (row for row, c in enumerate(cells) if not _reads(family, {manner}, c))
            wrong = next(others, 0)
        return about(wrong, _AFTER_NOTHING if was_empty else _unlike(before))

    def _narrow(self, look: _Look, cells: Sequence[str], about: Complaint) -> int | None:
        """Rule out what more cells cannot be; the first of them that is unlike those before."""
        if look.family is None:
            return None
        asked = base_kind(self._asked) if self._asked else look.family
        expected = self._family or asked
        if "words" in (look.family, expected) or look.family != expected:
            self._family, self._mixed = "words", None
            return look.first_other.get(expected)
        if look.fit.unit is not None and look.fit.unit != (self._unit or look.fit.unit):
            self._family, self._mixed = "words", None
            units = enumerate(split_unit(cell)[1] for cell in cells)
            return next(row for row, unit in units if unit not in (None, self._unit))
        self._family = expected
        self._unit = self._unit or look.fit.unit
        self._is_plain = self._is_plain and look.fit.is_plain
        before = set(_MANNERS[expected]) if self._manners is None else self._manners
        self._manners = before & look.fit.manners
        if len(self._manners) > 1 and self._unclear is None and not look.fit.is_plain:
            self._unclear = _find_unclear(cells, expected, self.name, about)
        if expected == "date" and ":" not in (self._asked or ""):
            self._look_at_years(cells, about)
        if self._manners or not before:
            return None
        unread = (row for row, cell in enumerate(cells) if not _reads(expected, before, cell))
        wrong = next(unread, look.fit.clash)
        assert wrong is not None
        self._mixed = about(
            wrong,
            f"is written in another manner than the {expected}s before it; write all of them "
            f"alike, or say that the column is a category ({_option(self.name, 'category')})",
        )
        return wrong

    def _look_at_years(self, cells: Sequence[str], about: Complaint) -> None:
        first = self._short_years.add(cells)
        if first is not None and self._first_short is None:
            self._first_short = about(
                first,
                "may begin with its year, as the first numbers of the column differ less than the "
                "last: write years with four digits, or say date:dmy or date:mdy if they come last "
                f"({_option(self.name, 'date:dmy')})",
            )

    def _convert(self, cells: Sequence[str], form: str) -> NDArray[Any]:
        family, _, manner = form.partition(":")
        if family == "number":
            return to_numbers(cells, manner)[0]
        if family == "time":
            return to_hours(cells)
        return to_dates(cells, manner)[0] if family == "date" else to_words(cells, self._known)

    def doubt(self) -> DataError | None:
        """What the cells contradict each other in, or leave open."""
        if self._family == "date" and self._short_years.seem_to_lead:
            return self._first_short
        if self._mixed is not None or self._manners is None or len(self._manners) < 2:
            return self._mixed
        is_settled = self._family == "words" or (
            self._family == "number" and self._delimiter in _SETTLING
        )
        return None if is_settled else self._unclear

    def kind(self, is_whole: bool) -> str:
        """What the column holds; `is_whole` where there are no other cells."""
        if self._asked is not None and (":" in self._asked or self._family == "words"):
            return self._asked
        if self.why_left_out(is_whole) is not None:
            return "drop"
        family, _, manner = self._form.partition(":")
        if family == "words":
            return self.facts.kind_of_words()
        is_plain = family == "time" or (family == "number" and self._is_plain)
        is_default = self._family is None or is_plain
        return family if is_default else f"{family}:{manner}"

    def slip(self) -> str | None:
        """What its user may want to know of a column that might have been numbers or dates."""
        if self._asked is not None or self._family != "words":
            return None
        found, kind = self.facts.slip(), self.facts.kind_of_words()
        what = {"drop": "names of the rows and left out", "category": "a category"}.get(kind, kind)
        return found and f"column {self.name!r} is taken for {what}, though {found}"

    def is_like_name(self) -> bool | None:
        """Whether the name of the column could be one of its cells; None where that tells nothing.

        Names of numbers and dates could if they are such themselves, names of a category if they
        are among its values. Texts and names of rows are all different.
        """
        if self._family in _FITS:
            manners = set(_MANNERS[self._family])
            return not lacks_value(self.name) and _reads(self._family, manners, self.name)
        is_category = self._asked is None and self.facts.kind_of_words() == "category"
        return self.facts.has_word(self.name) if self._family == "words" and is_category else None

    def why_left_out(self, is_whole: bool) -> str | None:
        """Why nothing is to be learnt from the column, where nobody has said what it holds."""
        if self._asked is not None:
            return None
        if self._family == "words":
            return NAMING_WORDS if self.facts.kind_of_words() == "drop" else None
        if self._family == "number":
            return self.facts.why_numbers_are_left_out()
        return EMPTY if is_whole and self.facts.is_empty else None


def _option(column: str, kind: str) -> str:
    return f"kinds=, {column_option(column[:40], kind)}"


def _find_unclear(
    cells: Sequence[str], family: str, column: str, about: Complaint
) -> DataError | None:
    """About the first cell that shows that there are two ways to read the column."""
    for row, cell in enumerate(cells):
        if family == "number" and has_ambiguous_comma(cell):
            return about(
                row,
                "has a comma before a fraction or between groups of digits: say number:comma or "
                f"number:point ({_option(column, 'number:comma')})",
            )
        if family == "date" and not lacks_value(cell) and not is_clear(cell):
            return about(
                row,
                "has the day or the month first: say date:dmy or date:mdy "
                f"({_option(column, 'date:dmy')})",
            )
    return None


def _not_finite(values: NDArray[Any], about: Complaint) -> DataError | None:
    infinite = np.flatnonzero(np.isinf(values)) if values.dtype.kind == "f" else np.empty(0)
    if not len(infinite):
        return None
    return about(int(infinite[0]), "is not finite; leave the cell empty or put a number")


def _reads(family: str, manners: set[str], cell: str) -> bool:
    """Whether one of the manners reads a cell, or it is missing."""
    return lacks_value(cell) or bool(_FITS[family]([cell]).manners & manners)


def _refusal(kind: str) -> str:
    return f"is not {_ONE[kind]}: correct it, or read the column as a category"


def _unlike(form: str) -> str:
    one = _ONE["number" if form == "number:point" else form]
    many = re.sub("^a (number|date|time)", r"\1s", one)
    return (
        f"is not {one}: all cells before are {many}; correct it, or say that the column is a "
        "category"
    )
