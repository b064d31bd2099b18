"""``polymargin inspect``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polymargin._wording import counted
from polymargin.cli import _options as o
from polymargin.cli._option_conflicts import refuse
from polymargin.cli._output.files import check_target, writing
from polymargin.cli._output.terminal import grid, note, show, show_json, shown_warnings
from polymargin.cli._parsing import parse_shape
from polymargin.errors import DataError, ModelFileError

if TYPE_CHECKING:
    from polymargin.cli._models import OpenModel
    from polymargin.readers import Table

EXAMPLES = """
[bold]Examples[/]

  polymargin inspect letter.safetensors letter.train.svm.xz --report report.html

  polymargin inspect digits.safetensors mnist.svm --image-shape 28x28 --report digits.html
"""


_OF_REPORTS = ("test", "texts", "names", "image_shape", "max_patterns", "title")


def inspect(
    context: typer.Context,
    model: o.ModelFile,
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="The rows that the model was trained on.")
    ],
    report: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write all there is to see to one HTML file."),
    ] = None,
    test: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Other rows, for accuracy and confusions.")
    ] = None,
    texts: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="label<TAB>text lines of the same rows, to show."),
    ] = None,
    names: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Names of the features, one a line.")
    ] = None,
    image_shape: Annotated[
        str | None,
        typer.Option(
            metavar="HxW", help="Features are the pixels of such images. idx files tell it."
        ),
    ] = None,
    by: Annotated[
        o.RankingName | None,
        typer.Option(help="What suspicious labels are ranked by."),
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="Rows of the table.")] = 10,
    max_patterns: Annotated[int, typer.Option(min=1, help="Rows of the report's tables.")] = 200,
    title: Annotated[str | None, typer.Option(help="Of the report.")] = None,
    other_data: Annotated[
        bool,
        typer.Option(
            "--other-data", help="Go on though DATA is not what the model was trained on."
        ),
    ] = False,
    labels: o.LabelsOption = None,
    file_format: o.FormatOption = None,
    encoding: o.EncodingOption = "utf-8",
    jobs: o.JobsOption = 1,
    json: o.JsonOption = False,
) -> None:
    """Find suspicious labels and confusable classes; write a report."""
    if report is None:
        for option in _OF_REPORTS:
            refuse(context, option, "goes with --report only")
    check_target(report, model, data, test, texts, names, labels)
    shape = None if image_shape is None else parse_shape(image_shape)
    from polymargin import inspect as inspection
    from polymargin.cli._models import open_model

    opened = open_model(model, jobs, file_format, encoding)
    if not opened.info.has_duals:
        raise ModelFileError(
            f"{model} holds no dual variables; train with --duals (a stream has none)"
        )
    table = opened.files.read(data, jobs, labels)
    shape = shape or _own_shape(table)
    _check_data(opened, table, model, data, other_data)
    other = None if test is None else opened.files.read(test, jobs)
    shown_texts = _read_texts(texts, table)
    n_features = opened.svm.n_features_in_
    feature_names = _read_names(names, table, n_features)
    if shape is not None and shape[0] * shape[1] != n_features:
        raise typer.BadParameter(
            f"{image_shape} are {counted(shape[0] * shape[1], 'pixel')}, but rows have "
            f"{counted(n_features, 'feature')}",
            param_hint="--image-shape",
        )
    with shown_warnings():
        examined = inspection.Examined(opened.model, table.X, table.y)
        suspects = inspection.suspect_table(examined, by, top)
        pairs = inspection.pair_table(examined, None, top)
        if report is not None:
            with writing(report):
                inspection.write_report(
                    examined,
                    report,
                    X_test=None if other is None else other.X,
                    y_test=None if other is None else other.y,
                    texts=shown_texts,
                    image_shape=shape,
                    lines=table.lines if table.files is None else table.files,
                    feature_names=feature_names,
                    by=by,
                    title=title,
                    max_patterns=max_patterns,
                )
    if json:
        show_json(
            {
                "suspicious": suspects.to_dict(orient="records"),
                "pairs": pairs.to_dict(orient="records"),
                "report": None if report is None else str(report),
            }
        )
        return
    show(_table("Suspicious labels", suspects, table))
    show(_table("Confusable classes", pairs, None))
    if report is not None:
        note(f"report in {report}, {report.stat().st_size / 1e6:.1f} MB")


def _check_data(
    opened: "OpenModel", table: "Table", model: Path, data: Path, other_data: bool
) -> None:
    """The model has to be of these rows."""
    from polymargin.files import data_hash

    digest = opened.info.data_hash
    if not other_data and digest is not None and digest != data_hash(table.X, table.y):
        way_out = ""
        if table.n_rows == opened.info.n_examples:
            way_out = "; --other-data goes on all the same, where their order is"
        raise DataError(
            f"these are not the rows that {model} was trained on{way_out}", path=str(data)
        )


def _own_shape(table: "Table") -> tuple[int, int] | None:
    """Of the images of the file, where it tells."""
    found = table.reading.get("image_shape")
    return None if found is None else (found[0], found[1])


def _read_texts(path: Path | None, table: "Table") -> list[str] | None:
    if path is None:
        return None
    from polymargin.cli._data import opening
    from polymargin.readers import read

    with opening(path):
        texts = read(path, format="text")
    if texts.n_rows != table.n_rows:
        texts_found, rows = counted(texts.n_rows, "text"), counted(table.n_rows, "row")
        raise DataError(f"{texts_found} for {rows}", path=str(path))
    found: list[str] = texts.X
    return found


def _read_names(path: Path | None, table: "Table", n_features: int) -> list[str] | None:
    if path is None and table.reading.get("zero_based") is False:  # as the file counts them
        return [f"feature {j + 1}" for j in range(table.X.shape[1])]
    if path is None:
        return None
    from polymargin.cli._data import opening
    from polymargin.readers import read_lines

    with opening(path):
        names = read_lines(path)
    if len(names) != n_features:
        found = counted(len(names), "name")
        raise DataError(f"{found} for {counted(n_features, 'feature')}", path=str(path))
    return names


def _table(title: str, frame: Any, table: "Table | None") -> Any:
    """Rows by their file, their line, or their number from 1."""
    frame = frame.copy()
    if table is not None:
        rows = frame.pop("row").to_numpy()
        if table.files is not None:
            frame.insert(0, "file", [table.files[row] for row in rows])
        elif table.lines is not None:
            frame.insert(0, "line", table.lines[rows])
        else:
            frame.insert(0, "row", rows + 1)
    cells = [
        [f"{value:.4g}" if isinstance(value, float) else str(value) for value in row]
        for row in frame.itertuples(index=False)
    ]
    return grid(title, [str(name) for name in frame.columns], cells, text_columns=0)
