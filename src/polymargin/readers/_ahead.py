"""Blocks that another thread reads while the one before is in use."""

from collections.abc import Iterator
from queue import SimpleQueue
from threading import Thread

__all__ = ["read_ahead"]


def read_ahead(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """The same blocks, each read while the one before is in use.

    Nothing waits for the thread to end. Whoever leaves half way may leave the iterator to the
    garbage collector, which can run in the middle of anything: waiting there, for a thread that
    needs a lock of the one who is interrupted, would never end.
    """
    wanted: SimpleQueue[bool] = SimpleQueue()
    found: SimpleQueue[bytes | BaseException] = SimpleQueue()
    Thread(target=_serve, args=(blocks, wanted, found), daemon=True).start()
    try:
        wanted.put(True)
        while block := found.get():
            if isinstance(block, BaseException):
                raise block
            wanted.put(True)
            yield block
    finally:
        wanted.put(False)


def _serve(
    blocks: Iterator[bytes],
    wanted: "SimpleQueue[bool]",
    found: "SimpleQueue[bytes | BaseException]",
) -> None:
    while wanted.get():
        try:
            found.put(next(blocks, b""))
        except BaseException as error:
            found.put(error)
