"""Lookup of machines by any of their names."""

from functools import cache
from typing import TYPE_CHECKING

from polymargin import core

if TYPE_CHECKING:
    from polymargin.core import MachineInfo


@cache
def _by_name() -> dict[str, "MachineInfo"]:
    return {name: info for info in core.machines() for name in (info.name, *info.aliases)}


def machine_names() -> list[str]:
    """The short names of all machines."""
    return [info.name for info in core.machines()]


def find_machine(name: str) -> "MachineInfo":
    """The machine called `name`; ValueError with all names when there is none."""
    try:
        return _by_name()[name]
    except KeyError:
        known = (
            f"{info.name} (or {', '.join(info.aliases)})" if info.aliases else info.name
            for info in core.machines()
        )
        raise ValueError(f"unknown machine {name!r}; known are {', '.join(known)}") from None
