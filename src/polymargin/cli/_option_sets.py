"""Options that several commands share, by what they concern: a field an option."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from polymargin.cli import _options as o
from polymargin.cli._parsing import parse_kinds, parse_ngrams

_STREAMS = "Files larger than memory"
_PROCESSES = "Several processes"


@dataclass(frozen=True)
class Reading:
    """How a file of labelled rows is read."""

    file_format: o.FormatOption = None
    label: o.LabelOption = None
    labels: o.LabelsOption = None
    label_kind: o.LabelKindOption = None
    header: o.HeaderOption = None
    delimiter: o.DelimiterOption = None
    encoding: o.EncodingOption = "utf-8"
    column: o.ColumnOption = None
    n_features: o.NFeaturesOption = None
    zero_based: o.ZeroBasedOption = None
    jobs: o.JobsOption = 1

    def __post_init__(self) -> None:
        parse_kinds(self.column)

    @property
    def kinds(self) -> dict[str, str]:
        """What the user says that columns hold."""
        return parse_kinds(self.column)

    @property
    def options(self) -> dict[str, Any]:
        """What `readers.read` takes."""
        return {
            "format": self.file_format,
            "label": self.label,
            "labels_path": self.labels,
            "label_kind": self.label_kind,
            "header": "auto" if self.header is None else self.header,
            "delimiter": self.delimiter,
            "encoding": self.encoding,
            "kinds": self.kinds or None,
            "n_features": self.n_features,
            "zero_based": "auto" if self.zero_based is None else self.zero_based,
            "n_jobs": self.jobs,
        }


@dataclass(frozen=True)
class Features:
    """How rows become numbers."""

    scale: o.ScaleOption = "auto"
    precision: o.PrecisionOption = "float64"
    missing: o.MissingOption = "error"
    text_features: o.TextOption = "tfidf"
    analyzer: o.AnalyzerOption = "word"
    ngrams: o.NgramsOption = "1"
    hash_bits: o.HashBitsOption = 18

    def __post_init__(self) -> None:
        parse_ngrams(self.ngrams)


@dataclass(frozen=True)
class FitOptions:
    """How a machine is fitted, linear or not."""

    intercept: o.InterceptOption = None
    balanced: o.ClassWeightOption = False
    tol: o.TolOption = 1e-3
    max_iter: o.MaxIterOption = None
    block_solver: o.BlockSolverOption = "auto"
    seed: o.SeedOption = 0

    @property
    def parameters(self) -> dict[str, Any]:
        """Of an estimator; those that are None are left to its defaults."""
        chosen = {
            "fit_intercept": self.intercept,
            "class_weight": "balanced" if self.balanced else None,
            "tol": self.tol,
            "max_iter": self.max_iter,
            "block_solver": self.block_solver,
            "random_state": self.seed,
        }
        return {name: value for name, value in chosen.items() if value is not None}


@dataclass(frozen=True)
class KernelOptions:
    """The kernel, if any, and what solves machines of either kind."""

    kernel: o.KernelOption = None
    gamma: o.GammaOption = "scale"
    degree: o.DegreeOption = 3
    coef0: o.Coef0Option = 0.0
    cache_size: o.CacheOption = 1024
    solver: o.SolverOption = "auto"


@dataclass(frozen=True)
class Streaming:
    """Whether and how a file is read as a stream."""

    stream: Annotated[
        bool,
        typer.Option(
            "--stream", help="Keep no more than a buffer in memory.", rich_help_panel=_STREAMS
        ),
    ] = False
    passes: Annotated[
        int, typer.Option(min=1, help="Times DATA is read.", rich_help_panel=_STREAMS)
    ] = 1
    batch: Annotated[
        int, typer.Option(min=1, metavar="ROWS", help="The buffer.", rich_help_panel=_STREAMS)
    ] = 8192
    classes: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,...",
            help="All labels, or a file with one a line. Without it DATA is read once more first.",
            rich_help_panel=_STREAMS,
        ),
    ] = None
    shuffle_size: Annotated[
        float,
        typer.Option(
            metavar="MIB",
            min=0.0,
            help="Rows to shuffle in on the way, after --seed; 0 keeps the order of DATA.",
            rich_help_panel=_STREAMS,
        ),
    ] = 64.0
    scratch: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="For the dual variables between passes.",
            rich_help_panel=_STREAMS,
        ),
    ] = None


@dataclass(frozen=True)
class Processes:
    """Whether and how several processes train a model."""

    distributed: Annotated[
        bool,
        typer.Option(
            "--distributed",
            help="Train by all processes of an MPI job: mpiexec -n 4 polymargin train ...",
            rich_help_panel=_PROCESSES,
        ),
    ] = False
    gather: Annotated[
        bool,
        typer.Option(
            help="Whether the model becomes one file. If not, each process keeps the weights of "
            "some classes and writes them to a file beside it.",
            rich_help_panel=_PROCESSES,
        ),
    ] = True
    shares: Annotated[
        bool,
        typer.Option(
            "--shares",
            help="Each process reads its own lines of DATA, svmlight text, and keeps them.",
            rich_help_panel=_PROCESSES,
        ),
    ] = False
