"""Values of options that are small languages of their own."""

import math

import typer

_FAR = 1000  # binary logarithms beyond this are no numbers


def parse_ngrams(text: str) -> tuple[int, int]:
    """``1-4`` or ``2``."""
    low, _, high = text.partition("-")
    try:
        pair = int(low), int(high or low)
    except ValueError:
        raise typer.BadParameter(
            f"{text!r} is not LOW-HIGH, as in 1-4", param_hint="--ngrams"
        ) from None
    if not 1 <= pair[0] <= pair[1]:
        raise typer.BadParameter(f"{text!r}: 1 <= LOW <= HIGH is needed", param_hint="--ngrams")
    return pair


def parse_kinds(columns: list[str] | None) -> dict[str, str]:
    """``NAME=KIND`` of each column; a name may contain an equals sign."""
    kinds: dict[str, str] = {}
    for text in columns or ():
        from polymargin.readers import KINDS

        name, equals, kind = text.rpartition("=")
        if not equals or kind not in KINDS:
            raise typer.BadParameter(
                f"{text!r} is not NAME=KIND, where KIND is one of {', '.join(KINDS)}",
                param_hint="--column",
            )
        if kinds.setdefault(name, kind) != kind:
            raise typer.BadParameter(f"two kinds for {name!r}", param_hint="--column")
    return kinds


def parse_range(text: str, option: str) -> tuple[float, float, float]:
    """``FIRST:LAST:STEP``, of binary logarithms."""
    try:
        first, last, step = map(float, text.split(":"))
    except ValueError:
        first = last = step = math.nan
    if not (-_FAR <= first <= last <= _FAR and 0 < step < math.inf):
        raise typer.BadParameter(
            f"{text!r} is not FIRST:LAST:STEP, as in -6:6:2", param_hint=option
        )
    return first, last, step


def parse_gamma(text: str) -> float | str:
    """A number, "scale" or "auto"."""
    if text in ("scale", "auto"):
        return text
    try:
        gamma = float(text)
    except ValueError:
        gamma = math.nan
    if not 0 < gamma < math.inf:
        raise typer.BadParameter(
            f"{text!r} is neither a positive number nor scale nor auto", param_hint="--gamma"
        )
    return gamma


def parse_machines(text: str) -> list[str]:
    """Names with commas."""
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise typer.BadParameter(
            f"{text!r} is not names with commas, as in ww,cs", param_hint="--machines"
        )
    return names


def check_positive(value: float) -> float:
    """Of an option that takes a positive number."""
    if not 0 < value < math.inf:
        raise typer.BadParameter(f"{value:g} is not a positive number")
    return value


def check_C(value: float) -> float:
    """Of an option that takes C: a positive number, or infinity for a hard margin."""
    if not value > 0:
        raise typer.BadParameter(f"{value:g} is neither a positive number nor inf")
    return value


def check_finite(value: float) -> float:
    """Of an option that takes a number."""
    if not math.isfinite(value):
        raise typer.BadParameter(f"{value:g} is not a finite number")
    return value


def parse_shape(text: str) -> tuple[int, int]:
    """``HxW``, of images."""
    try:
        height, width = map(int, text.lower().split("x"))
    except ValueError:
        height = width = 0
    if height < 1 or width < 1:
        raise typer.BadParameter(f"{text!r} is not HxW, as in 28x28", param_hint="--image-shape")
    return height, width
