"""The processes of a communicator while they work on one fit, or on what else they do together."""

import pickle
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from polymargin.errors import RankError, require

if TYPE_CHECKING:
    from types import TracebackType

    from numpy.typing import NDArray

_Value = TypeVar("_Value")
_KNOWN = "_polymargin_is_known_to_all_ranks"
_AT_ONCE = 1 << 28  # items of one message: MPI counts them in 31 bits

# What processes tell each other: weights while they train, the mean of all of them, dual variables,
# what certifies weights, a model that is gathered, and how it goes.
KINDS = ("weights", "mean", "duals", "certificate", "model", "meetings")


def mpi() -> Any:
    """The module of mpi4py, which starts MPI when it is imported first."""
    return require("mpi4py.MPI", extra="mpi", purpose="distributed estimators")


def world() -> Any:
    """All processes of the job."""
    return mpi().COMM_WORLD


@dataclass(frozen=True)
class _Failure:
    """What another process has to know of an exception."""

    message: str
    is_interrupt: bool


class Sum:
    """A sum over all processes that is on its way."""

    def __init__(self, total: "NDArray[Any]", requests: list[Any]) -> None:
        self._total, self._requests = total, requests

    @classmethod
    def of(cls, comm: Any, array: "NDArray[Any]") -> "Sum":
        """Begun by all processes in the same order."""
        total = array.copy()
        return cls(total, [comm.Iallreduce(mpi().IN_PLACE, part) for part in _parts(total)])

    @property
    def is_over(self) -> bool:
        return not self._requests

    def test(self) -> None:
        """Look at it, which moves it on."""
        if self._requests and mpi().Request.Testall(self._requests):
            self._requests = []

    def result(self) -> "NDArray[Any]":
        """Wait for it."""
        if self._requests:
            mpi().Request.Waitall(self._requests)
            self._requests = []
        return self._total


class Ranks(AbstractContextManager["Ranks"]):
    """Processes that meet now and then, all in the same order.

    Before every exchange of arrays they meet. A process that fails in between comes to the next
    meeting with its failure, and so none waits for it in vain: all of them leave the block by an
    exception. The end of the block is a meeting, too.

    `sent` counts the bytes that this process has handed to MPI, by kind: what goes to all once, and
    what is added up over all once for each process.
    """

    def __init__(self, comm: Any) -> None:
        self._comm = comm
        self.rank: int = comm.rank
        self.size: int = comm.size
        self.sent = dict.fromkeys(KINDS, 0)
        self._begun: list[Sum] = []  # sums on their way
        self.log: list[tuple[int, ...]] = []  # what all together had sent at each check of a fit

    def meet(self, purpose: str, value: _Value) -> list[_Value]:
        """The values of all processes, by rank; RankError where one of them has failed."""
        self.sent["meetings"] += _size(value)
        told = self._comm.allgather((purpose, value))
        for rank, (_, seen) in enumerate(told):
            if not isinstance(seen, _Failure):
                continue
            if seen.is_interrupt:
                raise known_to_all(KeyboardInterrupt())
            raise known_to_all(
                RankError(f"rank {rank} of {self.size} failed: {seen.message}", rank)
            )
        purposes = {there for there, _ in told}
        if len(purposes) > 1:
            met = ", ".join(sorted(purposes))
            raise known_to_all(RankError(f"the processes met for different purposes: {met}"))
        return [seen for _, seen in told]

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: "TracebackType | None",
    ) -> None:
        for begun in self._begun:  # by all, so that it ends
            begun.result()
        if error is None:
            self.meet("the end", None)
        elif not getattr(error, _KNOWN, False):
            text = str(error)
            told = f"{type(error).__name__}: {text}" if text else type(error).__name__
            self._comm.allgather(("", _Failure(told, not isinstance(error, Exception))))

    # Arrays: after a meeting, with nothing in between that can fail.

    def add_up(self, array: "NDArray[Any]", kind: str) -> None:
        """Replace each item by its sum over all processes."""
        self.sent[kind] += array.nbytes
        for part in _parts(array):
            self._comm.Allreduce(mpi().IN_PLACE, part)

    def begin_sum(self, array: "NDArray[Any]", kind: str) -> "Sum":
        """The same while work goes on, for this array as it is now."""
        self.sent[kind] += array.nbytes
        begun = Sum.of(self._comm, array)
        self._begun = [one for one in (*self._begun, begun) if not one.is_over]
        return begun

    def move_on(self) -> None:
        """Let what is on its way be moved on, for some MPIs do that in calls alone."""
        for begun in self._begun:
            begun.test()

    def copy_first(self, array: "NDArray[Any]", kind: str) -> None:
        """Replace all items by those of rank 0."""
        self.sent[kind] += array.nbytes if self.rank == 0 else 0
        for part in _parts(array):
            self._comm.Bcast(part)

    def value_of_first(self, value: _Value) -> _Value:
        """That of rank 0."""
        self.sent["meetings"] += _size(value) if self.rank == 0 else 0
        first: _Value = self._comm.bcast(value)
        return first

    def swap(self, parcels: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """What each process has for this one, by kind; from one parcel for each of them.

        A meeting, too.
        """
        from mpi4py.util import pkl5

        self.meet("what each has for the others", None)
        for rank, parcel in enumerate(parcels):
            for kind, value in parcel.items() if rank != self.rank else ():
                self.sent[kind] += _size(value)
        swapped: list[dict[str, Any]] = pkl5.Intracomm(self._comm).alltoall(parcels)
        return swapped

    def gather(self, value: _Value) -> list[_Value]:
        """The values of all processes, by rank, which may be large; a meeting, too."""
        from mpi4py.util import pkl5

        self.meet("what all have", None)
        self.sent["model"] += _size(value)
        values: list[_Value] = pkl5.Intracomm(self._comm).allgather(value)
        return values


def known_to_all(error: BaseException) -> BaseException:
    """The same, marked as one that every process raises."""
    setattr(error, _KNOWN, True)
    return error


def _size(value: Any) -> int:
    """Bytes of a value on its way; the arrays in it are not copied for that."""
    buffers: list[pickle.PickleBuffer] = []
    head = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    return len(head) + sum(buffer.raw().nbytes for buffer in buffers)


def _parts(array: "NDArray[Any]") -> "list[NDArray[Any]]":
    flat = array.reshape(-1)
    if not np.shares_memory(flat, array):
        raise ValueError("an array that is exchanged has to be contiguous")
    return [flat[first : first + _AT_ONCE] for first in range(0, len(flat), _AT_ONCE)]
