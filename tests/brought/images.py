"""Images of digits in idx files, as MNIST comes."""

import gzip
from pathlib import Path
from typing import Any

import numpy as np

from brought._case import Brought, Files, Score
from brought._sources import numbers

_N_TRAIN, _N_TEST = 3000, 2000


def make(folder: Path) -> Files:
    X, y = numbers("mnist.test", 784)
    pixels = X.toarray().astype(np.uint8).reshape(-1, 28, 28)
    shuffled = np.random.default_rng(0).permutation(len(y))
    parts = {"train": shuffled[:_N_TRAIN], "t10k": shuffled[-_N_TEST:]}
    for part, rows in parts.items():
        _write(folder / f"{part}-images-idx3-ubyte.gz", pixels[rows])
        _write(folder / f"{part}-labels-idx1-ubyte.gz", y[rows].astype(np.uint8))
    train, test = (folder / f"{part}-images-idx3-ubyte.gz" for part in parts)
    return Files(train, test)


def _write(path: Path, values: Any) -> None:
    head = bytes([0, 0, 8, values.ndim]) + np.array(values.shape, dtype=">u4").tobytes()
    path.write_bytes(gzip.compress(head + values.tobytes(), 1))


def by_hand(train: Path) -> Score:
    from sklearn.svm import SVC

    def load_idx(path: Path) -> Any:
        content = gzip.decompress(path.read_bytes())
        shape = np.frombuffer(content, dtype=">u4", offset=4, count=content[3])
        return np.frombuffer(content, dtype=np.uint8, offset=4 + 4 * content[3]).reshape(shape)

    def load(path: Path) -> Any:
        labels = path.with_name(path.name.replace("images-idx3", "labels-idx1"))
        images = load_idx(path)
        return images.reshape(len(images), -1) / 255, load_idx(labels)

    model = SVC().fit(*load(train))
    return lambda test: float(model.score(*load(test)))


CASE = Brought(
    what="images of digits, idx",
    source="mnist, the test part",
    make=make,
    options=("--kernel", "rbf"),
    by_hand=by_hand,
)
