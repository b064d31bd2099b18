"""What a fit shows while it runs."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple, Protocol


class Check(NamedTuple):
    """One record of the history."""

    epoch: float
    seconds: float
    primal: float
    dual: float
    gap: float
    violation: float
    active: int


RECORD = [(name, "i8" if name == "active" else "f8") for name in Check._fields]  # as a dtype


class Display(Protocol):
    """Shows a check."""

    def __call__(self, check: Check) -> None: ...


def _quiet(check: Check) -> None:
    pass


@contextmanager
def open_display(verbose: int, title: str, tol: float) -> Iterator[Display]:
    """A display on standard error: none for 0, a progress bar for 1, a line a check above."""
    if verbose <= 0:
        yield _quiet
    elif verbose == 1:
        with _bar(title, tol) as display:
            yield display
    else:
        yield _line_printer(title)


@contextmanager
def _bar(title: str, tol: float) -> Iterator[Display]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    progress = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[figures]}"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
    )
    decades = max(
        -math.log10(max(tol, 1e-16)), 1.0
    )  # full when the gap has come down from 1 to tol

    with progress:
        task = progress.add_task(title, total=decades, figures="")

        def show(check: Check) -> None:
            done = -math.log10(check.gap) if check.gap > 0 else decades
            figures = f"epoch {check.epoch:g}  objective {check.primal:.6g}  gap {check.gap:.2e}"
            progress.update(task, completed=min(max(done, 0.0), decades), figures=figures)

        yield show


def _line_printer(title: str) -> Display:
    from rich.console import Console

    console = Console(stderr=True, highlight=False, soft_wrap=True)

    def show(check: Check) -> None:
        console.print(
            f"{title}  epoch {check.epoch:g}  {check.seconds:.2f} s  primal {check.primal:.6g}  "
            f"dual {check.dual:.6g}  gap {check.gap:.2e}  active {check.active}"
        )

    return show
