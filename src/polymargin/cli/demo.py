"""``polymargin demo``."""

from pathlib import Path
from typing import Annotated

import typer

from polymargin import demo as demonstration
from polymargin.cli._exit import Exit
from polymargin.cli._figures import check_plot
from polymargin.cli._writing import writing

EXAMPLES = """
[bold]Example[/]

  polymargin demo convergence.png
"""


def demo(
    output: Annotated[Path, typer.Argument(metavar="[FILE]", help="For the plot.")] = Path(
        "demo-convergence.png"
    ),
    tol: Annotated[float, typer.Option(min=0.0, help="Relative duality gap.")] = 1e-4,
) -> None:
    """Train nine machines on bundled data, print a table, draw their convergence."""
    check_plot(output)
    with writing(output):
        code = demonstration.main([str(output), "--tol", str(tol)])
    if code:
        raise typer.Exit(Exit.NOT_CONVERGED if code == 1 else Exit.USAGE)
