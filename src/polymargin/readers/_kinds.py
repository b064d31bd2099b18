"""What a column of a table holds: the kinds, and the rules by which content tells them.

1. Cells that are all numbers make a column of numbers; they are told apart by `_cells`, dates by
   `_dates`, times of day by `_times`. Everything else is words.
2. Words are text where half of the distinct values have several words and there are more distinct
   values than a quarter of the cells.
3. Other words of which nine cells out of ten are distinct name the rows: the column is left out.
4. Other words are a category.
5. Whole numbers that are all distinct, in a column without a name or named like an identifier
   (id, index, row, key, uuid, guid, no, nr), name the rows as well and are left out.
6. The first column of a file without a header is left out if it counts the rows: all cells are
   whole numbers, each by one larger than that before it.
7. A column without a single value is left out.

Rules 3, 5 and 6 need 20 values. Rules 2 to 6 go by the first 100,000 rows.
"""

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin.readers._cells import could_be_number, lacks_value
from polymargin.readers._dates import could_be_date
from polymargin.readers._units import split_unit

__all__ = [
    "EMPTY",
    "KINDS",
    "NAMING_NUMBERS",
    "NAMING_WORDS",
    "ROW_NUMBERS",
    "Facts",
    "base_kind",
    "check_kind",
    "has_id_name",
]

# Why a column is left out.
NAMING_WORDS = "words that nearly all differ, as if they named the rows"
NAMING_NUMBERS = "whole numbers that all differ, in a column named like an identifier"
ROW_NUMBERS = "the number of each row, as it counts up by one"
EMPTY = "no value at all"

_MANNERS = {
    "number": ("point", "comma"),
    "category": (),
    "text": ("tfidf", "hashing"),
    "date": ("ymd", "dmy", "mdy"),
    "time": (),
    "drop": (),
}
KINDS = tuple(
    name
    for kind, manners in _MANNERS.items()
    for name in (kind, *(f"{kind}:{manner}" for manner in manners))
)

FACT_ROWS = 100_000
_FEWEST = 20  # values by which a column can be taken for names of the rows
_NEARLY_ALL = 0.9
_TEXT_PART = 0.25
_ALIKE = {"numbers": could_be_number, "dates": could_be_date}
_ID_NAMES = frozenset({"", "#", "id", "index", "row", "key", "uuid", "guid", "no", "nr", "unnamed"})
_NAME_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|#")
# Scripts that are written without blanks between words: Thai, Lao, Burmese, Khmer, Chinese,
# Japanese.
_WITHOUT_BLANKS = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
_LONG = 5  # characters of such a script that are more than a word


def base_kind(kind: str) -> str:
    """Without the manner: "number" of "number:comma"."""
    return kind.partition(":")[0]


def check_kind(column: str, kind: Any) -> None:
    """ValueError where there is no such kind."""
    if kind not in KINDS:
        raise ValueError(f"kinds[{column!r}]={kind!r}: use one of {', '.join(map(repr, KINDS))}")


def has_id_name(column: str) -> bool:
    """Whether the name of a column is that of an identifier; rule 5."""
    parts = [part.lower() for part in _NAME_PARTS.findall(column)]
    return not column.strip() or bool(parts and parts[-1] in _ID_NAMES)


class Facts:
    """What the first rows tell of the words, or of the numbers, of a column.

    Parameters
    ----------
    column : str
        Its name.
    may_count : bool, default=False
        Whether it is the first of a file without names, which may count the rows.
    """

    def __init__(self, column: str, may_count: bool = False) -> None:
        self._n_rows = 0
        self._n_values = 0
        self._n_several = 0  # distinct values of several words
        # Distinct words that could be numbers, or dates, and the first that is neither nor a gap.
        self._n_alike = dict.fromkeys(_ALIKE, 0)
        self._first_unlike: dict[str, str] = {}
        self._units: dict[str, str] = {}  # and the first word with it
        self._distinct: set[float] = set()  # numbers, or hashes of words, which may be long
        self._may_be_id = has_id_name(column)
        self._may_count = may_count
        self._next: float | None = None  # what the cell after the last would count

    def add(self, values: NDArray[Any]) -> None:
        """More cells of the column, as they were read."""
        first = values[: max(0, FACT_ROWS - self._n_rows)]
        self._n_rows += len(first)
        if values.dtype == object:
            for word in first.tolist():
                self._add_word(word)
        elif values.dtype.kind == "f":
            is_number = ~np.isnan(first)
            self._n_values += int(np.count_nonzero(is_number))
            if self._may_count and len(first):
                start = first[0] if self._next is None else self._next
                counted = np.floor(start) + np.arange(len(first))
                self._may_count = bool((first == counted).all())
                self._next = start + len(first)
            if self._may_be_id:
                numbers = first[is_number]
                self._may_be_id = bool((numbers == np.floor(numbers)).all())
                self._distinct.update(numbers.tolist() if self._may_be_id else ())
        else:
            self._n_values += int(np.count_nonzero(~np.isnat(first)))

    def _add_word(self, word: str | None) -> None:
        if word is None:
            return
        self._n_values += 1
        digest = hash(word)
        if digest not in self._distinct:
            self._distinct.add(digest)
            self._n_several += _has_several_words(word)
            for what, could_be in _ALIKE.items():
                if could_be(word):
                    self._n_alike[what] += 1
                elif not lacks_value(word):
                    self._first_unlike.setdefault(what, word)
            unit = split_unit(word)[1] if len(self._units) < 2 else None
            if unit is not None:
                self._units.setdefault(unit, word)

    @property
    def is_empty(self) -> bool:
        """Whether no cell has a value, among all rows if these are few enough; rule 7."""
        return self._n_values == 0 and self._n_rows < FACT_ROWS

    def has_word(self, word: str) -> bool:
        """Whether the word is one of the cells, as far as they were looked at."""
        return hash(word) in self._distinct

    def slip(self) -> str | None:
        """What is strange about words nearly all of which could be numbers, or dates."""
        n_distinct = len(self._distinct)
        for what, n_alike in self._n_alike.items():
            if n_alike < max(_FEWEST, _NEARLY_ALL * n_distinct):
                continue
            if what in self._first_unlike:
                return (
                    f"{n_alike:,} of its {n_distinct:,} values are {what}: "
                    f"{self._first_unlike[what][:40]!r} is not; where that stands for a missing "
                    "one, leave the cell empty; else say what the column holds (kinds=, --column "
                    "NAME=KIND)"
                )
            if len(self._units) > 1:
                one, other = (word[:40] for word in self._units.values())
                return (
                    f"its values are numbers in several units, as in {one!r} and {other!r}; bring "
                    "all of them to one"
                )
        return None

    def kind_of_words(self) -> str:
        """Kind "text", "drop" or "category": rules 2, 3 and 4."""
        n_distinct = len(self._distinct)
        if n_distinct > _TEXT_PART * self._n_values and self._n_several >= n_distinct / 2:
            return "text"
        return "drop" if self._names_the_rows(_NEARLY_ALL) else "category"

    def why_numbers_are_left_out(self) -> str | None:
        """Rules 5 and 6."""
        if self._may_be_id and self._names_the_rows(1.0):
            return NAMING_NUMBERS
        return ROW_NUMBERS if self._may_count and self._n_values >= _FEWEST else None

    def _names_the_rows(self, part: float) -> bool:
        return self._n_values >= _FEWEST and len(self._distinct) >= part * self._n_values


def _has_several_words(value: str) -> bool:
    return len(value.split(maxsplit=1)) > 1 or (
        len(value) >= _LONG and _WITHOUT_BLANKS.search(value) is not None
    )
