"""Dual variables written to a file every few minutes, and taken up again."""

import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from polymargin._progress import RECORD
from polymargin.cli._console import note, warn
from polymargin.errors import ModelFileError
from polymargin.files import Checkpoint, read_checkpoint, write_checkpoint

if TYPE_CHECKING:
    from polymargin._fit import DualState
    from polymargin.cli._recipe import SVM


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

    def keep(self, state: "DualState") -> None:
        now = time.monotonic()
        checkpoint = Checkpoint(
            estimator=type(self._svm).__name__,
            parameters=self._svm.get_params(deep=False),
            machine=state.machine,
            classes=state.classes,
            state=state,
            seconds=self._before + now - self._start,
            epochs=0.0,
            history=np.empty(0, RECORD),
            data_hash=self._data_hash,
        )
        try:
            write_checkpoint(self._path, checkpoint)
        except OSError as error:
            warn(f"no checkpoint was written to {self._path}: {error.strerror or error}")
        self._written = time.monotonic()


def resume(path: Path, svm: "SVM", data_hash: str) -> float:
    """Let the next fit go on from a checkpoint; the seconds that were spent before it."""
    checkpoint = read_checkpoint(path)
    if checkpoint.data_hash != data_hash:
        raise ModelFileError(
            f"{path}: the checkpoint belongs to other rows; train on the file it was made with, "
            "scaled and turned into features the same way"
        )
    checkpoint.resume_into(svm)
    note(f"resumed after {checkpoint.seconds:.0f} s of training")
    return checkpoint.seconds
