"""``polymargin convert``."""

from pathlib import Path
from typing import Annotated, Any

import typer

from polymargin.cli import _options as o
from polymargin.cli._console import note, shown_warnings
from polymargin.cli._data import Reading, check_target
from polymargin.cli._exit import writing
from polymargin.cli._packing import without_packing
from polymargin.cli._shuffle import shuffle_lines
from polymargin.cli._writers import write_npz, write_svmlight
from polymargin.files import load, load_liblinear, save, save_liblinear, save_onnx
from polymargin.preprocessing import ColumnEncoder
from polymargin.readers import Columns

EXAMPLES = """
[bold]Examples[/]

  polymargin convert letter.safetensors letter.onnx

  polymargin convert heart.model heart.safetensors         [dim]# from LIBLINEAR[/]

  polymargin convert words.tsv.xz shuffled.tsv.zst --shuffle
"""

_SUFFIXES = {
    ".safetensors": "safetensors",
    ".onnx": "onnx",
    ".liblinear": "liblinear",
    ".model": "liblinear",
    ".svm": "svmlight",
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
    ".npz": "npz",
}
_MODELS = ("safetensors", "liblinear", "onnx")


def convert(
    source: Annotated[
        Path, typer.Argument(metavar="INPUT", help="A model (ours or LIBLINEAR's) or data.")
    ],
    target: Annotated[Path, typer.Argument(metavar="OUTPUT", help="Its name tells the format.")],
    to: Annotated[
        o.Target | None,  # type: ignore[valid-type]
        typer.Option("--to", help="Format of OUTPUT where its name does not tell."),
    ] = None,
    shuffle: Annotated[
        bool,
        typer.Option(
            "--shuffle", help="Write the lines of a data file in random order, in bounded memory."
        ),
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Of the order.")] = 0,
    file_format: o.FormatOption = None,
    label: o.LabelOption = None,
    delimiter: o.DelimiterOption = None,
    n_features: o.NFeaturesOption = None,
    zero_based: o.ZeroBasedOption = None,
    jobs: o.JobsOption = 1,
) -> None:
    """Turn a model or a data file into another format."""
    check_target(target)
    if shuffle:
        header = file_format is not None and str(file_format) in ("csv", "tsv")
        with writing(target):
            n_lines = shuffle_lines(source, target, seed, keep_first=header)
        note(f"{n_lines:,} lines in {target}")
        return
    wanted = str(to) if to is not None else _SUFFIXES.get(without_packing(target).suffix)
    if wanted is None:
        raise typer.BadParameter(
            f"the name {target.name} does not tell a format; give --to", param_hint="--to"
        )
    with shown_warnings():
        if _is_model(source):
            _convert_model(source, target, wanted)
        else:
            reading = Reading(file_format, label, delimiter, n_features, zero_based, jobs)
            _convert_data(source, target, wanted, reading)


def _is_model(path: Path) -> bool:
    """Ours by its name, LIBLINEAR's by its first word."""
    if path.suffix == ".safetensors":
        return True
    with path.open("rb") as file:
        return file.read(12) == b"solver_type "


def _convert_model(source: Path, target: Path, wanted: str) -> None:
    if wanted not in _MODELS:
        raise typer.BadParameter(f"a model cannot become {wanted}, only {', '.join(_MODELS)}")
    model = load(source) if source.suffix == ".safetensors" else load_liblinear(source)
    write: Any = {"safetensors": save, "liblinear": save_liblinear, "onnx": save_onnx}[wanted]
    with writing(target):
        write(model, target)


def _convert_data(source: Path, target: Path, wanted: str, reading: Reading) -> None:
    if wanted not in ("svmlight", "npz"):
        raise typer.BadParameter(f"data cannot become {wanted}, only svmlight or npz")
    table = reading.read(source)
    X: Any = table.X
    y: Any = table.y
    if isinstance(X, list):
        raise typer.BadParameter("texts have no numbers to write; they can be shuffled only")
    if isinstance(X, Columns):
        encoder = ColumnEncoder()
        X = encoder.fit_transform(X)
        note("features: " + ", ".join(encoder.feature_names_out_))
    with writing(target):
        (write_svmlight if wanted == "svmlight" else write_npz)(X, y, target)
