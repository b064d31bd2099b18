"""A checkpoint taken up again."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from polymargin._machines import find_machine
from polymargin.cli._output.terminal import note
from polymargin.errors import ModelFileError
from polymargin.files import StoredFit, read_checkpoint

if TYPE_CHECKING:
    from polymargin.cli._recipe import SVM


@dataclass(frozen=True)
class Resumed:
    """A checkpoint to go on from."""

    path: Path
    checkpoint: StoredFit

    @classmethod
    def read(cls, path: Path) -> "Resumed":
        return cls(path, read_checkpoint(path))

    @property
    def kernel(self) -> str | None:
        """None for a linear machine."""
        return self.checkpoint.parameters.get("kernel")

    def merge(self, given: "SVM", names: list[str], quiet: bool) -> "SVM":
        """An estimator of the stored parameters, but for those of these names."""
        stored = self.checkpoint.make_estimator()
        if not isinstance(given, type(stored)):
            raise ModelFileError(f"{self.path} is the checkpoint of a linear machine")
        before, now = stored.get_params(deep=False), given.get_params(deep=False)
        for name in names:
            if now[name] != before[name] and not quiet:
                note(f"{name}={now[name]} in place of {before[name]} in {self.path}")
        merged: SVM = given.set_params(**before | {name: now[name] for name in names})
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
        self.checkpoint.resume_into(svm, data_hash=data_hash)
        return self.checkpoint.seconds
