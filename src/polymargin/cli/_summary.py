"""What `train` says of the model it has made."""

from pathlib import Path
from typing import Any

from polymargin.cli._recipe import SVM


def summarise(svm: SVM, path: Path, shape: tuple[int, int], seconds: float) -> dict[str, Any]:
    """All figures."""
    return {
        "model": str(path),
        "machine": svm.machine,
        "C": svm.C,
        **({"kernel": svm.kernel, "gamma": svm.gamma_} if hasattr(svm, "support_") else {}),
        "n": shape[0],
        "d": shape[1],
        "k": len(svm.classes_),
        **({"n_support": len(svm.support_)} if hasattr(svm, "support_") else {}),
        "gap": svm.dual_gap_,
        "primal_objective": svm.primal_objective_,
        "dual_objective": svm.dual_objective_,
        "converged": bool(svm.converged_),
        "passes": svm.n_iter_,
        "seconds": seconds,
        "bytes": path.stat().st_size,
    }


def for_people(summary: dict[str, Any]) -> dict[str, str]:
    """The most important ones in words."""
    primal, dual = summary["primal_objective"], summary["dual_objective"]
    return {
        "machine": f"{summary['machine']}, C = {summary['C']:g}"
        + (f", {summary['kernel']} kernel" if "kernel" in summary else ""),
        "optimum": f"between {dual:.6g} and {primal:.6g}, gap {summary['gap']:.2e}",
        "converged": "yes" if summary["converged"] else "no",
        "passes": f"{summary['passes']:,} in {summary['seconds']:.2f} s",
        "file": f"{summary['bytes']:,} bytes",
    }
