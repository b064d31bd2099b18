"""SIGTERM and SIGHUP end a command as Ctrl-C does: what was reached is saved, nothing is left."""

import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_ENDING = (signal.SIGTERM, signal.SIGHUP)
_POKE = signal.SIGURG  # means nothing here
_received: list[int] = []


def was_terminated() -> bool:
    """Whether it was one of these signals that interrupted, not Ctrl-C."""
    return bool(_received)


@contextmanager
def orderly_termination() -> Iterator[None]:
    """Treat the signals so inside the block, where nobody has had them ignored."""
    _received.clear()
    previous = {
        number: signal.signal(number, _interrupt)
        for number in _ENDING
        if signal.getsignal(number) == signal.SIG_DFL
    }
    try:
        with _prompt_signals():
            yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def _interrupt(number: int, frame: FrameType | None) -> None:
    """What Ctrl-C does now; a fit holds it back until its numbers are in order."""
    _received.append(number)
    handler = signal.getsignal(signal.SIGINT)
    (handler if callable(handler) else signal.default_int_handler)(signal.SIGINT, frame)


@contextmanager
def _prompt_signals() -> Iterator[None]:
    """Act on signals at once, also while a pipe is read.

    The system may give a signal to a thread of a numerical library, and what the main thread
    waits for goes on then. A thread that hears of all signals pokes the main one.
    """
    here, there = socket.socketpair()
    there.setblocking(False)
    watcher = threading.Thread(target=_watch, args=(here, threading.get_ident()), daemon=True)
    previous = signal.signal(_POKE, _do_nothing)
    previous_wakeup = signal.set_wakeup_fd(there.fileno(), warn_on_full_buffer=False)
    watcher.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(previous_wakeup)
        there.close()
        watcher.join()
        here.close()
        signal.signal(_POKE, previous)


def _watch(here: socket.socket, main_thread: int) -> None:
    while numbers := here.recv(64):
        if any(number != _POKE for number in numbers):
            for _ in range(3):  # it may have been about to wait
                signal.pthread_kill(main_thread, _POKE)
                time.sleep(0.02)


def _do_nothing(number: int, frame: FrameType | None) -> None:
    pass
