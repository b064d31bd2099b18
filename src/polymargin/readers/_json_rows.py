"""The rows of files with a JSON object on each line, or with an array of objects, as text."""

import json
import re
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Any, NoReturn

from polymargin._wording import column_option, listed_names
from polymargin.errors import DataError
from polymargin.readers._chunks import Chunk, rows_at_a_time
from polymargin.readers._columns import MOST_COLUMNS
from polymargin.readers._formats import is_json_array
from polymargin.readers._options import Options
from polymargin.readers._source import Source

__all__ = ["JsonRows"]

FIRST_ROWS = 1024  # that tell the columns of a pipe
_BLANKS = " \t\r\n"
_NO_BLANK = re.compile(rf"[^{_BLANKS}]")
_A_LINE = "each line has to be an object of its own, or the file an array of objects"
_AN_ARRAY = "a file that begins with [ has to be an array of objects"
_TOO_MANY = f"there are more keys than {MOST_COLUMNS} by now"
_LONGEST_NAME = 1000  # characters of keys inside each other
_MOST_OPTIONS = 20
_WORDS = {True: "1", False: "0", None: ""}


class _Number(str):
    """As it is written."""

    __slots__ = ()


class _Pairs(list[tuple[str, Any]]):
    """An object: keys and values as they come."""


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no value of JSON")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_Pairs, parse_float=_Number, parse_int=_Number, parse_constant=_refuse
)


def _outer(names: Iterable[str]) -> set[str]:
    """The keys of objects that these names are inside of."""
    points = ((name, place) for name in names for place, mark in enumerate(name) if mark == ".")
    return {name[:place] for name, place in points}


def _is_string(value: Any) -> bool:
    return isinstance(value, str) and not isinstance(value, _Number)


def _after_blanks(text: str, place: int) -> int:
    found = _NO_BLANK.search(text, place)
    return len(text) if found is None else found.start()


class JsonRows:
    """Keys of the objects and rows of as many cells.

    Numbers are text as they are written, true and false are 1 and 0, null and a key that an object
    lacks are a missing cell. An object inside another one gives a cell for each of its keys, with
    the name ``outer.inner``; a list of strings is a text of them. Other lists are refused.

    Parameters
    ----------
    source : Source
        The file. It is read once for its keys and once more for its rows; the first rows tell the
        keys of a pipe.
    options : Options
        Columns that are known, and what to do with others.

    Attributes
    ----------
    names : list of str
        The keys, in the order in which they first occur.
    delimiter : str
        Nothing is between cells that could tell how numbers are written.
    has_names, guessed_header, n_hollow
        Columns have names in the file, which are in no line of their own.
    """

    delimiter = ""
    has_names = True
    guessed_header: int | None = None
    n_hollow = 0

    def __init__(self, source: Source, options: Options) -> None:
        self._source = source
        self._leaves_out = options.extra == "ignore" and bool(options.kinds)
        self._kinds = options.kinds or {}
        self._lists: dict[str, int] = {}  # keys whose values no cell holds, and the first line
        self._rows: Iterator[tuple[int, dict[str, str]]] = self._objects()
        if source.can_rewind:
            names = self._find_names(self._rows)
            source.rewind()
            self._rows = self._objects()
        else:
            first = list(islice(self._rows, FIRST_ROWS))
            names = self._find_names(first) | dict.fromkeys(options.kinds or {})
            self._rows = chain(first, self._rows)
        self.names = list(names)

    def error(self, line: int, message: str, column: int | None = None) -> DataError:
        """About a row; columns have names here, and no place."""
        return DataError(message, path=self._source.name, line=line)

    @property
    def reading(self) -> dict[str, Any]:
        """How to read another file like this one."""
        return {"format": "jsonl"}

    @property
    def only_labels(self) -> DataError:
        """That there is no column to learn from."""
        return DataError(
            f"there is no key besides {self.names[0][:40]!r}, that of the labels",
            path=self._source.name,
        )

    def chunks(self, rows: int) -> Iterator[Chunk]:
        """All rows, so many at a time or fewer where they are long."""
        places = {name: j for j, name in enumerate(self.names)}
        size = rows_at_a_time(rows, len(places))
        while found := list(islice(self._rows, size)):
            self._check_lists()
            cells = [self._cells(line, row, places) for line, row in found]
            yield Chunk.of_rows([line for line, _ in found], cells)

    def _find_names(self, rows: Iterable[tuple[int, dict[str, str]]]) -> dict[str, None]:
        names: dict[str, None] = {}
        hollow: set[str] = set()  # those without a value so far
        n_rows = 0
        for line, row in rows:
            n_rows += 1
            hollow.difference_update([key for key in hollow if row.get(key)])
            if names.keys() >= row.keys():
                continue
            hollow |= {key for key, cell in row.items() if not cell and key not in names}
            names |= dict.fromkeys(row)
            if len(names) > MOST_COLUMNS:
                raise self.error(line, _TOO_MANY)
        self._check_lists()
        if n_rows == 0:
            raise DataError("the file has no rows", path=self._source.name)
        if not names:
            raise DataError("the objects have no keys", path=self._source.name)
        # Objects may lack a key that is known, and null in place of one is no column of its own.
        there = names.keys() | _outer(names)
        asked = [name for name, kind in self._kinds.items() if kind != "drop"]
        found = [*names, *(name for name in asked if not there.isdisjoint(_outer([name])))]
        absent = (hollow & _outer(found)) - self._kinds.keys()
        return {name: None for name in found if name not in absent}

    def _cells(self, line: int, row: dict[str, str], places: dict[str, int]) -> list[str]:
        cells = [""] * len(places)
        for key, cell in row.items():
            place = places.get(key)
            if place is not None:
                cells[place] = cell
            elif cell and not self._leaves_out:
                raise self.error(
                    line,
                    f"the key {key[:40]!r} does not occur in the first {FIRST_ROWS} rows, which "
                    "tell the columns of a pipe; name a file, or the kinds of all columns",
                )
        return cells

    def _objects(self) -> Iterator[tuple[int, dict[str, str]]]:
        """All objects, with the lines they start on."""
        if is_json_array(self._source.head):
            yield from self._array("".join(self._source.text_lines()))
            return
        for number, line in enumerate(self._source.text_lines(), start=1):
            text = line.rstrip(_BLANKS)
            if text:
                value, end = self._decode(text, _after_blanks(text, 0), number, _A_LINE)
                if (after := _after_blanks(text, end)) < len(text):
                    raise self._no_json("Extra data", text, after, number, _A_LINE)
                yield number, self._row(number, value, text)

    def _array(self, text: str) -> Iterator[tuple[int, dict[str, str]]]:
        """The objects between the brackets of an array."""
        place = _after_blanks(text, _after_blanks(text, 0) + 1)
        line, counted = 1, 0
        mark = text[place : place + 1]
        while mark != "]":
            line += text.count("\n", counted, place)
            counted = place
            value, end = self._decode(text, place, 1, _AN_ARRAY)
            yield line, self._row(line, value, text[place:end])
            place = _after_blanks(text, end)
            mark = text[place : place + 1]
            if mark == ",":
                place = _after_blanks(text, place + 1)
            elif mark != "]":
                raise self._no_json("Expecting ',' or ']'", text, place, 1, _AN_ARRAY)
        if (after := _after_blanks(text, place + 1)) < len(text):
            raise self._no_json("Extra data", text, after, 1, _AN_ARRAY)

    def _no_json(self, what: str, text: str, place: int, first: int, wanted: str) -> DataError:
        """About a place in a text that begins with line `first` of the file."""
        return DataError(
            f"not JSON ({what}); {wanted}",
            path=self._source.name,
            line=first + text.count("\n", 0, place),
            column=place - text.rfind("\n", 0, place),
        )

    def _decode(self, text: str, place: int, first: int, wanted: str) -> tuple[Any, int]:
        """The value that begins at a place, and where it ends."""
        try:
            return _DECODER.raw_decode(text, place)
        except json.JSONDecodeError as error:
            raise self._no_json(error.msg, text, error.pos, first, wanted) from error
        except RecursionError as error:
            number = first + text.count("\n", 0, place)
            raise self.error(number, "too many brackets inside each other") from error
        except ValueError as error:
            number = first + text.count("\n", 0, place)
            raise self.error(number, f"{error}; write null for a missing cell") from error

    def _row(self, number: int, pairs: Any, text: str) -> dict[str, str]:
        """The cells of an object that was written as `text`."""
        if not isinstance(pairs, _Pairs):
            raise self.error(number, "not an object; rows have to be objects, as in {...}")
        row: dict[str, str] = {}
        waiting: list[tuple[str, Any]] = pairs[::-1]
        while waiting:
            key, value = waiting.pop()
            if isinstance(value, _Pairs) and self._kinds.get(key) != "drop":
                waiting += [(self._inner(number, key, part), v) for part, v in reversed(value)]
                continue
            if key in row:
                raise self.error(number, f"the key {key[:40]!r} occurs twice")
            row[key] = self._cell(number, key, value)
            if len(row) > MOST_COLUMNS:
                raise self.error(number, _TOO_MANY)
        if "\\u" in text:
            self._check_escapes(number, row)
        return row

    def _inner(self, number: int, key: str, part: str) -> str:
        """The name of what is inside an object inside another one."""
        if len(key) + len(part) > _LONGEST_NAME:
            raise self.error(
                number,
                f"the keys inside {key[:40]!r} have more than {_LONGEST_NAME} characters together "
                "with those around them; shorten them",
            )
        return f"{key}.{part}"

    def _cell(self, number: int, key: str, value: Any) -> str:
        if isinstance(value, str):
            return value
        if not isinstance(value, list):
            return _WORDS[value]
        if self._is_left_out(key):
            return ""
        parts = [part for part in value if part is not None]
        if all(map(_is_string, parts)):
            return " ".join(parts)
        self._lists.setdefault(key, number)
        return ""

    def _check_lists(self) -> None:
        """Refuse all keys with lists at once, with what leaves them out."""
        if not self._lists:
            return
        keys = list(self._lists)
        what = "the value of {} is a list" if len(keys) == 1 else "the values of {} are lists"
        options = " ".join(column_option(key, "drop") for key in keys[:_MOST_OPTIONS])
        raise self.error(
            min(self._lists.values()),
            f"{what.format(listed_names(keys))}, and cells are numbers, strings, true, false, "
            "null, or lists of strings; write the parts as keys of their own, or leave out what "
            f"holds them: {options}",
        )

    def _is_left_out(self, key: str) -> bool:
        """Whether nothing is read of a column, whatever it holds."""
        return self._kinds.get(key) == "drop" or (self._leaves_out and key not in self._kinds)

    def _check_escapes(self, number: int, row: dict[str, str]) -> None:
        """Escapes can stand for what UTF-8 text cannot hold."""
        for key, cell in row.items():
            text = key + cell
            if "\0" in text or any("\ud800" <= mark <= "\udfff" for mark in text):
                raise self.error(
                    number, f"a zero character or half of a pair in {key[:40]!a}; correct it"
                )
