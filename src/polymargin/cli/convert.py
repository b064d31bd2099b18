"""``polymargin convert``."""

from pathlib import Path
from typing import Annotated, Any

import typer

from polymargin._wording import counted
from polymargin.cli import _options as o
from polymargin.cli._model_kind import model_kind
from polymargin.cli._option_sets import Reading
from polymargin.cli._output.files import check_target, without_packing, writing
from polymargin.cli._output.terminal import note, shown_warnings
from polymargin.errors import DataError

EXAMPLES = """
[bold]Examples[/]

  polymargin convert letter.safetensors letter.onnx

  polymargin convert letter.safetensors small.safetensors --dtype float16

  polymargin convert heart.model heart.safetensors         [dim]# from LIBLINEAR[/]

  polymargin convert words.tsv.xz shuffled.tsv.zst --shuffle

  polymargin convert mails/ mails.tsv                      [dim]# a folder for each class[/]
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
    ".tsv": "text",
}
_SHOWN = 100  # names of features
_MODELS = ("safetensors", "liblinear", "onnx")


def convert(
    source: Annotated[
        Path, typer.Argument(metavar="INPUT", help="A model (ours or LIBLINEAR's) or data.")
    ],
    target: Annotated[Path, typer.Argument(metavar="OUTPUT", help="Its name tells the format.")],
    reading: Reading,
    to: Annotated[
        o.Target | None,
        typer.Option("--to", help="Format of OUTPUT where its name does not tell."),
    ] = None,
    shuffle: Annotated[
        bool,
        typer.Option(
            "--shuffle", help="Write the lines of a data file in random order, in bounded memory."
        ),
    ] = False,
    dtype: Annotated[
        o.StoredPrecision | None,
        typer.Option(help="Round the weights of a model, for a smaller file to predict with."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the order.")] = 0,
    encoded: Annotated[
        bool,
        typer.Option(
            "--encoded",
            help="Leave out what makes numbers of text and columns; whoever uses OUTPUT does that.",
        ),
    ] = False,
) -> None:
    """Turn a model or a data file into another format."""
    check_target(target, source, reading.labels)
    if shuffle and dtype is not None:
        raise typer.BadParameter("goes with models only", param_hint="--dtype")
    if shuffle:
        from polymargin.cli._shuffle import shuffle_lines

        if to is not None:
            raise typer.BadParameter(
                "--shuffle keeps the format; convert in two steps", param_hint="--to"
            )
        n_lines = shuffle_lines(source, target, seed, reading)
        note(f"{counted(n_lines, 'row')} in {target}")
        return
    wanted = to or _SUFFIXES.get(without_packing(target).suffix)
    if wanted is None:
        raise typer.BadParameter(
            f"the name {target.name} tells no format to write; models become safetensors, "
            "liblinear or onnx, data svmlight or npz, texts text",
            param_hint="--to",
        )
    with shown_warnings():
        found = "safetensors" if source.suffix == ".safetensors" else model_kind(source)
        if found in ("safetensors", "liblinear"):
            if dtype is not None and wanted != "safetensors":
                raise typer.BadParameter(f"{wanted} has no such weights", param_hint="--dtype")
            _convert_model(source, found, target, wanted, encoded, dtype)
        elif dtype is not None:
            raise typer.BadParameter("goes with models only", param_hint="--dtype")
        else:
            _convert_data(source, target, wanted, reading)


def _convert_model(
    source: Path, found: str, target: Path, wanted: str, encoded: bool, dtype: str | None
) -> None:
    from polymargin.cli._recipe import assemble, take_apart
    from polymargin.estimators import LinearSVM
    from polymargin.files import (
        load_liblinear,
        load_with_info,
        save,
        save_liblinear,
        save_onnx,
    )

    if wanted not in _MODELS:
        raise typer.BadParameter(
            f"a model cannot become {wanted}, only {', '.join(_MODELS)}", param_hint="--to"
        )
    about: dict[str, Any] = {}
    if found == "safetensors":
        model, info = load_with_info(source)
        if not encoded:
            about = {"data_hash": info.data_hash, "reading": info.reading}
    else:
        model = load_liblinear(source)
    steps, svm = take_apart(model)
    if wanted == "liblinear" and not isinstance(svm, LinearSVM):
        raise typer.BadParameter(
            "a LIBLINEAR model is linear; a kernel machine becomes safetensors or onnx",
            param_hint="--to",
        )
    if steps and not hasattr(steps[0][1], "n_features_in_"):
        if encoded:
            model = assemble(steps[1:], svm)
        elif wanted != "safetensors" and not getattr(steps[0][1], "is_numeric", False):
            raise typer.BadParameter(
                f"{wanted} cannot hold what makes numbers of {_not_numbers(steps[0][1])}; "
                "--encoded leaves it out, and whoever uses the file makes them as the first step "
                "of the model does",
                param_hint="--to",
            )
    with writing(target):
        if wanted == "onnx":
            save_onnx(model, target)
        elif wanted == "liblinear":
            save_liblinear(model, target)
        else:
            save(model, target, dtype=dtype, **about)


def _not_numbers(step: Any) -> str:
    """What a step takes beside numbers."""
    kinds: dict[str, str] = getattr(step, "kinds", {})
    names = [name for name, kind in kinds.items() if kind != "number"]
    if names:
        shown = ", ".join(names[:_SHOWN])
        return f"the {'column' if len(names) == 1 else 'columns'} {shown}"
    return "missing cells" if kinds else "texts"


def _convert_data(source: Path, target: Path, wanted: str, reading: Reading) -> None:
    from polymargin.cli._data import check_missing, concerning, read_rows
    from polymargin.cli._output.data import write_npz, write_svmlight, write_texts
    from polymargin.preprocessing import ColumnEncoder
    from polymargin.readers import Columns

    if wanted not in ("svmlight", "npz", "text"):
        raise typer.BadParameter(
            f"{source.name} is no model of polymargin or LIBLINEAR; data cannot become {wanted}, "
            "only svmlight or npz, or text",
            param_hint="--to",
        )
    table = read_rows(source, reading)
    X: Any = table.X
    y: Any = table.y
    if isinstance(X, list) != (wanted == "text"):
        raise DataError(
            "texts have no numbers; they become lines of text only"
            if isinstance(X, list)
            else "these are no texts, which alone become lines of text",
            path=str(source),
        )
    if wanted == "text":
        with writing(target), concerning(source):
            write_texts(X, y, target)
        return
    if isinstance(X, Columns):
        check_missing(table, source, "fill it in")
        encoder = ColumnEncoder()
        X = encoder.fit_transform(X)
        names = encoder.feature_names_out_.tolist()
        more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
        note("features: " + ", ".join(names[:_SHOWN]) + more)
    with writing(target), concerning(source):
        (write_svmlight if wanted == "svmlight" else write_npz)(X, y, target)
