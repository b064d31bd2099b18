"""Dual variables written to a file every few minutes, and taken up again."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polymargin._machines import find_machine
from polymargin.cli._output.terminal import note, warn
from polymargin.errors import ModelFileError
from polymargin.files import Checkpoint, read_checkpoint, write_checkpoint

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polymargin.cli._options import Kernel
    from polymargin.cli._recipe import SVM
    from polymargin.fit import DualState


class CheckpointWriter:
    """Writes what a fit has reached; a disk that is full does not end the fit."""

    def __init__(self, path: Path, every: float, svm: "SVM", data_hash: str, before: float) -> None:
        self._path = path
        self._every = every
        self._svm = svm
        self._data_hash = data_hash
        self._before = before  # seconds that fits before this one took
        self._start = self._written = time.monotonic()

    def is_due(self) -> bool:
        return time.monotonic() - self._written >= self._every

    def keep(self, state: "DualState", history: "NDArray[Any]") -> None:
        now = time.monotonic()
        checkpoint = Checkpoint(
            estimator=type(self._svm).__name__,
            parameters=self._svm.get_params(deep=False),
            machine=state.machine,
            classes=state.classes,
            state=state,
            seconds=self._before + now - self._start,
            epochs=float(history["epoch"][-1]),
            history=history,
            data_hash=self._data_hash,
        )
        try:
            write_checkpoint(self._path, checkpoint)
        except OSError as error:
            warn(f"no checkpoint was written to {self._path}: {error.strerror or error}")
        self._written = time.monotonic()


@dataclass(frozen=True)
class Resumed:
    """A checkpoint to go on from."""

    path: Path
    checkpoint: Checkpoint

    @classmethod
    def read(cls, path: Path) -> "Resumed":
        return cls(path, read_checkpoint(path))

    @property
    def kernel(self) -> "Kernel | None":
        """None for a linear machine."""
        return self.checkpoint.parameters.get("kernel")

    def merge(self, given: "SVM", names: list[str], quiet: bool) -> "SVM":
        """An estimator of the stored parameters, but for those of these names."""
        stored = self.checkpoint.make_estimator()
        if type(stored) is not type(given):
            raise ModelFileError(f"{self.path} is the checkpoint of a linear machine")
        before, now = stored.get_params(deep=False), given.get_params(deep=False)
        for name in names:
            if now[name] != before[name] and not quiet:
                note(f"{name}={now[name]} in place of {before[name]} in {self.path}")
        merged: SVM = stored.set_params(**{name: now[name] for name in names})
        if find_machine(merged.machine).name != self.checkpoint.machine:
            raise ModelFileError(
                f"{self.path} is the checkpoint of machine {self.checkpoint.machine}; "
                f"{merged.machine} cannot go on from it"
            )
        return merged

    def start(self, svm: "SVM", data_hash: str) -> float:
        """Let the next fit go on from here; the seconds that were spent before it."""
        if self.checkpoint.data_hash != data_hash:
            raise ModelFileError(
                f"{self.path}: the checkpoint belongs to other rows; train on the file it was made "
                "with, and give the same options on data and features, such as --scale"
            )
        self.checkpoint.resume_into(svm)
        return self.checkpoint.seconds
