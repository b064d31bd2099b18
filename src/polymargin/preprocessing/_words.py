"""Columns of words, also of a file in which all values happen to be numbers or dates."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["texts_of", "words_of"]


def words_of(values: "NDArray[Any]") -> list[str | None]:
    """Strings, None where one is missing."""
    if values.dtype == object:
        words: list[str | None] = values.tolist()
        return words
    if values.dtype.kind == "M":
        return [None if date is None else str(date) for date in values.tolist()]
    return [None if number != number else f"{number:g}" for number in values.tolist()]


def texts_of(values: "NDArray[Any]") -> list[str]:
    """Strings, empty where one is missing."""
    return ["" if word is None else word for word in words_of(values)]
