"""Ctrl-C at a moment when a fit is in order."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


class Interrupts:
    """Signals that came and wait to be acted on."""

    _PATIENCE = 1.0  # seconds after which one more signal is acted on at once

    def __init__(self, handler: Any = None) -> None:
        self._handler = handler
        self._pending: tuple[int, FrameType | None] | None = None
        self._since = 0.0
        self.is_urgent = False

    def receive(self, number: int, frame: FrameType | None) -> None:
        """Stands in for the handler of the signal."""
        if self._pending is None:
            self._pending, self._since = (number, frame), time.monotonic()
        elif time.monotonic() - self._since > self._PATIENCE:
            self.is_urgent = True
            self.raise_pending()

    def raise_pending(self) -> None:
        """Call the handler now if the signal has come; it usually raises KeyboardInterrupt."""
        if self._pending is not None and callable(self._handler):
            pending, self._pending = self._pending, None
            self._handler(*pending)


@contextmanager
def held_interrupts() -> Iterator[Interrupts]:
    """Hold SIGINT back until `raise_pending` is called or the block ends.

    Only the main thread receives signals; in others nothing has to be held back.
    """
    if threading.current_thread() is not threading.main_thread():
        yield Interrupts()
        return
    handler = signal.getsignal(signal.SIGINT)
    interrupts = Interrupts(handler)
    if not callable(handler):  # ignored, default action, or not set from Python
        yield interrupts
        return
    signal.signal(signal.SIGINT, interrupts.receive)
    try:
        yield interrupts
    finally:
        signal.signal(signal.SIGINT, handler)
    interrupts.raise_pending()
