"""Data files that `convert` writes."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from polymargin._atomic import replacing
from polymargin.cli._output.files import escaped, packed_output
from polymargin.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray


def write_svmlight(X: Any, y: "NDArray[Any]", path: Path) -> None:
    """Indices from 1; labels have to be numbers."""
    if y.dtype.kind not in "iuf":
        raise DataError("labels of svmlight data are numbers; write npz to keep text")
    with packed_output(path) as file:
        dump_svmlight_file(X, y, file, zero_based=False)


def write_npz(X: Any, y: "NDArray[Any]", path: Path) -> None:
    """The keys of SciPy's sparse files and ``y``, or ``X`` and ``y``."""
    labels = y.astype(str) if y.dtype == object else y
    with replacing(path, "wb") as file:
        if sparse.issparse(X):
            np.savez_compressed(
                file,
                format=np.array(b"csr"),
                shape=np.array(X.shape),
                data=X.data,
                indices=X.indices,
                indptr=X.indptr,
                y=labels,
            )
        else:
            np.savez_compressed(file, X=X, y=labels)


def write_texts(texts: Iterable[str], y: "NDArray[Any]", path: Path) -> None:
    """Lines of label, tab and text."""
    with packed_output(path) as file:
        file.writelines(text_lines(texts, y))


def text_lines(texts: Iterable[str], y: "NDArray[Any]") -> Iterator[bytes]:
    """The line of each text, as the reader of texts takes it."""
    for text, label in zip(texts, map(str, y.tolist()), strict=True):
        if label != label.strip() or any(mark in label for mark in "\t\r\n"):
            raise DataError(f"the label {label!r} cannot stand before a tab; rename it")
        yield f"{label}\t{escaped(text)}\n".encode()
