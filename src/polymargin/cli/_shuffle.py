"""Rows of a text file in random order, in bounded memory.

Each row goes to one of many piles at random; the piles, each small enough for memory, are shuffled
and written one after the other. Every order is equally likely.
"""

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO

import numpy as np

from polymargin.cli._data import concerning, labelled, opening
from polymargin.cli._output.data import text_lines
from polymargin.cli._output.files import packed_output, writing
from polymargin.errors import DataError
from polymargin.readers import Source, find_format, is_header_of_texts, read_batches

_PILES = 256
_TABLES = ("csv", "tsv")
_BINARY = ("npz", "parquet", "arrow", "idx")
_BUFFER = 2**16  # draws at a time


def shuffle_lines(source: Path, target: Path, seed: int, file_format: str | None = None) -> int:
    """Write the rows of `source` to `target` in random order; how many there were.

    A header stays the first line. A folder of texts becomes lines of label, tab and text.
    """
    random = np.random.default_rng(seed)
    if source.is_dir():
        return _shuffle(_folder_lines(source), target, random, has_header=False, are_records=False)
    with opening(source), Source(source) as opened:
        found = str(file_format or find_format(opened))
        if found in _BINARY:
            raise DataError(f"{found} files have no lines to shuffle", path=str(source))
        is_table = found in _TABLES
        first = next((line for line in opened.sample() if line.strip()), b"")
        has_header = is_table or (found == "text" and is_header_of_texts(first))
        rows = _records(opened.lines()) if is_table else opened.lines()
        return _shuffle(rows, target, random, has_header, is_table)


def _folder_lines(folder: Path) -> Iterator[bytes]:
    with opening(folder), concerning(folder):
        for table in read_batches(folder):
            y = labelled(table, folder).y
            assert y is not None
            yield from text_lines(table.X, y)


def _shuffle(
    rows: Iterator[bytes],
    target: Path,
    random: np.random.Generator,
    has_header: bool,
    are_records: bool,
) -> int:
    n_rows = 0
    header = next((row for row in rows if row.strip()), b"") if has_header else b""
    with ExitStack() as stack:
        stack.enter_context(writing(target))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=target.resolve().parent)))
        piles = [stack.enter_context((folder / str(pile)).open("w+b")) for pile in range(_PILES)]
        for drawn, row in zip(_draws(random), rows, strict=False):
            piles[drawn].write(row if row.endswith(b"\n") else row + b"\n")
            n_rows += 1
        out = stack.enter_context(packed_output(target))
        out.write(header)
        for pile in piles:
            _write_shuffled(pile, out, random, are_records)
    return n_rows


def _records(lines: Iterator[bytes]) -> Iterator[bytes]:
    """Rows of a table, whose quoted cells may hold line ends; it splits no pair of quotes."""
    parts: list[bytes] = []
    n_quotes = 0
    for line in lines:
        parts.append(line)
        n_quotes += line.count(b'"')
        if n_quotes % 2 == 0:
            yield b"".join(parts)
            parts = []
    if parts:
        yield b"".join(parts)


def _draws(random: np.random.Generator) -> Iterator[int]:
    while True:
        yield from random.integers(_PILES, size=_BUFFER).tolist()


def _write_shuffled(
    pile: IO[bytes], out: IO[bytes], random: np.random.Generator, are_records: bool
) -> None:
    pile.seek(0)
    rows = list(_records(iter(pile))) if are_records else pile.readlines()
    for i in random.permutation(len(rows)).tolist():
        out.write(rows[i])
