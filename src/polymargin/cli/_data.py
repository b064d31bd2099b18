"""Files in and out, the same way in all commands."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from polymargin._atomic import replacing
from polymargin.cli._console import warn
from polymargin.cli._exit import OutputError, writing
from polymargin.errors import DataError
from polymargin.files import ModelInfo
from polymargin.preprocessing import ColumnEncoder
from polymargin.readers import Table, read, read_batches


@dataclass(frozen=True)
class Reading:
    """How a file of labelled rows is read."""

    format: str | None = None
    label: str | None = None
    delimiter: str | None = None
    n_features: int | None = None
    zero_based: bool | None = None
    jobs: int = 1

    @property
    def options(self) -> dict[str, Any]:
        """What `readers.read` takes."""
        return {
            "format": self.format,
            "label": self.label,
            "delimiter": self.delimiter,
            "n_features": self.n_features,
            "zero_based": "auto" if self.zero_based is None else self.zero_based,
            "n_jobs": self.jobs,
        }

    def read(self, path: Path) -> Table:
        """All rows, which need labels."""
        return labelled(read(path, **self.options), path)


def labelled(table: Table, path: Path) -> Table:
    """The table itself; DataError where it has no labels."""
    if table.y is None:
        raise DataError("there are no labels; name their column with --label", path=str(path))
    return table


def alike(model: Any, info: ModelInfo, steps: list[tuple[str, Any]]) -> dict[str, Any]:
    """Options that read another file as the training file of a model was read."""
    options: dict[str, Any] = dict(info.reading or {})
    if steps and isinstance(steps[0][1], ColumnEncoder):
        options["kinds"] = steps[0][1].kinds
    elif not steps or not hasattr(steps[0][1], "analyzer"):
        options["n_features"] = (steps[0][1] if steps else model).n_features_in_
    return options


def read_alike(path: Path, options: dict[str, Any], jobs: int) -> Table:
    """All labelled rows of a file like the training file."""
    table = labelled(read(path, **options, extra="ignore", n_jobs=jobs), path)
    tell_ignored(table.ignored_entries, options)
    return table


def batches_alike(
    path: Path, options: dict[str, Any], jobs: int, has_labels: bool
) -> Iterator[Table]:
    """The rows of a file like the training file, some at a time."""
    ignored = 0
    for table in read_batches(path, **options, extra="ignore", has_labels=has_labels, n_jobs=jobs):
        ignored += table.ignored_entries
        yield table
    tell_ignored(ignored, options)


def tell_ignored(n_ignored: int, options: dict[str, Any]) -> None:
    """Values of features that the model has never seen are not dropped in silence."""
    if n_ignored:
        warn(
            f"{n_ignored:,} value(s) belong to features beyond the {options['n_features']:,} of "
            "the model and were ignored"
        )


def check_target(path: Path | None) -> None:
    """Refuse an output file that cannot be, before any work is done for it."""
    if path is None or str(path) == "-":
        return
    if path.is_dir():
        raise OutputError(f"cannot write {path}: it is a directory")
    if not path.resolve().parent.is_dir():
        raise OutputError(f"cannot write {path}: there is no directory {path.resolve().parent}")


@contextmanager
def text_output(path: Path | None) -> Iterator[IO[str]]:
    """A text file that is complete or absent; standard output where there is none."""
    import sys

    if path is None or str(path) == "-":
        yield sys.stdout
        sys.stdout.flush()
        return
    with writing(path), replacing(path, "w", encoding="utf-8") as file:
        yield file
