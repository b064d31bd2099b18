"""The same command on every process of an MPI job, of which the first one speaks and writes."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from polymargin.distributed import Ranks, world


def refuse_kernel(kernel: str | None) -> None:
    """Only linear machines are trained by several processes."""
    if kernel is not None:
        raise typer.BadParameter(
            "is for linear machines: leave out --kernel", param_hint="--distributed"
        )


@contextmanager
def together() -> Iterator[bool]:
    """Whether this process speaks and writes; a failure of one in the block ends all."""
    ranks = Ranks(world())
    if ranks.rank > 0:
        _fall_silent()
    with ranks:
        yield ranks.rank == 0


def _fall_silent() -> None:
    """What all processes have to say is said by the first one."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
        os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
