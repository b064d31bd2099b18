"""Models to and from one file."""

import os
from typing import Any

from sklearn.pipeline import Pipeline

from polymargin._sklearn import validate_steps
from polymargin.errors import ModelFileError
from polymargin.files._estimators import (
    ESTIMATORS,
    Estimator,
    Weights,
    put_estimator,
    take_estimator,
)
from polymargin.files._shards import shards_beside, with_shards
from polymargin.files._steps import check_widths, put_step, take_step
from polymargin.storage import (
    Arrays,
    Container,
    Fields,
    Tensors,
    checked_header,
    naming,
    read_container,
    write_document,
    write_json,
)

_MOST_STEPS = 20


def save(
    model: Estimator | Pipeline,
    path: str | os.PathLike[str],
    *,
    duals: bool | str = "auto",
    dtype: str | None = None,
    data_hash: str | None = None,
    reading: dict[str, Any] | None = None,
) -> None:
    """Write a fitted model to a safetensors file.

    The file is complete or absent, and the same model always gives the same bytes. It holds no
    code: a generator of random numbers is stored as None, and functions among the parameters are
    refused. Of a pipeline the steps are stored, not its own options such as `memory`. A model of
    `partial_fit` is stored with what a further `partial_fit` goes on from.

    A model that several processes have fitted with ``gather=False`` is saved by all of them, to the
    same path: each writes a shard with the weights of its classes beside it, and the first one the
    file itself, which names them, once they are complete.

    Parameters
    ----------
    model : LinearSVM, KernelSVM or Pipeline
        What to save. The steps of a pipeline before its estimator are scalers, `Normalizer`,
        `ColumnEncoder` or vectorisers of text.
    path : path-like
        The file.
    duals : bool or "auto", default="auto"
        Whether to store the dual variables, from which a fit with ``warm_start=True`` goes on;
        "auto" stores up to 64 MiB of them.
    dtype : {"float16"}, default=None
        "float16" rounds the weights, of a kernel machine the coefficients of its support vectors,
        to half precision: files are a half or a quarter as large, for predictions that differ in
        few rows. Nothing to go on from is stored then, neither dual variables nor a stream, and the
        certificate is that of the weights before. None stores all as it is.
    data_hash : str, default=None
        Digest of the training data, from `data_hash`.
    reading : dict, default=None
        How the training file was read, of plain values.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import load_iris
    >>> import polymargin
    >>> from polymargin.files import load, save
    >>> X, y = load_iris(return_X_y=True)
    >>> model = polymargin.LinearSVM(C=0.1, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "iris.safetensors")
    ...     save(model, path)
    ...     bool((load(path).class_scores(X) == model.class_scores(X)).all())
    True
    """
    if not (isinstance(duals, bool) or duals == "auto"):
        raise ValueError(f'duals must be True, False or "auto", got {duals!r}')
    if dtype not in (None, "float16"):
        raise ValueError(f'dtype must be None or "float16", got {dtype!r:.60}')
    if dtype is not None and duals is True:
        raise ValueError(
            f"dual variables are those of weights that are not rounded: leave out dtype={dtype!r} "
            "or duals=True"
        )
    if not isinstance(data_hash, str | None):
        raise ValueError(f"data_hash must be text or None, got {data_hash!r:.60}")
    steps = model.steps if isinstance(model, Pipeline) else [("", model)]
    estimator: Any = steps[-1][1]
    if not _is_estimator(estimator):
        raise ValueError(
            f"a model is a LinearSVM, a KernelSVM or a pipeline that ends in one, not "
            f"{type(estimator).__name__}"
        )
    if len(steps) > _MOST_STEPS:
        raise ValueError(f"a pipeline of more than {_MOST_STEPS} steps cannot be saved")
    origin = {"data_hash": data_hash, "reading": _checked_reading(reading)}

    def write(weights: Weights | None) -> None:
        put = [put_step(name, step) for name, step in steps[:-1]]
        put.append(put_estimator(estimator, duals, dtype, weights))
        document = {
            "is_pipeline": isinstance(model, Pipeline),
            "steps": [
                {"name": name} | fields for (name, _), (fields, _) in zip(steps, put, strict=True)
            ],
        }
        arrays: Arrays = {}
        for i, (_, parts) in enumerate(put):
            arrays |= {f"{i}.{part}": array for part, array in parts.items()}
        write_document(path, "model", document | origin, arrays)

    if not estimator._is_part:
        write(None)
        return
    if dtype is not None:
        raise ValueError(f"shards are not rounded: leave out dtype={dtype!r}, load them, save that")
    with estimator._meet_parts() as parts, shards_beside(path, estimator, parts) as weights:
        if parts.ranks.rank == 0:
            write(weights)


def load(path: str | os.PathLike[str], *, verify: bool = True) -> Estimator | Pipeline:
    """Read a model that `save` has written.

    Arrays are mapped, not read: they are read-only, take memory only where they are used, and
    need the file to stay as it is. Weights in half precision are not: they become arrays in the
    precision that the model was fitted in. Nor are weights in shards, which become one CSR array,
    whatever they were. Nothing in the file is run.

    Parameters
    ----------
    path : path-like
        The file.
    verify : bool, default=True
        Whether to compare all arrays with their digest and to look for values that are not
        finite, which reads the whole file once. Without it the rest is checked.

    Returns
    -------
    model : LinearSVM, KernelSVM or Pipeline

    Raises
    ------
    ModelFileError
        The file is damaged, not a model, or of a newer format; or a shard that it names is missing
        or is not that of this model.

    Examples
    --------
    See `save`.
    """
    with naming(path):
        return model_in(read_container(path), path, verify=verify)


def model_in(container: Container, path: str | os.PathLike[str], *, verify: bool = True) -> Any:
    """The model that the container at `path` holds; `verify` as in `load`."""
    if verify:
        container.verify()
    document, tensors = with_shards(container, path, verify=verify)
    return take_model(checked_header(document, "model"), Tensors(tensors, trusted=not verify))


def take_model(header: Fields, tensors: Tensors) -> Any:
    """The model of a checked header."""
    parts = header.parts("steps")
    if not 1 <= len(parts) <= _MOST_STEPS:
        raise ModelFileError(f"a model has 1 to {_MOST_STEPS} steps, not {len(parts)}")
    if parts[-1].text("class") not in ESTIMATORS:
        raise ModelFileError(f"the last step is no estimator but {parts[-1].text('class')!r:.60}")
    estimator = take_estimator(parts[-1], tensors.under(f"{len(parts) - 1}."))
    steps = [take_step(part, tensors.under(f"{i}.")) for i, part in enumerate(parts[:-1])]
    check_widths(steps, estimator.n_features_in_)
    if not header.flag("is_pipeline"):
        if steps:
            raise ModelFileError("steps before the estimator need a pipeline")
        return estimator
    names = [part.text("name") for part in parts]
    try:
        model = Pipeline(list(zip(names, [*steps, estimator], strict=True)))
        validate_steps(model)
    except (TypeError, ValueError) as error:
        raise ModelFileError(f"the pipeline is wrong: {error!s:.400}") from None
    return model


def _is_estimator(model: Any) -> bool:
    """Also one of several processes, which has the name and is a kind of the one stored."""
    return isinstance(model, ESTIMATORS.get(type(model).__name__, ()))


def _checked_reading(reading: dict[str, Any] | None) -> dict[str, Any] | None:
    if reading is not None and not isinstance(reading, dict):
        raise ValueError(f"reading must be a dict or None, got {reading!r:.60}")
    try:
        write_json(reading)
    except (TypeError, ValueError) as error:
        raise ValueError(f"reading must hold plain values only: {error}") from None
    return reading
