"""A model file as the commands use it."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polymargin.cli._data import alike
from polymargin.cli._recipe import SVM, take_apart, transform
from polymargin.files import ModelInfo, load, read_info

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class OpenModel:
    """What a file holds, taken apart."""

    info: ModelInfo
    model: Any  # estimator or pipeline
    steps: list[tuple[str, Any]]
    svm: SVM
    reading: dict[str, Any]

    @property
    def classes(self) -> "NDArray[Any]":
        return self.svm.classes_

    def rows(self, X: Any) -> Any:
        """What the machine itself takes."""
        weights = self.svm.dual_coef_ if hasattr(self.svm, "dual_coef_") else self.svm.coef_
        return transform(self.steps, X, weights.dtype)

    def scores(self, X: Any) -> "NDArray[Any]":
        """Of all classes."""
        return self.svm.class_scores(self.rows(X))


def open_model(path: Path, jobs: int = 1, file_format: str | None = None) -> OpenModel:
    """Load a model; data files are read as its training file was, unless a format is named."""
    model = load(path)
    info = read_info(path)
    steps, svm = take_apart(model)
    svm.set_params(n_jobs=jobs)
    reading = alike(svm, info, steps)
    if file_format is not None:
        reading = {"kinds": reading["kinds"]} if "kinds" in reading else reading
        reading["format"] = str(file_format)
    return OpenModel(info, model, steps, svm, reading)
