"""``polymargin train``."""

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polymargin.cli import _options as o
from polymargin.cli._codes import Exit
from polymargin.cli._console import note, show_figures, show_json, shown_warnings, warn
from polymargin.cli._exit import interrupted
from polymargin.cli._given import (
    is_given,
    refuse_with_stream,
    refuse_without_kernel,
    refuse_without_stream,
)
from polymargin.cli._option_sets import Features, FitOptions, KernelOptions, Reading, Streaming
from polymargin.cli._outputs import check_target, is_standard
from polymargin.cli._writing import writing

if TYPE_CHECKING:
    from polymargin.cli._recipe import SVM

EXAMPLES = """
[bold]Examples[/]

  polymargin train letter.train.svm.xz --machine ww -C 1 --scale minmax --model letter.safetensors

  polymargin train data.svm --kernel rbf --gamma 0.5 --model m.safetensors --checkpoint m.ckpt

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
            metavar="SECONDS", min=0.0, help="Time between two of them.", rich_help_panel=_LONG
        ),
    ] = 120.0,
    resume_from: Annotated[
        Path | None,
        typer.Option(
            "--resume",
            metavar="FILE",
            help="Go on from a checkpoint, with its options where none are given.",
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
    json: o.JsonOption = False,
    quiet: o.QuietOption = False,
) -> None:
    """Train a model and write it to a file."""
    from polymargin.cli._checkpoints import CheckpointWriter, Resumed
    from polymargin.cli._data import concerning, read_to_train
    from polymargin.cli._recipe import (
        announce,
        assemble,
        check_parameters,
        fit_features,
        make_compact,
        make_estimator,
    )
    from polymargin.cli._summary import for_people, summarise
    from polymargin.files import data_hash, save

    if is_standard(model):
        raise typer.BadParameter("a model goes to a file, not to standard output")
    check_target(model, data, checkpoint, resume_from)
    check_target(checkpoint, data)
    if checkpoint is not None and checkpoint.absolute() == model.absolute():
        raise typer.BadParameter("name another file than --model", param_hint="--checkpoint")
    resumed = None if resume_from is None or streaming.stream else Resumed.read(resume_from)
    if resumed is not None and kernel.kernel is None:
        kernel = replace(kernel, kernel=resumed.kernel)
    svm = make_estimator(
        kernel, machine=machine, C=C, stopping=stopping, n_jobs=reading.jobs, **fitting.parameters
    )
    if resumed is not None:
        svm = resumed.merge(svm, _parameters_given(context, svm), quiet)
    refuse_without_kernel(context, kernel.kernel)
    check_parameters(svm)
    if streaming.stream:
        refuse_with_stream(context)
        from polymargin.cli._stream import train_stream

        train_stream(data, svm, reading, features, streaming, model, as_json=json, quiet=quiet)
        return
    refuse_without_stream(context)
    table = read_to_train(data, reading)
    digest = data_hash(table.X, table.y)
    steps, X = fit_features(features, table, data)
    if not quiet:
        announce(table, X)
    spent, target = 0.0, checkpoint or resume_from
    if target is not None:
        features_digest = data_hash(X, table.y)
        if resumed is not None:
            spent = resumed.start(svm, features_digest)
            if not quiet:
                note(f"resumed after {spent:.0f} s of training")
        svm._keeper = CheckpointWriter(target, checkpoint_every, svm, features_digest, spent)
    start = time.perf_counter()
    svm.set_params(verbose=0 if quiet else 1)
    with shown_warnings(), concerning(data):
        was_interrupted = _fit(svm, X, table.y)
    seconds = spent + time.perf_counter() - start
    if svm._keeper is not None:
        svm._keeper.keep(svm._dual_state, svm.history_)
        del svm._keeper
    svm.set_params(verbose=0, warm_start=False)
    make_compact(svm)
    with writing(model):
        save(
            assemble(steps, svm),
            model,
            duals="auto" if duals is None else duals,
            data_hash=digest,
            reading=table.reading,
        )
    summary = summarise(svm, model, X.shape, seconds)
    if json:
        show_json(summary)
    elif not quiet:
        show_figures(str(model), for_people(summary))
    if was_interrupted:
        warn(f"interrupted: {model} holds what was reached")
        raise typer.Exit(interrupted())
    if not svm.converged_:
        raise typer.Exit(Exit.NOT_CONVERGED)


def _fit(svm: "SVM", X: Any, y: Any) -> bool:
    """Whether an interrupt ended it, with something reached."""
    try:
        svm.fit(X, y)
    except KeyboardInterrupt:
        if not hasattr(svm, "classes_"):
            raise
        return True
    return False


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
