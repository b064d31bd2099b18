"""Corpora in the cache: one folder each, arrays that can be memory-mapped."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
from scipy import sparse

from benchmarks.corpora.generator import PARTS, Part, make
from benchmarks.corpora.shapes import PRESETS
from benchmarks.datasets import CACHE

FOLDER = CACHE / "corpora"
_FORMAT = 1  # part of the folders' names: raise it when the generator changes


def corpus(preset: str, part: Part = "train") -> tuple[sparse.csr_matrix, np.ndarray]:
    """Rows and labels of a part of a preset, memory-mapped; the corpus is made where it is not."""
    if part not in PARTS:
        raise ValueError(f"there is no part {part!r} of a corpus, only {' and '.join(PARTS)}")
    folder = ensure(preset)
    data, indices, indptr, y = (
        np.load(folder / f"{part}.{name}.npy", mmap_mode="r")
        for name in ("data", "indices", "indptr", "y")
    )
    shape = (len(y), PRESETS[preset].features)
    return sparse.csr_matrix((data, indices, indptr), shape=shape), y


def ensure(preset: str) -> Path:
    """The folder of a preset, made if it is not there yet."""
    if preset not in PRESETS:
        raise ValueError(f"there is no corpus {preset!r}; there are {', '.join(PRESETS)}")
    folder = FOLDER / f"{preset}-{_FORMAT}"
    if folder.exists():
        return folder
    made = make(PRESETS[preset])
    partial = folder.with_suffix(".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    for part, X, y in (("train", made.X, made.y), ("test", made.X_test, made.y_test)):
        arrays = {"data": X.data, "indices": X.indices, "indptr": X.indptr, "y": y}
        for name, array in arrays.items():
            np.save(partial / f"{part}.{name}.npy", array)
    partial.replace(folder)
    return folder
