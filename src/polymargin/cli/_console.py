"""What the commands show: results on standard output, all else on standard error."""

import json
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

out = Console(highlight=False)
err = Console(stderr=True, highlight=False, soft_wrap=True)


def complain(message: str) -> None:
    """An error, in one paragraph."""
    err.print(f"[bold red]error:[/] {escape(message)}")


def note(message: str) -> None:
    """Something to know that is no result."""
    err.print(f"[dim]{escape(message)}[/]")


def warn(message: str) -> None:
    """Something that may be wrong."""
    err.print(f"[bold yellow]warning:[/] {escape(message)}")


@contextmanager
def shown_warnings() -> Iterator[list[str]]:
    """Python's warnings as messages, each once; they are listed too."""
    seen: list[str] = []

    def show(message: Warning | str, *args: Any, **kwargs: Any) -> None:
        text = " ".join(str(message).split())
        if text not in seen:
            seen.append(text)
            warn(text)

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        warnings.showwarning = show
        yield seen


def figures(title: str, rows: dict[str, Any]) -> Table:
    """Names and values, one a line."""
    table = Table(title=escape(title), title_justify="left", box=None, show_header=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows.items():
        table.add_row(name, escape(str(value)))
    return table


def grid(title: str, columns: list[str], rows: list[list[str]], text_columns: int = 1) -> Table:
    """A table, the first columns of text, all others of numbers."""
    table = Table(title=escape(title), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for number, name in enumerate(columns):
        is_text = number < text_columns
        table.add_column(
            escape(name),
            justify="left" if is_text else "right",
            overflow="fold" if is_text else "ellipsis",
            no_wrap=not is_text,
        )
    for row in rows:
        table.add_row(*map(escape, row))
    return table


def show(value: Table | str) -> None:
    """A result for people."""
    out.print(value)


def show_json(value: Any) -> None:
    """A result for machines: one JSON object, NaN and infinity as null."""
    json.dump(_plain(value), sys.stdout, indent=2, ensure_ascii=False, allow_nan=False)
    sys.stdout.write("\n")
    sys.stdout.flush()


def _plain(value: Any) -> Any:
    """Arrays as lists, NumPy's numbers as Python's."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value
