"""A file of which every process reads its own lines."""

import os
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from polymargin.distributed._ranks import Ranks, known_to_all, world
from polymargin.errors import DataError
from polymargin.readers import Table, label_kind_of, read_part


def read_share(
    path: str | os.PathLike[str],
    comm: Any = None,
    *,
    format: str | None = None,
    n_features: int | None = None,
    zero_based: bool | str = "auto",
    label_kind: str | None = None,
    n_jobs: int | None = None,
) -> Table:
    """Read the lines of a svmlight file that fall to this process.

    All processes call this with the same path and options. The file is cut at ends of lines into as
    many parts as there are processes, of about as many bytes, and no process reads that of another
    one. What only the whole file can tell, how many features there are, where indices start and of
    which kind labels are, they tell each other. `LinearSVM.fit_share` takes such rows.

    Parameters
    ----------
    path : path-like
        A svmlight file, not packed, that all processes can read.
    comm : mpi4py communicator, default=None
        The processes; None is ``mpi4py.MPI.COMM_WORLD``.
    format, n_features, zero_based, label_kind, n_jobs : object
        As in `polymargin.readers.read`.

    Returns
    -------
    share : Table
        `X` and `y` are rows and labels of this process, which may be none; `reading` reads other
        files alike.

    Raises
    ------
    DataError
        The file is packed, not svmlight text, or damaged; on the process that has met it. The
        others raise a `RankError`.

    Examples
    --------
    >>> from polymargin.distributed import LinearSVM, read_share
    >>> share = read_share("rows.svm")  # doctest: +SKIP
    >>> model = LinearSVM("cs").fit_share(share.X, share.y)  # doctest: +SKIP
    """
    starts_anywhere = zero_based == "auto"
    with Ranks(world() if comm is None else comm) as ranks:
        table = read_part(
            path,
            ranks.rank,
            ranks.size,
            format=format,
            n_features=None if starts_anywhere else n_features,
            zero_based=True if starts_anywhere else zero_based,
            label_kind=label_kind,
            n_jobs=n_jobs,
        )
        seen = _Seen.together(ranks, table)
        if seen.kinds == "":
            raise known_to_all(DataError("there are no rows", path=os.fspath(path)))
        first = 1 if starts_anywhere and seen.lowest > 0 else 0
        width = max(seen.width - first, 0)
        if n_features is not None and width > n_features:
            raise known_to_all(
                DataError(
                    f"index {seen.width - 1} is too large for n_features={n_features}",
                    path=os.fspath(path),
                )
            )
        return seen.whole(table, first, n_features or width)


@dataclass(frozen=True)
class _Seen:
    """What was seen of rows whose indices were taken to start from 0."""

    lowest: int  # index
    width: int
    kinds: str  # of labels, as NumPy has them

    @classmethod
    def together(cls, ranks: Ranks, table: Table) -> "_Seen":
        """By all processes."""
        indices = table.X.indices
        lowest = int(indices.min(initial=np.iinfo(indices.dtype).max))
        kind = "" if table.y is None else table.y.dtype.kind
        own = cls(lowest, 1 + int(indices.max(initial=-1)), kind)
        told = ranks.meet("rows that were read", own)
        return cls(
            min(seen.lowest for seen in told),
            max(seen.width for seen in told),
            "".join(sorted({seen.kinds for seen in told})),
        )

    def whole(self, table: Table, first: int, width: int) -> Table:
        """The same table as a part of that of all."""
        X, y = table.X, table.y
        if y is None:
            y = np.zeros(0, np.int64)
        if "f" in self.kinds or "O" in self.kinds:  # numbers that are not all whole, or words
            y = y.astype(np.float64 if "f" in self.kinds else object)
        np.subtract(X.indices, first, out=X.indices)
        X = sparse.csr_array((X.data, X.indices, X.indptr), shape=(len(y), width))
        X.has_sorted_indices = X.has_canonical_format = True
        reading = table.reading | {
            "n_features": width,
            "zero_based": table.reading["zero_based"] and first == 0,
            "label_kind": label_kind_of(y),
        }
        return replace(table, X=X, y=y, reading=reading, lines=None)
