"""A fit that is not over, in a file."""

import os
from typing import TYPE_CHECKING, Any

from polymargin.fit import DualState
from polymargin.storage._arrays import put_labels
from polymargin.storage._document import write_document
from polymargin.storage._fields import write_number
from polymargin.storage._parameters import encode_parameters
from polymargin.storage._training import put_duals, put_history

if TYPE_CHECKING:
    from numpy.typing import NDArray


def write_fit(
    path: str | os.PathLike[str],
    *,
    estimator: str,
    parameters: dict[str, Any],
    state: DualState,
    seconds: float,
    epochs: float,
    history: "NDArray[Any]",
    data_hash: str | None,
) -> None:
    """Write what another process needs to go on: class and parameters, dual variables, history."""
    kind, arrays = put_labels(state.classes)
    duals, parts = put_duals(state)
    arrays |= put_history(history)
    arrays |= {f"duals.{name}": part for name, part in parts.items()}
    document = {
        "class": estimator,
        "parameters": encode_parameters(estimator, parameters),
        "labels": kind,
        "duals": duals,
        "seconds": write_number(seconds),
        "epochs": write_number(epochs),
        "data_hash": data_hash,
    }
    write_document(path, "checkpoint", document, arrays)
