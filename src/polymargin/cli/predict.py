"""``polymargin predict``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from polymargin._wording import counted
from polymargin.cli import _options as o
from polymargin.cli._output.files import check_target, escaped, is_standard, text_output
from polymargin.cli._output.terminal import note, shown_warnings

if TYPE_CHECKING:
    import numpy as np

EXAMPLES = """
[bold]Examples[/]

  polymargin predict letter.safetensors letter.test.svm.xz --output labels.txt

  polymargin predict letter.safetensors letter.test.svm.xz --scores | head -3
"""

_LABELS = {"has_labels": False, "label_kind": "string"}  # there may be any, or none


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
    """Write the predicted label of each row, one a line.

    Tabs, line ends and backslashes in labels are escaped by a backslash.
    """
    if not is_standard(output):
        check_target(output, model, data)
    from polymargin.cli._models import open_model

    opened = open_model(model, jobs, file_format)
    names = [escaped(label) for label in opened.classes]
    n_rows = 0
    with shown_warnings(), text_output(output) as file:
        if scores:
            file.write("\t".join(["label", *names]) + "\n")
        for table in opened.files.batches(data, jobs, **_LABELS):
            values = opened.scores(table, data)
            best = values.argmax(axis=1).tolist()
            n_rows += len(best)
            if scores:
                for c, row in zip(best, values, strict=True):
                    file.write("\t".join([names[c], *map(_number, row)]) + "\n")
            else:
                file.writelines(f"{names[c]}\n" for c in best)
    if not (quiet or is_standard(output)):
        note(f"{counted(n_rows, 'label')} in {output}")


def _number(value: "np.floating") -> str:
    """The shortest text that is this number again."""
    import numpy as np

    return np.format_float_positional(value, trim="-") if value == value else "nan"
