"""The HTML report: what it holds, and that nothing from data gets out of its place."""

import base64
import hashlib
import io
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits, load_iris
from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer
from sklearn.pipeline import make_pipeline

from polymargin import KernelSVM, LinearSVM
from polymargin.errors import MissingPackageError
from polymargin.inspect import report
from polymargin.inspect._pixels import grey_picture, signed_picture
from polymargin.inspect._text import visible
from polymargin.metrics import f1_score, top_k_accuracy_score

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")

NASTY = [
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(2)>",
    "\"quoted\" & 'single'",
    "line\u2028separator \u202eright to left",
    "lone \ud800 surrogate",
    "control \x00\x07\x1b[31m",
    "$style $$ ${script} $\\alpha$",
    "long " + "word " * 3000,
]


class Page(HTMLParser):
    """Elements with their attributes, and the text outside of style and script."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self._raw = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._raw = tag in ("script", "style")

    def handle_endtag(self, tag: str) -> None:
        self._raw = False

    def handle_data(self, data: str) -> None:
        if not self._raw:
            self.text += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def nasty_model() -> tuple[Any, list[str], Any]:
    rng = np.random.default_rng(0)
    texts = [f"{NASTY[i % 8]} w{i % 8} w{rng.integers(8)}" for i in range(80)]
    y = np.array([NASTY[i % 8] for i in range(80)], dtype=object)
    y[::13] = NASTY[0]  # some of them wrong
    model = make_pipeline(TfidfVectorizer(), LinearSVM("cs", C=0.05, random_state=0))
    return model.fit(texts, y), texts, y


def write(path: Path, *arguments: Any, **options: Any) -> str:
    report(*arguments, path, **options)
    return path.read_bytes().decode("utf-8")


@pytest.fixture(scope="module")
def nasty(tmp_path_factory: pytest.TempPathFactory) -> str:
    model, texts, y = nasty_model()
    path = tmp_path_factory.mktemp("report") / "nasty.html"
    return write(path, model, texts, y, title=NASTY[1] + NASTY[6])


def test_text_from_data_makes_no_elements(nasty: str) -> None:
    page = Page(nasty)
    assert len(page.all("script")) == 1
    assert page.all("img") == []
    for _, attributes in page.elements:
        assert not [name for name in attributes if name.startswith("on") or name == "style"]
    assert "<script>alert(1)</script>" in page.text
    assert "</script><img src=x onerror=alert(2)>" in page.text
    assert "$style $$ ${script}" in page.text
    assert "control ␀␇␛[31m" in page.text
    assert "lone \ufffd surrogate" in page.text
    assert "\u2028" not in nasty


def test_text_that_claims_to_be_html_is_text(tmp_path: Path) -> None:
    markup = pytest.importorskip("markupsafe").Markup
    X, y = load_iris(return_X_y=True)
    y = np.array([markup("<u>a</u>"), markup("<u>b</u>"), "c"], dtype=object)[y]
    model = LinearSVM("cs", random_state=0).fit(X, y)
    names = [markup(f"<u>{j}</u>") for j in range(4)]
    page = write(tmp_path / "u.html", model, X, y, title=markup("<u>"), feature_names=names)
    assert Page(page).all("u") == []


def test_long_texts_are_cut(nasty: str) -> None:
    assert "more characters)" in nasty
    assert len(nasty) < 600_000
    assert "word " * 500 not in nasty


def test_policy_allows_only_what_is_there(nasty: str) -> None:
    page = Page(nasty)
    (policy,) = [
        meta["content"]
        for meta in page.all("meta")
        if meta.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policy is not None
    for tag in ("style", "script"):
        (content,) = re.findall(rf"<{tag}>(.*?)</{tag}>", nasty, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy


def test_nothing_is_loaded(nasty: str) -> None:
    page = Page(nasty)
    for tag, attributes in page.elements:
        for name, value in attributes.items():
            if name in ("src", "href", "xlink:href", "action", "data", "poster", "srcset"):
                assert str(value).startswith(("#", "data:")), (tag, name, value)
    assert "@import" not in nasty
    assert "url(" not in nasty.replace("url(#", "")


def test_ids_are_unique_and_links_lead_somewhere(nasty: str) -> None:
    page = Page(nasty)
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    targets = re.findall(r'(?:xlink:href="#|href="#|url\(#)([^")]+)', nasty)
    assert set(targets) <= set(ids)


def test_same_input_same_file(tmp_path: Path) -> None:
    iris = load_iris()
    model = LinearSVM("cs", random_state=0).fit(iris.data, iris.target)
    one = write(tmp_path / "one.html", model, iris.data, iris.target)
    assert one == write(tmp_path / "two.html", model, iris.data, iris.target)
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["one.html", "two.html"]


def sections(page: str) -> list[str]:
    return re.findall(r'<section id="(\w+)"', page)


def test_sections(tmp_path: Path) -> None:
    iris = load_iris()
    model = LinearSVM("cs", random_state=0).fit(iris.data, iris.target)
    names = iris.feature_names
    page = write(
        tmp_path / "iris.html", model, iris.data, iris.target, X_test=iris.data[::2],
        y_test=iris.target[::2], feature_names=names, title="Iris",
    )  # fmt: skip
    assert sections(page) == [
        "summary",
        "convergence",
        "margins",
        "suspicious",
        "patterns",
        "pairs",
        "confusion",
        "features",
    ]
    assert "<title>Iris</title>" in page
    assert "petal width (cm)" in page
    assert "test accuracy" in page
    assert f"{model.score(iris.data, iris.target):.2%}" in page


@pytest.mark.filterwarnings("ignore:The fit stopped after")
def test_other_rows_give_f1_and_with_many_classes_the_best_five(tmp_path: Path) -> None:
    X, y = load_digits(return_X_y=True)
    y_test = y[1::2].copy()
    y_test[:20] = 77  # a label that the model does not know
    model = LinearSVM("cs", max_iter=5, tol=0.1, random_state=0).fit(X[::2] / 16, y[::2])
    page = Page(
        write(tmp_path / "a.html", model, X[::2] / 16, y[::2], X_test=X[1::2] / 16, y_test=y_test)
    ).text
    best = model.predict_topk(X[1::2] / 16, 5)
    assert f"test top-5 accuracy{top_k_accuracy_score(y_test, best):.2%}" in page
    assert f"test F1, micro{f1_score(y_test, best[:, 0], average='micro'):.4f}" in page
    assert f"test F1, macro{f1_score(y_test, best[:, 0]):.4f}" in page

    few = y < 5
    model.fit(X[few] / 16, y[few])
    alone = Page(write(tmp_path / "b.html", model, X[few] / 16, y[few])).text
    assert "test F1" not in alone
    page = Page(
        write(tmp_path / "c.html", model, X[few] / 16, y[few], X_test=X[few] / 16, y_test=y[few])
    ).text
    assert "test F1, macro" in page
    assert "top-5" not in page


def test_reliability_is_there_with_probabilities_and_test_rows(tmp_path: Path) -> None:
    X, y = load_iris(return_X_y=True)
    path = tmp_path / "iris.html"
    model = LinearSVM("cs", calibration="sigmoid", random_state=0).fit(X[::2], y[::2])
    page = write(path, model, X[::2], y[::2], X_test=X[1::2], y_test=y[1::2])
    assert sections(page)[-2:] == ["reliability", "features"]
    assert "expected error" in page
    assert "reliability" not in sections(write(path, model, X[::2], y[::2]))
    model.set_params(calibration=None).fit(X[::2], y[::2])
    page = write(path, model, X[::2], y[::2], X_test=X[1::2], y_test=y[1::2])
    assert "reliability" not in sections(page)


def test_other_models(tmp_path: Path) -> None:
    iris = load_iris()
    kernel = KernelSVM("mmr", random_state=0).fit(iris.data, iris.target)
    page = write(tmp_path / "kernel.html", kernel, iris.data, iris.target)
    assert "features" not in sections(page)
    assert "η is empty" in page
    stream = LinearSVM().partial_fit(iris.data, iris.target, classes=[0, 1, 2])
    page = write(tmp_path / "stream.html", stream, iris.data, iris.target)
    assert {"patterns", "convergence"}.isdisjoint(sections(page))
    with pytest.raises(ValueError, match="needs dual variables"):
        report(stream, iris.data, iris.target, tmp_path / "stream.html", by="tau")


def test_frames_series_and_kernel_matrices(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    X, y = load_digits(return_X_y=True, as_frame=True)
    X, y = X[:300], y[:300]
    model = LinearSVM("cs", C=0.01, random_state=0).fit(X, y)
    assert "pixel_0_2" in write(tmp_path / "frame.html", model, X, y, max_patterns=5)
    page = write(tmp_path / "frame.html", model, X, y, image_shape=(8, 8), max_patterns=5)
    assert page.count("<img") == 20
    gram = X.to_numpy() @ X.to_numpy().T / 1000
    kernel = KernelSVM("cs", kernel="precomputed", random_state=0).fit(gram, y)
    assert 'class="values"' not in write(tmp_path / "gram.html", kernel, gram, y)
    texts = pandas.Series(["red apple", "fast car", "green apple", "slow car"])
    words = make_pipeline(TfidfVectorizer(), LinearSVM("cs", random_state=0)).fit(texts, [0, 1] * 2)
    assert "slow car" in write(tmp_path / "series.html", words, texts, [0, 1] * 2)


def test_many_classes_have_no_matrix(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = sparse.random_array((300, 500), density=0.02, rng=rng, format="csr")
    y = np.arange(300) % 100
    model = LinearSVM("ww", C=1.0, random_state=0).fit(X, y)
    page = write(tmp_path / "many.html", model, X, y, max_patterns=20)
    assert "confusion" not in sections(page)
    assert page.count("<tr data-label") == 20 + 20 + 20 + 100


def test_pictures(tmp_path: Path) -> None:
    X, y = load_digits(return_X_y=True)
    model = LinearSVM("cs", C=0.01, random_state=0).fit(X, y)
    page = Page(write(tmp_path / "digits.html", model, X, y, image_shape=(8, 8), max_patterns=9))
    assert len(page.all("img")) == 9 + 9 + 10
    with pytest.raises(ValueError, match=r"image_shape=\(7, 8\) does not fit rows of 64"):
        report(model, X, y, tmp_path / "digits.html", image_shape=(7, 8))


def decoded(address: str) -> Any:
    image = pytest.importorskip("PIL.Image")
    content = base64.b64decode(address.removeprefix("data:image/png;base64,"))
    return np.asarray(image.open(io.BytesIO(content), formats=["PNG"]))


def test_png_of_pixels() -> None:
    grey = decoded(grey_picture([[0.0, 1.0, 0.5], [2.0, -1.0, 0.0]], 0.0, 1.0))
    np.testing.assert_array_equal(grey, [[255, 0, 128], [0, 255, 255]])
    signed = decoded(signed_picture([[1.0, -0.5, 0.0]]))
    assert signed.shape == (1, 3, 4)
    assert signed[0, :2].tolist() == [[11, 110, 153, 255], [200, 85, 61, 128]]
    assert signed[0, 2, 3] == 0


def test_words_of_hashed_text(tmp_path: Path) -> None:
    texts = ["red apple", "green apple", "fast car", "slow car"] * 5
    y = ["fruit", "fruit", "car", "car"] * 5
    model = make_pipeline(HashingVectorizer(n_features=2**10), LinearSVM(random_state=0))
    page = Page(write(tmp_path / "hashed.html", model.fit(texts, y), texts, y))
    assert "apple" in page.text
    assert "feature " not in page.text


def test_columns_are_shown_by_name(tmp_path: Path) -> None:
    readers = pytest.importorskip("polymargin.readers")
    preprocessing = pytest.importorskip("polymargin.preprocessing")
    rng = np.random.default_rng(0)
    size = rng.normal(size=60)
    colour = np.array(["red", "blue", "<b>green</b>"], dtype=object)[rng.integers(3, size=60)]
    X = readers.Columns(names=("size & weight", "colour"), values=(size, colour))
    y = np.where(size + rng.normal(size=60) > 0, "big", "small")
    model = make_pipeline(preprocessing.ColumnEncoder(), LinearSVM("cs", random_state=0))
    text = write(tmp_path / "columns.html", model.fit(X, y), X, y)
    assert "size &amp; weight" in text
    assert "&lt;b&gt;green" in text


def test_bad_arguments(tmp_path: Path) -> None:
    iris = load_iris()
    model = LinearSVM(random_state=0).fit(iris.data, iris.target)
    path = tmp_path / "out.html"
    with pytest.raises(ValueError, match="go together"):
        report(model, iris.data, iris.target, path, X_test=iris.data)
    with pytest.raises(ValueError, match="1 text for 150 rows of X"):
        report(model, iris.data, iris.target, path, texts=["one"])
    with pytest.raises(ValueError, match="at least 1"):
        report(model, iris.data, iris.target, path, max_patterns=0)
    with pytest.raises(FileNotFoundError, match="no directory"):
        report(model, iris.data, iris.target, tmp_path / "missing" / "out.html")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("package", ["PIL", "jinja2", "matplotlib"])
def test_missing_package_is_named(package: str, monkeypatch: Any, tmp_path: Path) -> None:
    iris = load_iris()
    model = LinearSVM(random_state=0).fit(iris.data, iris.target)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(
        MissingPackageError, match=rf"{package}: pip install 'polymargin\[inspect\]'"
    ):
        report(model, iris.data, iris.target, tmp_path / "out.html")


@pytest.mark.parametrize(
    ("text", "shown"),
    [("a\x00b", "a␀b"), ("a\r\nb\tc", "a\nb␉c"), ("\x7f\x85", "␡\ufffd"), ("\ud83d", "\ufffd")],
)
def test_visible(text: str, shown: str) -> None:
    assert visible(text).replace("\t", "␉") == shown
    visible(text).encode("utf-8")
