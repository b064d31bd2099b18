"""``polymargin train``."""

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from polymargin.cli import _options as o
from polymargin.cli._checkpoints import CheckpointWriter, resume
from polymargin.cli._console import figures, note, show, show_json, shown_warnings, warn
from polymargin.cli._data import Reading, check_target
from polymargin.cli._exit import Exit, writing
from polymargin.cli._recipe import (
    SVM,
    Features,
    announce,
    assemble,
    make_compact,
    make_estimator,
    parse_ngrams,
)
from polymargin.cli._stream import StreamOptions, train_stream
from polymargin.files import data_hash, read_checkpoint, save

EXAMPLES = """
[bold]Examples[/]

  polymargin train letter.train.svm.xz --machine ww -C 1 --scale minmax --model letter.safetensors

  polymargin train data.svm --kernel rbf --gamma 0.5 --model m.safetensors --checkpoint m.ckpt

  polymargin train words.tsv --format text --stream --passes 3 --model words.safetensors
"""

_LONG, _STREAM = "Long training", "Files larger than memory"


def train(
    context: typer.Context,
    data: o.DataFile,
    model: Annotated[
        Path, typer.Option("--model", "-o", metavar="FILE", help="Where the model goes.")
    ],
    machine: o.MachineOption = "ww",
    C: o.COption = 1.0,
    kernel: o.KernelOption = None,
    gamma: o.GammaOption = "scale",
    degree: o.DegreeOption = 3,
    coef0: o.Coef0Option = 0.0,
    intercept: o.InterceptOption = None,
    balanced: o.ClassWeightOption = False,
    tol: o.TolOption = 1e-3,
    max_iter: o.MaxIterOption = None,
    stopping: o.StoppingOption = o.Stopping("gap"),  # noqa: B008
    solver: o.SolverOption = "auto",
    block_solver: o.BlockSolverOption = "auto",
    cache_size: o.CacheOption = 1024,
    seed: o.SeedOption = 0,
    scale: o.ScaleOption = o.Scale("none"),  # noqa: B008
    precision: o.PrecisionOption = o.Precision("float64"),  # noqa: B008
    missing: o.MissingOption = o.Missing("error"),  # noqa: B008
    text_features: o.TextOption = o.TextFeatures("tfidf"),  # noqa: B008
    analyzer: o.AnalyzerOption = o.Analyzer("word"),  # noqa: B008
    ngrams: o.NgramsOption = "1",
    hash_bits: o.HashBitsOption = 18,
    file_format: o.FormatOption = None,
    label: o.LabelOption = None,
    delimiter: o.DelimiterOption = None,
    n_features: o.NFeaturesOption = None,
    zero_based: o.ZeroBasedOption = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write what was reached there from time to time.",
            rich_help_panel=_LONG,
        ),
    ] = None,
    checkpoint_every: Annotated[
        float, typer.Option(metavar="SECONDS", min=0.0, rich_help_panel=_LONG)
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
    stream: Annotated[
        bool,
        typer.Option(
            "--stream", help="Keep no more than a buffer in memory.", rich_help_panel=_STREAM
        ),
    ] = False,
    passes: Annotated[
        int, typer.Option(min=1, help="Times DATA is read.", rich_help_panel=_STREAM)
    ] = 1,
    batch: Annotated[
        int, typer.Option(min=1, metavar="ROWS", help="The buffer.", rich_help_panel=_STREAM)
    ] = 8192,
    classes: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,...",
            help="All labels, or a file with one a line. Without it DATA is read once more first.",
            rich_help_panel=_STREAM,
        ),
    ] = None,
    scratch: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="For the dual variables between passes.",
            rich_help_panel=_STREAM,
        ),
    ] = None,
    jobs: o.JobsOption = 1,
    json: o.JsonOption = False,
    quiet: o.QuietOption = False,
) -> None:
    """Train a model and write it to a file."""
    for target in (model, checkpoint):
        check_target(target)
    reading = Reading(file_format, label, delimiter, n_features, zero_based, jobs)
    features = Features(
        scale, precision, missing, text_features, analyzer, parse_ngrams(ngrams), hash_bits
    )
    svm = make_estimator(
        machine=machine,
        C=C,
        kernel=kernel,
        gamma=gamma,
        degree=degree,
        coef0=coef0,
        intercept=intercept,
        balanced=balanced,
        tol=tol,
        max_iter=max_iter,
        stopping=str(stopping),
        solver=solver,
        block_solver=block_solver,
        cache_size=cache_size,
        seed=seed,
        jobs=jobs,
    )
    svm._validate_params()
    if stream:
        options = StreamOptions(passes, batch, classes, scratch)
        _refuse_with_stream(context, kernel, scale, checkpoint, resume_from, duals)
        train_stream(data, svm, reading, features, options, model, as_json=json, quiet=quiet)
        return
    _refuse_without_stream(context)
    if resume_from is not None:
        svm = _options_of(context, resume_from, svm)

    table = reading.read(data)
    digest = data_hash(table.X, table.y)
    steps, X = features.fit(table)
    if not quiet:
        announce(table, X)
    spent, target = 0.0, checkpoint or resume_from
    if target is not None:
        features_digest = data_hash(X, table.y)
        if resume_from is not None:
            spent = resume(resume_from, svm, features_digest)
        svm._keeper = CheckpointWriter(target, checkpoint_every, svm, features_digest, spent)
    start = time.perf_counter()
    svm.set_params(verbose=0 if quiet else 1)
    with shown_warnings():
        interrupted = _fit(svm, X, table.y)
    seconds = spent + time.perf_counter() - start
    if svm._keeper is not None:
        svm._keeper.keep(svm._dual_state)
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
    summary = _summary(svm, model, X.shape, seconds)
    if json:
        show_json(summary)
    elif not quiet:
        show(figures(str(model), _for_people(summary)))
    if interrupted:
        warn(f"interrupted: {model} holds what was reached")
        raise typer.Exit(Exit.INTERRUPTED)
    if not svm.converged_:
        raise typer.Exit(Exit.NOT_CONVERGED)


def _fit(svm: SVM, X: Any, y: Any) -> bool:
    """Whether an interrupt ended it, with something reached."""
    try:
        svm.fit(X, y)
    except KeyboardInterrupt:
        if not hasattr(svm, "classes_"):
            raise
        return True
    return False


def _options_of(context: typer.Context, path: Path, given: SVM) -> SVM:
    """An estimator with the parameters of a checkpoint, but for those that were given."""
    names = {"kernel": "kernel", "intercept": "fit_intercept", "balanced": "class_weight"}
    stored = read_checkpoint(path).make_estimator()
    if type(stored) is not type(given) and _is_given(context, "kernel"):
        raise typer.BadParameter(
            f"{path} is the checkpoint of a linear machine", param_hint="--kernel"
        )
    for option in context.params:
        name = {"seed": "random_state", "jobs": "n_jobs"}.get(option, names.get(option, option))
        if name in stored.get_params() and _is_given(context, option):
            value = given.get_params()[name]
            if value != stored.get_params()[name]:
                note(f"{name}={value} in place of {stored.get_params()[name]} in {path}")
            stored.set_params(**{name: value})
    return stored


def _is_given(context: typer.Context, option: str) -> bool:
    source = context.get_parameter_source(option)
    return source is not None and source.name == "COMMANDLINE"


def _refuse_with_stream(context: typer.Context, *ignored: Any) -> None:
    refused = {
        "kernel": "a kernel machine needs all rows",
        "scale": "scaling needs all rows",
        "checkpoint": "a stream has no checkpoints",
        "resume_from": "a stream has no checkpoints",
        "duals": "a stream does not store dual variables",
        "balanced": "weights of classes need all rows",
    }
    for option, reason in refused.items():
        if _is_given(context, option):
            raise typer.BadParameter(f"does not go with --stream: {reason}", param_hint=option)


def _refuse_without_stream(context: typer.Context) -> None:
    for option in ("passes", "batch", "classes", "scratch"):
        if _is_given(context, option):
            raise typer.BadParameter("goes with --stream only", param_hint=f"--{option}")


def _summary(svm: SVM, path: Path, shape: tuple[int, int], seconds: float) -> dict[str, Any]:
    return {
        "model": str(path),
        "machine": svm.machine,
        "C": svm.C,
        **({"kernel": svm.kernel, "gamma": svm.gamma_} if hasattr(svm, "support_") else {}),
        "n": shape[0],
        "d": shape[1],
        "k": len(svm.classes_),
        **({"n_support": len(svm.support_)} if hasattr(svm, "support_") else {}),
        "gap": svm.dual_gap_,
        "primal_objective": svm.primal_objective_,
        "dual_objective": svm.dual_objective_,
        "converged": bool(svm.converged_),
        "passes": svm.n_iter_,
        "seconds": seconds,
        "bytes": path.stat().st_size,
    }


def _for_people(summary: dict[str, Any]) -> dict[str, str]:
    primal, dual = summary["primal_objective"], summary["dual_objective"]
    return {
        "machine": f"{summary['machine']}, C = {summary['C']:g}"
        + (f", {summary['kernel']} kernel" if "kernel" in summary else ""),
        "optimum": f"between {dual:.6g} and {primal:.6g}, gap {summary['gap']:.2e}",
        "converged": "yes" if summary["converged"] else "no",
        "passes": f"{summary['passes']:,} in {summary['seconds']:.2f} s",
        "file": f"{summary['bytes']:,} bytes",
    }
