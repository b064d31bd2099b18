"""Rows of a text file in random order, in bounded memory.

Each row goes to one of many piles at random; the piles, each small enough for memory, are shuffled
and written one after the other. Every order is equally likely.
"""

import struct
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import chain, islice
from pathlib import Path
from typing import IO

import numpy as np

from polymargin.cli._data import concerning, labelled, opening
from polymargin.cli._option_sets import Reading
from polymargin.cli._output.data import text_lines
from polymargin.cli._output.files import packed_output, writing
from polymargin.errors import DataError
from polymargin.readers import (
    Source,
    TableStart,
    find_format,
    is_header_of_texts,
    is_json_array,
    read_batches,
    start_of_table,
    tab_records,
)

_PILES = 256
_BINARY = ("npz", "parquet", "arrow", "idx")
_BUFFER = 2**16  # draws at a time
_LENGTH = struct.Struct("<Q")  # of a row, before it in its pile


def shuffle_lines(source: Path, target: Path, seed: int, reading: Reading) -> int:
    """Write the rows of `source` to `target` in random order; how many there were.

    A header stays the first line. A folder of texts becomes lines of label, tab and text. What is
    written is UTF-8.
    """
    random = np.random.default_rng(seed)
    if source.is_dir():
        return _shuffle(_folder_lines(source, reading.encoding), target, random, n_kept=0)
    with opening(source), Source(source, encoding=reading.encoding) as opened:
        found = str(reading.file_format or find_format(opened))
        if found in _BINARY:
            raise DataError(f"{found} files have no lines to shuffle", path=str(source))
        if found == "jsonl" and is_json_array(opened.head):
            raise DataError(
                "this is one array, and an object a line is needed to shuffle; jq -c '.[]' makes "
                "such lines",
                path=str(source),
            )
        if found in ("csv", "tsv"):
            has_header = reading.header is not False
            asked = reading.delimiter or ("\t" if found == "tsv" else None)
            start = start_of_table(opened, asked, has_header)
            n_kept = sum(bool(line.strip()) for line in start.above) + has_header
            return _shuffle(_table_rows(opened, start), target, random, n_kept)
        first = next((line for line in opened.sample() if line.strip()), b"")
        n_kept = int(found == "text" and is_header_of_texts(first))
        return _shuffle(opened.lines(), target, random, n_kept)


def _table_rows(source: Source, start: TableStart) -> Iterator[bytes]:
    """The lines of each row of a table, below those that come before its header."""
    if start.delimiter == "\t":
        return tab_records(source.line_blocks(), len(start.above))
    lines = source.lines()
    return chain(list(islice(lines, len(start.above))), _records(lines))


def _folder_lines(folder: Path, encoding: str) -> Iterator[bytes]:
    with opening(folder), concerning(folder):
        for table in read_batches(folder, encoding=encoding):
            y = labelled(table, folder).y
            assert y is not None
            yield from text_lines(table.X, y)


def _shuffle(rows: Iterator[bytes], target: Path, random: np.random.Generator, n_kept: int) -> int:
    """Write all rows but the first ones, which stay where they are; how many were moved."""
    n_rows = 0
    header = b"".join(islice((row for row in rows if row.strip()), n_kept))
    with ExitStack() as stack:
        stack.enter_context(writing(target))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=target.resolve().parent)))
        piles = [stack.enter_context((folder / str(pile)).open("w+b")) for pile in range(_PILES)]
        for drawn, row in zip(_draws(random), rows, strict=False):
            ended = row if row.endswith(b"\n") else row + b"\n"
            piles[drawn].write(_LENGTH.pack(len(ended)) + ended)
            n_rows += 1
        out = stack.enter_context(packed_output(target))
        out.write(header)
        for pile in piles:
            _write_shuffled(pile, out, random)
    return n_rows


def _records(lines: Iterator[bytes]) -> Iterator[bytes]:
    """Rows of CSV, whose quoted cells may hold line ends; it splits no pair of quotes."""
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


def _write_shuffled(pile: IO[bytes], out: IO[bytes], random: np.random.Generator) -> None:
    pile.seek(0)
    rows = []
    while length := pile.read(_LENGTH.size):
        rows.append(pile.read(*_LENGTH.unpack(length)))
    for i in random.permutation(len(rows)).tolist():
        out.write(rows[i])
