"""``polymargin demo``."""

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from polymargin.cli._codes import Exit
from polymargin.cli._output.figures import check_plot, save_figure
from polymargin.cli._output.terminal import err, out, show

if TYPE_CHECKING:
    from polymargin.datasets import Split
    from polymargin.demo import EntrantOutcome, Judgement

EXAMPLES = """
[bold]Example[/]

  polymargin demo picture.pdf
"""

_NEXT = """\
Next, with rows of your own:

    {command} bench rows.csv --scale minmax
    {command} train rows.csv --scale minmax --model svm.safetensors

or in Python:

    from polymargin import KernelSVM
    model = KernelSVM("ww", C=16.0, gamma=1.0).fit(X, y)
    print(model.score(X_test, y_test), model.dual_gap_)"""


def demo(
    output: Annotated[Path, typer.Argument(metavar="[FILE]", help="For the picture.")] = Path(
        "demo.png"
    ),
    tol: Annotated[float, typer.Option(min=0.0, help="Relative duality gap of ours.")] = 1e-4,
) -> None:
    """Train our machines and scikit-learn's on bundled data, print a table, draw a picture."""
    check_plot(output, name="FILE")
    from polymargin.datasets import load_satimage
    from polymargin.demo import outcome_table
    from polymargin.demo.picture import draw

    data = load_satimage()
    (n, d), k = data.X_train.shape, len(set(data.y_train.tolist()))
    _say(
        f"satimage: kinds of soil from satellite images, {k} classes, {d} features scaled to "
        f"[-1, 1], {n} rows for training, {len(data.y_test)} for testing."
    )
    outcomes, judgement = _train(data, tol)
    show(outcome_table(outcomes, out().width))
    show("")
    _say(_how(tol))
    _say(_judged(judgement))
    save_figure(draw(outcomes, tol), output)
    _say(f"Picture: {output}")
    show(_NEXT.format(command=_command()), soft_wrap=True)
    if not all(outcome.converged for outcome in outcomes if outcome.gap is not None):
        raise typer.Exit(Exit.NOT_CONVERGED)


def _train(data: "Split", tol: float) -> "tuple[list[EntrantOutcome], Judgement]":
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
    )

    from polymargin.demo import entrants, judge, run

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    everyone = entrants(tol)
    with Progress(*columns, TimeElapsedColumn(), console=err(), transient=True) as progress:
        task = progress.add_task("", total=len(everyone) + 1)
        outcomes = []
        for entrant in everyone:
            progress.update(task, description=f"{entrant.group}: {entrant.name}")
            outcomes.append(run(entrant, data))
            progress.advance(task)
        progress.update(task, description="one problem, two libraries")
        return outcomes, judge(outcomes, data)


def _how(tol: float) -> str:
    return (
        "Everyone has the same rows, one thread, and C and gamma by 3-fold cross-validation on the "
        "training part. Seconds are CPU seconds of this run's training. Ours stop at a certified "
        f"relative duality gap of {tol:g}, scikit-learn's at the tolerances of its defaults, "
        "1e-4 (LinearSVC) and 1e-3 (SVC), which are not distances to the optimum. With linear "
        "scores ADM and ATM tell these classes apart by their last digits: another seed, another "
        "accuracy."
    )


def _judged(judgement: "Judgement") -> str:
    theirs, ours = judgement.theirs, judgement.ours
    return (
        "LinearSVC CS and CS minimise the same objective, so our certificate judges both. "
        f"LinearSVC ends at most {judgement.excess:.1e} above the optimum after "
        f"{theirs.seconds:.2f} s, and cannot tell; CS asked for {ours.model.tol:g} proves "
        f"{ours.gap:.1e} after {ours.seconds:.2f} s."
    )


def _command() -> str:
    """How this installation is called from here."""
    if shutil.which("polymargin"):
        return "polymargin"
    return f"{os.path.relpath(sys.executable)} -m polymargin"


def _say(paragraph: str) -> None:
    show(paragraph, width=80, end="\n\n")
