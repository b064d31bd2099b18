"""Figures of models and their data."""

import sys
from typing import Any

import numpy as np
import pytest
from conftest import fit_linear
from sklearn.datasets import load_digits
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

from polymargin import KernelSVM, LinearSVM
from polymargin.errors import MissingPackageError
from polymargin.inspect import (
    confusion,
    margins,
    plot_confusion,
    plot_convergence,
    plot_margins,
    plot_pairs,
    plot_patterns,
    plot_reliability,
    plot_weights,
    support_patterns,
)
from polymargin.inspect._svg import inline_svg

pytest.importorskip("matplotlib")
pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def digits() -> tuple[Any, Any, Any]:
    X, y = load_digits(return_X_y=True)
    return LinearSVM("cs", C=0.01, random_state=0).fit(X / 16, y), X / 16, y


def test_pyplot_is_left_alone(digits: Any) -> None:
    from matplotlib import pyplot

    before = pyplot.get_fignums()
    plot_margins(*digits)
    plot_convergence(digits[0])
    assert pyplot.get_fignums() == before


def test_convergence_is_the_history(digits: Any) -> None:
    model = digits[0]
    line = plot_convergence(model).axes[0].lines[0]
    shown = model.history_[(model.history_["gap"] > 0) & (model.history_["seconds"] > 0)]
    np.testing.assert_array_equal(line.get_ydata(), shown["gap"])
    stream = LinearSVM().partial_fit([[0.0], [1.0]], [0, 1], classes=[0, 1])
    with pytest.raises(ValueError, match="no history_"):
        plot_convergence(stream)


def test_margin_bars_count_rows_and_errors(digits: Any) -> None:
    axes = plot_margins(*digits).axes[0]
    table = margins(*digits)
    bars = [(bar.get_x(), bar.get_height()) for bars in axes.containers for bar in bars]
    assert sum(height for _, height in bars) == len(table)
    below = sum(height for left, height in bars if left < -1e-9)
    assert below == (table["margin"] < 0).sum() > 0


def test_confusion_picture_is_the_table(digits: Any) -> None:
    axes = plot_confusion(*digits).axes[0]
    counts = confusion(*digits).to_numpy()
    shares = counts / counts.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(axes.images[0].get_array(), shares)
    assert {text.get_text() for text in axes.texts} == {
        f"{count:,}" for count in counts[counts > 0]
    }


def test_pairs(digits: Any) -> None:
    axes = plot_pairs(*digits, n=5).axes[0]
    widths = [bar.get_width() for bar in axes.containers[0]]
    assert widths == sorted(widths, reverse=True)
    assert len(widths) == 5
    X, y = digits[1:]
    assert plot_pairs(fit_linear(X, y, "mmr", tol=1e-2), X, y).axes[0].get_xlabel() == (
        "training errors"
    )


def test_weights_as_pictures_and_as_bars(digits: Any) -> None:
    figure = plot_weights(digits[0], image_shape=(8, 8))
    assert len(figure.axes) == 10
    np.testing.assert_allclose(figure.axes[3].images[0].get_array().ravel(), digits[0].coef_[3])
    texts, y = ["$x$ apple", "car", "green tree"] * 4, ["$\\frac$", "<car>", "t\x00ree"] * 4
    model = make_pipeline(TfidfVectorizer(), LinearSVM(random_state=0)).fit(texts, y)
    figure = plot_weights(model, n=2, max_classes=2)
    assert [axes.get_title() for axes in figure.axes] == ["$\\frac$", "<car>"]
    figure.canvas.draw()  # a dollar sign is no formula
    with pytest.raises(ValueError, match="KernelSVM has no weights"):
        plot_weights(KernelSVM().fit(*digits[1:]))


def test_patterns_have_label_eta_and_error_mark(digits: Any) -> None:
    figure = plot_patterns(*digits, image_shape=(8, 8), n=6)
    table = support_patterns(*digits, max_rows=6)
    for axes, (_, row) in zip(figure.axes, table.iterrows(), strict=True):
        assert axes.get_title().startswith(f"{row['label']}  ({row['eta']})")
        assert axes.get_title().endswith("E") == row["error"]
        np.testing.assert_allclose(axes.images[0].get_array().ravel(), digits[1][row["row"]])


def test_inline_svg_has_no_styles_and_its_own_ids(digits: Any) -> None:
    one, two = (inline_svg(plot_margins(*digits), name, 'a "b" <c>') for name in ("one", "two"))
    assert "style=" not in one
    assert "<style" not in one
    assert "&lt;c&gt;" in one
    assert one == inline_svg(plot_margins(*digits), "one", 'a "b" <c>')
    ids = [{text.split('"')[0] for text in svg.split(' id="')[1:]} for svg in (one, two)]
    assert ids[0]
    assert ids[0].isdisjoint(ids[1])


def test_missing_matplotlib_is_named(monkeypatch: Any, digits: Any) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingPackageError, match="figures need the package matplotlib"):
        plot_convergence(digits[0])


def test_reliability_is_that_of_the_probabilities(digits: Any) -> None:
    _, X, y = digits
    model = LinearSVM("cs", C=0.01, calibration="temperature", random_state=0).fit(X[::2], y[::2])
    p = model.predict_proba(X[1::2])
    given = np.where(np.arange(len(y[1::2])) < 5, -1, y[1::2])  # labels that the model lacks
    axes = plot_reliability(model, X[1::2], given, n_parts=5).axes[0]
    shown, _ = axes.lines[1], axes.lines[0]
    right = model.classes_[p.argmax(axis=1)] == given
    part = np.minimum((5 * p.max(axis=1)).astype(int), 4)
    expected = [(p.max(axis=1)[part == i].mean(), right[part == i].mean()) for i in np.unique(part)]
    np.testing.assert_allclose(np.column_stack(shown.get_data()), expected)
    weight = [np.mean(part == i) for i in np.unique(part)]
    error = np.dot(weight, np.abs(np.subtract(*np.transpose(expected))))
    assert f"expected error {error:.3f}" in [text.get_text() for text in axes.texts]
    of_three = plot_reliability(model, X[1::2], y[1::2], label=3).axes[0]
    assert of_three.get_xlabel() == "probability of 3"
    at, frequency = of_three.lines[1].get_data()
    part = np.minimum((10 * p[:, 3]).astype(int), 9)
    np.testing.assert_allclose(at, [p[part == i, 3].mean() for i in np.unique(part)])
    np.testing.assert_allclose(
        frequency, [np.mean(y[1::2][part == i] == 3) for i in np.unique(part)]
    )


def test_what_has_no_reliability(digits: Any) -> None:
    model, X, y = digits
    with pytest.raises(ValueError, match="gives no probabilities: fit it with calibration="):
        plot_reliability(model, X, y)
    fitted = LinearSVM("cs", C=0.01, calibration="temperature", random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="label=77 is not among the classes"):
        plot_reliability(fitted, X, y, label=77)
    with pytest.raises(ValueError, match="n_parts has to be an integer from 1"):
        plot_reliability(fitted, X, y, n_parts=0)
    with pytest.raises(ValueError, match="X has 1,797 rows, y has 5 labels"):
        plot_reliability(fitted, X, y[:5])
    assert plot_reliability(fitted, X, y, n_parts=1).axes[0].lines[1].get_xdata().shape == (1,)


def test_labels_start_no_formula_in_reliability() -> None:
    X = np.linspace(-1, 1, 40)[:, None]
    y = np.where(X[:, 0] > 0, "$x", "$\\y$")
    model = LinearSVM(calibration="sigmoid", random_state=0).fit(X, y)
    inline_svg(plot_reliability(model, X, y, label="$\\y$"), "reliability", "")
