"""What `train` does with a model, whatever made it: it is written, summed up and judged."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from polymargin.cli._codes import Exit
from polymargin.cli._exit import interrupted
from polymargin.cli._output.files import writing
from polymargin.cli._output.terminal import number_or_word, show_figures, show_json, warn
from polymargin.cli._recipe import SVM, assemble, make_compact
from polymargin.files import read_info, save


@dataclass(frozen=True)
class Trained:
    """A fitted machine, and how it came about."""

    svm: SVM
    steps: list[tuple[str, Any]]
    n_rows: int
    seconds: float
    was_interrupted: bool
    reading: dict[str, Any]
    data_hash: str | None = None
    is_stream: bool = False


def is_interrupted(svm: SVM, fit: Callable[[], Any]) -> bool:
    """Whether an interrupt ended this fit, with something reached."""
    try:
        fit()
    except KeyboardInterrupt:
        if not hasattr(svm, "classes_"):
            raise
        return True
    return False


def write_model(trained: Trained, path: Path, *, duals: bool | None) -> None:
    """To a file, or to several where this process has a part of it."""
    make_compact(trained.svm)
    with writing(path):
        save(
            assemble(trained.steps, trained.svm),
            path,
            duals="auto" if duals is None else duals,
            data_hash=trained.data_hash,
            reading=trained.reading,
        )


def sum_up(trained: Trained, path: Path, *, as_json: bool, quiet: bool) -> None:
    """Say what was written."""
    summary = _summarise(trained, path)
    if as_json:
        show_json(summary)
    elif not quiet:
        in_words = _stream_in_words if trained.is_stream else _in_words
        show_figures(str(path), in_words(summary))
    if trained.was_interrupted:
        warn(f"interrupted: {path} holds what was reached")


def leave(trained: Trained) -> None:
    """With the code for what was reached."""
    if trained.was_interrupted:
        raise typer.Exit(interrupted())
    if not (trained.is_stream or trained.svm.converged_):
        raise typer.Exit(Exit.NOT_CONVERGED)


def _summarise(trained: Trained, path: Path) -> dict[str, Any]:
    """All figures; those of a certificate are None where there is none."""
    svm = trained.svm
    has_kernel = hasattr(svm, "support_")
    return {
        "model": str(path),
        "machine": svm.machine,
        "C": number_or_word(svm.C),
        **({"kernel": svm.kernel, "gamma": svm.gamma_} if has_kernel else {}),
        "n": trained.n_rows,
        "d": svm.n_features_in_,
        "k": len(svm.classes_),
        **({"n_support": len(svm.support_)} if has_kernel else {}),
        "gap": getattr(svm, "dual_gap_", None),
        "primal_objective": getattr(svm, "primal_objective_", None),
        "dual_objective": getattr(svm, "dual_objective_", None),
        "converged": getattr(svm, "converged_", None),
        **({} if svm.calibration is None else {"calibration": _calibration(svm)}),
        "passes": getattr(svm, "n_iter_", 1),
        "seconds": trained.seconds,
        "bytes": sum(file.stat().st_size for file in _files_of(svm, path)),
    }


def _files_of(svm: SVM, path: Path) -> list[Path]:
    """Those of the model at `path`, in shards if this process has a part of it."""
    shards = read_info(path).shards if svm._is_part else ()
    return [path, *map(path.with_name, shards)]


def _calibration(svm: SVM) -> str | None:
    """None where an interrupt came first."""
    return svm.calibration if hasattr(svm, "calibrator_") else None


def _in_words(summary: dict[str, Any]) -> dict[str, str]:
    """The most important figures."""
    primal, dual = summary["primal_objective"], summary["dual_objective"]
    return {
        "machine": f"{summary['machine']}, C = {float(summary['C']):g}"
        + (f", {summary['kernel']} kernel" if "kernel" in summary else ""),
        "optimum": f"between {dual:.6g} and {primal:.6g}, gap {summary['gap']:.2e}",
        "converged": "yes" if summary["converged"] else "no",
        **({"probabilities": summary["calibration"] or "none"} if "calibration" in summary else {}),
        "passes": f"{summary['passes']:,} in {summary['seconds']:.2f} s",
        "file": f"{summary['bytes']:,} bytes",
    }


def _stream_in_words(summary: dict[str, Any]) -> dict[str, str]:
    """The same of a stream, which ends after its passes, whatever it has reached."""
    passes, gap = summary["passes"], summary["gap"]
    unknown = (
        "a single pass keeps no dual variables to tell it"
        if passes == 1
        else "not computed: that is what comes after the passes"
    )
    return {
        "machine": f"{summary['machine']}, C = {float(summary['C']):g}",
        "rows": f"{summary['n']:,}, read {'once' if passes == 1 else f'{passes} times'}",
        "gap": unknown if gap is None else f"{gap:.2e}",
        "seconds": f"{summary['seconds']:.1f}",
        "file": f"{summary['bytes']:,} bytes",
    }
