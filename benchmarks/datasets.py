"""Data sets of the benchmarks: where they lie, how they are scaled, how they are stored.

Every figure used for scaling comes from the training part. Files are read from
``$POLYMARGIN_DATA`` or ``../shared/data`` beside the repository; parsed and scaled sets are kept
as ``.npz`` in ``benchmarks/.cache``.
"""

from __future__ import annotations

import lzma
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy import sparse
from sklearn.datasets import load_svmlight_file
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import normalize

ROOT = Path(__file__).resolve().parents[1]
CACHE = Path(__file__).resolve().parent / ".cache"
_FORMAT = 1  # part of the cache's file names: raise it when scaling or storage changes

Matrix: TypeAlias = np.ndarray | sparse.csr_matrix
Scaling = Literal["tfidf", "minmax", "asis", "unit variance", "unit norm"] | float


@dataclass(frozen=True)
class Spec:
    """One line of the table below; a float ``scaling`` divides by that figure."""

    n: int
    d: int
    k: int
    scaling: Scaling
    dense: bool


SPECS: dict[str, Spec] = {
    "letter": Spec(15000, 16, 26, "minmax", True),
    "satimage": Spec(4435, 36, 6, "minmax", True),
    "usps": Spec(7291, 256, 10, "asis", True),
    "mnist": Spec(60000, 784, 10, 255.0, False),
    "optdigits": Spec(3823, 64, 10, 16.0, True),
    "dna": Spec(2000, 180, 3, "asis", False),
    "shuttle": Spec(43500, 9, 7, "minmax", True),
    "news20": Spec(11314, 130108, 20, "tfidf", False),
    "ohsumed23": Spec(3357, 23649, 23, "tfidf", False),
    "wordnet45": Spec(94128, 50898, 45, "tfidf", False),
    "clinc150": Spec(15000, 5026, 150, "tfidf", False),
    "onet": Spec(39944, 9410, 1016, "tfidf", False),
}
WITHOUT_PARTS: dict[str, Spec] = {  # a tenth of the rows is drawn for a test part
    "glass": Spec(193, 9, 6, "asis", True),
    "iris": Spec(135, 4, 3, "asis", True),
    "splice": Spec(2871, 240, 3, "asis", True),
}
_TRAINING = 0.9


@dataclass(frozen=True)
class Dataset:
    """Training and test part in double precision; labels are 0 … k−1."""

    name: str
    X: Matrix
    y: np.ndarray
    X_test: Matrix
    y_test: np.ndarray
    k: int

    @property
    def n(self) -> int:
        return self.X.shape[0]

    @property
    def d(self) -> int:
        return self.X.shape[1]

    def rows(self, dtype: type = np.float64) -> Matrix:
        """The training rows in ``dtype``, dense or CSR as the set is stored."""
        return self.X.astype(dtype, copy=False)

    def csr(self) -> sparse.csr_matrix:
        """The training rows as CSR in double precision."""
        return sparse.csr_matrix(self.X, dtype=np.float64)


def data_folder() -> Path:
    """``$POLYMARGIN_DATA``, else ``../shared/data`` beside the repository."""
    return Path(os.environ.get("POLYMARGIN_DATA", ROOT.parent / "shared" / "data"))


def load(name: str, scaling: Scaling | None = None) -> Dataset:
    """Load a set from the cache, or parse, scale and cache it; scaled as its spec says, or so."""
    spec, key = (SPECS | WITHOUT_PARTS)[name], name
    if scaling is not None:
        spec, key = replace(spec, scaling=scaling), f"{name}-{scaling}"
    cached = CACHE / f"{key}-{_FORMAT}.npz"
    if not cached.exists():
        X, y, X_test, y_test = _scale(spec, *_parse(name, spec))
        CACHE.mkdir(exist_ok=True)
        parts = {"y": y, "y_test": y_test, **_pack("X", X), **_pack("X_test", X_test)}
        partial = cached.with_suffix(".partial.npz")
        np.savez(partial, allow_pickle=False, **parts)
        partial.replace(cached)
    with np.load(cached) as file:
        parts = dict(file)
    shape = (len(parts["y"]), spec.d)
    if shape[0] != spec.n:
        raise ValueError(f"{name}: {shape[0]} training rows, expected {spec.n}")
    shape_test = (len(parts["y_test"]), spec.d)
    X, X_test = _unpack(parts, "X", shape), _unpack(parts, "X_test", shape_test)
    return Dataset(name, X, parts["y"], X_test, parts["y_test"], spec.k)


def _parse(name: str, spec: Spec) -> tuple[Any, ...]:
    """Training rows and labels, test rows and labels; labels become 0 … k−1."""
    if name in WITHOUT_PARTS:
        X, y = _read(data_folder() / f"{name}.svm.xz", spec)
        order = np.random.default_rng(0).permutation(len(y))
        parts: list[Any] = []
        for rows in np.split(order, [round(_TRAINING * len(y))]):
            parts += [X[rows], y[rows]]
    else:
        folder = data_folder()
        parts = [
            matrix
            for part in ("train", "test")
            for matrix in _read(folder / f"{name}.{part}.svm.xz", spec)
        ]
    classes = np.unique(parts[1])
    if len(classes) != spec.k:
        raise ValueError(f"{name}: {len(classes)} classes in the training part, not {spec.k}")
    for i in (1, 3):
        parts[i] = np.searchsorted(classes, parts[i]).astype(np.int32)
    return tuple(parts)


def _read(path: Path, spec: Spec) -> tuple[sparse.csr_matrix, np.ndarray]:
    with lzma.open(path, "rb") as file:
        X, y = load_svmlight_file(file, n_features=spec.d, zero_based=False)
    return sparse.csr_matrix(X), y


def _scale(
    spec: Spec, X: sparse.csr_matrix, y: np.ndarray, X_test: sparse.csr_matrix, y_test: np.ndarray
) -> tuple[Matrix, np.ndarray, Matrix, np.ndarray]:
    if spec.scaling == "tfidf":
        tfidf = TfidfTransformer(sublinear_tf=True).fit(X)
        X, X_test = tfidf.transform(X), tfidf.transform(X_test)
    elif isinstance(spec.scaling, float):
        X, X_test = X / spec.scaling, X_test / spec.scaling
    if spec.dense:
        X, X_test = X.toarray(), X_test.toarray()
    if spec.scaling in ("minmax", "unit variance"):
        low, high = X.min(axis=0), X.max(axis=0)
        span = np.where(high > low, high - low, 1.0)
        X, X_test = 2.0 * (X - low) / span - 1.0, 2.0 * (X_test - low) / span - 1.0
    if spec.scaling == "unit variance":  # of what is in [-1, 1], and not centred
        deviation = X.std(axis=0)
        X, X_test = X / deviation, X_test / deviation
    if spec.scaling == "unit norm":
        X, X_test = normalize(X), normalize(X_test)
    return X, y, X_test, y_test


def _pack(key: str, X: Matrix) -> dict[str, np.ndarray]:
    if not sparse.issparse(X):
        return {key: np.ascontiguousarray(X)}
    X = sparse.csr_matrix(X)
    X.sort_indices()
    indices, indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return {f"{key}.data": X.data, f"{key}.indices": indices, f"{key}.indptr": indptr}


def _unpack(parts: dict[str, np.ndarray], key: str, shape: tuple[int, int]) -> Matrix:
    if key in parts:
        return parts[key]
    arrays = (parts[f"{key}.data"], parts[f"{key}.indices"], parts[f"{key}.indptr"])
    return sparse.csr_matrix(arrays, shape=shape)
