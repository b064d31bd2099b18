"""What a fit leaves behind to be read or gone on from: certificate, dual variables, stream."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from polymargin import core
from polymargin._machines import find_machine
from polymargin._threads import count_threads
from polymargin.errors import ModelFileError
from polymargin.fit import RECORD, DualState
from polymargin.storage._arrays import Arrays, check_compressed, put_csr, take_csr
from polymargin.storage._fields import FLOATS, Fields, Tensors, write_number

if TYPE_CHECKING:
    from numpy.typing import NDArray

_HISTORY = np.dtype(RECORD)
_RECORD = ("epoch", "seconds", "primal", "dual", "gap", "violation", "active")  # as stored
# Options of the core that a file keeps for a stream; of which type they are, the core tells.
_STREAM_OPTIONS = (
    "fit_intercept",
    "tol",
    "max_iter",
    "stopping",
    "block_solver",
    "block_tol",
    "block_max_iter",
    "shrinking",
    "seed",
)
_READERS: dict[type, Callable[[Fields, str], Any]] = {
    bool: Fields.flag,
    int: Fields.count,
    float: Fields.finite,
    str: Fields.text,
}

AUTO_BYTES = 64 << 20  # of dual variables that are stored without being asked for


def put_history(history: "NDArray[Any]") -> Arrays:
    """The records of `history_` as one matrix; `active` is exact up to 2**53."""
    columns = [history[name].astype(np.float64) for name in _RECORD]
    return {"history": np.stack(columns, axis=1) if len(history) else np.zeros((0, len(_RECORD)))}


def take_history(tensors: Tensors) -> "NDArray[Any]":
    """What `put_history` has stored."""
    stored = tensors.take("history", (np.dtype(np.float64),), (None, len(_RECORD)))
    active = stored[:, -1]
    if not np.all((active >= 0) & (active <= 2.0**53)):
        raise ModelFileError("tensor 'history' counts impossible numbers of active examples")
    history = np.empty(len(stored), _HISTORY)
    for j, name in enumerate(_RECORD):
        history[name] = stored[:, j]
    return history


def put_certificate(model: Any) -> tuple[dict[str, Any], Arrays]:
    """What the fit has reached."""
    fields = {
        "n_iter": int(model.n_iter_),
        "dual_gap": write_number(model.dual_gap_),
        "primal_objective": write_number(model.primal_objective_),
        "dual_objective": write_number(model.dual_objective_),
        "converged": bool(model.converged_),
    }
    return fields, put_history(model.history_)


def take_certificate(model: Any, fields: Fields, tensors: Tensors) -> None:
    """Set what `put_certificate` has stored."""
    model.n_iter_ = fields.count("n_iter")
    model.dual_gap_ = fields.number("dual_gap")
    model.primal_objective_ = fields.number("primal_objective")
    model.dual_objective_ = fields.number("dual_objective")
    model.converged_ = fields.flag("converged")
    model.history_ = take_history(tensors)


def duals_bytes(state: DualState) -> int:
    """What the dual variables take in a file."""
    n, _ = state.duals.shape
    n_kept = 0 if state.kept is None else len(state.kept)
    return state.duals.nnz * (4 + state.dtype.itemsize) + 12 * n + 8 + 8 * n_kept


def put_duals(state: DualState) -> tuple[dict[str, Any], Arrays]:
    """Dual variables with the labels and the rows that they belong to."""
    _, indptr, classes, values = state.duals.__getstate__()
    arrays: Arrays = {
        "indptr": indptr,
        "indices": classes,
        "values": values,
        "labels": state.labels,
    }
    if state.kept is not None:
        arrays["kept"] = state.kept
    fields = {
        "machine": state.machine,
        "n_examples": int(state.n_given),
        "n_features": int(state.n_features),
    }
    return fields, arrays


def take_duals(fields: Fields, tensors: Tensors, classes: "NDArray[Any]") -> DualState:
    """What `put_duals` has stored."""
    k = len(classes)
    n_given = fields.count("n_examples", 1)
    labels = tensors.take("labels", (np.dtype(np.int32),), (None,))
    n, kept = len(labels), None
    if "kept" in tensors:
        kept = tensors.integers("kept", (n,))
        if n and (kept[0] < 0 or kept[-1] >= n_given or np.any(kept[1:] <= kept[:-1])):
            raise ModelFileError("tensor 'kept' is not an ascending selection of the examples")
    elif n != n_given:
        raise ModelFileError(f"there are labels for {n} of {n_given} examples")
    if n == 0 or labels.min() < 0 or labels.max() >= k:
        raise ModelFileError(f"a label of the dual variables is outside [0, {k})")
    indptr = tensors.integers("indptr", (n + 1,))
    indices = tensors.take("indices", (np.dtype(np.int32),), (None,))
    values = tensors.take("values", FLOATS, (len(indices),))
    check_compressed(indptr, indices, k, tensors.prefix.rstrip("."))
    if not np.all(np.isfinite(values)):
        raise ModelFileError("the dual variables hold NaN or infinity")
    duals = core.Duals.__new__(core.Duals)
    duals.__setstate__((k, indptr, indices, values))
    return DualState(
        duals=duals,
        labels=labels,
        classes=classes,
        kept=kept,
        n_given=n_given,
        n_features=fields.count("n_features", 1),
        dtype=values.dtype,
        machine=known_machine(fields.text("machine")),
    )


def known_machine(name: str) -> str:
    """The proper name of a machine of a file."""
    try:
        return find_machine(name).name
    except ValueError as error:
        raise ModelFileError(str(error)) from None


def put_stream(stream: Any) -> tuple[dict[str, Any], Arrays]:
    """The weights of a stream before they are centred, and its options."""
    _, k, machine, options, n_seen, weights = stream.__getstate__()
    fields = {"machine": machine, "n_seen": int(n_seen)}
    fields |= {name: options[name] for name in _STREAM_OPTIONS}
    if isinstance(weights, tuple):
        shape = (len(weights[-1]) - 1, k)
        return fields, put_csr("weights", sparse.csr_array(weights, shape=shape))
    return fields, {"weights": weights.reshape(-1, k)}


def take_stream(fields: Fields, tensors: Tensors, model: Any) -> tuple[Any, tuple[str, bool]]:
    """A stream that goes on where the stored one was, and what it was begun with."""
    machine = known_machine(fields.text("machine"))
    options = core.LinearOptions()
    try:
        for name in _STREAM_OPTIONS:
            read = _READERS[type(getattr(options, name))]
            setattr(options, name, read(fields, name))
    except TypeError:
        raise ModelFileError(f"{fields.place}: an option is out of range") from None
    if options.block_solver not in find_machine(machine).block_solvers:
        raise ModelFileError(f"{fields.place}: no block solver {options.block_solver!r:.40}")
    if options.stopping not in ("gap", "kkt"):
        raise ModelFileError(f"{fields.place}: no stopping rule {options.stopping!r:.40}")
    options.n_threads = count_threads(model.n_jobs)
    d, k = model.n_features_in_, len(model.classes_)
    weights = _take_weights(tensors, model.coef_.dtype, (d + int(options.fit_intercept), k))
    stream = core.LinearStream.__new__(core.LinearStream)
    state = (d, k, machine, options.state(), fields.count("n_seen"), weights)
    stream.__setstate__(state)  # type: ignore[attr-defined]
    return stream, (machine, bool(options.fit_intercept))


def _take_weights(tensors: Tensors, dtype: "np.dtype[Any]", shape: tuple[int, int]) -> Any:
    """As the state of a stream has them: in a row, or data, indices and indptr of sparse ones."""
    if "weights.data" in tensors:
        matrix = take_csr(tensors, "weights", shape)
        if matrix.dtype != dtype:
            raise ModelFileError(f"the weights of the stream are of {matrix.dtype}, not {dtype}")
        return matrix.data, matrix.indices.astype(np.int32), matrix.indptr.astype(np.int64)
    weights = tensors.take("weights", (dtype,), shape)
    if not np.all(np.isfinite(weights)):
        raise ModelFileError("the weights of the stream hold NaN or infinity")
    return weights.reshape(-1)
