"""Checks that options objects share, and the search for one by its name."""

import math
from collections.abc import Mapping
from numbers import Integral, Real
from typing import TypeVar

HISTORIES = ("checks", "passes")  # what `history_` has a record of


def check_positive(options: object, field: str) -> None:
    value = getattr(options, field)
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not (is_number and 0 < value < math.inf):
        raise ValueError(
            f"{type(options).__name__}: {field} must be a positive number, got {value!r}"
        )


def check_count(options: object, field: str, least: int) -> None:
    value = getattr(options, field)
    is_count = isinstance(value, Integral) and not isinstance(value, bool)
    if not (is_count and least <= value < 2**31):
        raise ValueError(
            f"{type(options).__name__}: {field} must be an integer from {least} to 2**31 - 1, "
            f"got {value!r}"
        )


def check_flag(options: object, field: str) -> None:
    value = getattr(options, field)
    if value not in (True, False):
        raise ValueError(f"{type(options).__name__}: {field} must be True or False, got {value!r}")


def check_word(options: object, field: str, known: tuple[str, ...]) -> None:
    value = getattr(options, field)
    if value not in known:
        raise ValueError(
            f"{type(options).__name__}: {field} must be one of {', '.join(known)}; got {value!r}"
        )


_Options = TypeVar("_Options")


def by_name(kind: str, name: str, known: Mapping[str, type[_Options]]) -> _Options:
    if name not in known:
        others = [other for other in known if other != "auto"]
        raise ValueError(f"unknown {kind} {name!r}; known are auto, {', '.join(others)}")
    return known[name]()
