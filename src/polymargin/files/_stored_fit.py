"""Where a fit was when it was interrupted, so that another process can go on from there."""

import os
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from sklearn.base import clone

from polymargin._machines import find_machine
from polymargin.errors import ModelFileError
from polymargin.estimators import KernelSVM, LinearSVM
from polymargin.files._estimators import ESTIMATORS, Estimator
from polymargin.fit import DualState, Past, check_X, make_problem
from polymargin.storage import (
    Checkpoint,
    Container,
    Tensors,
    as_checkpoint,
    build,
    checked_header,
    data_hash,
    naming,
    read_container,
    take_duals,
    take_history,
    take_labels,
    write_fit,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class StoredFit:
    """A fit that is not over.

    Attributes
    ----------
    estimator : str
        "LinearSVM" or "KernelSVM".
    parameters : dict
        Its constructor parameters, but for `checkpoint`.
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
    ) -> "StoredFit":
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
        fit : StoredFit
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
            parameters=_parameters_of(estimator),
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
        """
        made: Estimator = ESTIMATORS[self.estimator](**self.parameters)
        return self.resume_into(made)

    def resume_into(self, estimator: Estimator, *, data_hash: str | None = None) -> Estimator:
        """Let the next `fit` of an estimator start from here.

        It has to be given the same rows, labels and set of rows of positive weight; with others
        it starts cold and warns. Its `history_` begins with the checks so far and goes on with
        their epochs and seconds. `n_iter_` counts all passes, `max_iter` bounds those to come.

        Parameters
        ----------
        estimator : LinearSVM or KernelSVM
            Of the same machine. `C` and the like may differ.
        data_hash : str, default=None
            Digest of the rows that `fit` will be given, where it is known: it goes into the next
            checkpoints, and is not computed once more.

        Returns
        -------
        estimator : LinearSVM or KernelSVM
            The same object.
        """
        is_alike = type(estimator).__name__ == self.estimator  # if of several processes, too
        if not (is_alike and issubclass(type(estimator), ESTIMATORS[self.estimator])):
            raise ValueError(
                f"the checkpoint is of a {self.estimator}; it cannot go on in a "
                f"{type(estimator).__name__}"
            )
        machine = find_machine(estimator.machine).name
        if machine != self.machine:
            raise ValueError(
                f"the checkpoint is of machine {self.machine!r}; it cannot go on in {machine!r}"
            )
        past = Past(self.seconds, self.epochs, self.history, data_hash)
        estimator._dual_state = replace(self.state, past=past)
        return estimator


def write_checkpoint(path: str | os.PathLike[str], fit: StoredFit) -> None:
    """Write a checkpoint; the file is complete or absent.

    Parameters
    ----------
    path : path-like
        The file.
    fit : StoredFit
        From `StoredFit.of`.

    Examples
    --------
    >>> import os, tempfile
    >>> from polymargin import LinearSVM
    >>> from polymargin.files import StoredFit, read_checkpoint, write_checkpoint
    >>> X, y = [[0.0], [1.0], [2.0]], [0, 1, 1]
    >>> model = LinearSVM(random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "fit.checkpoint")
    ...     write_checkpoint(path, StoredFit.of(model))
    ...     resumed = read_checkpoint(path).make_estimator().fit(X, y)
    >>> resumed.converged_
    True
    """
    write_fit(
        path,
        estimator=fit.estimator,
        parameters=fit.parameters,
        state=fit.state,
        seconds=fit.seconds,
        epochs=fit.epochs,
        history=fit.history,
        data_hash=fit.data_hash,
    )


def read_checkpoint(path: str | os.PathLike[str]) -> StoredFit:
    """Read what `write_checkpoint` has written.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    fit : StoredFit

    Raises
    ------
    ModelFileError
        The file is damaged, not a checkpoint, or of a newer format.

    Examples
    --------
    See `write_checkpoint`.
    """
    with naming(path):
        return fit_in(read_container(path))


def fit_in(container: Container) -> StoredFit:
    """The fit that the checkpoint in a container holds."""
    container.verify()
    header = checked_header(container.document, "checkpoint")
    tensors = Tensors(container.tensors)
    name = header.text("class")
    if name not in ESTIMATORS:
        raise ModelFileError(f"there is no estimator {name!r:.60}")
    made: LinearSVM | KernelSVM = build(ESTIMATORS[name], header.part("parameters").values)
    classes = take_labels(tensors, header.text("labels"))
    state = take_duals(header.part("duals"), tensors.under("duals."), classes)
    return StoredFit(
        estimator=name,
        parameters=_parameters_of(made),
        machine=state.machine,
        classes=classes,
        state=state,
        seconds=header.finite("seconds"),
        epochs=header.finite("epochs"),
        history=take_history(tensors),
        data_hash=header.text("data_hash", None),
    )


def resume(
    path: str | os.PathLike[str] | Checkpoint, X: Any, y: Any, sample_weight: Any = None
) -> Estimator:
    """Go on with a fit from the file that its parameter `checkpoint` has named.

    What is reached is written to the same file. Its `history_` begins with the checks so far and
    goes on with their epochs and seconds; `n_iter_` counts all passes, `max_iter` bounds those to
    come. A fit that had ended goes on too, and is soon over where it had converged.

    Parameters
    ----------
    path : path-like or Checkpoint
        The file; a `Checkpoint` also says how often it is written.
    X : array-like or sparse of shape (n, d)
        The same rows.
    y : array-like of shape (n,)
        The same labels.
    sample_weight : array-like of shape (n,), default=None
        As before: weights are not in the file.

    Returns
    -------
    estimator : LinearSVM or KernelSVM
        Fitted, with the parameters of the file.

    Raises
    ------
    ModelFileError
        The file is damaged, not a checkpoint, or one of other rows or labels.

    Examples
    --------
    >>> import os, tempfile
    >>> from polymargin import KernelSVM, resume
    >>> X, y = [[0.0], [1.0], [2.0]], [0, 1, 1]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = os.path.join(folder, "fit.ckpt")
    ...     model = KernelSVM(C=10.0, checkpoint=file).fit(X, y)  # may be killed
    ...     again = resume(file, X, y)
    >>> (again.C, again.converged_)
    (10.0, True)
    """
    file = as_checkpoint(path).path
    fit = read_checkpoint(file)
    estimator: Estimator = fit.make_estimator().set_params(checkpoint=path)
    difference = _difference(fit, estimator, X, y, sample_weight)
    if difference is not None:
        raise ModelFileError(
            f"{os.fspath(file)}: {difference} is not that of the checkpoint; pass what the fit "
            "was begun with"
        )
    fit.resume_into(estimator, data_hash=fit.data_hash)  # which is that of these rows
    estimator.fit(X, y, sample_weight)
    return estimator


def _difference(
    fit: StoredFit, estimator: Estimator, X: Any, y: Any, sample_weight: Any
) -> str | None:
    """What keeps a fit of these rows from going on, if anything."""
    X, y = check_X(clone(estimator), X, y)
    pairwise = getattr(estimator, "kernel", None) == "precomputed"
    upper = estimator._upper(X, y, sample_weight)
    problem = make_problem(X, y, upper, pairwise=pairwise)
    difference = fit.state.difference(problem, find_machine(fit.machine))
    if difference is None and fit.data_hash not in (None, data_hash(X, y)):
        return "X"
    return difference


def _parameters_of(estimator: Estimator) -> dict[str, Any]:
    values = estimator.get_params(deep=False)
    return {name: value for name, value in values.items() if name != "checkpoint"}
