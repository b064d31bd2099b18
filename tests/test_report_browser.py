"""The HTML report in a browser: sorting, filters, escaping, small and dark screens."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from test_report import NASTY, nasty_model

from polymargin import LinearSVM
from polymargin.inspect import report

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on the path")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    path: Path = tmp_path_factory.mktemp("browser") / "report.html"
    model, texts, y = nasty_model()
    report(model, texts, y, path, title=NASTY[0])
    return path.as_uri()


@pytest.fixture
def open_page(browser: Any, address: str) -> Iterator[Any]:
    """Opens the report; afterwards there must have been no message, dialog or request."""
    seen: list[str] = []
    contexts = []

    def start(**options: Any) -> Any:
        contexts.append(browser.new_context(**options))
        page = contexts[-1].new_page()
        page.on("console", lambda message: seen.append(message.text))
        page.on("pageerror", lambda error: seen.append(str(error)))
        page.on("dialog", lambda dialog: (seen.append("dialog"), dialog.dismiss()))
        page.on("request", lambda asked: seen.append(asked.url) if _is_foreign(asked) else None)
        page.set_default_timeout(60_000)
        page.goto(address)
        return page

    def _is_foreign(asked: Any) -> bool:
        return asked.url != address and not asked.url.startswith("data:")

    yield start
    for context in contexts:
        context.close()
    assert seen == []


def column(page: Any, table: str, place: int) -> list[str]:
    cells = page.locator(f"#{table} tbody tr:not(.empty):visible td:nth-child({place})")
    return [text.strip() for text in cells.all_inner_texts()]


def head(page: Any, table: str, title: str) -> Any:
    return page.locator(f"#{table} th", has_text=title)


def numbers(texts: list[str]) -> list[float]:
    return [float(text.replace("\N{MINUS SIGN}", "-").replace(",", "")) for text in texts]


def test_text_from_data_is_text(open_page: Any) -> None:
    page = open_page()
    assert page.locator("h1").inner_text() == NASTY[0]
    assert page.title() == NASTY[0]
    assert "</script><img src=x onerror=alert(2)>" in page.locator("main").inner_text()
    assert page.locator("img").count() == 0


def test_marks_of_direction_turn_no_other_text(open_page: Any) -> None:
    """Each stands in an element whose text is ordered by itself: isolated, or no inline one."""
    styles = open_page().evaluate(
        """() => Array.from(document.querySelectorAll("body :not(script)"))
          .filter((element) => Array.from(element.childNodes).some(
            (node) => node.nodeType === Node.TEXT_NODE && node.data.includes("\\u202e")))
          .map((element) => getComputedStyle(element))
          .map((style) => [style.display, style.unicodeBidi])"""
    )
    assert styles
    assert [style for style in styles if style == ["inline", "normal"]] == []


def test_numbers_sort_both_ways(open_page: Any) -> None:
    page = open_page()
    listed = numbers(column(page, "suspects", 1))
    row = head(page, "suspects", "row")
    row.get_by_role("button").click()
    assert row.get_attribute("aria-sort") == "descending"
    assert numbers(column(page, "suspects", 1)) == sorted(listed, reverse=True)
    row.get_by_role("button").click()
    assert row.get_attribute("aria-sort") == "ascending"
    assert numbers(column(page, "suspects", 1)) == sorted(listed)
    margin = head(page, "suspects", "margin")
    margin.get_by_role("button").click()
    shown = numbers(column(page, "suspects", 5))
    assert shown == sorted(shown, reverse=True)
    assert min(shown) < 0 < max(shown)
    assert row.get_attribute("aria-sort") is None


def test_texts_sort_both_ways_by_keyboard(open_page: Any) -> None:
    page = open_page()
    collator = "new Intl.Collator(undefined, { numeric: true, sensitivity: 'base' })"
    sort = f"texts => texts.slice().sort({collator}.compare)"
    button = head(page, "pairs-table", "label").get_by_role("button")
    button.focus()
    page.keyboard.press("Enter")
    shown = column(page, "pairs-table", 1)
    assert len(set(shown)) > 2
    assert head(page, "pairs-table", "label").get_attribute("aria-sort") == "ascending"
    assert shown == page.evaluate(sort, shown)
    assert shown[0] != shown[-1]
    first, last = shown[0], shown[-1]
    page.keyboard.press("Space")
    assert head(page, "pairs-table", "label").get_attribute("aria-sort") == "descending"
    shown = column(page, "pairs-table", 1)
    assert (shown[0], shown[-1]) == (last, first)


def test_search_finds_rows(open_page: Any) -> None:
    page = open_page()
    tools = page.locator("#suspicious .tools")
    total = len(column(page, "suspects", 1))
    tools.get_by_label("search").fill("Surrogate W4")
    found = column(page, "suspects", 4)
    assert 0 < len(found) < total
    assert all("surrogate" in text and "w4" in text for text in found)
    assert tools.locator("output").inner_text() == f"{len(found)} of {total} rows"
    tools.get_by_label("search").fill("no such words at all")
    assert column(page, "suspects", 1) == []
    assert page.locator("#suspects .empty").inner_text() == "No row matches."
    tools.get_by_label("search").fill("")
    assert len(column(page, "suspects", 1)) == total


def test_label_filter_and_sorting_together(open_page: Any) -> None:
    page = open_page()
    choice = page.locator("#suspicious .tools").get_by_label("label", exact=True)
    choice.select_option(label=NASTY[0])
    found = column(page, "suspects", 2)
    assert found
    assert set(found) == {NASTY[0]}
    head(page, "suspects", "row").get_by_role("button").click()
    assert set(column(page, "suspects", 2)) == {NASTY[0]}
    assert len(column(page, "suspects", 2)) == len(found)


def test_long_text_opens(open_page: Any) -> None:
    page = open_page()
    details = page.locator("#suspects details.text").first
    assert not details.evaluate("element => element.open")
    details.locator("summary").click()
    assert details.evaluate("element => element.open")


def test_phone(open_page: Any) -> None:
    page = open_page(viewport={"width": 390, "height": 844}, is_mobile=True, has_touch=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert len(column(page, "suspects", 1)) == 20
    page.locator("#suspicious .show-more").click()
    assert len(column(page, "suspects", 1)) > 20
    page.locator("#suspicious .tools").get_by_label("sort by").select_option("0 ascending")
    shown = numbers(page.locator("#suspects td[data-title=row]:visible").all_inner_texts())
    assert shown == sorted(shown)


INTENTS = (
    "do_you_have_pets",
    "where_are_you_from",
    "what_are_your_hobbies",
    "who_do_you_work_for",
    "restaurant_reviews",
    "how_old_are_you",
    "common_mammogram",
    "payday",
)


@pytest.mark.parametrize("width", [800, 1024, 1300, 1600])
def test_tables_are_not_cut(browser: Any, tmp_path: Path, width: int) -> None:
    random = np.random.default_rng(0)
    y = random.integers(len(INTENTS), size=120)
    words = [f"{'long ' * (i % 9)}question w{c} w{random.integers(8)}" for i, c in enumerate(y)]
    labels = np.array(INTENTS, dtype=object)[y]
    model = make_pipeline(TfidfVectorizer(), LinearSVM("ww", C=0.05, random_state=0))
    model.fit(words, labels)
    report(model, words, labels, tmp_path / "report.html")
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.goto((tmp_path / "report.html").as_uri())
    sizes = page.evaluate(
        """() => Array.from(document.querySelectorAll(".scroll:has(.data)"))
          .map((box) => [box.firstChild.id, box.scrollWidth - box.clientWidth])"""
    )
    page.close()
    assert {name for name, _ in sizes} >= {"suspects", "support", "pairs-table"}
    assert [name for name, hidden in sizes if hidden > 0] == []


def test_dark_mode(open_page: Any) -> None:
    colour = "getComputedStyle(document.body).{}"
    light, dark = open_page(color_scheme="light"), open_page(color_scheme="dark")
    assert light.evaluate(colour.format("backgroundColor")) == "rgb(255, 255, 255)"
    assert dark.evaluate(colour.format("backgroundColor")) == "rgb(20, 24, 29)"
    axis = "getComputedStyle(document.querySelector('svg.figure text')).fill"
    assert light.evaluate(axis) != dark.evaluate(axis)


def test_readable_without_script(open_page: Any) -> None:
    page = open_page(java_script_enabled=False)
    assert page.locator("#suspects tbody tr").count() > 20
    assert page.locator(".tools").count() == 0
