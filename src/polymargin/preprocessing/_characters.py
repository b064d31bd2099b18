"""What this Python makes of each character, as a table for compiled code."""

import re
import sys
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["characters"]

# As `Character` of the compiled code has it.
_IS_WORD, _IS_SPACE, _IN_DOUBT = 1 << 21, 1 << 22, 1 << 23
_SIGMA = 0x3A3  # whose small letter depends on what stands beside it
_SURROGATES = slice(0xD800, 0xE000)  # which have no UTF-8
_BLOCK = 256


@cache
def characters(lowercase: bool) -> "NDArray[np.uint32]":
    """An entry for each code point: its small letter if that is asked for, and what that is.

    Characters are in doubt where the small letter is several, or depends on others.
    """
    points = np.arange(sys.maxunicode + 1, dtype=np.uint32)
    text = points.tobytes().decode(f"utf-32-{sys.byteorder[0]}e", "surrogatepass")
    in_doubt = np.zeros(len(points), dtype=bool)
    in_doubt[_SURROGATES] = True
    is_word, is_space = _matches(r"\w+", text), _matches(r"\s+", text)
    if lowercase:
        in_doubt[_SIGMA] = True
        _make_small(text, points, in_doubt)
    table = points | is_word[points] * np.uint32(_IS_WORD) | is_space[points] * np.uint32(_IS_SPACE)
    table[in_doubt] = _IN_DOUBT
    table.flags.writeable = False
    return table


def _make_small(text: str, points: "NDArray[np.uint32]", in_doubt: "NDArray[np.bool_]") -> None:
    for start in range(0, len(text), _BLOCK):
        block = text[start : start + _BLOCK]
        if block.lower() == block:
            continue
        for place, character in enumerate(block, start=start):
            small = character.lower()
            if len(small) == 1:
                points[place] = ord(small)
            else:
                in_doubt[place] = True


def _matches(pattern: str, text: str) -> "NDArray[np.bool_]":
    """Which characters are part of a match."""
    found = np.zeros(len(text), dtype=bool)
    for match in re.finditer(pattern, text):
        found[match.start() : match.end()] = True
    return found
