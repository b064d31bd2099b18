"""Lines of totals, which spreadsheets have below their rows."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

__all__ = ["has_odd_end", "total_among"]

_TOTAL = re.compile(
    r"(?:(?:grand|sub)[ -]?)?total[es]?|sum|summe|(?:ins)?gesamt|somme|suma|average|mean|mittel",
    re.IGNORECASE,
)
_FEWEST_ROWS = 20


def total_among(cells: Iterable[str]) -> str | None:
    """The cell of a row that says that it is a line of totals."""
    words = (cell.strip() for cell in cells)
    return next((word for word in words if _TOTAL.fullmatch(word.rstrip(":"))), None)


def has_odd_end(labels: Sequence[str]) -> bool:
    """Whether the last label is the only one that occurs once, among 20 rows or more."""
    counts = Counter(labels)
    once = [label for label, count in counts.items() if count == 1]
    return len(labels) >= _FEWEST_ROWS and len(counts) > 2 and once == [labels[-1]]
