"""A digest of training data that does not depend on how they are stored."""

import hashlib
from typing import Any

import numpy as np
from scipy import sparse

_WIDTH = 1024  # rows at a time: part of the definition


def data_hash(X: Any, y: Any = None) -> str:
    """Digest of rows and labels.

    Dense and sparse matrices of the same numbers have the same digest, as have integers and
    floats of the same value; the order of the rows counts.

    Parameters
    ----------
    X : array-like or sparse of shape (n, d), list of str, or Columns
        Rows, texts or named columns.
    y : array-like of shape (n,), default=None
        Labels.

    Returns
    -------
    digest : str
        64 hexadecimal digits.

    Examples
    --------
    >>> from scipy import sparse
    >>> from polymargin.files import data_hash
    >>> X, y = [[0.0, 1.5], [2.0, 0.0]], [1, 2]
    >>> data_hash(X, y) == data_hash(sparse.csr_array(X), [1.0, 2.0])
    True
    >>> data_hash(X, y) == data_hash(X, [2, 1])
    False
    """
    digest = hashlib.blake2b(b"polymargin data 1", digest_size=32)
    if hasattr(X, "names") and hasattr(X, "values"):
        _add_texts(digest, X.names)
        for values in X.values:
            _add_values(digest, np.asarray(values))
    elif sparse.issparse(X):
        _add_rows(digest, sparse.csr_array(X))
    elif isinstance(X, (list, tuple)) and all(isinstance(text, str) for text in X):
        _add_texts(digest, X)
    else:
        array = np.asarray(X)
        if array.ndim == 2:
            _add_rows(digest, array)
        else:
            _add_values(digest, array)
    if y is not None:
        _add_values(digest, np.asarray(y))
    return digest.hexdigest()


def _add_rows(digest: Any, X: Any) -> None:
    """The non-zero entries by rows, in double."""
    n, d = X.shape
    digest.update(f"rows {n} {d} ".encode())
    for first in range(0, n, _WIDTH):
        part = sparse.csr_array(X[first : first + _WIDTH]).astype(np.float64)
        part.sum_duplicates()
        part.eliminate_zeros()
        data = np.where(np.isnan(part.data), np.nan, part.data)
        digest.update(np.diff(part.indptr).astype("<i8").tobytes())
        digest.update(part.indices.astype("<i8").tobytes())
        digest.update(data.astype("<f8").tobytes())


def _add_values(digest: Any, values: "np.ndarray[Any, Any]") -> None:
    """Numbers in double, anything else as text; a missing text is told from an empty one."""
    if values.ndim != 1:
        raise ValueError(f"labels and columns have one dimension, not {values.ndim}")
    if values.dtype.kind in "biuf" and not _loses_digits(values):
        data = values.astype(np.float64) + 0.0  # -0.0 is 0.0
        data = np.where(np.isnan(data), np.nan, data)
        digest.update(f"numbers {len(data)} ".encode())
        digest.update(data.astype("<f8").tobytes())
    else:
        _add_texts(digest, values.tolist())


def _loses_digits(values: "np.ndarray[Any, Any]") -> bool:
    if values.dtype.kind not in "iu" or values.size == 0:
        return False
    return bool(max(abs(int(values.min())), abs(int(values.max()))) > 2**53)


def _add_texts(digest: Any, texts: Any) -> None:
    encoded = [b"" if text is None else b"=" + str(text).encode() for text in texts]
    digest.update(f"texts {len(encoded)} ".encode())
    digest.update(np.array([len(part) for part in encoded], "<i8").tobytes())
    digest.update(b"".join(encoded))
