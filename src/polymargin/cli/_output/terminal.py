"""What goes to the terminal: results on standard output, all else on standard error.

Labels and names of files come from outside: they are shown as they are, never read as markup.
"""

import io
import json
import math
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polymargin.cli._option_names import in_options
from polymargin.cli._output.files import writing

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

_LONGEST = 40  # characters of a cell
_IN_A_PIPE = 160  # columns; Rich would take 80 and cut tables


@cache
def out() -> "Console":
    """Standard output."""
    from rich.console import Console

    is_pipe = not sys.stdout.isatty() and "COLUMNS" not in os.environ
    width = _IN_A_PIPE if is_pipe else None
    return Console(highlight=False, markup=False, emoji=False, width=width)


@cache
def err() -> "Console":
    """Standard error."""
    from rich.console import Console

    return Console(stderr=True, highlight=False, soft_wrap=True)


def prepare_streams() -> None:
    """No stream is missing, and text that a terminal cannot show is escaped, no error."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # closed by the caller: no file may take its number
            setattr(sys, name, Path(os.devnull).open(mode))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def plain(text: str) -> "Text":
    """Text without a meaning, its control characters escaped."""
    from rich.text import Text

    return Text("".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in text))


def complain(message: str) -> None:
    """An error, in one paragraph."""
    _tell(message, "error:", "bold red")


def note(message: str) -> None:
    """Something to know that is no result."""
    err().print(plain(message), style="dim")


def warn(message: str) -> None:
    """Something that may be wrong."""
    _tell(message, "warning:", "bold yellow")


def _tell(message: str, what: str, style: str) -> None:
    from rich.text import Text

    err().print(Text.assemble((what, style), " ", plain(message)))


@contextmanager
def shown_warnings() -> Iterator[list[str]]:
    """Python's warnings as messages, each once; they are listed too."""
    seen: list[str] = []

    def show(message: Warning | str, *args: Any, **kwargs: Any) -> None:
        text = in_options(" ".join(str(message).split()))
        if text not in seen:
            seen.append(text)
            warn(text)

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        for for_programmers in (DeprecationWarning, ResourceWarning):
            warnings.filterwarnings("ignore", category=for_programmers)
        warnings.showwarning = show
        yield seen


def show_figures(title: str, rows: dict[str, Any]) -> None:
    """Names and values, one a line."""
    from rich.table import Table

    table = Table(box=None, show_header=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows.items():
        table.add_row(name, plain(str(value)))
    if title:
        show(plain(title), style="italic", soft_wrap=True)
    show(table)


def grid(title: str, columns: list[str], rows: list[list[str]], text_columns: int = 1) -> "Table":
    """A table, the first columns of text, all others of numbers, which are never cut."""
    from rich import box
    from rich.table import Table

    table = Table(title=plain(title), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for number, name in enumerate(columns):
        is_text = number < text_columns
        table.add_column(
            plain(name),
            justify="left" if is_text else "right",
            overflow="fold" if is_text else "ellipsis",
            no_wrap=not is_text,
            min_width=None if is_text else _width(number, rows),
        )
    for row in rows:
        table.add_row(*(plain(_cut(cell)) for cell in row))
    return table


def _cut(cell: str) -> str:
    """A label may be as long as it likes; one line of it is enough to know it by."""
    line = "".join(c if c.isprintable() else repr(c)[1:-1] for c in cell)
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


def _width(column: int, rows: list[list[str]]) -> int:
    return max((len(_cut(row[column])) for row in rows), default=0)


def show(content: "Table | Text | str", **layout: Any) -> None:
    """A result for people."""
    with writing("standard output"):
        out().print(content, **layout)


def show_json(value: Any) -> None:
    """A result for machines: one JSON object, NaN and infinity as null."""
    text = json.dumps(_plain(value), indent=2, allow_nan=False)
    with writing("standard output"):
        sys.stdout.write(text + "\n")


def number_or_word(value: float) -> float | str:
    """A number that JSON may have no form for, of which null would say too little: "inf"."""
    return value if math.isfinite(value) else str(float(value))


def _plain(value: Any) -> Any:
    """Arrays as lists, NumPy's numbers as Python's."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
