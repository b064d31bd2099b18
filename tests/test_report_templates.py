"""The templates of the report, each with hostile text in all that can hold text."""

import types
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import is_dataclass
from html.parser import HTMLParser
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest

from polymargin.inspect import _templates
from polymargin.inspect._report_page import Page
from polymargin.inspect._svg import Svg
from polymargin.inspect._text import visible

pytest.importorskip("jinja2")

HOSTILE = [
    "<script>alert(1)</script>",
    "</style></title></script><img src=x onerror=alert(2)>",
    "\"' onmouseover=alert(3) style='x' \"",
    "{{ 7 * 191 }}{% raw %}{# gone #}",
    "&lt;b&gt; &amp",
    "\x00\x07\x1b[31m\x7f\x85\u2028\u2029\ud800\uffff",
    "\u202eright\u2066to\u200fleft",
    "long" + "_word" * 2000,
]


def unfit_signs(page: str) -> set[str]:
    """Controls, separators of lines, surrogates and what is no character."""
    unfit = {"Cc", "Cn", "Cs", "Zl", "Zp"}
    return {sign for sign in page if unicodedata.category(sign) in unfit} - {"\n"}


class Outline(HTMLParser):
    """Elements with the names of their attributes, and all that is shown."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, ...]] = []
        self.shown = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "wbr":  # where a long label may break
            return
        self.elements.append((tag, *(name for name, _ in attrs)))
        self.shown += "".join(f"\n{value}" for _, value in attrs) + "\n"

    def handle_endtag(self, tag: str) -> None:
        self.elements.append((f"/{tag}",))

    def handle_data(self, data: str) -> None:
        self.shown += data


def make(kind: Any, text: Callable[[], str]) -> Any:
    """A value of a type, with `text()` wherever it has a string."""
    if kind is Svg:
        return Svg("<svg></svg>")
    if is_dataclass(kind) and isinstance(kind, type):
        return kind(**{name: make(part, text) for name, part in get_type_hints(kind).items()})
    if get_origin(kind) in (types.UnionType, Union):
        return make(next(part for part in get_args(kind) if part is not types.NoneType), text)
    if get_origin(kind) is Literal:
        return get_args(kind)[0]
    if get_origin(kind) is tuple:
        return tuple(make(part, text) for part in get_args(kind))
    if get_origin(kind) is Sequence:
        return [make(get_args(kind)[0], text) for _ in range(2)]
    return {str: text, int: lambda: 3, float: lambda: -0.25, bool: lambda: True}[kind]()


@pytest.mark.parametrize("nasty", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_is_shown_and_does_nothing(nasty: str, monkeypatch: Any) -> None:
    environment = _templates.make_environment()
    monkeypatch.setattr(_templates, "make_environment", lambda: environment)
    given: list[str] = []

    def numbered(text: str) -> Iterator[str]:
        while True:
            given.append(f"{len(given):03d}{text}")
            yield given[-1]

    def page(text: str) -> str:
        given.clear()
        texts = numbered(text)
        return _templates.render(make(Page, lambda: next(texts)))

    harmless, hostile = Outline(page("x")), page(nasty)
    outline = Outline(hostile)
    assert outline.elements == harmless.elements
    assert len(given) > 40
    for text in given:
        assert visible(text)[:15] in outline.shown, text[:3]
    assert unfit_signs(hostile) == set()
    used = {name for _, name in environment.cache}  # type: ignore[union-attr]
    assert used == set(environment.list_templates(extensions=["html"]))


def test_what_a_template_is_not_given_is_an_error() -> None:
    import jinja2

    with pytest.raises(jinja2.UndefinedError):
        _templates.make_environment().get_template("sections/margins.html").render()


@pytest.mark.parametrize(
    ("value", "form", "shown"),
    [(-0.25, ".2f", "\N{MINUS SIGN}0.25"), (1e-7, ".1e", "1.0e-07"), (12345, ",", "12,345")],
)
def test_numbers(value: float, form: str, shown: str) -> None:
    assert _templates.number(value, form) == shown
