"""Ten files that a person might bring, the one command each takes, and the same by hand.

Each module has a `CASE`. The files are made of real data sets, always the same. ``python -m brought
NAME TRAIN [TEST]`` does one of them by hand.
"""

from importlib import import_module

from brought._case import Brought, Files

__all__ = ["NAMES", "Brought", "Files", "case"]

NAMES = (
    "spreadsheet",
    "products",
    "tickets",
    "reviews",
    "mails",
    "images",
    "nulls",
    "sorted_rows",
    "unscaled",
    "messy",
)


def case(name: str) -> Brought:
    """One of the ten; no other is imported."""
    found = import_module(f"brought.{name}").CASE
    assert isinstance(found, Brought)
    return found
