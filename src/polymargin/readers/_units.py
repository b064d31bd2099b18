"""Units that may stand beside a number: of a currency, per cent, or of what is measured."""

import re

__all__ = ["split_unit"]

_CURRENCY = "[$€£¥₹₽₩₺]|EUR|USD|GBP|CHF|JPY"
_MEASURES = (
    *("nm", "µm", "mm", "cm", "dm", "m", "km", "in", "ft", "yd", "mi"),
    *("mm²", "cm²", "m²", "m2", "km²", "ha", "cm³", "m³", "m3", "ml", "cl", "dl", "l"),
    *("µg", "mg", "g", "kg", "t", "lb", "lbs", "oz"),
    *("ns", "µs", "ms", "s", "sec", "Sek", "min", "Min", "h", "hrs", "Std"),
    *("°", "°C", "°F", "mV", "kV", "mA", "kW", "MW", "Wh", "kWh", "MWh"),
    *("Hz", "kHz", "MHz", "GHz", "kB", "KB", "MB", "GB", "TB", "kbps", "Mbps"),
    *("km/h", "m/s", "mph", "Pa", "hPa", "kPa", "bar", "mbar", "psi"),
    *("kJ", "kcal", "dB", "ppm", "px", "rpm", "pcs", "Stk", "Stk."),
    *("k", "K", "M", "bn", "Mio", "Mio.", "Mrd", "Mrd."),  # thousands and more: of all, or of none
)
_APART = ("V", "A", "W", "J", "L")  # with a blank before them: 12A may be a name
_AFTER = (
    rf"\s*(?P<after>%|{_CURRENCY}|{'|'.join(map(re.escape, _MEASURES))})"
    rf"|\s+(?P<apart>{'|'.join(_APART)})"
)
_UNIT = re.compile(
    rf"(?P<sign>[+-]?)(?:(?P<before>{_CURRENCY})\s*(?P<first>[^%]*)|(?P<last>.*?)(?:{_AFTER}))"
)
_LONGEST = 64  # characters, with the unit


def split_unit(cell: str) -> tuple[str, str | None]:
    """A number and the unit beside it, None where there is none."""
    text = cell.strip()
    found = _UNIT.fullmatch(text) if len(text) <= _LONGEST else None
    if found is None:
        return text, None
    number = found["first"] or found["last"] or ""
    return found["sign"] + number, found["before"] or found["after"] or found["apart"]
