"""``polymargin predict``."""

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from polymargin.cli import _options as o
from polymargin.cli._console import note, shown_warnings
from polymargin.cli._data import batches_alike, check_target, text_output
from polymargin.cli._models import open_model

EXAMPLES = """
[bold]Examples[/]

  polymargin predict letter.safetensors letter.test.svm.xz --output labels.txt

  polymargin predict letter.safetensors letter.test.svm.xz --scores | head -3
"""


def predict(
    model: o.ModelFile,
    data: Annotated[
        Path,
        typer.Argument(metavar="DATA", help="Rows, with labels or without; - is standard input."),
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="By default standard output."),
    ] = None,
    scores: Annotated[
        bool,
        typer.Option(
            "--scores", help="The scores of all classes after each label, and a line of names."
        ),
    ] = False,
    file_format: o.FormatOption = None,
    jobs: o.JobsOption = 1,
    quiet: o.QuietOption = False,
) -> None:
    """Write the predicted label of each row, one a line."""
    check_target(output)
    opened = open_model(model, jobs, file_format)
    n_rows = 0
    with shown_warnings(), text_output(output) as file:
        if scores:
            file.write("\t".join(["label", *map(str, opened.classes)]) + "\n")
        for table in batches_alike(data, opened.reading, jobs, has_labels=False):
            values = opened.scores(table.X)
            labels = opened.classes[values.argmax(axis=1)]
            n_rows += len(labels)
            if scores:
                for label, row in zip(labels, values, strict=True):
                    file.write("\t".join([str(label), *map(_number, row)]) + "\n")
            else:
                file.writelines(f"{label}\n" for label in labels)
    if output is not None and not quiet:
        note(f"{n_rows:,} labels in {output}")


def _number(value: np.floating) -> str:
    """The shortest text that is this number again."""
    return np.format_float_positional(value, trim="-") if value == value else "nan"
