"""Single rows in a report: their text, picture, columns or feature values."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from polymargin.inspect._pixels import grey_picture
from polymargin.inspect._report_data import ReportData
from polymargin.inspect._subject import take_row

if TYPE_CHECKING:
    from numpy.typing import NDArray

_VALUES_SHOWN = 12
_START_LENGTH = 180  # of a text before "more"
_TEXT_LENGTH = 2_000  # of a text in all


@dataclass(frozen=True)
class Picture:
    """A picture and the size that it is shown in."""

    address: str
    width: int
    height: int


@dataclass(frozen=True)
class Text:
    """The start of a text, what is shown on demand, and how many characters are not shown."""

    start: str
    rest: str = ""
    n_left_out: int = 0


@dataclass(frozen=True)
class Example:
    """A row as it is shown, and the features that speak for its rival."""

    number: int
    picture: Picture | None = None
    text: Text | None = None
    values: Sequence[tuple[str, str]] | None = None
    rival: str = ""
    evidence: Sequence[str] = ()


def find_examples(data: ReportData, chosen: "NDArray[np.int64]") -> dict[int, Example]:
    """How each of the chosen rows is shown."""
    if data.image_shape is not None:
        return _pictures(data, chosen)
    if data.texts is not None:
        examples = {i: Example(i, text=long_text(data.texts[i])) for i in chosen.tolist()}
    elif data.X is not None:
        examples = {i: Example(i, values=_columns(data.X, i)) for i in chosen.tolist()}
    elif data.subject.is_precomputed:
        examples = {i: Example(i) for i in chosen.tolist()}
    else:
        examples = _values(data, chosen)
    return _with_evidence(data, examples) if data.subject.is_linear else examples


def long_text(value: Any) -> Text:
    """A text whose start ends between words, and which ends somewhere."""
    text = str(value).strip()
    if len(text) <= _START_LENGTH:
        return Text(text)
    space = text.rfind(" ", _START_LENGTH // 2, _START_LENGTH)
    end = space if space > 0 else _START_LENGTH
    return Text(text[:end], text[end:_TEXT_LENGTH].lstrip(), max(len(text) - _TEXT_LENGTH, 0))


def _pictures(data: ReportData, chosen: "NDArray[np.int64]") -> dict[int, Example]:
    if len(chosen) == 0:
        return {}
    height, width = data.image_shape or (1, 1)
    pixels = {i: take_row(data.rows, i) for i in chosen.tolist()}
    low = min(float(values.min()) for values in pixels.values())
    high = max(float(values.max()) for values in pixels.values())
    addresses = {
        i: grey_picture(values.reshape(height, width), low, high) for i, values in pixels.items()
    }
    return {
        i: Example(i, picture=Picture(address, 2 * width, 2 * height))
        for i, address in addresses.items()
    }


def _columns(columns: Any, i: int) -> list[tuple[str, str]]:
    pairs = zip(columns.names, columns.values, strict=True)
    return [(str(name), _plain(values[i])) for name, values in pairs][: 2 * _VALUES_SHOWN]


def _values(data: ReportData, chosen: "NDArray[np.int64]") -> dict[int, Example]:
    """All values of short rows, the largest ones of others."""
    parts = {}
    for i in chosen.tolist():
        features, values = data.values_of(i)
        largest = np.sort(np.argsort(-np.abs(values), kind="stable")[:_VALUES_SHOWN])
        parts[i] = features[largest], values[largest]
    names = _names(data, [features for features, _ in parts.values()])
    return {
        i: Example(i, values=[(names[j], _plain(x)) for j, x in zip(*part, strict=True)])
        for i, part in parts.items()
    }


def _with_evidence(data: ReportData, examples: dict[int, Example]) -> dict[int, Example]:
    parts = {i: data.evidence_for_rival(i) for i in examples}
    names = _names(data, list(parts.values()))
    rivals = data.subject.classes[data.scored.rival]
    return {
        i: replace(example, rival=str(rivals[i]), evidence=[names[j] for j in parts[i]])
        for i, example in examples.items()
    }


def _names(data: ReportData, parts: "list[NDArray[np.int64]]") -> dict[int, str]:
    """Names of all features in `parts`."""
    features = np.unique(np.concatenate([np.zeros(0, np.int64), *parts]))
    return dict(zip(features.tolist(), map(str, data.names.of(features)), strict=True))


def _plain(value: Any) -> str:
    if value is None:
        return "missing"
    return f"{value:.4g}" if isinstance(value, float | np.floating) else str(value)
