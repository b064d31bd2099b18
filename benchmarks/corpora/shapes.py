"""What a made corpus is to look like: its sizes, and how its texts are written."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Shape:
    """Sizes of a corpus; ``head`` is the largest class's share of the rows."""

    rows: int
    features: int
    classes: int
    test_rows: int = 0
    head: float = 0.05

    def __post_init__(self) -> None:
        if self.rows < self.classes:
            raise ValueError(
                f"{self.rows} rows for {self.classes} classes: every class needs one for training"
            )


@dataclass(frozen=True)
class Style:
    """How texts are written. Shares are of the tokens of a text, unless they say otherwise.

    Above the classes, the leaves of a tree, are as many levels of topics as ``levels`` has entries
    but one. Every node has words of its own, few in ``lexicons`` where a node is deep.
    """

    tokens: float = 190.0  # of a text, on average
    spread: float = 0.7  # standard deviation of their logarithm
    rare: float = 0.12  # words drawn from the whole vocabulary alike: names, numbers, slips
    topical: float = 0.92  # words of the text's nodes; what is left is drawn by Zipf's law
    levels: tuple[float, ...] = (0.3, 0.4, 0.285, 0.015)  # of the topical words; classes come last
    lexicons: tuple[int, ...] = (100, 50, 30, 20)  # words of a node
    wavering: float = 3.0  # the smaller, the more texts differ in how topical they are
    noise: float = 0.47  # rows whose text is about another class than their label says
    near: float = 0.6  # of these, those about a sibling of the class
    first_content: int = 50  # words more frequent than this one belong to no topic


# Sizes of table 2 of Alber et al. (2017). Their LLW machine answers with the largest class always
# (table 3), which gives the share of that class.
PRESETS: dict[str, Shape] = {
    "lshtc-small": Shape(4_463, 51_033, 1_139, 1_858, head=0.0700),
    "lshtc-large": Shape(128_710, 381_581, 12_294, 34_880, head=0.0414),
    "lshtc-2011": Shape(394_754, 594_158, 27_875, 104_263, head=0.0382),
    "lshtc-2012": Shape(383_408, 575_555, 11_947, 103_435, head=0.0737),
    "classes-100000": Shape(400_000, 600_000, 100_000, 100_000, head=0.0300),
}

GROWTH = (100, 300, 1_000, 3_000, 10_000, 28_000)  # classes


def _ten_rows_a_class(classes: int) -> Shape:
    """The vocabulary grows with the rows as from LSHTC-small to LSHTC-large."""
    rows = 10 * classes
    return Shape(rows, round(51_033 * (rows / 4_463) ** 0.6), classes, rows // 4)


PRESETS |= {f"growth-{classes}": _ten_rows_a_class(classes) for classes in GROWTH}
