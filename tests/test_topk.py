"""The best classes of each row: order, ties, memory, all kinds of models."""

import tracemalloc
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.metrics import pairwise

from polymargin import KernelSVM, LinearSVM
from polymargin.estimators import best_classes

BLOCK = "polymargin.estimators._blocks._BLOCK_BYTES"


def by_sorting(scores: Any, m: int) -> Any:
    """All classes in order, of equals the first; then the first m."""
    return np.argsort(-scores, axis=1, kind="stable")[:, :m]


def make_model(kind: str, X: Any, y: Any) -> tuple[Any, Any]:
    """A fitted model, and rows that it takes."""
    if kind == "precomputed":
        K = pairwise.rbf_kernel(X, gamma=0.5)
        return KernelSVM(kernel="precomputed", random_state=0).fit(K, y), K
    if kind == "rbf":
        return KernelSVM(gamma=0.5, random_state=0).fit(X, y), X
    model = LinearSVM(random_state=0, weights="sparse" if "weights" in kind else "dense")
    return model.fit(X, y), sparse.csr_array(X) if "rows" in kind else X


KINDS = ["dense", "sparse rows", "sparse weights", "sparse rows and weights", "rbf", "precomputed"]


@pytest.fixture
def many(seed: int) -> tuple[Any, Any]:
    """Nine named classes."""
    random = np.random.default_rng(seed)
    y = random.integers(9, size=120)
    X = random.normal(size=(120, 6)) + random.normal(size=(9, 6))[y]
    return X, np.array([f"class {c}" for c in range(9)])[y]


@pytest.mark.parametrize("m", [1, 2, 5, 9])
@pytest.mark.parametrize("kind", KINDS)
def test_labels_are_those_of_the_largest_scores(kind: str, m: int, many: Any) -> None:
    model, rows = make_model(kind, *many)
    scores = model.class_scores(rows)
    expected = by_sorting(scores, m)
    labels, values = model.predict_topk(rows, m, return_scores=True)
    np.testing.assert_array_equal(labels, model.classes_[expected])
    np.testing.assert_array_equal(values, np.take_along_axis(scores, expected, axis=1))
    np.testing.assert_array_equal(model.predict_topk(rows, m=m), labels)
    np.testing.assert_array_equal(labels[:, 0], model.predict(rows))


@pytest.mark.parametrize("m", [1, 2, 3, 6, 7])
def test_of_equal_scores_the_first_classes_come_first(m: int, seed: int) -> None:
    scores = np.random.default_rng(seed).integers(3, size=(200, 7)).astype(np.float32)
    np.testing.assert_array_equal(best_classes(scores, m), by_sorting(scores, m))
    alike = np.zeros((3, 7))
    np.testing.assert_array_equal(best_classes(alike, m), np.tile(np.arange(m), (3, 1)))


def test_scores_are_left_as_they_were(seed: int) -> None:
    scores = np.random.default_rng(seed).normal(size=(5, 8))
    before = scores.copy()
    best_classes(scores, 3)
    np.testing.assert_array_equal(scores, before)


def test_a_model_of_equal_weights_breaks_ties_as_predict_does(many: Any) -> None:
    X, y = many
    model = LinearSVM(random_state=0).fit(X, y)
    model.coef_, model.intercept_ = np.zeros_like(model.coef_), np.zeros_like(model.intercept_)
    labels = model.predict_topk(X, 3)
    assert labels.tolist() == [["class 0", "class 1", "class 2"]] * len(X)
    assert model.predict(X).tolist() == ["class 0"] * len(X)


@pytest.mark.parametrize("kind", KINDS)
def test_no_more_scores_than_a_block_at_a_time(
    kind: str, many: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, rows = make_model(kind, *many)
    labels, whole = model.predict(rows), model.predict_topk(rows, 4)
    sizes, scorer = [], type(model)._scorer

    def counting(self: Any, X: Any) -> Any:
        validated, score = scorer(self, X)

        def count(part: slice) -> Any:
            scores = score(part)
            sizes.append(scores.nbytes)
            return scores

        return validated, count

    monkeypatch.setattr(type(model), "_scorer", counting)
    monkeypatch.setattr(BLOCK, 7 * 9 * 8)
    np.testing.assert_array_equal(model.predict(rows), labels)
    np.testing.assert_array_equal(model.predict_topk(rows, 4), whole)
    assert max(sizes) <= 7 * 9 * 8
    assert sum(sizes) == 2 * 120 * 9 * 8


def test_memory_of_sparse_weights_does_not_grow_with_the_rows(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    n, d, k = 4000, 50, 2000
    random = np.random.default_rng(seed)
    model = LinearSVM(random_state=0).fit(random.normal(size=(2 * k, d)), np.arange(2 * k) % k)
    coef = np.where(random.random((k, d)) < 0.05, model.coef_, 0.0)
    model.coef_ = sparse.csr_array(coef)
    X = sparse.random_array((n, d), density=0.1, rng=random, format="csr")
    monkeypatch.setattr(BLOCK, 1 << 20)
    model.predict_topk(X[:10])  # what is imported late
    for method in (model.predict, model.predict_topk):
        tracemalloc.start()
        method(X)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < n * k * 8 / 4  # a few blocks, and not the scores of all rows


def test_an_error_names_the_row_in_whatever_block(
    many: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = many
    model = LinearSVM(random_state=0).fit(X.astype(np.float32), y)
    monkeypatch.setattr(BLOCK, 7 * 9 * 4)
    rows = X.astype(np.float32)
    rows[50] = 3e38
    with pytest.raises(ValueError, match="scores of row 50 of X leave the range"):
        model.predict_topk(rows)
    rows[50] = np.nan
    with pytest.raises(ValueError, match="NaN in row 50"):
        model.predict(rows)


@pytest.mark.parametrize("cls", [LinearSVM, KernelSVM])
def test_what_cannot_be_is_refused(cls: Any, many: Any) -> None:
    X, y = many
    with pytest.raises(NotFittedError):
        cls().predict_topk(X)
    model = cls(random_state=0).fit(X, y)
    with pytest.raises(
        ValueError, match="m=10 classes of each row, but the model knows 9: pass m=9"
    ):
        model.predict_topk(X, m=10)
    for m in (0, -1, 2.0, True, "2"):
        with pytest.raises(
            ValueError, match="m has to be an integer from 1 to the number of classes"
        ):
            model.predict_topk(X, m=m)
    assert model.predict_topk(X, m=np.int64(2)).shape == (120, 2)


def test_two_classes(many: Any) -> None:
    X, _ = many
    model = LinearSVM(random_state=0).fit(X, X[:, 0] > 0)
    labels, scores = model.predict_topk(X, 2, return_scores=True)
    np.testing.assert_array_equal(labels[:, 1], ~labels[:, 0])
    assert (scores[:, 0] >= scores[:, 1]).all()
