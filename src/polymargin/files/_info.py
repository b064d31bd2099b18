"""What a model file says of itself, without making the model."""

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from polymargin.errors import ModelFileError
from polymargin.files._estimators import ESTIMATORS
from polymargin.files._rounded import weights_dtype
from polymargin.files._shards import shard_names
from polymargin.storage import (
    FLOATS,
    Container,
    Fields,
    Tensors,
    checked_header,
    decode_parameters,
    naming,
    read_container,
    take_history,
    take_labels,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class ModelInfo:
    """What `read_info` finds in a model file.

    Attributes
    ----------
    format : tuple of int
        Version of the file format, major and minor.
    version : str
        Version of polymargin that wrote the file.
    estimator : str
        "LinearSVM" or "KernelSVM".
    steps : tuple of (str, str)
        Name and class of each step of a pipeline; of an estimator alone its class.
    parameters : dict
        Constructor parameters of the estimator.
    classes : ndarray of shape (k,)
        The labels.
    n_features : int
        Features that the estimator takes.
    dtype : str
        "float32" or "float64": the precision of the scores.
    weights_dtype : str
        In what the weights are stored: "float16" where `save` was asked for it, else `dtype`.
    weights : str
        "dense" or "sparse": the weights of a linear model, or the support vectors; "precomputed"
        where there are none.
    shards : tuple of str
        The files beside this one that hold the weights; none where it holds them itself.
    n_support : int or None
        Support vectors of a kernel model.
    n_examples : int or None
        Rows given to `fit`, or visits of a stream to rows.
    is_stream : bool
        Whether the model is one of `partial_fit` or of a stream of batches.
    has_duals : bool
        Whether the file holds the dual variables.
    calibrator : dict or None
        ``name`` and, of a temperature, ``T`` of what makes probabilities of scores; None where the
        model gives none.
    certificate : dict or None
        ``n_iter``, ``dual_gap``, ``primal_objective``, ``dual_objective`` and ``converged``; None
        where nothing is certified.
    history : ndarray or None
        `history_` of the fit.
    data_hash : str or None
        Digest of the training data.
    reading : dict or None
        How the training file was read.
    n_bytes : int
        Size of the file, shards apart.
    """

    format: tuple[int, int]
    version: str
    estimator: str
    steps: tuple[tuple[str, str], ...]
    parameters: dict[str, Any]
    classes: "NDArray[Any]" = field(repr=False)
    n_features: int
    dtype: str
    weights_dtype: str
    weights: str
    shards: tuple[str, ...]
    n_support: int | None
    n_examples: int | None
    is_stream: bool
    has_duals: bool
    calibrator: dict[str, Any] | None
    certificate: dict[str, Any] | None
    history: "NDArray[Any] | None" = field(repr=False)
    data_hash: str | None
    reading: dict[str, Any] | None
    n_bytes: int


def read_info(path: str | os.PathLike[str]) -> ModelInfo:
    """What a model file holds, from its header, labels and history alone.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    info : ModelInfo

    Raises
    ------
    ModelFileError
        The file is damaged, not a model, or of a newer format.

    Examples
    --------
    >>> import os, tempfile
    >>> from polymargin import LinearSVM
    >>> from polymargin.files import read_info, save
    >>> model = LinearSVM("cs", random_state=0).fit([[0.0], [1.0]], ["a", "b"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.safetensors")
    ...     save(model, path, reading={"format": "csv"})
    ...     info = read_info(path)
    >>> info.estimator, info.parameters["machine"], info.classes.tolist(), info.reading
    ('LinearSVM', 'cs', ['a', 'b'], {'format': 'csv'})
    """
    with naming(path):
        return info_in(read_container(path))


def info_in(container: Container) -> ModelInfo:
    """What the model in a container says of itself."""
    header = checked_header(container.document, "model")
    parts = header.parts("steps")
    if not parts or parts[-1].text("class") not in ESTIMATORS:
        raise ModelFileError("the last step is no estimator")
    last = parts[-1]
    tensors = Tensors(container.tensors, f"{len(parts) - 1}.")
    major, minor = header.items("format")
    reading = None
    if header.values.get("reading") is not None:
        reading = header.part("reading").values
    return ModelInfo(
        format=(major, minor),
        version=header.text("version"),
        estimator=last.text("class"),
        steps=tuple((part.text("name"), part.text("class")) for part in parts),
        parameters=decode_parameters(last.part("parameters").values),
        classes=take_labels(tensors, last.text("labels")),
        n_features=last.count("n_features", 1),
        data_hash=header.text("data_hash", None),
        reading=reading,
        n_bytes=container.n_bytes,
        **_training(last, tensors),
    )


def _training(fields: Fields, tensors: Tensors) -> dict[str, Any]:
    is_linear = fields.text("class") == "LinearSVM"
    n_support = None
    if not is_linear:
        n_support = len(tensors.integers("support", (None,)))
    n_examples = fields.count("n_examples") if "n_examples" in fields else None
    if "n_samples_seen" in fields:
        n_examples = fields.count("n_samples_seen")
    certificate = history = None
    if "certificate" in fields:
        found = fields.part("certificate")
        certificate = {
            "n_iter": found.count("n_iter"),
            "dual_gap": found.number("dual_gap"),
            "primal_objective": found.number("primal_objective"),
            "dual_objective": found.number("dual_objective"),
            "converged": found.flag("converged"),
        }
        history = take_history(tensors)
    shards = shard_names(fields)
    weights = "sparse" if shards else None
    dtype = tensors.take("intercept", FLOATS, (None,)).dtype.name
    return {
        "dtype": dtype,
        "weights_dtype": weights_dtype(fields, dtype),
        "weights": weights
        or fields.text("weights" if is_linear else "support_vectors", "precomputed"),
        "shards": shards,
        "n_support": n_support,
        "n_examples": n_examples,
        "is_stream": "n_samples_seen" in fields,
        "has_duals": "duals" in fields,
        "calibrator": _calibrator(fields) if "calibrator" in fields else None,
        "certificate": certificate,
        "history": history,
    }


def _calibrator(fields: Fields) -> dict[str, Any]:
    found = fields.part("calibrator")
    return {"name": found.text("name")} | ({"T": found.finite("T")} if "T" in found else {})
