"""The templates of a report, and the page with its data in their places."""

import base64
import hashlib
import re
from importlib import resources
from typing import TYPE_CHECKING, Any

from polymargin._versions import version_of
from polymargin.errors import require
from polymargin.inspect._report_page import Page
from polymargin.inspect._text import visible

if TYPE_CHECKING:
    from jinja2 import Environment

_BREAK = re.compile(r"(?<=[._/:-])(?=\w)")


def render(page: Page) -> str:
    """The page as HTML."""
    files = resources.files("polymargin.inspect") / "templates"
    style, script = (
        (files / name).read_text(encoding="utf-8") for name in ("report.css", "report.js")
    )
    template = make_environment().get_template("report.html")
    version = version_of("polymargin") or ""
    return template.render(page=page, style=style, script=script, version=version)


def make_environment() -> "Environment":
    """Templates that escape whatever they are given, and refuse what they are not given.

    Only the style, the script and the figures, which this package makes, are marked as safe.
    """
    jinja2, markupsafe = (
        require(package, extra="inspect", purpose="reports") for package in ("jinja2", "markupsafe")
    )

    def finalize(value: Any) -> Any:
        return value if isinstance(value, markupsafe.Markup) else visible(value)

    environment: Environment = jinja2.Environment(
        loader=jinja2.PackageLoader("polymargin.inspect", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=finalize,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"cut": cut, "number": number, "pieces": _BREAK.split, "sha256": sha256}
    return environment


def cut(text: str, length: int) -> str:
    """Text of limited length."""
    return text if len(text) <= length else text[: length - 1] + "…"


def number(value: float, form: str, minus: str = "\N{MINUS SIGN}") -> str:
    """A number in a form of `format`."""
    text = format(value, form)
    return minus + text[1:] if text.startswith("-") else text


def sha256(content: str) -> str:
    """The hash of a script or a style as a content security policy names it."""
    digest = hashlib.sha256(content.encode("utf-8")).digest()
    return "sha256-" + base64.b64encode(digest).decode("ascii")
