"""Numbers in sentences."""


def counted(n: int, noun: str, plural: str | None = None) -> str:
    """So many of something: ``1 pass``, ``2 passes``."""
    return f"{n:,} {noun if n == 1 else plural or f'{noun}s'}"
