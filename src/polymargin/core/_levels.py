"""Choice of the compiled core: one extension module for each SIMD level.

The best level that is installed and that the processor supports is taken, unless the environment
variable ``POLYMARGIN_SIMD`` names another one.
"""

import copyreg
import importlib
import importlib.util
import os
from collections.abc import Callable
from typing import Any

LEVELS = ("avx512", "avx2", "baseline")  # best first
VARIABLE = "POLYMARGIN_SIMD"


def _module_name(level: str) -> str:
    return f"polymargin.core._{level}"


def usable_levels() -> list[str]:
    """Levels that are installed and that the processor supports, best first."""
    supported = importlib.import_module("polymargin.core._cpu").levels()
    return [
        level
        for level in LEVELS
        if level in supported and importlib.util.find_spec(_module_name(level)) is not None
    ]


def choose_level(usable: list[str], forced: str | None) -> str:
    """The level to load: `forced` if there is one, else the best usable one."""
    if not forced:
        return usable[0]
    if forced in usable:
        return forced
    if forced not in LEVELS:
        reason = "is not a SIMD level"
    else:
        reason = "is not installed or not supported by this processor"
    raise ImportError(f"{VARIABLE}={forced!r} {reason}; usable here: {', '.join(usable)}")


def load_level() -> dict[str, Any]:
    """All names of the core at the level in force."""
    level = choose_level(usable_levels(), os.environ.get(VARIABLE))
    core = importlib.import_module(_module_name(level))
    # By itself pickle would name the extension module, and with it the SIMD level, in the file.
    for name in ("Duals", "LinearStream"):
        copyreg.pickle(getattr(core, name), _reducer(name))
    return {name: value for name, value in vars(core).items() if not name.startswith("_")}


def _restore(class_name: str, state: Any) -> Any:
    """Rebuild a pickled core object with the core in use here, whatever its SIMD level."""
    cls = getattr(importlib.import_module("polymargin.core"), class_name)
    instance = cls.__new__(cls)
    instance.__setstate__(state)
    return instance


def _reducer(class_name: str) -> Callable[[Any], tuple[Any, ...]]:
    def reduce(instance: Any) -> tuple[Any, ...]:
        return _restore, (class_name, instance.__getstate__())

    return reduce
