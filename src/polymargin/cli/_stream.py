"""``polymargin train --stream``: files larger than memory."""

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import typer

from polymargin._wording import column_option, counted
from polymargin.cli._announce import announce_columns
from polymargin.cli._data import (
    check_classes,
    check_columns,
    check_missing,
    check_width,
    concerning,
    labelled,
    opening,
)
from polymargin.cli._option_sets import Features, Reading, Streaming
from polymargin.cli._output.files import OutputError, writing
from polymargin.cli._output.terminal import err, note, shown_warnings
from polymargin.cli._recipe import SVM, for_format, make_steps, transform, use_jobs
from polymargin.cli._trained import Trained, is_interrupted
from polymargin.errors import DataError
from polymargin.estimators import LinearSVM
from polymargin.preprocessing import Scaler
from polymargin.readers import (
    Columns,
    Source,
    Table,
    find_format,
    label_kind_of,
    parse_labels,
    read_batches,
    read_lines,
    scan,
)
from polymargin.streams import Batches, fit_stream

if TYPE_CHECKING:
    from numpy.typing import NDArray


def train_on_stream(
    path: Path,
    svm: SVM,
    reading: Reading,
    features: Features,
    options: Streaming,
    *,
    quiet: bool,
) -> Trained:
    """Read a file once or several times, a buffer at a time, and fit a machine on the way."""
    assert isinstance(svm, LinearSVM)
    features = for_format(features, _format_of(path, reading))
    is_scaled = features.scale not in ("none", "auto")
    if _is_read_once(path) and (options.passes > 1 or options.classes is None or is_scaled):
        raise typer.BadParameter("a pipe is read but once: give --classes, one pass, no --scale")
    if options.scratch is not None and not options.scratch.is_dir():
        raise OutputError(f"there is no directory {options.scratch} for --scratch")
    start = time.perf_counter()
    classes, how = _outline(path, reading, options, quiet)
    is_pipe = _is_read_once(path)
    features = replace(features, text_features="hashing")
    steps: list[tuple[str, Any]] = []
    described: dict[str, Any] = {}

    def batches() -> Iterator[tuple[Any, Any]]:
        for table in _tables(path, options.batch, how):
            y = labelled(table, path).y
            check_missing(table, path, "fill it in")
            _check_labels(table, classes, path)
            if not described:
                described.update(table.reading)
                check_columns(table, reading, path)
                rest = None if is_pipe else _tables(path, options.batch, how)
                steps.extend(_first_steps(features, table, rest, path))
                use_jobs(steps, reading.jobs)
            with concerning(path):
                fitted = [step for step in steps if not _is_learning(step[1])]
                yield transform(fitted, table.X, np.dtype(np.float64)), y

    if is_scaled:
        _learn_scaling(batches, steps)
    kept_in = options.scratch or tempfile.gettempdir()
    with shown_warnings(), _progress(options.passes, quiet) as on_batch, writing(kept_in):
        was_interrupted = is_interrupted(
            svm,
            lambda: fit_stream(
                svm,
                batches,
                classes,
                passes=options.passes,
                scratch=options.scratch,
                on_batch=on_batch,
                keep_stream=False,
                shuffle_size=options.shuffle_size,
            ),
        )
    return Trained(
        svm,
        steps,
        n_rows=svm.n_samples_seen_ // max(1, getattr(svm, "n_iter_", 1)),
        seconds=time.perf_counter() - start,
        was_interrupted=was_interrupted,
        reading=described,
        is_stream=True,
    )


def _outline(
    path: Path, reading: Reading, options: Streaming, quiet: bool
) -> "tuple[NDArray[Any], dict[str, Any]]":
    """The classes, and how to read batches: given, or found by reading the file once."""
    if options.classes is not None:
        named = Path(options.classes)
        words = read_lines(named) if named.is_file() else options.classes.split(",")
        classes = np.unique(parse_labels([word for word in words if word.strip()]))
        if len(classes) < 2:
            raise typer.BadParameter("two classes are needed", param_hint="--classes")
        if _needs_width(path, reading):
            raise typer.BadParameter(
                "svmlight data needs it along with --classes", param_hint="--n-features"
            )
        return classes, reading.options | {"label_kind": label_kind_of(classes)}
    with opening(path), shown_warnings():
        outline = scan(path, **reading.options)
    if outline.classes is None:
        raise DataError("there are no labels", path=str(path))
    check_classes(outline.classes, path, outline.reading)
    check_width(outline.n_features, path)
    if not quiet:
        note(f"{counted(outline.n_rows, 'row')}, {len(outline.classes)} classes")
        if "kinds" in outline.reading:
            announce_columns(outline, outline.classes, reading.kinds, {})
    return outline.classes, outline.reading | {
        "n_jobs": reading.jobs,
        "labels_path": reading.labels,
    }


def _is_learning(step: Any) -> bool:
    return isinstance(step, Scaler) and not hasattr(step, "factor_")


def _learn_scaling(batches: Batches, steps: list[tuple[str, Any]]) -> None:
    """One more pass, for the range of each feature; the encoder of a table has it already."""
    scaler: Scaler | None = None
    for X, _ in batches():
        if not isinstance(steps[-1][1], Scaler):
            return
        scaler = scaler or Scaler(steps[-1][1].kind)
        scaler.partial_fit(X)
    if scaler is not None:
        steps[-1] = (steps[-1][0], scaler)


def _is_read_once(path: Path) -> bool:
    """Standard input, a named pipe, or what a shell makes of another command."""
    return str(path) == "-" or path.is_fifo()


def _needs_width(path: Path, reading: Reading) -> bool:
    """Whether the number of features would be known only at the end of the file."""
    return reading.n_features is None and _format_of(path, reading) == "svmlight"


def _format_of(path: Path, reading: Reading) -> str | None:
    """That of the file; None for a pipe of which the user has not told it."""
    if reading.file_format is not None or _is_read_once(path):
        return reading.file_format
    if path.is_dir():
        return "folder"
    with opening(path), Source(path, encoding=reading.encoding) as source:
        return find_format(source, reading.label)


def _tables(path: Path, rows: int, how: dict[str, Any]) -> Iterator[Table]:
    with opening(path):
        yield from read_batches(path, rows=rows, **how)


def _check_labels(table: Table, classes: "NDArray[Any]", path: Path) -> None:
    """All labels have to be among those of --classes."""
    assert table.y is not None
    known = set(classes.tolist())
    labels = table.y.tolist()
    if not known.issuperset(labels):
        row = next(row for row, label in enumerate(labels) if label not in known)
        raise DataError(
            f"the label {table.y[row]} is not among those of --classes",
            path=str(path) if table.files is None else str(path / table.files[row]),
            line=None if table.lines is None else int(table.lines[row]),
        )


def _first_steps(
    features: Features, table: Table, again: Iterator[Table] | None, path: Path
) -> list[tuple[str, Any]]:
    """What makes numbers of the rows: of a table, learnt from all rows where they can be read."""
    if not isinstance(table.X, Columns):
        return make_steps(features, table.X)
    if again is None:
        return _steps_of_pipe(features, table.X, path)
    steps = make_steps(features, table.X)
    with concerning(path):
        for part in again:
            steps[0][1].partial_fit(part.X)
    return steps


def _steps_of_pipe(features: Features, columns: Columns, path: Path) -> list[tuple[str, Any]]:
    """As far as they can be known from the first batch."""
    words = [name for name, kind in columns.kinds.items() if kind == "category"]
    if words:
        raise DataError(
            f"the values of column {words[0]!r} are known only when all rows are, and a pipe is "
            "read but once: name a file, or hash them with "
            f"{column_option(words[0], 'text:hashing')}",
            path=str(path),
        )
    steps = make_steps(replace(features, scale="none"), columns)
    encoder = steps[0][1].partial_fit(columns)
    encoder.highs_ = encoder.lows_  # the range of all rows is not known
    return steps


@contextmanager
def _progress(passes: int, quiet: bool) -> Iterator[Callable[[int, int], None] | None]:
    """What to call with the pass and the rows seen in it."""
    if quiet:
        yield None
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=err()) as progress:
        task = progress.add_task("reading", total=None)

        def show(number: int, seen: int) -> None:
            name = "certificate" if number == passes else f"pass {number + 1}/{passes}"
            progress.update(task, description=f"{name}  {counted(seen, 'row')}")

        yield show
