"""Calibrators against scikit-learn's and against brute force, on given scores."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator

from polymargin.calibration import CALIBRATIONS, Isotonic, Sigmoid, Temperature


class Given(ClassifierMixin, BaseEstimator):
    """A classifier whose rows are their own scores."""

    def fit(self, X: Any, y: Any) -> "Given":
        self.classes_, self.n_features_in_ = np.unique(y), X.shape[1]
        return self

    def decision_function(self, X: Any) -> Any:
        return X[:, 1] - X[:, 0] if len(self.classes_) == 2 else X

    def predict(self, X: Any) -> Any:
        return self.classes_[X.argmax(axis=1)]


def make_scores(k: int, seed: int, n: int = 300) -> tuple[Any, Any, Any]:
    """Scores that tell the labels, though not always; labels; weights."""
    random = np.random.default_rng(seed)
    labels = random.integers(k, size=n)
    labels[:k] = np.arange(k)
    scores = random.normal(size=(n, k)) + 1.5 * (labels[:, None] == np.arange(k))
    return scores, labels, random.integers(1, 4, size=n).astype(float)


@pytest.mark.parametrize("kind", [Sigmoid, Isotonic])
@pytest.mark.parametrize("k", [2, 3, 7])
@pytest.mark.filterwarnings("ignore:Since FrozenEstimator does not appear")
def test_those_by_class_are_scikit_learns(kind: Any, k: int, seed: int) -> None:
    scores, labels, weight = make_scores(k, seed)
    others = 3 * make_scores(k, seed + 1)[0]
    theirs = CalibratedClassifierCV(FrozenEstimator(Given().fit(scores, labels)), method=kind.name)
    # Its only fold holds all rows out, so that it learns from all scores.
    theirs.set_params(cv=[(np.arange(5), np.arange(len(labels)))], ensemble=True)
    theirs.fit(scores, labels, weight)
    ours = kind.learn(scores, labels, weight)
    tolerance = 1e-12 if kind is Isotonic else 2e-5  # its L-BFGS stops there
    np.testing.assert_allclose(
        ours.probabilities(others), theirs.predict_proba(others), atol=tolerance
    )


def sigmoid_loss(line: Any, s: Any, own: Any, weight: Any) -> float:
    positive, negative = weight[own].sum(), weight[~own].sum()
    t = np.where(own, (positive + 1) / (positive + 2), 1 / (negative + 2))
    z = line[0] * s + line[1]
    return float(weight @ (np.logaddexp(0, z) - t * z))


def test_no_other_line_is_better(seed: int) -> None:
    scores, labels, weight = make_scores(4, seed)
    found = Sigmoid.learn(1e4 * scores + 5e5, labels, weight)
    for c in range(4):
        best = (found.slope[c], found.offset[c])
        data = (1e4 * scores[:, c] + 5e5, labels == c, weight)
        least = sigmoid_loss(best, *data)
        for factor, shift in ((1.001, 0), (0.999, 0), (1, 0.01), (1, -0.01)):
            other = (best[0] * factor, best[1] + shift - best[0] * (factor - 1) * data[0].mean())
            assert sigmoid_loss(other, *data) > least


def mean_loss(T: float, scores: Any, labels: Any, weight: Any) -> float:
    logs = scores / T - logsumexp(scores / T, axis=1, keepdims=True)
    return -float(np.average(logs[np.arange(len(labels)), labels], weights=weight))


@pytest.mark.parametrize("k", [2, 3, 20])
@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e9])
def test_temperature_is_that_of_the_least_loss(k: int, scale: float, seed: int) -> None:
    scores, labels, weight = make_scores(k, seed)
    T = Temperature.learn(scale * scores, labels, weight).T / scale
    grid = np.geomspace(1e-3, 1e3, 2000)
    losses = [mean_loss(t, scores, labels, weight) for t in grid]
    best = int(np.argmin(losses))
    assert grid[best - 1] < T < grid[best + 1]
    exact = minimize_scalar(
        lambda t: mean_loss(np.exp(t), scores, labels, weight),
        bounds=np.log([grid[best - 1], grid[best + 1]]),
        method="bounded",
        options={"xatol": 1e-10},
    )
    assert pytest.approx(np.exp(exact.x), rel=1e-6) == T


def test_rows_without_a_mistake_end_on_laplaces_rule(seed: int) -> None:
    scores, labels, weight = make_scores(3, seed)
    scores += 20 * (labels[:, None] == np.arange(3))
    T = Temperature.learn(scores, labels, weight).T
    n = weight.sum()
    assert mean_loss(T, scores, labels, weight) == pytest.approx(np.log((n + 2) / (n + 1)))
    more = Temperature.learn(np.tile(scores, (9, 1)), np.tile(labels, 9), np.tile(weight, 9))
    assert more.T < T


def test_scores_that_say_nothing_or_the_contrary_are_flat(seed: int) -> None:
    scores, labels, weight = make_scores(3, seed)
    p = Temperature.learn(-scores, labels, weight).probabilities(scores)
    np.testing.assert_allclose(p, 1 / 3, rtol=2e-3)
    assert Temperature.learn(np.zeros_like(scores), labels, weight) == Temperature(1.0)


@pytest.mark.parametrize("kind", [Sigmoid, Isotonic])
@pytest.mark.parametrize("k", [2, 4])
def test_a_class_without_rows_learns_from_all(kind: Any, k: int, seed: int) -> None:
    scores, labels, weight = make_scores(k, seed)
    present = labels > 0
    p = kind.learn(scores[present], labels[present], weight[present]).probabilities(scores)
    # Its score still counts: rows of the class are told from the others.
    assert p[labels == 0, 0].mean() > 2 * p[labels > 0, 0].mean()


@pytest.mark.parametrize("kind", CALIBRATIONS.values())
@pytest.mark.parametrize("k", [2, 3])
def test_weight_two_is_the_row_twice(kind: Any, k: int, seed: int) -> None:
    scores, labels, weight = make_scores(k, seed)
    often = np.repeat(np.arange(len(labels)), weight.astype(int))
    one = kind.learn(scores, labels, weight)
    other = kind.learn(scores[often], labels[often], np.ones(len(often)))
    np.testing.assert_allclose(one.probabilities(scores), other.probabilities(scores), rtol=1e-7)


finite = st.floats(allow_nan=False, allow_infinity=False)


@settings(max_examples=60, deadline=None)
@given(
    kind=st.sampled_from(list(CALIBRATIONS.values())),
    k=st.integers(2, 4),
    seed=st.integers(0, 5),
    scale=st.sampled_from([1e-200, 1.0, 1e100]),
    data=st.data(),
)
def test_probabilities_are_probabilities(
    kind: Any, k: int, seed: int, scale: float, data: Any
) -> None:
    scores, labels, weight = make_scores(k, seed, n=30)
    calibrator = kind.learn(scale * scores, labels, weight)
    rows = data.draw(arrays(np.float64, (5, k), elements=finite))
    p, logs = calibrator.probabilities(rows), calibrator.log_probabilities(rows)
    assert np.all((p >= 0) & (p <= 1))
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(np.exp(logs), p, rtol=1e-9)
    assert not np.any(np.isnan(logs))
    if kind is not Isotonic:
        assert np.all(logs > -np.inf) or np.abs(rows).max() > 1e100
    if kind is Temperature:
        top = rows.argmax(axis=1)
        assert np.all(p[np.arange(5), top] == p.max(axis=1))


@settings(max_examples=60, deadline=None)
@given(
    kind=st.sampled_from(list(CALIBRATIONS.values())),
    scores=arrays(np.float64, (12, 3), elements=st.floats(-1e3, 1e3)),
    labels=arrays(np.int64, 12, elements=st.integers(0, 2)),
)
def test_any_scores_can_be_learnt_from(kind: Any, scores: Any, labels: Any) -> None:
    p = kind.learn(scores, labels, np.ones(12)).probabilities(scores)
    assert np.all(np.isfinite(p))
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-12)
