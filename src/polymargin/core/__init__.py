"""The compiled core, at the best SIMD level that this processor has (`_levels`)."""

from typing import TYPE_CHECKING

from polymargin.core._levels import LEVELS, VARIABLE, choose_level, load_level, usable_levels

__all__ = ["LEVELS", "VARIABLE", "choose_level", "usable_levels"]

if not TYPE_CHECKING:  # its names are those of the stub beside this file
    globals().update(load_level())
