"""``polymargin bench``."""

import math
import statistics
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polymargin.cli import _options as o
from polymargin.cli._option_conflicts import refuse_without_kernel
from polymargin.cli._option_sets import Features, FitOptions, KernelOptions, Reading
from polymargin.cli._output.terminal import err, grid, note, show, show_json
from polymargin.cli._parsing import parse_machines

if TYPE_CHECKING:
    from polymargin.cli._recipe import SVM

EXAMPLES = """
[bold]Examples[/]

  polymargin bench letter.train.svm.xz --scale minmax --machines ww,cs --test letter.test.svm.xz

  polymargin bench satimage.train.svm.xz --scale minmax --kernel rbf --gamma 1 -C 16
"""


@dataclass
class RepeatedFit:
    """Something that is fitted again and again."""

    name: str
    make: Callable[[], Any]
    seconds: list[float] = field(default_factory=list)
    model: Any = None

    def run(self, X: Any, y: Any) -> None:
        """One fit, by the clock that counts the work of all threads."""
        self.model = self.make()
        with warnings.catch_warnings():  # whether it converged is in the table
            warnings.simplefilter("ignore")
            start = time.process_time()
            self.model.fit(X, y)
            self.seconds.append(time.process_time() - start)

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)


def bench(
    context: typer.Context,
    data: o.DataFile,
    *,
    machines: Annotated[str, typer.Option(help="Those to time, with commas.")] = "ww,cs",
    C: o.COption = 1.0,
    kernel: KernelOptions,
    fitting: FitOptions,
    features: Features,
    reading: Reading,
    test: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Rows to measure the accuracy on.")
    ] = None,
    repeats: Annotated[int, typer.Option(min=1, help="Fits of each; the median counts.")] = 3,
    peers: Annotated[
        bool, typer.Option("--peers/--no-peers", help="Fit scikit-learn's machines as well.")
    ] = True,
    json: o.JsonOption = False,
    quiet: o.QuietOption = False,
) -> None:
    """Time machines on a file, beside scikit-learn's."""
    from rich.progress import Progress

    from polymargin.cli._announce import announce
    from polymargin.cli._data import concerning, read_to_train
    from polymargin.cli._recipe import (
        check_parameters,
        fit_features,
        make_estimator,
        transform,
    )
    from polymargin.cli._training_format import format_of_table

    refuse_without_kernel(context, kernel.kernel)
    if math.isinf(C):
        raise typer.BadParameter("scikit-learn's machines need a finite one", param_hint="-C")
    ours = [
        make_estimator(kernel, machine=name, C=C, n_jobs=reading.jobs, **fitting.parameters)
        for name in parse_machines(machines)
    ]
    for svm in ours:
        check_parameters(svm)
    table = read_to_train(data, reading)
    steps, X = fit_features(features, table, data, reading.jobs)
    X_test, y_test = X, table.y
    if test is not None:
        other = format_of_table(table).read(test)
        with concerning(test):
            X_test, y_test = transform(steps, other.X, X.dtype), other.y
    if not quiet:
        announce(table, X, reading.kinds, features)
    entrants = [_entrant(svm) for svm in ours] + (_peers(ours[0]) if peers else [])
    with Progress(console=err(), disable=quiet, transient=True) as progress:
        task = progress.add_task("", total=repeats * len(entrants))
        for _ in range(repeats):  # in turns, so that a slow moment meets all of them
            for entrant in entrants:
                progress.update(task, description=entrant.name)
                entrant.run(X, table.y)
                progress.advance(task)
    records = [
        {
            "name": entrant.name,
            "seconds": entrant.median,
            "ratio": entrant.median / entrants[0].median,
            "gap": getattr(entrant.model, "dual_gap_", None),
            "accuracy": float(entrant.model.score(X_test, y_test)),
        }
        for entrant in entrants
    ]
    if json:
        show_json({"data": str(data), "repeats": repeats, "entrants": records})
    elif not quiet:
        show(_table(records, "test" if test is not None else "training"))
        note("CPU seconds of a fit, all threads; each library stops by a rule of its own")


def _entrant(svm: "SVM") -> RepeatedFit:
    return RepeatedFit(f"polymargin {svm.machine}", lambda: type(svm)(**svm.get_params()))


def _peers(svm: "SVM") -> list[RepeatedFit]:
    """scikit-learn's machines of the same kernel, C and tolerance of their own kind."""
    from sklearn.svm import SVC, LinearSVC

    from polymargin.estimators import KernelSVM

    if isinstance(svm, KernelSVM):
        if svm.kernel not in ("linear", "rbf", "poly", "sigmoid"):
            return []
        shared = {name: getattr(svm, name) for name in ("C", "kernel", "gamma", "degree", "coef0")}
        return [RepeatedFit("scikit-learn SVC (one-vs-one)", lambda: SVC(**shared))]
    return [
        RepeatedFit(
            "scikit-learn LinearSVC (one-vs-rest)",
            lambda: LinearSVC(C=svm.C, loss="hinge", random_state=0),
        ),
        RepeatedFit(
            "scikit-learn LinearSVC (crammer-singer)",
            lambda: LinearSVC(C=svm.C, multi_class="crammer_singer", random_state=0),
        ),
    ]


def _table(records: list[dict[str, Any]], part: str) -> Any:
    rows = [
        [
            record["name"],
            f"{record['seconds']:.3f}",
            f"{record['ratio']:.2f}",
            "–" if record["gap"] is None else f"{record['gap']:.1e}",
            f"{record['accuracy']:.2%}",
        ]
        for record in records
    ]
    return grid("", ["", "CPU s", "ratio", "gap", f"{part} accuracy"], rows)
