"""Single rows in a report: their text, picture, columns or feature values."""

from typing import TYPE_CHECKING, Any

import numpy as np

from polymargin.inspect._html import cut, escape, label, long_text
from polymargin.inspect._png import grey_picture
from polymargin.inspect._report_data import ReportData
from polymargin.inspect._subject import take_row

if TYPE_CHECKING:
    from numpy.typing import NDArray

_VALUES_SHOWN = 12
_NAME_LENGTH = 40


def show_rows(data: ReportData, chosen: "NDArray[np.int64]") -> dict[int, str]:
    """HTML of each of the chosen rows."""
    if data.image_shape is not None:
        return _pictures(data, chosen)
    if data.texts is not None:
        shown = {int(i): long_text(data.texts[i]) for i in chosen}
    elif data.X is not None:
        shown = {int(i): _columns(data.X, int(i)) for i in chosen}
    elif data.subject.is_precomputed:
        shown = {int(i): "" for i in chosen}
    else:
        shown = _values(data, chosen)
    if data.subject.is_linear:
        for i, evidence in _evidence(data, chosen).items():
            shown[i] += evidence
    return shown


def _pictures(data: ReportData, chosen: "NDArray[np.int64]") -> dict[int, str]:
    if len(chosen) == 0:
        return {}
    height, width = data.image_shape or (1, 1)
    pixels = {int(i): take_row(data.rows, int(i)) for i in chosen}
    low = min(float(values.min()) for values in pixels.values())
    high = max(float(values.max()) for values in pixels.values())
    return {
        i: f'<img class="pixels" width="{2 * width}" height="{2 * height}" alt="row {i}" '
        f'src="{grey_picture(values.reshape(height, width), low, high)}">'
        for i, values in pixels.items()
    }


def _columns(columns: Any, i: int) -> str:
    pairs = zip(columns.names, columns.values, strict=True)
    return _listed([(name, _plain(values[i])) for name, values in pairs][: 2 * _VALUES_SHOWN])


def _values(data: ReportData, chosen: "NDArray[np.int64]") -> dict[int, str]:
    """All values of short rows, the largest ones of others."""
    parts = {}
    for i in chosen.tolist():
        features, values = data.values_of(i)
        largest = np.sort(np.argsort(-np.abs(values), kind="stable")[:_VALUES_SHOWN])
        parts[i] = features[largest], values[largest]
    names = _names(data, [features for features, _ in parts.values()])
    return {
        i: _listed([(names[j], _plain(x)) for j, x in zip(*part, strict=True)])
        for i, part in parts.items()
    }


def _evidence(data: ReportData, chosen: "NDArray[np.int64]") -> dict[int, str]:
    """The features of each row that speak for its rival, where they have names."""
    parts = {i: data.evidence_for_rival(i) for i in chosen.tolist()}
    names = _names(data, list(parts.values()))
    shown = {}
    for i, features in parts.items():
        listed = ", ".join(escape(cut(names[j], _NAME_LENGTH)) for j in features)
        rival = label(data.subject.classes[data.scored.rival[i]])
        shown[i] = f'<p class="evidence">for {rival}: {listed}</p>' if listed else ""
    return shown


def _names(data: ReportData, parts: "list[NDArray[np.int64]]") -> dict[int, str]:
    """Names of all features in `parts`."""
    features = np.unique(np.concatenate([np.zeros(0, np.int64), *parts]))
    return dict(zip(features.tolist(), data.names.of(features), strict=True))


def _plain(value: Any) -> str:
    if value is None:
        return "missing"
    return f"{value:.4g}" if isinstance(value, float | np.floating) else str(value)


def _listed(pairs: list[tuple[str, str]]) -> str:
    items = "".join(
        f"<li>{escape(cut(name, _NAME_LENGTH))} <b>{escape(cut(value, _NAME_LENGTH))}</b></li>"
        for name, value in pairs
    )
    return f'<ul class="values">{items}</ul>'
