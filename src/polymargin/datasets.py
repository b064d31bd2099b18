"""Small data sets that come with the package. Sources and licence: ``data/README.md``."""

import lzma
from importlib import resources
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from sklearn.datasets import load_svmlight_file

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Split", "load_letter", "load_satimage"]


class Split(NamedTuple):
    """Training and test part."""

    X_train: "NDArray[np.float64]"
    y_train: "NDArray[np.int64]"
    X_test: "NDArray[np.float64]"
    y_test: "NDArray[np.int64]"


def load_letter(scale: bool = True) -> Split:
    """Capital letters from statistics of their images: 26 classes, 16 features, 15000 + 5000 rows.

    Parameters
    ----------
    scale : bool, default=True
        Whether to map each feature to [-1, 1] by its range in the training part.

    Returns
    -------
    split : Split
        X_train, y_train, X_test, y_test.

    Examples
    --------
    >>> from polymargin.datasets import load_letter
    >>> X_train, y_train, X_test, y_test = load_letter()
    >>> X_train.shape, len(set(y_train.tolist()))
    ((15000, 16), 26)
    """
    return _load("letter", 16, scale)


def load_satimage(scale: bool = True) -> Split:
    """Kinds of soil from satellite images: 6 classes, 36 features, 4435 + 2000 rows.

    Parameters
    ----------
    scale : bool, default=True
        Whether to map each feature to [-1, 1] by its range in the training part.

    Returns
    -------
    split : Split
        X_train, y_train, X_test, y_test.

    Examples
    --------
    >>> from polymargin.datasets import load_satimage
    >>> load_satimage().X_test.shape
    (2000, 36)
    """
    return _load("satimage", 36, scale)


def _load(name: str, n_features: int, scale: bool) -> Split:
    X_train, y_train = _read(f"{name}.train.svm.xz", n_features)
    X_test, y_test = _read(f"{name}.test.svm.xz", n_features)
    if scale:
        low, high = X_train.min(axis=0), X_train.max(axis=0)
        width = np.where(high > low, high - low, 1.0)
        X_train, X_test = (2 * (X - low) / width - 1 for X in (X_train, X_test))
    return Split(X_train, y_train, X_test, y_test)


def _read(file_name: str, n_features: int) -> "tuple[NDArray[np.float64], NDArray[np.int64]]":
    packed = resources.files("polymargin") / "data" / file_name
    with packed.open("rb") as raw, lzma.open(raw, "rb") as text:
        X, y = load_svmlight_file(text, n_features=n_features)
    return X.toarray(), y.astype(np.int64)
