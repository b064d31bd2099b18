"""Names of months and days of the week in dates, English and German, in full or cut short."""

__all__ = ["is_weekday", "month_of"]

_MONTHS = (
    ("january", "januar", "jänner"),
    ("february", "februar", "feber"),
    ("march", "märz", "maerz", "mrz"),
    ("april",),
    ("may", "mai"),
    ("june", "juni"),
    ("july", "juli"),
    ("august",),
    ("september",),
    ("october", "oktober"),
    ("november",),
    ("december", "dezember"),
)
_WEEKDAYS = (
    *("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"),
    *("montag", "dienstag", "mittwoch", "donnerstag", "freitag", "samstag", "sonnabend", "sonntag"),
)
_SHORTEST = 3  # letters of a month; days of the week have two in German


def _beginnings(name: str, shortest: int) -> list[str]:
    return [name[:n] for n in range(shortest, len(name) + 1)]


_NUMBERS = {
    short: number
    for number, names in enumerate(_MONTHS, start=1)
    for name in names
    for short in _beginnings(name, _SHORTEST)
}
_DAYS = {short for name in _WEEKDAYS for short in _beginnings(name, 2)}


def month_of(name: str) -> int | None:
    """The number of a month, from 1 on; None where it is none."""
    return _NUMBERS.get(name.lower())


def is_weekday(name: str) -> bool:
    """Whether that is a day of the week."""
    return name.lower() in _DAYS
