"""Files that are opened once for all that is asked of them."""

import os

from sklearn.pipeline import Pipeline

from polymargin.files._estimators import Estimator
from polymargin.files._info import ModelInfo, info_in
from polymargin.files._model import model_in
from polymargin.files._stored_fit import StoredFit, fit_in
from polymargin.storage import Fields, naming, read_container


def load_with_info(path: str | os.PathLike[str]) -> tuple[Estimator | Pipeline, ModelInfo]:
    """A model, and what its file says of it: `load` and `read_info` at once.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    model : LinearSVM, KernelSVM or Pipeline
    info : ModelInfo

    Raises
    ------
    ModelFileError
        The file is damaged, not a model, or of a newer format.

    Examples
    --------
    >>> import os, tempfile
    >>> from polymargin import LinearSVM
    >>> from polymargin.files import load_with_info, save
    >>> model = LinearSVM("cs", random_state=0).fit([[0.0], [1.0]], ["a", "b"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.safetensors")
    ...     save(model, path, reading={"format": "csv"})
    ...     model, info = load_with_info(path)
    >>> model.predict([[1.0]]).tolist(), info.reading
    (['b'], {'format': 'csv'})
    """
    with naming(path):
        container = read_container(path)
        return model_in(container, path), info_in(container)


def describe(path: str | os.PathLike[str]) -> ModelInfo | StoredFit:
    """What a file holds, be it a model or a checkpoint.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    described : ModelInfo or StoredFit
        As `read_info` and `read_checkpoint` give them.

    Raises
    ------
    ModelFileError
        The file is damaged, neither of the two, or of a newer format.

    Examples
    --------
    >>> import os, tempfile
    >>> from polymargin import LinearSVM
    >>> from polymargin.files import describe, save
    >>> model = LinearSVM(random_state=0).fit([[0.0], [1.0]], [0, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.safetensors")
    ...     save(model, path)
    ...     type(describe(path)).__name__
    'ModelInfo'
    """
    with naming(path):
        container = read_container(path)
        is_checkpoint = Fields(container.document).text("kind") == "checkpoint"
        return fit_in(container) if is_checkpoint else info_in(container)
