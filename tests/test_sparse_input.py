"""Sparse matrices of all kinds, also broken ones."""

from typing import Any

import numpy as np
import pytest
from conftest import fit_linear
from scipy import sparse

from polymargin import LinearSVM


@pytest.fixture
def holes(seed: int) -> tuple[Any, Any]:
    """A dense array that is mostly zero, and labels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 12)) * (rng.random((40, 12)) < 0.3)
    return X, np.arange(40) % 3


def _raw_csr(data: Any, indices: Any, indptr: Any, shape: tuple[int, int]) -> Any:
    """CSR of any content: SciPy's constructor would refuse some."""
    X = sparse.csr_array(shape, dtype=np.float64)
    X.data, X.indices, X.indptr = data, indices, indptr
    return X


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "bsr", "lil", "dok", "dia"])
@pytest.mark.parametrize("kind", ["array", "matrix"])
def test_sparse_formats(format: str, kind: str, holes: tuple[Any, Any]) -> None:
    X, y = holes
    container = sparse.csr_array if kind == "array" else sparse.csr_matrix
    model = fit_linear(container(X).asformat(format), y)
    np.testing.assert_allclose(model.coef_, fit_linear(X, y).coef_, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8])
def test_sparse_types(index: type, dtype: type, holes: tuple[Any, Any]) -> None:
    dense, y = (holes[0] * 10).astype(dtype), holes[1]
    X = sparse.csr_array(dense)
    X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    model = LinearSVM(C=1e-3, random_state=0).fit(X, y)
    assert model.coef_.dtype == (np.float32 if dtype == np.float32 else np.float64)
    assert X.indices.dtype == index
    np.testing.assert_allclose(
        model.class_scores(X), model.class_scores(dense), rtol=1e-4, atol=1e-5
    )


def test_byte_swapped_sparse(holes: tuple[Any, Any]) -> None:
    X, y = sparse.csr_array(holes[0].astype(np.float32)), holes[1]
    swapped = X.copy()
    swapped.data = X.data.astype(X.dtype.newbyteorder())
    model, expected = (LinearSVM(random_state=0).fit(rows, y) for rows in (swapped, X))
    assert model.coef_.dtype == np.float32
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-4, atol=1e-5)


def test_unsorted_and_duplicate_indices(machine: str, holes: tuple[Any, Any]) -> None:
    dense, y = holes
    X = sparse.csr_array(dense)
    twice = np.repeat(X.indices, 2)
    odd = _raw_csr(np.repeat(X.data / 2, 2), twice, X.indptr * 2, X.shape)
    for i in range(X.shape[0]):  # each row backwards, and its halves apart
        row = slice(odd.indptr[i], odd.indptr[i + 1])
        order = np.concatenate([np.arange(1, len(odd.data[row]), 2)[::-1]] * 2)
        order[: len(order) // 2] -= 1
        odd.indices[row], odd.data[row] = odd.indices[row][order], odd.data[row][order]
    np.testing.assert_allclose(odd.toarray(), dense)
    stored = odd.data.copy()

    model, expected = (fit_linear(rows, y, machine, tol=1e-10) for rows in (odd, dense))
    np.testing.assert_allclose(model.primal_objective_, expected.primal_objective_, rtol=1e-8)
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(model.class_scores(odd), model.class_scores(dense), atol=1e-10)
    np.testing.assert_allclose(
        model.sparsify().class_scores(odd), model.class_scores(dense), atol=1e-10
    )
    np.testing.assert_array_equal(odd.data, stored)


def _corrupt(kind: str) -> Any:
    data, indices, indptr = np.ones(4), np.array([0, 1, 2, 0]), np.array([0, 2, 3, 4])
    if kind == "index too large":
        indices = np.array([0, 1, 3, 0])
    elif kind == "index negative":
        indices = np.array([0, 1, -1, 0])
    elif kind == "indptr decreases":
        indptr = np.array([0, 3, 1, 4])
    elif kind == "indptr starts late":
        indptr = np.array([1, 2, 3, 4])
    elif kind == "indptr too large":
        indptr = np.array([0, 2, 3, 10**6])
    elif kind == "indptr negative":
        indptr = np.array([0, 2, 3, -1])
    elif kind == "indptr too short":
        indptr = np.array([0, 2, 4])
    return _raw_csr(data, indices, indptr, (3, 3))


_CORRUPT = [
    "index too large",
    "index negative",
    "indptr decreases",
    "indptr starts late",
    "indptr too large",
    "indptr negative",
    "indptr too short",
]


@pytest.mark.parametrize("kind", _CORRUPT)
@pytest.mark.parametrize("convert", ["", "int", "csc", "bsr", "weights"])
def test_corrupt_sparse_is_an_error(kind: str, convert: str) -> None:
    X, y = _corrupt(kind), [0, 1, 2]
    if convert == "int":
        X.data = X.data.astype(np.int64)
    elif convert in ("csc", "bsr"):
        other = sparse.csc_array((3, 3)) if convert == "csc" else sparse.bsr_array((3, 3))
        data = X.data if convert == "csc" else X.data.reshape(-1, 1, 1)
        other.data, other.indices, other.indptr = data, X.indices, X.indptr
        X = other
    weights = [1.0, 1.0, 0.0] if convert == "weights" else None
    with pytest.raises(ValueError):
        LinearSVM().fit(X, y, weights)
    with pytest.raises(ValueError):
        LinearSVM().partial_fit(X, y, classes=y, sample_weight=weights)
    model = LinearSVM().fit(np.eye(3), y)
    for prepared in (model, model.sparsify()):
        with pytest.raises(ValueError):
            prepared.predict(X)


def test_corrupt_coo_is_an_error() -> None:
    X = sparse.coo_array(np.eye(3))
    X.coords = (np.array([0, 1, 99]), X.coords[1])
    with pytest.raises(ValueError, match=r"an index is outside \[0, 3\)"):
        LinearSVM().fit(X, [0, 1, 2])


def test_arrays_longer_than_in_use() -> None:
    X = _raw_csr(np.r_[np.ones(3), np.nan], np.array([0, 1, 2, 99]), np.arange(4), (3, 3))
    np.testing.assert_array_equal(LinearSVM().fit(X, [0, 1, 2]).predict(np.eye(3)), [0, 1, 2])


def test_sparse_without_entries(machine: str) -> None:
    model = LinearSVM(machine).fit(sparse.csr_array((3, 2)), [0, 1, 1])
    assert not model.coef_.any()
