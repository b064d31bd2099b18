"""Tables of support patterns, suspicious labels, confusable pairs and features."""

from typing import Any

import numpy as np
import pytest
from conftest import MACHINES, fit_linear, load_data
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris, make_blobs
from sklearn.feature_extraction.text import (
    CountVectorizer,
    HashingVectorizer,
    TfidfTransformer,
    TfidfVectorizer,
)
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale

from polymargin import KernelSVM, LinearSVM
from polymargin._machines import find_machine
from polymargin.inspect import (
    confusable_pairs,
    confusion,
    margins,
    support_patterns,
    suspicious_labels,
    top_features,
)

pandas = pytest.importorskip("pandas")


def parse_eta(text: str) -> dict[str, float]:
    pairs = (part.rsplit(": ", 1) for part in text.split(", ")) if text else ()
    return {name: float(weight) for name, weight in pairs}


def test_crammer_singer_eta_is_own_label_less_tau(crowd: Any) -> None:
    X, y = crowd
    model = fit_linear(X, y, "cs", C=0.05)
    table = support_patterns(model, X, y)
    tau = model.duals_.toarray() / 0.05
    eta = np.eye(4)[y] - tau
    assert set(table["row"]) == set(np.flatnonzero(np.linalg.norm(tau, axis=1) > 0))
    for _, row in table.iterrows():
        listed = parse_eta(row["eta"])
        expected = eta[row["row"]]
        assert sum(listed.values()) == pytest.approx(1.0, abs=0.02)
        for c in range(4):
            assert listed.get(str(c), 0.0) == pytest.approx(expected[c], abs=0.0051)
    assert list(table["tau_norm"].round(5)) == sorted(table["tau_norm"].round(5), reverse=True)
    assert table["tau_norm"].max() == pytest.approx(np.sqrt(2))


def test_patterns_of_every_machine(crowd: Any, machine: str) -> None:
    X, y = crowd
    model = fit_linear(X, y, machine, C=0.03, tol=1e-4)
    info = find_machine(machine)
    table = support_patterns(model, X, y)
    tau = model.duals_.toarray() / 0.03
    if info.zero_sum:
        tau -= tau.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(
        table["tau_norm"], np.linalg.norm(tau, axis=1)[table["row"]], atol=1e-9
    )
    scores = model.class_scores(X)[table["row"]]
    own = scores[np.arange(len(table)), table["label"]]
    scores[np.arange(len(table)), table["label"]] = -np.inf
    np.testing.assert_allclose(table["margin"], own - scores.max(axis=1), atol=1e-9)
    assert (table["rival"] == scores.argmax(axis=1)).all()
    assert (table["error"] == (table["label"] != table["predicted"])).all()
    if machine == "mmr":
        assert set(table["eta"]) == {""}
    else:
        sums = [sum(parse_eta(text).values()) for text in table["eta"] if text]
        assert sums
        np.testing.assert_allclose(sums, 1.0, atol=0.03)
    # At the bound where a hinge is violated, not at it where every hinge is met with room.
    assert table["bounded"].any()
    if info.relative:
        assert table["bounded"][table["margin"] < 0.9].all()


def test_error_rows_are_bounded_and_rows_at_margin_need_not(crowd: Any) -> None:
    X, y = crowd
    table = support_patterns(fit_linear(X, y, "cs", C=1.0), X, y)
    assert table["bounded"][table["error"]].all()
    assert not table["bounded"].all()


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 1000), machine=st.sampled_from(MACHINES))
def test_weights_scale_out_of_tau(seed: int, machine: str) -> None:
    """tau is in units of C_i: its norm is at most that of a vector at all bounds."""
    X, y = make_blobs(40, 3, centers=3, cluster_std=4.0, random_state=seed)
    X = scale(X)
    weight = np.random.default_rng(seed).uniform(0.5, 2.0, 40)
    model = LinearSVM(machine, C=0.1, tol=1e-2, random_state=0).fit(X, y, weight)
    table = support_patterns(model, X, y, sample_weight=weight)
    bound = np.sqrt(6) if machine == "ww" else np.sqrt(3)
    assert table["tau_norm"].max() <= bound + 1e-6
    assert table["bounded"].any()


def test_class_weight_and_rows_of_weight_zero(blobs: Any) -> None:
    X, y = blobs
    weight = np.ones(60)
    weight[:5] = 0
    strange = y.copy()
    strange[0] = 17  # of weight zero: the model does not know it
    model = LinearSVM("cs", C=0.1, class_weight={0: 3.0}, random_state=0, tol=1e-6)
    model.fit(X, strange, weight)
    table = support_patterns(model, X, strange, sample_weight=weight)
    assert set(table["row"]).isdisjoint(range(5))
    assert table["tau_norm"].max() <= np.sqrt(2) + 1e-6
    assert 0 not in set(suspicious_labels(model, X, strange, by="margin")["row"])


def planted() -> tuple[Any, Any, Any]:
    X, y = make_blobs(300, 6, centers=4, cluster_std=0.7, random_state=0)
    chosen = np.random.default_rng(0).choice(300, 9, replace=False)
    wrong = y.copy()
    wrong[chosen] = (y[chosen] + 1) % 4
    return scale(X), y, wrong


@pytest.mark.parametrize("machine", MACHINES)
def test_planted_labels_come_first(machine: str) -> None:
    X, truth, y = planted()
    model = KernelSVM(machine, C=0.3, gamma=0.05, random_state=0).fit(X, y)
    found = suspicious_labels(model, X, y, max_rows=9)
    right = found[(y != truth)[found["row"]]]
    assert len(right) >= 8  # of 9
    assert (right["suggested"].to_numpy() == truth[right["row"]]).all()
    assert right["error"].all()


def test_ties_of_tau_are_broken_by_the_margin() -> None:
    X, _, y = planted()
    model = fit_linear(X, y, "cs", C=0.01)
    table = suspicious_labels(model, X, y, by="tau", max_rows=None)
    ties = table[table["tau_norm"] > np.sqrt(2) - 1e-6]
    assert len(ties) > 3
    assert ties["margin"].is_monotonic_increasing


def test_ranking_by_margin_needs_no_duals() -> None:
    X, truth, y = planted()
    stream = LinearSVM("cs", C=0.1).partial_fit(X, y, classes=[0, 1, 2, 3])
    found = suspicious_labels(stream, X, y, max_rows=9)
    assert "tau_norm" not in found
    assert found["margin"].is_monotonic_increasing
    assert (truth[found["row"]] != y[found["row"]]).mean() > 0.8
    with pytest.raises(ValueError, match="no dual variables"):
        suspicious_labels(stream, X, y, by="tau")
    with pytest.raises(ValueError, match="no dual variables"):
        support_patterns(stream, X, y)
    assert "eta" not in confusable_pairs(stream, X, y)


def test_other_rows_or_labels_are_refused(blobs: Any) -> None:
    X, y = blobs
    model = fit_linear(X, y, "cs")
    with pytest.raises(ValueError, match="trained on 60 rows, X has 59"):
        support_patterns(model, X[1:], y[1:])
    with pytest.raises(ValueError, match="belong to another label"):
        support_patterns(model, X, np.roll(y, 7))
    with pytest.raises(ValueError, match="60 rows, y has 59"):
        support_patterns(model, X, y[1:])
    with pytest.raises(TypeError, match="got StandardScaler"):
        support_patterns(StandardScaler(), X, y)
    with pytest.raises(ValueError, match="by has to be"):
        suspicious_labels(model, X, y, by="loss")  # type: ignore[arg-type]


def test_sparse_pipeline_and_strings_agree_with_arrays(blobs: Any) -> None:
    X, y = blobs
    names = np.array(["ash", "beech", "cedar"])[y]
    dense = support_patterns(fit_linear(X, names, "cs"), X, names)
    pipeline = make_pipeline(StandardScaler(with_mean=False, with_std=False), fit_linear(X, y))
    pipeline.steps[-1] = ("svm", fit_linear(X, names, "cs"))
    pipeline.steps[0][1].fit(X)
    other = support_patterns(pipeline, sparse.csr_array(X), names)
    pandas.testing.assert_frame_equal(dense, other)
    assert set(dense["label"]) <= {"ash", "beech", "cedar"}


def test_blocks_of_scores_do_not_change_the_tables(monkeypatch: Any, crowd: Any) -> None:
    X, y = crowd
    model = fit_linear(X, y)
    whole = margins(model, X, y)
    monkeypatch.setattr("polymargin.estimators._blocks._BLOCK_BYTES", 8 * 4 * 7)
    pandas.testing.assert_frame_equal(whole, margins(model, X, y))
    whole = support_patterns(model, X, y)
    monkeypatch.setattr("polymargin.inspect._taus._BLOCK_ENTRIES", 3)
    pandas.testing.assert_frame_equal(whole, support_patterns(model, X, y))


def test_confusion_is_that_of_scikit_learn(crowd: Any) -> None:
    X, y = crowd
    model = fit_linear(X, y)
    table = confusion(model, X, y)
    np.testing.assert_array_equal(table.to_numpy(), confusion_matrix(y, model.predict(X)))
    foreign = y.copy()
    foreign[:3] = 9
    table = confusion(model, X, foreign)
    assert table.index.tolist() == [0, 1, 2, 3, 9]
    assert table.loc[9].sum() == 3
    assert margins(model, X, foreign)["margin"][:3].isna().all()


def test_pairs_sum_up_eta_and_errors(crowd: Any) -> None:
    X, y = crowd
    model = fit_linear(X, y, "cs", C=0.05)
    pairs = confusable_pairs(model, X, y, X_test=X[::2], y_test=y[::2])
    eta = np.maximum(-model.duals_.toarray() / 0.05, 0)
    eta[np.arange(len(y)), y] = 0
    counts = confusion_matrix(y, model.predict(X))
    tested = confusion_matrix(y[::2], model.predict(X[::2]))
    for _, pair in pairs.iterrows():
        one, other = int(pair["label"]), int(pair["confused_with"])
        assert one != other
        assert pair["eta"] == pytest.approx(eta[y == one, other].sum(), abs=1e-9)
        assert pair["patterns"] == (eta[y == one, other] > 0).sum()
        assert pair["errors"] == counts[one, other]
        assert pair["test_errors"] == tested[one, other]
    assert pairs["eta"].is_monotonic_decreasing
    assert pairs["eta"].sum() == pytest.approx(eta.sum())
    assert pairs["errors"].sum() == (model.predict(X) != y).sum()
    assert len(confusable_pairs(model, X, y, max_rows=2)) == 2
    without = confusable_pairs(fit_linear(X, y, "mmr", C=0.05), X, y)
    assert "eta" not in without
    assert without["errors"].is_monotonic_decreasing


def test_pairs_of_a_perfect_model_are_none() -> None:
    X = np.eye(3)
    model = KernelSVM("mmr", kernel="linear", C=10.0).fit(X, [0, 1, 2])
    assert len(confusable_pairs(model, X, [0, 1, 2])) == 0


TEXTS = ["red apple", "green apple pie", "fast car", "red slow car", "tall tree", "green tree"] * 3
KINDS = ["fruit", "fruit", "car", "car", "tree", "tree"] * 3


@pytest.mark.parametrize(
    "steps",
    [
        [TfidfVectorizer()],
        [CountVectorizer(), TfidfTransformer()],
        [HashingVectorizer(n_features=2**12)],
        [HashingVectorizer(n_features=2**12), TfidfTransformer()],
    ],
    ids=["tfidf", "counts", "hashed", "hashed-tfidf"],
)
def test_words_of_text_pipelines(steps: list[Any]) -> None:
    model = make_pipeline(*steps, LinearSVM("cs", random_state=0)).fit(TEXTS, KINDS)
    table = top_features(model, 2, texts=TEXTS)
    best = table[table["weight"] > 0].groupby("label")["name"].first()
    assert best.to_dict() == {"car": "car", "fruit": "apple", "tree": "tree"}
    assert support_patterns(model, TEXTS, KINDS).shape[0] > 0


def test_hashed_features_without_texts_are_numbered() -> None:
    model = make_pipeline(HashingVectorizer(n_features=16), LinearSVM()).fit(TEXTS, KINDS)
    assert top_features(model)["name"].str.fullmatch(r"feature \d+").all()


@pytest.mark.parametrize("weights", ["dense", "sparse"])
def test_top_features_are_the_largest(weights: str) -> None:
    iris = load_iris()
    model = LinearSVM("ww", weights=weights, random_state=0).fit(iris.data, iris.target)
    table = top_features(model, 2, iris.feature_names)
    coef = model.densify().coef_
    for c in range(3):
        part = table[table["label"] == c]
        positive = part[part["weight"] > 0]["weight"].tolist()
        assert positive == sorted(coef[c][coef[c] > 0], reverse=True)[:2]
        negative = part[part["weight"] < 0]["weight"].tolist()
        assert negative == sorted(coef[c][coef[c] < 0])[:2]
    assert table["name"].tolist() == [iris.feature_names[j] for j in table["feature"]]
    with pytest.raises(ValueError, match="2 names for 4 features"):
        top_features(model, names=["a", "b"])
    with pytest.raises(ValueError, match="at least 1"):
        top_features(model, 0)


def test_kernel_machines_have_no_top_features(blobs: Any) -> None:
    model = KernelSVM(random_state=0).fit(*blobs)
    with pytest.raises(ValueError, match="KernelSVM has no weights of features"):
        top_features(model)


def test_names_of_columns(blobs: Any) -> None:
    X, y = blobs
    frame = pandas.DataFrame(X, columns=["one", "two", "three", "four"])
    model = make_pipeline(StandardScaler(), LinearSVM(random_state=0)).fit(frame, y)
    assert set(top_features(model)["name"]) <= {"one", "two", "three", "four"}
    plain = LinearSVM(random_state=0).fit(frame, y)
    assert set(top_features(plain)["name"]) <= {"one", "two", "three", "four"}
    assert len(margins(plain, frame, y)) == 60


@pytest.mark.slow
def test_digits_of_figure_four() -> None:
    """Large ‖tau‖ on mnist: every listed pattern has a margin below 1 (Crammer & Singer)."""
    X, y = load_data("mnist.train", 784)
    X = sparse.csr_array(X)[:5000] / 255
    model = KernelSVM("cs", C=1.0, gamma=0.02, random_state=0).fit(X.toarray(), y[:5000])
    table = support_patterns(model, X.toarray(), y[:5000], max_rows=50)
    assert (table["margin"] < 1).all()
    assert table["bounded"].all()


@pytest.mark.parametrize("kernel", [None, "rbf", "precomputed"])
def test_held_out_margins_are_those_of_models_without_the_row(kernel: str | None) -> None:
    X, y = make_blobs(120, 4, centers=3, cluster_std=2.0, random_state=0)
    weight = np.linspace(0.5, 1.5, len(y))
    if kernel is None:
        model: Any = LinearSVM("cs", tol=1e-6, random_state=0)
    else:
        model = KernelSVM("ww", kernel=kernel, gamma=0.1, tol=1e-6, random_state=0)
    rows = X @ X.T if kernel == "precomputed" else X
    model.fit(rows, y, weight)
    table = suspicious_labels(
        model, rows, y, by="held-out", sample_weight=weight, max_rows=None
    ).set_index("row")
    train, held = next(StratifiedKFold(5, shuffle=True, random_state=0).split(X, y))
    columns = train if kernel == "precomputed" else slice(None)
    other = clone(model).fit(rows[train][:, columns], y[train], weight[train])
    scores = other.class_scores(rows[held][:, columns])
    own = scores[np.arange(len(held)), y[held]].copy()
    scores[np.arange(len(held)), y[held]] = -np.inf
    np.testing.assert_allclose(table.loc[held, "margin"], own - scores.max(axis=1), rtol=1e-9)
    assert table["margin"].is_monotonic_increasing


def test_held_out_rows_of_rare_classes_come_last() -> None:
    X = np.r_[np.zeros((10, 1)), np.ones((10, 1)), [[2.0]]]
    y = np.r_[np.zeros(10), np.ones(10), [2]]
    model = LinearSVM(random_state=0).fit(X, y)
    table = suspicious_labels(model, X, y, by="held-out", max_rows=None)
    assert table["row"].iloc[-1] == 20
    assert np.isnan(table["margin"].iloc[-1])
    with pytest.raises(ValueError, match="at least 5 rows"):
        suspicious_labels(model, X[[0, 10, 20]], y[[0, 10, 20]], by="held-out")
