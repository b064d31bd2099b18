"""Scores of some rows at a time, where not all are asked for."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from polymargin.fit import check_scores

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BLOCK_BYTES = 32 << 20  # of scores at a time


def score_blocks(
    rows: Any, score: "Callable[[slice], NDArray[Any]]", n_scores: int
) -> "Iterator[tuple[slice, NDArray[Any]]]":
    """Consecutive rows and their scores, `n_scores` of each, in bounded memory."""
    n = rows.shape[0]
    width = max(1, _BLOCK_BYTES // (n_scores * rows.dtype.itemsize))
    for first in range(0, n, width):
        part = slice(first, min(first + width, n))
        scores = score(part)
        check_scores(scores, rows, first)
        yield part, scores
