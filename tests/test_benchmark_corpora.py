"""Made corpora: the same from the same seed, in the shape and form that they promise."""

from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

with pytest.MonkeyPatch.context() as patch:  # the package sets them for its own runs
    for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"):
        patch.setenv(name, "1")
    corpora = pytest.importorskip("benchmarks.corpora")
    store = pytest.importorskip("benchmarks.corpora.store")
    sizes = pytest.importorskip("benchmarks.corpora.sizes")

TINY = corpora.Shape(rows=600, features=3000, classes=100, test_rows=150, head=0.08)


@pytest.fixture(scope="module")
def tiny() -> "corpora.Corpus":
    return corpora.make(TINY, seed=1)


def same(A: sparse.csr_matrix, B: sparse.csr_matrix) -> bool:
    return A.shape == B.shape and (A != B).nnz == 0


def is_mapped(array: np.ndarray | None) -> bool:
    return array is not None and (isinstance(array, np.memmap) or is_mapped(array.base))


def test_a_seed_gives_one_corpus_and_another_seed_another(tiny: "corpora.Corpus") -> None:
    again, other = corpora.make(TINY, seed=1), corpora.make(TINY, seed=2)
    assert same(tiny.X, again.X)
    assert same(tiny.X_test, again.X_test)
    np.testing.assert_array_equal(tiny.y, again.y)
    np.testing.assert_array_equal(tiny.y_test, again.y_test)
    assert not same(tiny.X, other.X)


def test_more_test_rows_leave_the_training_part_alone(tiny: "corpora.Corpus") -> None:
    shape = corpora.Shape(TINY.rows, TINY.features, TINY.classes, 300, TINY.head)
    assert same(tiny.X, corpora.make(shape, seed=1).X)


def test_rows_have_unit_length_in_single_precision(tiny: "corpora.Corpus") -> None:
    for X, n in ((tiny.X, TINY.rows), (tiny.X_test, TINY.test_rows)):
        assert X.shape == (n, TINY.features)
        assert (X.dtype, X.indices.dtype, X.indptr.dtype) == (np.float32, np.int32, np.int32)
        assert X.has_canonical_format
        assert X.data.min() > 0.0
        np.testing.assert_allclose(sparse.linalg.norm(X, axis=1), 1.0, rtol=1e-5)


def test_every_class_has_a_row_to_learn_from(tiny: "corpora.Corpus") -> None:
    np.testing.assert_array_equal(np.unique(tiny.y), np.arange(TINY.classes))
    assert tiny.y_test.max() < TINY.classes
    assert np.bincount(tiny.y).max() == pytest.approx(TINY.head * TINY.rows, abs=2)


@pytest.mark.parametrize("preset", corpora.PRESETS)
def test_sizes_of_classes_follow_a_power_law(preset: str) -> None:
    shape = corpora.PRESETS[preset]
    counts = sizes.power_law(shape.rows, shape.classes, shape.head)
    assert counts.sum() == shape.rows
    assert counts.min() >= 1
    assert counts[0] == pytest.approx(shape.head * shape.rows, rel=0.05)
    ranks = np.arange(1, shape.classes + 1)
    large = counts >= 20  # below, whole numbers are far from the law
    line = np.polynomial.Polynomial.fit(np.log(ranks[large]), np.log(counts[large]), 1)
    error = np.log(counts[large]) - line(np.log(ranks[large]))
    assert -1.2 < line.convert().coef[1] < -0.4  # the fewer classes, the more alike they are
    assert np.abs(error).max() < 0.25


def test_neighbours_in_the_tree_share_words() -> None:
    quiet = corpora.Style(noise=0.0)
    made = corpora.make(corpora.Shape(800, 20_000, 81, head=0.05), quiet)
    mean = sparse.csr_matrix((np.ones(800), (made.y, np.arange(800))), shape=(81, 800)) @ made.X
    likeness = mean @ mean.T
    norms = np.sqrt(likeness.diagonal())
    cosines = likeness.toarray() / np.outer(norms, norms)
    parents = np.arange(81) // 3
    siblings = (parents[:, None] == parents) & ~np.eye(81, dtype=bool)
    strangers = np.arange(81)[:, None] // 27 != np.arange(81) // 27
    assert cosines[siblings].mean() > 2.0 * cosines[strangers].mean()


def test_noise_moves_texts_and_never_labels() -> None:
    shape = corpora.Shape(400, 5000, 40, head=0.1)
    clean = corpora.make(shape, corpora.Style(noise=0.0))
    noisy = corpora.make(shape, corpora.Style(noise=1.0))
    np.testing.assert_array_equal(clean.y, noisy.y)
    assert not same(clean.X, noisy.X)


def test_a_preset_is_stored_once_and_mapped(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(store, "FOLDER", tmp_path / "corpora")
    monkeypatch.setitem(corpora.PRESETS, "tiny", TINY)
    X, y = corpora.corpus("tiny")
    monkeypatch.setattr(store, "make", None)  # a second time would fail
    X_test, y_test = corpora.corpus("tiny", "test")
    made = corpora.make(TINY)
    assert same(X, made.X)
    assert same(X_test, made.X_test)
    np.testing.assert_array_equal(y, made.y)
    np.testing.assert_array_equal(y_test, made.y_test)
    assert all(is_mapped(array) for array in (X.data, X.indices, y))


def test_what_cannot_be_made_is_refused() -> None:
    with pytest.raises(ValueError, match="no corpus 'lshtc'; there are lshtc-small"):
        corpora.corpus("lshtc")
    with pytest.raises(ValueError, match="no part 'valid'"):
        corpora.corpus("lshtc-small", "valid")
    with pytest.raises(ValueError, match="10 rows for 20 classes"):
        corpora.Shape(10, 100, 20)
    with pytest.raises(ValueError, match="largest of 10 classes cannot have a share of 0.01"):
        corpora.make(corpora.Shape(100, 100, 10, head=0.01))
