"""Texts about nodes of a tree of topics, as tf-idf rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import sparse

from benchmarks.corpora.shapes import Shape, Style
from benchmarks.corpora.sizes import power_law

Part = Literal["train", "test"]
PARTS: tuple[Part, ...] = ("train", "test")
_TEXTS_AT_ONCE = 4_000  # their tokens fit into a few MB


@dataclass(frozen=True)
class Corpus:
    """Rows of unit length in float32 with int32 indices; labels are 0 … k−1."""

    X: sparse.csr_matrix
    y: np.ndarray
    X_test: sparse.csr_matrix
    y_test: np.ndarray


def make(shape: Shape, style: Style | None = None, seed: int = 0) -> Corpus:
    """The corpus of this shape, style and seed: the same wherever it is made."""
    style = style or Style()
    sizes = np.random.default_rng([seed, 0]).permutation(
        power_law(shape.rows, shape.classes, shape.head)
    )
    writer = _Writer(shape, style, seed)
    counts, labels = {}, {}
    for number, part in enumerate(PARTS, start=1):
        rng = np.random.default_rng([seed, number])
        labels[part] = _labels(part, sizes, shape.test_rows, rng)
        counts[part] = writer.write(labels[part], rng)
    idf = _idf(counts["train"])
    X, X_test = (_weigh(counts[part], idf) for part in PARTS)
    return Corpus(X, labels["train"], X_test, labels["test"])


def _labels(part: Part, sizes: np.ndarray, n_test: int, rng: np.random.Generator) -> np.ndarray:
    if part == "test":
        sizes = rng.multinomial(n_test, sizes / sizes.sum())
    return rng.permutation(np.repeat(np.arange(len(sizes), dtype=np.int32), sizes))


class _Writer:
    """Draws the words of texts."""

    def __init__(self, shape: Shape, style: Style, seed: int) -> None:
        self.shape, self.style, self.seed = shape, style, seed
        depth = len(style.levels)
        self.branching = max(2, int(np.ceil(shape.classes ** (1.0 / depth))))
        # Columns are in no order of frequency, as in data from elsewhere.
        order = np.random.default_rng([seed, 3]).permutation(shape.features)
        self.column = order.astype(np.int32)

    def write(self, y: np.ndarray, rng: np.random.Generator) -> sparse.csr_matrix:
        """Word counts of a text for each label."""
        indices, counts, lengths = [], [], []
        for start in range(0, len(y), _TEXTS_AT_ONCE):
            for values, part in zip(
                (indices, counts, lengths),
                self._count(y[start : start + _TEXTS_AT_ONCE], rng),
                strict=True,
            ):
                values.append(part)
        n, d = len(y), self.shape.features
        if not indices:
            return sparse.csr_matrix((n, d), dtype=np.float32)
        indptr = np.concatenate([[0], np.cumsum(np.concatenate(lengths))])
        if indptr[-1] > np.iinfo(np.int32).max:
            raise ValueError(f"{n} rows have {indptr[-1]} non-zeros, too many for int32 indices")
        arrays = (np.concatenate(counts), np.concatenate(indices), indptr.astype(np.int32))
        return sparse.csr_matrix(arrays, shape=(n, d))

    def _count(
        self, y: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Columns, how often each occurs, and the number of columns of each text."""
        style, d = self.style, self.shape.features
        mu = np.log(style.tokens) - 0.5 * style.spread**2
        lengths = np.rint(rng.lognormal(mu, style.spread, len(y))).astype(np.int64)
        texts = np.repeat(np.arange(len(y)), np.maximum(lengths, 5))
        words = self._words(self._subjects(y, rng), texts, rng)
        keys = texts * d + self.column[words]
        keys.sort()
        first = np.flatnonzero(np.diff(keys, prepend=-1))
        counts = np.diff(first, append=len(keys)).astype(np.float32)
        text, column = np.divmod(keys[first], d)
        return column.astype(np.int32), counts, np.bincount(text, minlength=len(y))

    def _subjects(self, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """The classes that texts are about: mostly, not always, their labels."""
        k = self.shape.classes
        first = y - y % self.branching
        siblings = np.minimum(self.branching, k - first)
        near = first + rng.integers(0, siblings)
        far = rng.integers(0, k, len(y))
        other = np.where(rng.random(len(y)) < self.style.near, near, far)
        return np.where(rng.random(len(y)) < self.style.noise, other, y)

    def _words(
        self, subjects: np.ndarray, texts: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        """A word for each token, as its rank in the vocabulary."""
        style, d = self.style, self.shape.features
        words = _zipf(rng, d, len(texts))
        which = rng.random(len(texts), dtype=np.float32)
        rare = np.flatnonzero(which > 1.0 - style.rare)
        words[rare] = rng.integers(0, d, len(rare))
        share = rng.beta(
            style.topical * style.wavering, (1.0 - style.topical) * style.wavering, len(subjects)
        ) * (1.0 - style.rare)
        share_of_token = share.astype(np.float32)[texts]
        topical = np.flatnonzero(which < share_of_token)
        level = np.searchsorted(
            np.cumsum(style.levels[:-1]) / np.sum(style.levels),
            which[topical] / share_of_token[topical],
        )
        words[topical] = self._topic_words(subjects[texts[topical]], level, rng)
        return words

    def _topic_words(
        self, subjects: np.ndarray, level: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        """Words of the nodes above the subjects.

        A node's r-th word comes from a hash of node and r, so that no lexicon is stored.
        """
        depth, d = len(self.style.levels), self.shape.features
        width = self.branching ** np.arange(depth - 1, -1, -1)
        node = (subjects // width[level]) * depth + level
        lexicon = np.asarray(self.style.lexicons)[level]
        rank = _zipf(rng, lexicon, len(node))
        uniform = _hash(node, rank, self.seed)
        first = min(self.style.first_content, d // 2)
        return first + ((d - first) * uniform**3).astype(np.int64)


def _zipf(rng: np.random.Generator, size: int | np.ndarray, n: int) -> np.ndarray:
    """n numbers from 0 … size−1, r with a probability that falls like 1 / (r + 1)."""
    drawn = np.exp(rng.random(n) * np.log(np.add(size, 1.0)))
    return np.minimum(drawn.astype(np.int64), size) - 1


def _hash(node: np.ndarray, rank: np.ndarray, seed: int) -> np.ndarray:
    """A number in [0, 1) for each pair: splitmix64's finaliser."""
    x = node.astype(np.uint64) << np.uint64(32)
    x += rank.astype(np.uint64) + np.uint64(1)
    x += np.uint64((seed + 1) * 0x9E3779B97F4A7C15 % 2**64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        x ^= x >> np.uint64(shift)
        x *= np.uint64(factor)
    x ^= x >> np.uint64(31)
    return (x >> np.uint64(11)).astype(float) * 2.0**-53


def _idf(counts: sparse.csr_matrix) -> np.ndarray:
    n, d = counts.shape
    texts_with = np.bincount(counts.indices, minlength=d)
    return (1.0 + np.log((n + 1.0) / (texts_with + 1.0))).astype(np.float32)


def _weigh(counts: sparse.csr_matrix, idf: np.ndarray) -> sparse.csr_matrix:
    """Counts become tf-idf with the logarithm of counts, in place; rows get length 1."""
    values = counts.data
    np.log(values, out=values)
    values += 1.0
    values *= idf[counts.indices]
    if len(values):
        squares = np.add.reduceat(np.square(values, dtype=float), counts.indptr[:-1])
        values /= np.repeat(np.sqrt(squares), np.diff(counts.indptr)).astype(np.float32)
    return counts
