"""``polymargin select``."""

import math
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polymargin.cli import _options as o
from polymargin.cli._codes import Exit
from polymargin.cli._folds import FoldOptions, deal
from polymargin.cli._option_conflicts import refuse, refuse_without_kernel
from polymargin.cli._option_sets import Features, FitOptions, KernelOptions, Reading
from polymargin.cli._output.figures import check_plot, plot_search
from polymargin.cli._output.files import check_target, writing
from polymargin.cli._output.terminal import (
    grid,
    note,
    show,
    show_figures,
    show_json,
    shown_warnings,
)
from polymargin.cli._parsing import parse_machines, parse_range

if TYPE_CHECKING:
    from polymargin.model_selection import GridPoint, GridSearch

EXAMPLES = """
[bold]Examples[/]

  polymargin select letter.train.svm.xz --kernel rbf --scale minmax --model letter.safetensors

  polymargin select iris.csv --machines ww,cs,llw --log2-C=-6:6:2 --extend --plot grid.png

  polymargin select visits.csv --groups patient --model visits.safetensors
"""

_SHOWN = 10


def select(
    context: typer.Context,
    data: o.DataFile,
    *,
    kernel: KernelOptions,
    fitting: FitOptions,
    features: Features,
    reading: Reading,
    model: Annotated[
        Path | None,
        typer.Option("--model", "-o", metavar="FILE", help="Train the best one and write it."),
    ] = None,
    machines: Annotated[str, typer.Option(help="Those to compare, with commas.")] = "ww",
    log2_C: Annotated[
        str | None, typer.Option("--log2-C", metavar="FIRST:LAST:STEP", help="Grid of C.")
    ] = None,
    log2_gamma: Annotated[
        str | None, typer.Option("--log2-gamma", metavar="FIRST:LAST:STEP", help="Grid of gamma.")
    ] = None,
    refinements: Annotated[int, typer.Option(min=0, max=16, help="Times the step is halved.")] = 1,
    extend: Annotated[
        bool,
        typer.Option(
            "--extend",
            help="Let the grid grow where the best point is on its border, by 10 steps at most.",
        ),
    ] = False,
    race: Annotated[
        float,
        typer.Option(
            metavar="RISK", min=0, max=0.4, help="Of giving up a point that is level with the best."
        ),
    ] = 0.001,
    full: Annotated[
        bool, typer.Option("--full", help="Run all folds of all points, give up none.")
    ] = False,
    dealing: FoldOptions,
    calibration: o.CalibrationOption = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Heat maps of the accuracy.")
    ] = None,
    json: o.JsonOption = False,
    quiet: o.QuietOption = False,
) -> None:
    """Choose machine, C and gamma by cross-validation on nested grids."""
    from sklearn.base import clone

    from polymargin.cli._announce import announce
    from polymargin.cli._data import read_to_train
    from polymargin.cli._recipe import (
        assemble,
        check_parameters,
        fit_features,
        make_estimator,
    )
    from polymargin.files import data_hash, save
    from polymargin.kernel import has_gamma
    from polymargin.model_selection import nested_grid_search

    check_target(model, data, plot, reading.labels)
    check_plot(plot, data)
    dealing.check()
    names = parse_machines(machines)
    refuse_without_kernel(context, kernel.kernel)
    if kernel.kernel is not None and not has_gamma(kernel.kernel):
        refuse(context, "log2_gamma", f"the kernel {kernel.kernel} has no gamma")
    if model is None:
        refuse(context, "calibration", "goes with --model only")
    if full:
        refuse(context, "race", "goes without --full")
    svm = make_estimator(
        kernel,
        machine=names[0],
        calibration=calibration,
        n_jobs=reading.jobs,
        **fitting.parameters,
    )
    for name in names:
        check_parameters(clone(svm).set_params(machine=name))
    axes: dict[str, Any] = {"log2_C": _parse_range(log2_C, "--log2-C")}
    if log2_gamma is not None:
        axes["log2_gamma"] = _parse_range(log2_gamma, "--log2-gamma")
    dealt = deal(dealing, read_to_train(data, reading), data)
    table = dealt.table
    steps, X = fit_features(features, table, data, reading.jobs)
    if not quiet:
        used = {} if dealt.used is None else {dealt.used: "drop"}
        announce(table, X, reading.kinds | used, features, kernel.kernel is not None)
        if dealt.used is not None:
            note(f"column {dealt.used!r} makes the folds and is no feature")
    with shown_warnings():
        search = nested_grid_search(
            svm,
            X,
            table.y,
            machines=names,
            refinements=refinements,
            extend=extend,
            race=None if full else race,
            cv=dealt.cv,
            groups=dealt.groups,
            refit=model is not None,
            n_jobs=reading.jobs,
            random_state=fitting.seed,
            verbose=0 if quiet else 1,
            **axes,
        )
    if plot is not None:
        plot_search(search, plot)
    if model is not None:
        assert search.best_estimator_ is not None
        with writing(model):
            save(
                assemble(steps, search.best_estimator_),
                model,
                data_hash=data_hash(table.X, table.y),
                reading=table.reading,
            )
    if json:
        show_json(
            {"best": search.best_params, "accuracy": search.best_score, "n_fits": search.n_fits}
            | {"borders": [asdict(border) for border in search.borders]}
            | {"points": search.records(), "model": None if model is None else str(model)}
        )
    elif not quiet:
        _report(search, model)
    if model is not None and not search.best_estimator_.converged_:  # type: ignore[union-attr]
        raise typer.Exit(Exit.NOT_CONVERGED)


def _parse_range(text: str | None, option: str) -> tuple[float, float, float] | None:
    return None if text is None else parse_range(text, option)


def _report(search: "GridSearch", model: Path | None) -> None:
    complete = [point for point in search.points if point.complete]
    ranked = sorted(complete, key=lambda point: (-point.mean_score, point.C))
    rows = [_row(point) for point in ranked[:_SHOWN]]
    show(grid("", ["machine", "C", "gamma", "accuracy", "±"], rows))
    best = search.best
    chosen = f"{best.machine}, C = {best.C:g}"
    chosen += "" if best.gamma is None else f", gamma = {best.gamma:g}"
    facts = {
        "best": chosen,
        "accuracy": f"{best.mean_score:.2%} in cross-validation",
        "fits": f"{search.n_fits:,}",
    }
    if n_left := len(search.points) - len(complete):
        facts["given up"] = f"{n_left:,} of {len(search.points):,} points (--full runs all folds)"
    show_figures("", facts)
    if model is not None:
        note(f"model in {model}")


def _row(point: "GridPoint") -> list[str]:
    gamma = "" if point.gamma is None else f"2^{math.log2(point.gamma):g}"
    return [
        point.machine,
        f"2^{math.log2(point.C):g}",
        gamma,
        f"{point.mean_score:.2%}",
        f"{point.std_score:.2%}",
    ]
