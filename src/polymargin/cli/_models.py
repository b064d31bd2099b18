"""A model file as the commands use it."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polymargin.cli._data import check_missing, concerning
from polymargin.cli._model_kind import opening_model
from polymargin.cli._recipe import SVM, take_apart, transform, use_jobs
from polymargin.cli._training_format import TrainingFormat, format_of_model
from polymargin.errors import ModelFileError
from polymargin.files import ModelInfo, load_with_info
from polymargin.readers import Table

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class OpenModel:
    """What a file holds, taken apart."""

    info: ModelInfo
    model: Any  # estimator or pipeline
    steps: list[tuple[str, Any]]
    svm: SVM
    files: TrainingFormat

    @property
    def classes(self) -> "NDArray[Any]":
        return self.svm.classes_

    def rows(self, table: Table, path: Path) -> Any:
        """What the machine itself takes."""
        if self.steps and getattr(self.steps[0][1], "missing", None) == "error":
            check_missing(table, path, "fill it in, or train with --missing mean")
        weights = self.svm.dual_coef_ if hasattr(self.svm, "dual_coef_") else self.svm.coef_
        with concerning(path):
            return transform(self.steps, table.X, weights.dtype)

    def score_blocks(self, table: Table, path: Path) -> "Iterator[tuple[slice, NDArray[Any]]]":
        """Consecutive rows of a file and the scores of all classes, in bounded memory."""
        return self.svm._score_blocks(self.rows(table, path))

    @property
    def has_probabilities(self) -> bool:
        return self.info.calibrator is not None

    def check_probabilities(self, path: Path) -> None:
        """Refuse a model that gives none."""
        if not self.has_probabilities:
            raise ModelFileError(f"{path} gives no probabilities; train with --calibration")

    def probabilities(self, scores: "NDArray[Any]") -> "NDArray[Any]":
        """Of all classes, in the precision of the scores."""
        return self.svm.calibrator_.probabilities(scores).astype(scores.dtype, copy=False)


def open_model(
    path: Path,
    jobs: int | None = None,
    file_format: str | None = None,
    encoding: str = "utf-8",
) -> OpenModel:
    """Load a model; data files are read as its training file was, unless a format is named."""
    with opening_model(path):
        model, info = load_with_info(path)
    steps, svm = take_apart(model)
    if jobs is not None:
        svm.set_params(n_jobs=jobs)
        use_jobs(steps, jobs)
    files = format_of_model(svm, info, steps, file_format, encoding)
    return OpenModel(info, model, steps, svm, files)
