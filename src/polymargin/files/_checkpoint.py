"""Where a fit was when it was interrupted, so that another process can go on from there."""

import os
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from polymargin._machines import find_machine
from polymargin.errors import ModelFileError
from polymargin.estimators import KernelSVM, LinearSVM
from polymargin.files._arrays import put_labels, take_labels
from polymargin.files._estimators import ESTIMATORS, Estimator
from polymargin.files._fields import Tensors, write_number
from polymargin.files._model import checked_header, write_document
from polymargin.files._parameters import build, encode_parameters
from polymargin.files._safetensors import Container, naming, read_container
from polymargin.files._training import put_duals, put_history, take_duals, take_history
from polymargin.fit import DualState, Past

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Checkpoint:
    """A fit that is not over.

    Attributes
    ----------
    estimator : str
        "LinearSVM" or "KernelSVM".
    parameters : dict
        Its constructor parameters.
    machine : str
        Proper name of the machine.
    classes : ndarray of shape (k,)
        The labels.
    state : DualState
        The dual variables, with the labels and the rows of positive weight that they belong to.
    seconds, epochs : float
        Time and passes over the data so far.
    history : structured ndarray
        The checks so far, as in `history_`.
    data_hash : str or None
        Digest of the training data.
    """

    estimator: str
    parameters: dict[str, Any]
    machine: str
    classes: "NDArray[Any]" = field(repr=False)
    state: DualState = field(repr=False)
    seconds: float
    epochs: float
    history: "NDArray[Any]" = field(repr=False)
    data_hash: str | None = None

    @classmethod
    def of(
        cls,
        estimator: Estimator,
        *,
        seconds: float | None = None,
        epochs: float | None = None,
        data_hash: str | None = None,
    ) -> "Checkpoint":
        """What `fit` has reached, also one that was interrupted or did not converge.

        Parameters
        ----------
        estimator : LinearSVM or KernelSVM
            With dual variables.
        seconds, epochs : float, default=None
            Effort so far; by default that of the last check.
        data_hash : str, default=None
            Digest of the training data.

        Returns
        -------
        checkpoint : Checkpoint
        """
        if "_dual_state" not in vars(estimator):
            raise ValueError("there is nothing to go on from: only fit leaves dual variables")
        state, history = estimator._dual_state, estimator.history_
        last = history[-1] if len(history) else None
        if seconds is None:
            seconds = 0.0 if last is None else float(last["seconds"])
        if epochs is None:
            epochs = 0.0 if last is None else float(last["epoch"])
        return cls(
            estimator=type(estimator).__name__,
            parameters=estimator.get_params(deep=False),
            machine=state.machine,
            classes=state.classes,
            state=state,
            seconds=seconds,
            epochs=epochs,
            history=history,
            data_hash=data_hash,
        )

    def make_estimator(self) -> Estimator:
        """An estimator of the stored parameters whose `fit` goes on from here.

        Returns
        -------
        estimator : LinearSVM or KernelSVM
            With ``warm_start=True``.
        """
        made: Estimator = ESTIMATORS[self.estimator](**self.parameters | {"warm_start": True})
        return self.resume_into(made)

    def resume_into(self, estimator: Estimator) -> Estimator:
        """Let the next `fit` of an estimator start from here.

        It has to be given the same rows, labels and set of rows of positive weight; with others
        it starts cold and warns. Its `history_` begins with the checks so far and goes on with
        their epochs and seconds. `n_iter_` counts all passes, `max_iter` bounds those to come.

        Parameters
        ----------
        estimator : LinearSVM or KernelSVM
            Of the same machine, and with ``warm_start=True``. `C` and the like may differ.

        Returns
        -------
        estimator : LinearSVM or KernelSVM
            The same object.
        """
        if type(estimator) is not ESTIMATORS[self.estimator]:
            raise ValueError(
                f"the checkpoint is of a {self.estimator}; it cannot go on in a "
                f"{type(estimator).__name__}"
            )
        machine = find_machine(estimator.machine).name
        if machine != self.machine:
            raise ValueError(
                f"the checkpoint is of machine {self.machine!r}; it cannot go on in {machine!r}"
            )
        if not estimator.warm_start:
            raise ValueError("set warm_start=True: without it fit would start from zero")
        past = Past(self.seconds, self.epochs, self.history)
        estimator._dual_state = replace(self.state, past=past)
        return estimator


def write_checkpoint(path: str | os.PathLike[str], checkpoint: Checkpoint) -> None:
    """Write a checkpoint; the file is complete or absent.

    Parameters
    ----------
    path : path-like
        The file.
    checkpoint : Checkpoint
        From `Checkpoint.of`.

    Examples
    --------
    >>> import os, tempfile
    >>> from polymargin import LinearSVM
    >>> from polymargin.files import Checkpoint, read_checkpoint, write_checkpoint
    >>> X, y = [[0.0], [1.0], [2.0]], [0, 1, 1]
    >>> model = LinearSVM(random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "fit.checkpoint")
    ...     write_checkpoint(path, Checkpoint.of(model))
    ...     resumed = read_checkpoint(path).make_estimator().fit(X, y)
    >>> resumed.converged_
    True
    """
    kind, arrays = put_labels(checkpoint.classes)
    duals, parts = put_duals(checkpoint.state)
    arrays |= put_history(checkpoint.history)
    arrays |= {f"duals.{name}": part for name, part in parts.items()}
    template = ESTIMATORS[checkpoint.estimator](**checkpoint.parameters)
    document = {
        "class": checkpoint.estimator,
        "parameters": encode_parameters(template),
        "labels": kind,
        "duals": duals,
        "seconds": write_number(checkpoint.seconds),
        "epochs": write_number(checkpoint.epochs),
        "data_hash": checkpoint.data_hash,
    }
    write_document(path, "checkpoint", document, arrays)


def read_checkpoint(path: str | os.PathLike[str]) -> Checkpoint:
    """Read what `write_checkpoint` has written.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    checkpoint : Checkpoint

    Raises
    ------
    ModelFileError
        The file is damaged, not a checkpoint, or of a newer format.

    Examples
    --------
    See `write_checkpoint`.
    """
    with naming(path):
        return checkpoint_in(read_container(path))


def checkpoint_in(container: Container) -> Checkpoint:
    """The checkpoint that a container holds."""
    container.verify()
    header = checked_header(container.document, "checkpoint")
    tensors = Tensors(container.tensors)
    name = header.text("class")
    if name not in ESTIMATORS:
        raise ModelFileError(f"there is no estimator {name!r:.60}")
    made: LinearSVM | KernelSVM = build(ESTIMATORS[name], header.part("parameters").values)
    classes = take_labels(tensors, header.text("labels"))
    state = take_duals(header.part("duals"), tensors.under("duals."), classes)
    return Checkpoint(
        estimator=name,
        parameters=made.get_params(deep=False),
        machine=state.machine,
        classes=classes,
        state=state,
        seconds=header.finite("seconds"),
        epochs=header.finite("epochs"),
        history=take_history(tensors),
        data_hash=header.text("data_hash", None),
    )
