"""Labels that are hardly meant to be two."""

from collections.abc import Iterable, Iterator


def pairs_alike(labels: Iterable[str], others: Iterable[str] = ()) -> Iterator[tuple[str, str]]:
    """Those that differ in capitals or blanks alone from one of the others, or one before."""
    known = {_essence(other): other for other in others}
    for label in labels:
        same = known.setdefault(_essence(label), label)
        if same != label:
            yield same, label


def _essence(label: str) -> str:
    return " ".join(label.casefold().split())
