"""Matplotlib figures as SVG that can stand inside a page."""

import io
import re
import warnings
from typing import Any, NewType
from xml.etree import ElementTree

from polymargin.errors import require

Svg = NewType("Svg", str)  # an element made here, which a page may hold as it is

_SVG, _LINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
_REFERENCE = re.compile(r"url\(#([^)]+)\)")
_FONT_SIZE = re.compile(r"([\d.]+)px")


def inline_svg(figure: Any, name: str, description: str) -> Svg:
    """The figure as an SVG element.

    The page forbids style attributes, so they become attributes of their own; ids start with
    `name`, so that two figures share none. The same figure gives the same text.
    """
    matplotlib = require("matplotlib", extra="inspect", purpose="figures")
    file = io.StringIO()
    options = {"svg.hashsalt": name, "svg.fonttype": "none"}
    with matplotlib.rc_context(options), warnings.catch_warnings():
        # The browser has the glyphs that Matplotlib's font lacks.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        figure.savefig(file, format="svg", transparent=True, metadata={"Date": None})
    root = ElementTree.fromstring(file.getvalue())
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in (f"{{{_SVG}}}metadata", f"{{{_SVG}}}style"):
                parent.remove(child)
    used = _references(root)
    for element in root.iter():
        _styles_to_attributes(element)
        _rename(element, name, used)
    for attribute in ("width", "height", "version"):
        root.attrib.pop(attribute, None)
    root.attrib |= {"class": "figure", "role": "img", "aria-label": description}
    ElementTree.register_namespace("", _SVG)
    ElementTree.register_namespace("xlink", _LINK)
    return Svg(ElementTree.tostring(root, encoding="unicode"))


def _references(root: ElementTree.Element) -> set[str]:
    found: set[str] = set()
    for element in root.iter():
        for value in element.attrib.values():
            found.update(_REFERENCE.findall(value))
        link = element.get(f"{{{_LINK}}}href", "")
        if link.startswith("#"):
            found.add(link[1:])
    return found


def _styles_to_attributes(element: ElementTree.Element) -> None:
    for declaration in element.attrib.pop("style", "").split(";"):
        key, colon, value = (part.strip() for part in declaration.partition(":"))
        if not colon:
            continue
        if key == "font":
            size = _FONT_SIZE.search(value)
            if size is not None:
                element.set("font-size", size[1])
            if "bold" in value or "700" in value.split():
                element.set("font-weight", "bold")
        elif key not in ("white-space", "image-rendering"):
            element.set(key, value)


def _rename(element: ElementTree.Element, name: str, used: set[str]) -> None:
    for key, value in list(element.attrib.items()):
        if key == "id":
            if value in used:
                element.set(key, f"{name}-{value}")
            else:
                del element.attrib[key]
        elif key == f"{{{_LINK}}}href" and value.startswith("#"):
            element.set(key, f"#{name}-{value[1:]}")
        elif "url(#" in value:
            element.set(key, _REFERENCE.sub(rf"url(#{name}-\1)", value))
