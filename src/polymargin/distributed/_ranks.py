"""The processes of a communicator while they work on one fit, or on what else they do together."""

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


class Ranks(AbstractContextManager["Ranks"]):
    """Processes that meet now and then, all in the same order.

    Before every exchange of arrays they meet. A process that fails in between comes to the next
    meeting with its failure, and so none waits for it in vain: all of them leave the block by an
    exception. The end of the block is a meeting, too.
    """

    def __init__(self, comm: Any) -> None:
        self._comm = comm
        self.rank: int = comm.rank
        self.size: int = comm.size

    def meet(self, purpose: str, value: _Value) -> list[_Value]:
        """The values of all processes, by rank; RankError where one of them has failed."""
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
        if error is None:
            self.meet("the end", None)
        elif not getattr(error, _KNOWN, False):
            text = str(error)
            told = f"{type(error).__name__}: {text}" if text else type(error).__name__
            self._comm.allgather(("", _Failure(told, not isinstance(error, Exception))))

    # Arrays: after a meeting, with nothing in between that can fail.

    def add_up(self, array: "NDArray[Any]") -> None:
        """Replace each item by its sum over all processes."""
        for part in _parts(array):
            self._comm.Allreduce(mpi().IN_PLACE, part)

    def copy_first(self, array: "NDArray[Any]") -> None:
        """Replace all items by those of rank 0."""
        for part in _parts(array):
            self._comm.Bcast(part)

    def value_of_first(self, value: _Value) -> _Value:
        """That of rank 0."""
        first: _Value = self._comm.bcast(value)
        return first

    def swap(self, values: list[_Value]) -> list[_Value]:
        """What each process has for this one, for one value for each of them; a meeting, too."""
        from mpi4py.util import pkl5

        self.meet("what each has for the others", None)
        swapped: list[_Value] = pkl5.Intracomm(self._comm).alltoall(values)
        return swapped

    def gather(self, value: _Value) -> list[_Value]:
        """The values of all processes, by rank, which may be large; a meeting, too."""
        from mpi4py.util import pkl5

        self.meet("what all have", None)
        values: list[_Value] = pkl5.Intracomm(self._comm).allgather(value)
        return values


def known_to_all(error: BaseException) -> BaseException:
    """The same, marked as one that every process raises."""
    setattr(error, _KNOWN, True)
    return error


def _parts(array: "NDArray[Any]") -> "list[NDArray[Any]]":
    flat = array.reshape(-1)
    if not np.shares_memory(flat, array):
        raise ValueError("an array that is exchanged has to be contiguous")
    return [flat[first : first + _AT_ONCE] for first in range(0, len(flat), _AT_ONCE)]
