"""``polymargin path``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polymargin.cli import _options as o
from polymargin.cli._option_sets import Features, FitOptions, Reading
from polymargin.cli._output.figures import check_plot, plot_path
from polymargin.cli._output.terminal import grid, number_or_word, show, show_json, shown_warnings
from polymargin.cli._parsing import parse_range

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from polymargin.readers import Table

EXAMPLES = """
[bold]Examples[/]

  polymargin path letter.train.svm.xz --scale minmax --test letter.test.svm.xz --plot path.png

  polymargin path data.csv --Cs 0.01,0.1,1,10 --json
"""


def path(
    data: o.DataFile,
    *,
    fitting: FitOptions,
    features: Features,
    reading: Reading,
    Cs: Annotated[
        str,
        typer.Option("--Cs", metavar="A,B,...", help="Values of C, or FIRST:LAST:STEP of log2."),
    ] = "-8:4:2",
    test: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Rows to measure the accuracy on.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Picture of the accuracy over C.")
    ] = None,
    machine: o.MachineOption = "ww",
    json: o.JsonOption = False,
    quiet: o.QuietOption = False,
) -> None:
    """Train linear models for many values of C, each from the one before."""
    import numpy as np

    from polymargin.cli._announce import announce
    from polymargin.cli._data import concerning, read_to_train, separating
    from polymargin.cli._recipe import check_parameters, fit_features
    from polymargin.estimators import LinearSVM
    from polymargin.estimators import path as fit_path

    check_plot(plot, data, test)
    values = parse_Cs(Cs)
    check_parameters(LinearSVM(machine, **fitting.parameters))
    table = read_to_train(data, reading)
    steps, X = fit_features(features, table, data, reading.jobs)
    X_test, y_test = None, None
    if test is not None:
        X_test, y_test = _read_test(test, table, steps, X.dtype)
    if not quiet:
        announce(table, X, reading.kinds, features)
    with shown_warnings(), concerning(data), separating(table, data):
        fitted = fit_path(
            X,
            table.y,
            values,
            machine=machine,
            n_jobs=reading.jobs,
            verbose=0 if quiet else 1,
            **fitting.parameters,
        )
    records: list[dict[str, Any]] = [
        {
            "C": C,
            "gap": model.dual_gap_,
            "primal_objective": model.primal_objective_,
            "converged": bool(model.converged_),
            "passes": model.n_iter_,
            "norm": float(np.linalg.norm(model.coef_)),
            "accuracy": None if X_test is None else float(model.score(X_test, y_test)),
            "training_accuracy": float(model.score(X, table.y)),
        }
        for C, model in fitted
    ]
    if plot is not None:
        plot_path(records, machine, plot)
    if json:
        written = [record | {"C": number_or_word(record["C"])} for record in records]
        show_json({"machine": machine, "path": written})
    elif not quiet:
        show(_table(records))


def _read_test(
    path: Path, table: "Table", steps: list[tuple[str, Any]], dtype: "np.dtype[Any]"
) -> tuple[Any, Any]:
    """Rows to test on, read and made features as those to train on."""
    from polymargin.cli._data import check_missing, concerning
    from polymargin.cli._recipe import transform
    from polymargin.cli._training_format import format_of_table

    other = format_of_table(table).read(path)
    if steps and getattr(steps[0][1], "missing", None) == "error":
        check_missing(other, path, "fill it in, or put the mean with --missing mean")
    with concerning(path):
        return transform(steps, other.X, dtype), other.y


def parse_Cs(text: str) -> "NDArray[np.float64]":
    """Numbers with commas, or a range of binary logarithms."""
    import numpy as np

    if ":" in text:
        first, last, step = parse_range(text, "--Cs")
        return 2.0 ** np.arange(first, last + step / 2, step)
    try:
        values = np.array([float(word) for word in text.split(",")])
    except ValueError:
        values = np.array([np.nan])
    if not np.all(values > 0):
        raise typer.BadParameter(
            f"{text!r} is neither positive numbers with commas nor FIRST:LAST:STEP",
            param_hint="--Cs",
        )
    return values


def _table(records: list[dict[str, Any]]) -> Any:
    rows = [
        [
            f"{record['C']:g}",
            f"{record['primal_objective']:.6g}",
            f"{record['gap']:.1e}",
            f"{record['passes']:,}",
            f"{record['norm']:.4g}",
            f"{record['training_accuracy']:.2%}",
            "–" if record["accuracy"] is None else f"{record['accuracy']:.2%}",
        ]
        for record in records
    ]
    columns = ["C", "objective", "gap", "passes", "|W|", "training", "test"]
    return grid("", columns, rows, text_columns=0)
