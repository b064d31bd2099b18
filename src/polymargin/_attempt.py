"""A fit that fails leaves its estimator as it was."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Attempt:
    """A fit under way."""

    def __init__(self) -> None:
        self.has_reached = False

    def reached(self) -> None:
        """Attributes are those of this fit now: an interrupt leaves them so."""
        self.has_reached = True


@contextmanager
def unchanged_on_failure(estimator: Any) -> Iterator[Attempt]:
    """Put all attributes back where the block fails, or is interrupted before it has reached any.

    They may be replaced in the block, but not changed in place.
    """
    before = dict(vars(estimator))
    attempt = Attempt()
    try:
        yield attempt
    except BaseException as error:
        if isinstance(error, Exception) or not attempt.has_reached:
            vars(estimator).clear()
            vars(estimator).update(before)
        raise
