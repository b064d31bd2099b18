"""Python's search for garbage, which is in vain among what is imported, and takes a quarter of it.

A process of its own puts the search off until it opens its data, and then never looks at what was
there before. Where a command is called from other Python code, nothing changes.
"""

import gc

__all__ = ["put_off_search", "start_search"]


def put_off_search() -> None:
    """Of a process that ends with its command."""
    gc.disable()


def start_search() -> None:
    """From here on, among what comes from here on."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()
