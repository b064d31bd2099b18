"""Lines of a file in random order, in bounded memory.

Each line goes to one of many piles at random; the piles, each small enough for memory, are shuffled
and written one after the other. Every order is equally likely.
"""

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO

import numpy as np

from polymargin.cli._packing import packed_output
from polymargin.readers import open_lines

_PILES = 256
_BUFFER = 2**16  # draws at a time


def shuffle_lines(source: Path, target: Path, seed: int, keep_first: bool = False) -> int:
    """Write the lines of `source` to `target` in random order; how many there were.

    Where `keep_first` is true the first line is a header and stays the first.
    """
    random = np.random.default_rng(seed)
    n_lines = 0
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=target.resolve().parent)))
        piles = [stack.enter_context((folder / str(pile)).open("w+b")) for pile in range(_PILES)]
        lines = stack.enter_context(open_lines(source))
        header = next(lines, b"") if keep_first else b""
        for drawn, line in zip(_draws(random), lines, strict=False):
            piles[drawn].write(line if line.endswith(b"\n") else line + b"\n")
            n_lines += 1
        out = stack.enter_context(packed_output(target))
        out.write(header)
        for pile in piles:
            _write_shuffled(pile, out, random)
    return n_lines


def _draws(random: np.random.Generator) -> Iterator[int]:
    while True:
        yield from random.integers(_PILES, size=_BUFFER).tolist()


def _write_shuffled(pile: IO[bytes], out: IO[bytes], random: np.random.Generator) -> None:
    pile.seek(0)
    lines = pile.readlines()
    for i in random.permutation(len(lines)).tolist():
        out.write(lines[i])
