"""Metrics of the best classes, and F1 of labels of any type."""

from typing import Any

import numpy as np
import pytest
from sklearn import metrics as theirs

from polymargin.metrics import f1_score, precision_at_m_score, top_k_accuracy_score

TYPES = {
    "int64": lambda y: y.astype(np.int64),
    "uint8": lambda y: y.astype(np.uint8),
    "float32": lambda y: y.astype(np.float32),
    "text": lambda y: np.array([f"class {c}" for c in range(10)])[y],
    "objects": lambda y: np.array([f"class {c}" for c in range(10)], dtype=object)[y],
    "lists": lambda y: y.tolist(),
}


@pytest.fixture
def scored(seed: int) -> tuple[Any, Any, Any]:
    """Labels, scores, and all classes of each row in order."""
    random = np.random.default_rng(seed)
    y, scores = random.integers(7, size=300), random.normal(size=(300, 7))
    return y, scores, np.argsort(-scores, axis=1)


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("m", [1, 3, 6])
def test_top_k_accuracy_is_that_of_scikit_learn(scored: Any, kind: str, m: int, seed: int) -> None:
    y, scores, order = scored
    weight = np.random.default_rng(seed + 1).random(len(y))
    for sample_weight in (None, weight):
        expected = theirs.top_k_accuracy_score(y, scores, k=m, sample_weight=sample_weight)
        found = top_k_accuracy_score(
            TYPES[kind](y), TYPES[kind](order), m=m, sample_weight=sample_weight
        )
        assert found == pytest.approx(expected, abs=1e-12)
        cut = TYPES[kind](order[:, :m])
        assert top_k_accuracy_score(
            TYPES[kind](y), cut, sample_weight=sample_weight
        ) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("m", [1, 2, 5])
def test_precision_at_m_is_the_share_of_right_ones(scored: Any, m: int) -> None:
    y, _, order = scored
    hits = sum(int(y[i] in order[i, :m]) for i in range(len(y)))
    assert precision_at_m_score(y, order, m=m) == pytest.approx(hits / (m * len(y)))


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("average", ["micro", "macro", "weighted"])
def test_f1_is_that_of_scikit_learn(scored: Any, kind: str, average: str, seed: int) -> None:
    y, _, order = scored
    weight = np.random.default_rng(seed + 1).random(len(y))
    for sample_weight in (None, weight):
        expected = theirs.f1_score(y, order[:, 0], average=average, sample_weight=sample_weight)
        found = f1_score(
            TYPES[kind](y), TYPES[kind](order[:, 0]), average=average, sample_weight=sample_weight
        )
        assert found == pytest.approx(expected, abs=1e-12)


def test_labels_of_classes_that_no_model_knows() -> None:
    best = np.array([[0, 1], [1, 2], [2, 0], [0, 2]])
    unseen = [0, 1, 9, 2]
    assert top_k_accuracy_score(unseen, best) == 0.75
    # 9 is never predicted, and its F1 of 0 counts: (2/3 + 1 + 0 + 0) / 4 of 0, 1, 2 and 9.
    assert f1_score(unseen, best[:, 0]) == pytest.approx((2 / 3 + 1) / 4)
    mixed = [0, 1, "nine", 2]
    assert top_k_accuracy_score(mixed, best) == 0.75
    assert top_k_accuracy_score(["0", "1", "9", "2"], best) == 0.0
    assert f1_score(mixed, best[:, 0]) == pytest.approx((2 / 3 + 1) / 4)
    assert f1_score(mixed, best[:, 0], average="micro") == 0.5


def test_numbers_of_different_types_are_compared_by_value() -> None:
    assert top_k_accuracy_score(np.array([1.0, 2.0]), np.array([[1], [3]])) == 0.5


def test_what_does_not_fit_is_refused() -> None:
    best = np.array([[0, 1], [1, 2]])
    with pytest.raises(ValueError, match="y_true has 3 rows, y_top has 2 rows"):
        top_k_accuracy_score([0, 1, 2], best)
    with pytest.raises(ValueError, match="y_true has 1 row, y_pred has 2 rows"):
        f1_score([0], [0, 1])
    with pytest.raises(ValueError, match="m=3, but y_top has 2 labels of each row"):
        precision_at_m_score([0, 1], best, m=3)
    with pytest.raises(ValueError, match="m has to be a positive integer"):
        top_k_accuracy_score([0, 1], best, m=0)
    with pytest.raises(ValueError, match="y_top has to have 2 dimensions"):
        top_k_accuracy_score([0, 1], [0, 1])
    with pytest.raises(ValueError, match="y_true is empty"):
        f1_score([], [])
    with pytest.raises(ValueError, match="average is one of micro, macro, weighted, not None"):
        f1_score([0], [0], average=None)  # type: ignore[arg-type]
