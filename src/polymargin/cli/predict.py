"""``polymargin predict``."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from polymargin._wording import counted
from polymargin.cli import _options as o
from polymargin.cli._option_conflicts import is_given
from polymargin.cli._output.files import check_target, escaped, is_standard, text_output
from polymargin.cli._output.terminal import note, shown_warnings

EXAMPLES = """
[bold]Examples[/]

  polymargin predict letter.safetensors letter.test.svm.xz --output labels.txt

  polymargin predict letter.safetensors letter.test.svm.xz --scores | head -3

  polymargin predict letter.safetensors letter.test.svm.xz --top 5 | head -3

  polymargin predict m.safetensors rows.csv --probabilities --table csv --output p.csv
"""

_LABELS = {"has_labels": False, "label_kind": "string"}  # there may be any, or none


def predict(
    context: typer.Context,
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
    probabilities: Annotated[
        bool,
        typer.Option(
            "--probabilities",
            help="The probabilities of all classes, of a model trained with --calibration.",
        ),
    ] = False,
    top: Annotated[
        int | None,
        typer.Option(
            metavar="M", min=1, help="The M best labels of each row, best first, between tabs."
        ),
    ] = None,
    table_format: Annotated[
        o.TableFormat,
        typer.Option("--table", help="Form of --scores and --probabilities; json is one a line."),
    ] = "tsv",
    file_format: o.FormatOption = None,
    encoding: o.EncodingOption = "utf-8",
    jobs: o.JobsOption = 1,
    quiet: o.QuietOption = False,
) -> None:
    """Write the predicted label of each row, one a line.

    Of a folder of texts the name of each file and a tab come before its label. Tabs, line ends and
    backslashes in labels and names are escaped by a backslash, but for csv and json.
    """
    if not is_standard(output):
        check_target(output, model, data)
    if scores and probabilities:
        raise typer.BadParameter("goes without --scores", param_hint="--probabilities")
    if not (scores or probabilities) and is_given(context, "table_format"):
        raise typer.BadParameter("goes with --scores or --probabilities only", param_hint="--table")
    if top is not None and (scores or probabilities):
        raise typer.BadParameter("goes without --scores and --probabilities", param_hint="--top")
    from polymargin.cli._models import open_model
    from polymargin.cli._output.tables import TableWriter
    from polymargin.estimators import best_classes

    opened = open_model(model, jobs, file_format, encoding)
    if probabilities:
        opened.check_probabilities(model)
    k = len(opened.classes)
    if top is not None and top > k:
        raise typer.BadParameter(
            f"the model knows {k} classes, fewer than {top}", param_hint="--top"
        )
    names = [escaped(label) for label in opened.classes]
    n_rows = 0
    with shown_warnings(), text_output(output) as file:
        writer = None
        if scores or probabilities:
            what = "probabilities" if probabilities else "scores"
            writer = TableWriter(file, table_format, opened.classes, what, data.is_dir())
        for table in opened.files.batches(data, jobs, **_LABELS):
            for part, values in opened.score_blocks(table, data):
                best = best_classes(values, top or 1).tolist()
                files = None if table.files is None else table.files[part]
                n_rows += len(best)
                if writer is not None:
                    numbers = opened.probabilities(values) if probabilities else values
                    writer.write([row[0] for row in best], numbers, files)
                else:
                    labels = ([names[c] for c in row] for row in best)
                    file.writelines("\t".join(line) + "\n" for line in _with_files(labels, files))
    if not (quiet or is_standard(output)):
        note(f"{counted(n_rows, 'label')} in {output}")


def _with_files(labels: Iterable[list[str]], files: Sequence[str] | None) -> Iterable[list[str]]:
    """The file of each row before its labels, where it is one."""
    if files is None:
        return labels
    return ([escaped(name), *row] for name, row in zip(files, labels, strict=True))
