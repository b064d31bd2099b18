"""Renders formulas as MathML at build time: no script, no font and no network when read."""

import re
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx

# Bars of norms would grow with whatever stands beside them.
_BARS = re.compile(r"<mo>(&#x02016;|&#x0007C;)</mo>")


def _mathml(latex: str, display: str) -> str:
    return _BARS.sub(r'<mo stretchy="false">\1</mo>', convert(latex, display=display))


def _inline(self: Any, node: nodes.math) -> None:
    self.body.append(_mathml(node.astext(), "inline"))
    raise nodes.SkipNode


def _display(self: Any, node: nodes.math_block) -> None:
    self.body.append(f'<div class="formula">{_mathml(node.astext(), "block")}</div>\n')
    raise nodes.SkipNode


def _choose(app: Sphinx, config: Any) -> None:
    config.html_math_renderer = "mathml"


def setup(app: Sphinx) -> dict[str, Any]:
    """Offer the renderer to Sphinx and choose it."""
    app.add_html_math_renderer("mathml", (_inline, None), (_display, None))
    app.connect("config-inited", _choose)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
