"""Files that are read as the training file of a model was."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polymargin._wording import counted, listed_names
from polymargin.cli._data import labelled, opening
from polymargin.cli._output.terminal import warn
from polymargin.cli._ranges import RangeWatch
from polymargin.errors import DataError
from polymargin.files import ModelInfo
from polymargin.preprocessing import ColumnEncoder
from polymargin.readers import Columns, Table, format_by_name, read, read_batches

# Files of a family say the same in other words.
_FAMILIES = (
    ("csv", "tsv", "parquet", "arrow", "jsonl"),
    ("svmlight", "npz", "idx"),
    ("text", "folder"),
)
_SHOWN = 8  # names of columns
_FOUND = (",", ";", "\t")  # delimiters that are told from the file itself
_OF_ALL_FORMATS = ("kinds", "label", "label_kind", "n_features")


@dataclass(frozen=True)
class TrainingFormat:
    """How the training file was read, and so are others.

    `options` are those of the training file; `file_format` is what the user named, if anything.
    `encoding` is that of the files to read, whatever that of the training file was. `of_model`
    tells that a model knows them, and that the training file was not just read; `encoder` is what
    it makes features of columns with.
    """

    options: dict[str, Any]
    file_format: str | None = None
    encoding: str = "utf-8"
    of_model: bool = True
    encoder: ColumnEncoder | None = None

    def read(self, path: Path, jobs: int = 1, labels: Path | None = None) -> Table:
        """All rows, which need labels."""
        with opening(path):
            options = self._options(path) | {"n_jobs": jobs, "labels_path": labels}
            table = labelled(read(path, **options), path)
        self._tell_ignored(table.ignored_entries, table.ignored_columns)
        if self.encoder is not None:
            watch = RangeWatch(self.encoder)
            watch.add(table.X)
            watch.tell()
        return table

    def batches(self, path: Path, jobs: int, **more: Any) -> Iterator[Table]:
        """The rows, some at a time."""
        ignored = 0
        columns: tuple[str, ...] = ()
        watch = None if self.encoder is None else RangeWatch(self.encoder)
        with opening(path):
            for table in read_batches(path, **self._options(path) | {"n_jobs": jobs} | more):
                ignored += table.ignored_entries
                columns = table.ignored_columns
                if watch is not None:
                    watch.add(table.X)
                yield table
        self._tell_ignored(ignored, columns)
        if watch is not None:
            watch.tell()

    def _options(self, path: Path) -> dict[str, Any]:
        return {**self._in_format(path), "extra": "ignore", "encoding": self.encoding}

    def _in_format(self, path: Path) -> dict[str, Any]:
        """The options for the format of this file, by its name where the user has named none."""
        trained = self.options.get("format")
        own = "folder" if path.is_dir() else format_by_name(str(path)) or trained
        own = self.file_format or (None if trained is None else own)
        if own == "tsv" and trained in ("text", "folder"):
            own = "text"
        if own == trained:
            found_again = own == "csv" and self.options.get("delimiter") in _FOUND
            return {k: v for k, v in self.options.items() if not found_again or k != "delimiter"}
        if self.file_format is None and not any({trained, own} <= {*f} for f in _FAMILIES):
            what = (
                "it is a folder of texts" if own == "folder" else f"by its name it is a {own} file"
            )
            way_out = (
                f"the model was trained on {trained}; --format reads a file as something else"
                if self.of_model
                else f"the rows to train on are {trained}; convert one of the two files"
            )
            raise DataError(f"{what}, but {way_out}", path=str(path))
        kept = {name: self.options[name] for name in _OF_ALL_FORMATS if name in self.options}
        return kept | {"format": own}

    def _tell_ignored(self, n_ignored: int, columns: tuple[str, ...]) -> None:
        """Values of features that the model has never seen are not dropped in silence."""
        if columns:
            names = listed_names(columns, _SHOWN)
            warn(f"the model knows nothing of these columns, which were ignored: {names}")
        if n_ignored:
            warn(
                f"ignored {counted(n_ignored, 'value')} of features beyond the "
                f"{self.options['n_features']:,} of the model"
            )


def format_of_table(table: Table) -> TrainingFormat:
    """That of a file that was just read."""
    options = dict(table.reading)
    if not isinstance(table.X, Columns | list):
        options["n_features"] = table.X.shape[1]
    encoding = options.get("encoding", "utf-8")
    return TrainingFormat(options, encoding=encoding, of_model=False)


def format_of_model(
    model: Any,
    info: ModelInfo,
    steps: list[tuple[str, Any]],
    file_format: str | None,
    encoding: str,
) -> TrainingFormat:
    """That of the training file of a model."""
    options: dict[str, Any] = dict(info.reading or {})
    encoder = steps[0][1] if steps and isinstance(steps[0][1], ColumnEncoder) else None
    if encoder is not None:
        told = options.get("kinds", {})
        kinds = {name: told.get(name, kind) for name, kind in encoder.kinds.items()}
        left_out = {name: "drop" for name, kind in told.items() if kind == "drop"}
        options["kinds"] = left_out | kinds
    elif not steps or not hasattr(steps[0][1], "analyzer"):
        options["n_features"] = (steps[0][1] if steps else model).n_features_in_
    return TrainingFormat(options, file_format, encoding, encoder=encoder)
