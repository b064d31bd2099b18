"""``polymargin train``."""

from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from polymargin.cli import _options as o
from polymargin.cli._option_conflicts import (
    is_given,
    refuse_with_shares,
    refuse_with_stream,
    refuse_without_distributed,
    refuse_without_kernel,
    refuse_without_stream,
)
from polymargin.cli._option_sets import (
    Features,
    FitOptions,
    KernelOptions,
    Processes,
    Reading,
    Streaming,
)
from polymargin.cli._output.files import check_target, is_standard
from polymargin.cli._parsing import check_finite

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from polymargin.cli._recipe import SVM
    from polymargin.estimators import LinearSVM

    Meeting = AbstractContextManager[bool]

EXAMPLES = """
[bold]Examples[/]

  polymargin train letter.train.svm.xz --machine ww -C 1 --scale minmax --model letter.safetensors

  polymargin train data.svm --kernel rbf --gamma 0.5 --model m.safetensors --checkpoint m.ckpt

  polymargin train data.csv --calibration temperature --model m.safetensors

  polymargin train words.tsv --format text --stream --passes 3 --model words.safetensors
"""

_LONG = "Long training"


def train(
    context: typer.Context,
    data: o.DataFile,
    *,
    model: Annotated[
        Path, typer.Option("--model", "-o", metavar="FILE", help="Where the model goes.")
    ],
    machine: o.MachineOption = "ww",
    C: o.COption = 1.0,
    kernel: KernelOptions,
    fitting: FitOptions,
    stopping: o.StoppingOption = "gap",
    calibration: o.CalibrationOption = None,
    features: Features,
    reading: Reading,
    streaming: Streaming,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write what was reached there from time to time.",
            rich_help_panel=_LONG,
        ),
    ] = None,
    checkpoint_every: Annotated[
        float,
        typer.Option(
            metavar="SECONDS",
            min=0.0,
            help="Time between two of them.",
            callback=check_finite,
            rich_help_panel=_LONG,
        ),
    ] = 120.0,
    resume_from: Annotated[
        Path | None,
        typer.Option(
            "--resume",
            metavar="FILE",
            help="Go on from a checkpoint, with its options where none are given. It is written "
            "again only where --checkpoint names it too.",
            rich_help_panel=_LONG,
        ),
    ] = None,
    duals: Annotated[
        bool | None,
        typer.Option(
            "--duals/--no-duals",
            help="Store the dual variables, which inspect needs. By default where they are small.",
        ),
    ] = None,
    processes: Processes,
    json: o.JsonOption = False,
    quiet: o.QuietOption = False,
) -> None:
    """Train a model and write it to a file."""
    from polymargin.cli._recipe import check_parameters, make_estimator
    from polymargin.cli._resumed import Resumed
    from polymargin.cli._trained import leave, sum_up, write_model

    if is_standard(model):
        raise typer.BadParameter("a model goes to a file, not to standard output")
    check_target(model, data, reading.labels, checkpoint, resume_from)
    check_target(checkpoint, data, reading.labels)
    if checkpoint is not None and checkpoint.absolute() == model.absolute():
        raise typer.BadParameter("name another file than --model", param_hint="--checkpoint")
    resumed = None if resume_from is None or streaming.stream else Resumed.read(resume_from)
    if resumed is not None and kernel.kernel is None:
        kernel = replace(kernel, kernel=resumed.kernel)
    linear, meeting = _by_processes(kernel.kernel, processes)
    if not processes.distributed:
        refuse_without_distributed(context)
    svm = make_estimator(
        kernel,
        linear,
        machine=machine,
        C=C,
        stopping=stopping,
        calibration=calibration,
        n_jobs=reading.jobs,
        **fitting.parameters,
    )
    if resumed is not None:
        svm = resumed.merge(svm, _parameters_given(context, svm), quiet)
    refuse_without_kernel(context, kernel.kernel)
    check_parameters(svm)
    if streaming.stream:
        from polymargin.cli._stream import train_on_stream

        refuse_with_stream(context)
    elif processes.shares:
        from polymargin.cli._shares import train_on_shares

        refuse_without_stream(context)
        refuse_with_shares(context)
    else:
        from polymargin.cli._in_memory import train_in_memory

        refuse_without_stream(context)
    with meeting() as speaks:
        if streaming.stream:
            trained = train_on_stream(data, svm, reading, features, streaming, quiet=quiet)
        elif processes.shares:
            trained = train_on_shares(data, svm, reading, features, quiet=quiet)
        else:
            trained = train_in_memory(
                data,
                svm,
                reading,
                features,
                checkpoint=checkpoint,
                checkpoint_every=checkpoint_every,
                resumed=resumed,
                quiet=quiet,
            )
        if speaks or not processes.gather:
            write_model(trained, model, duals=duals)
        if speaks:
            sum_up(trained, model, as_json=json, quiet=quiet)
    leave(trained)


def _by_processes(
    kernel: str | None, processes: Processes
) -> "tuple[Callable[..., LinearSVM], Callable[[], Meeting]]":
    """The estimator of one process or of several, and how they work on it."""
    if not processes.distributed:
        from polymargin.estimators import LinearSVM

        return LinearSVM, _alone
    from polymargin import distributed
    from polymargin.cli._together import refuse_kernel, together

    refuse_kernel(kernel)
    return partial(distributed.LinearSVM, gather=processes.gather), together


def _alone() -> "Meeting":
    """One process, which speaks."""
    return nullcontext(True)


_PARAMETERS = {
    "intercept": "fit_intercept",
    "balanced": "class_weight",
    "seed": "random_state",
    "jobs": "n_jobs",
}


def _parameters_given(context: typer.Context, svm: "SVM") -> list[str]:
    """Those of the estimator that the user named, not those that have a default."""
    given = [_PARAMETERS.get(name, name) for name in context.params if is_given(context, name)]
    return [name for name in given if name in svm.get_params(deep=False)]
