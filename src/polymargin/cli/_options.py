"""Options that several commands share."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from polymargin.cli._parsing import check_C, check_finite, check_positive

_MODEL, _DATA, _FEATURES = "The model", "The data", "Features"


Scale = Literal["auto", "none", "minmax", "standard", "maxabs", "tfidf"]
Precision = Literal["float64", "float32"]
StoredPrecision = Literal["float16"]
LabelKind = Literal["integer", "number", "string"]
Format = Literal[
    "svmlight", "csv", "tsv", "text", "npz", "parquet", "arrow", "jsonl", "idx", "folder"
]
TextFeatures = Literal["hashing", "tfidf"]
Analyzer = Literal["word", "char", "char_wb"]
Stopping = Literal["gap", "kkt"]
Calibration = Literal["sigmoid", "isotonic", "temperature"]
TableFormat = Literal["tsv", "csv", "json"]
Missing = Literal["error", "mean"]
RankingName = Literal["tau", "margin", "held-out"]
Target = Literal["safetensors", "liblinear", "onnx", "svmlight", "npz", "text"]


def _complete_machine(incomplete: str) -> list[str]:
    from polymargin._machines import machine_names

    return [name for name in machine_names() if name.startswith(incomplete)]


def _complete_kernel(incomplete: str) -> list[str]:
    from polymargin.kernel import NAMED_KERNELS

    return [name for name in NAMED_KERNELS if name.startswith(incomplete)]


def _check_kernel(kernel: str | None) -> str | None:
    if kernel is None:
        return None
    from polymargin.kernel import NAMED_KERNELS

    if kernel not in NAMED_KERNELS:
        raise typer.BadParameter(f"{kernel!r} is not one of {', '.join(NAMED_KERNELS)}")
    return kernel


def _check_jobs(jobs: int) -> int:
    if jobs == 0:
        raise typer.BadParameter("0 threads do nothing; -1 is all cores")
    return jobs


# Files

DataFile = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        help="Rows with labels, or a folder with a folder of texts for each class; - is standard "
        "input.",
    ),
]
ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="A model file (.safetensors).")]
FormatOption = Annotated[
    Format | None,
    typer.Option("--format", help="By default told from name and content.", rich_help_panel=_DATA),
]
LabelOption = Annotated[
    str | None,
    typer.Option(
        "--label",
        metavar="NAME",
        help="Column of the labels, by name or number from 1 (CSV, TSV, Parquet, Arrow, JSON).",
        rich_help_panel=_DATA,
    ),
]
LabelsOption = Annotated[
    Path | None,
    typer.Option(
        "--labels",
        metavar="FILE",
        help="Labels in a file of their own: one a line, .npy or idx. By default those of idx "
        "images are found beside them.",
        rich_help_panel=_DATA,
    ),
]
LabelKindOption = Annotated[
    LabelKind | None,
    typer.Option(
        "--label-kind",
        help="What labels are: whole numbers, numbers or words. By default the first that fits.",
        rich_help_panel=_DATA,
    ),
]
HeaderOption = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        help="Whether the first line of CSV names the columns. By default it has to look like it.",
        rich_help_panel=_DATA,
    ),
]
DelimiterOption = Annotated[
    str | None,
    typer.Option("--delimiter", metavar="CHAR", help="Of CSV.", rich_help_panel=_DATA),
]
EncodingOption = Annotated[
    str,
    typer.Option(
        "--encoding",
        metavar="NAME",
        help="Of text files, such as windows-1252; a byte order mark counts more.",
        rich_help_panel=_DATA,
    ),
]
ColumnOption = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        metavar="NAME=KIND",
        help="What a column of a table holds: number, category, text, date, time or drop, which "
        "leaves it out; also number:comma, date:dmy, date:mdy, text:hashing. By default told from "
        "its cells. May be repeated.",
        rich_help_panel=_DATA,
    ),
]
NFeaturesOption = Annotated[
    int | None,
    typer.Option(
        "--n-features",
        min=1,
        max=2**31 - 1,
        metavar="N",
        help="Columns of svmlight data, where the last ones may be empty.",
        rich_help_panel=_DATA,
    ),
]
ZeroBasedOption = Annotated[
    bool | None,
    typer.Option(
        "--zero-based/--one-based",
        help="First index of svmlight data. By default 0 where it occurs, else 1.",
        rich_help_panel=_DATA,
    ),
]
JobsOption = Annotated[
    int,
    typer.Option(
        "--jobs",
        "-j",
        metavar="N",
        help="Threads, where they help; -1 is all cores.",
        callback=_check_jobs,
    ),
]

# Model

MachineOption = Annotated[
    str,
    typer.Option(
        "--machine",
        "-m",
        help="ww, cs, llw, adm, ats, atm, mmr, rm or ovr.",
        autocompletion=_complete_machine,
        rich_help_panel=_MODEL,
    ),
]
COption = Annotated[
    float,
    typer.Option(
        "-C",
        "--C",
        help="Weight of the loss; inf lets no row violate its margins.",
        callback=check_C,
        rich_help_panel=_MODEL,
    ),
]
KernelOption = Annotated[
    str | None,
    typer.Option(
        "--kernel",
        "-k",
        help="linear, rbf, poly, normalized-poly, sigmoid or laplacian. Without one the machine "
        "is linear.",
        autocompletion=_complete_kernel,
        callback=_check_kernel,
        rich_help_panel=_MODEL,
    ),
]
GammaOption = Annotated[
    str,
    typer.Option("--gamma", "-g", help="A number, scale or auto.", rich_help_panel=_MODEL),
]
DegreeOption = Annotated[
    int,
    typer.Option(
        "--degree", min=0, max=2**31 - 1, help="Of polynomial kernels.", rich_help_panel=_MODEL
    ),
]
Coef0Option = Annotated[
    float,
    typer.Option(
        "--coef0", help="Of poly and sigmoid.", callback=check_finite, rich_help_panel=_MODEL
    ),
]
InterceptOption = Annotated[
    bool | None,
    typer.Option(
        "--intercept/--no-intercept",
        help="By default linear machines have one.",
        rich_help_panel=_MODEL,
    ),
]
ClassWeightOption = Annotated[
    bool,
    typer.Option(
        "--balanced", help="Weigh classes inversely to their size.", rich_help_panel=_MODEL
    ),
]
TolOption = Annotated[
    float,
    typer.Option(
        "--tol",
        min=0.0,
        help="Relative duality gap to reach.",
        callback=check_finite,
        rich_help_panel=_MODEL,
    ),
]
MaxIterOption = Annotated[
    int | None,
    typer.Option(
        "--max-iter", min=1, max=2**62 - 1, help="Bound on the passes.", rich_help_panel=_MODEL
    ),
]
StoppingOption = Annotated[
    Stopping,
    typer.Option("--stopping", help="What --tol bounds.", rich_help_panel=_MODEL),
]
CalibrationOption = Annotated[
    Calibration | None,
    typer.Option(
        "--calibration",
        help="Learn to give probabilities, from five more fits.",
        rich_help_panel=_MODEL,
    ),
]
SolverOption = Annotated[
    str, typer.Option("--solver", help="The outer loop.", rich_help_panel=_MODEL)
]
BlockSolverOption = Annotated[
    str, typer.Option("--block-solver", help="Of one example.", rich_help_panel=_MODEL)
]
CacheOption = Annotated[
    float,
    typer.Option(
        "--cache-size",
        metavar="MB",
        help="Memory for kernel rows.",
        callback=check_positive,
        rich_help_panel=_MODEL,
    ),
]
SeedOption = Annotated[
    int,
    typer.Option(
        "--seed", min=0, max=2**32 - 1, help="Of everything random.", rich_help_panel=_MODEL
    ),
]

# Features

ScaleOption = Annotated[
    Scale,
    typer.Option(
        "--scale",
        help="Of numbers: learnt on DATA, stored in the model. auto is standard for tables, maxabs "
        "for idx images, else none; tfidf weighs counts of words.",
        rich_help_panel=_FEATURES,
    ),
]
PrecisionOption = Annotated[
    Precision,
    typer.Option("--precision", help="Of all numbers.", rich_help_panel=_FEATURES),
]
MissingOption = Annotated[
    Missing,
    typer.Option(
        "--missing", help="Numbers that a table lacks: refuse, or mean.", rich_help_panel=_FEATURES
    ),
]
TextOption = Annotated[
    TextFeatures,
    typer.Option(
        "--text-features",
        help="Of label<TAB>text lines and of columns of text.",
        rich_help_panel=_FEATURES,
    ),
]
AnalyzerOption = Annotated[
    Analyzer,
    typer.Option(
        "--analyzer",
        help="Features are words, characters, or characters inside words.",
        rich_help_panel=_FEATURES,
    ),
]
NgramsOption = Annotated[
    str,
    typer.Option(
        "--ngrams", metavar="LOW-HIGH", help="Length of n-grams.", rich_help_panel=_FEATURES
    ),
]
HashBitsOption = Annotated[
    int,
    typer.Option(
        "--hash-bits",
        min=1,
        max=30,
        metavar="B",
        help="Hashing makes 2^B features.",
        rich_help_panel=_FEATURES,
    ),
]

# Output

JsonOption = Annotated[bool, typer.Option("--json", help="Print a JSON object.")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Print warnings and errors only.")]
