"""``polymargin info``."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polymargin._versions import versions
from polymargin._wording import counted
from polymargin.cli import _options as o
from polymargin.cli._output.terminal import number_or_word, show_figures, show_json

if TYPE_CHECKING:
    from polymargin.files import ModelInfo, StoredFit

EXAMPLES = """
[bold]Examples[/]

  polymargin info letter.safetensors

  polymargin info                      [dim]# versions, for a bug report[/]
"""

_SHOWN = 12  # labels


def info(
    model: Annotated[
        Path | None, typer.Argument(metavar="[MODEL]", help="A model file or a checkpoint.")
    ] = None,
    json: o.JsonOption = False,
) -> None:
    """Show what a model file says of itself; without one, the versions in use."""
    if model is None:
        show_json(versions()) if json else show_figures("", versions())
        return
    from polymargin.cli._model_kind import opening_model
    from polymargin.files import StoredFit, describe

    with opening_model(model):
        described = describe(model)
    if isinstance(described, StoredFit):
        if json:
            show_json(_fields_of_checkpoint(described) | {"file": str(model)})
        else:
            show_figures(str(model), _facts_of_checkpoint(described))
        return
    if json:
        show_json(_fields(described) | {"file": str(model)})
    else:
        show_figures(str(model), _facts(described))


def _fields(described: "ModelInfo") -> dict[str, Any]:
    """All but the history."""
    fields = {name: value for name, value in vars(described).items() if name != "history"}
    fields["parameters"] = _written(described.parameters)
    return fields


def _written(parameters: dict[str, Any]) -> dict[str, Any]:
    return {name: _written_value(value) for name, value in parameters.items()}


def _written_value(value: Any) -> Any:
    if isinstance(value, float):
        return number_or_word(value)
    return value if isinstance(value, str | int | None) else repr(value)


def _fields_of_checkpoint(checkpoint: "StoredFit") -> dict[str, Any]:
    """All but the history, of which the last record counts, and the dual variables."""
    last = checkpoint.history[-1] if len(checkpoint.history) else None
    return {
        "kind": "checkpoint",
        "estimator": checkpoint.estimator,
        "machine": checkpoint.machine,
        "parameters": _written(checkpoint.parameters),
        "classes": checkpoint.classes,
        "n_examples": checkpoint.state.n_given,
        "n_features": checkpoint.state.n_features,
        "dtype": checkpoint.state.dtype.name,
        "seconds": checkpoint.seconds,
        "epochs": checkpoint.epochs,
        "primal_objective": None if last is None else float(last["primal"]),
        "dual_objective": None if last is None else float(last["dual"]),
        "gap": None if last is None else float(last["gap"]),
        "data_hash": checkpoint.data_hash,
    }


def _facts_of_checkpoint(checkpoint: "StoredFit") -> dict[str, Any]:
    parameters = checkpoint.parameters
    return {
        "checkpoint": f"of a {checkpoint.estimator}; train --resume goes on from it",
        "machine": f"{checkpoint.machine}, C = {parameters['C']:g}",
        **({"kernel": parameters["kernel"]} if "kernel" in parameters else {}),
        "classes": len(checkpoint.classes),
        "rows": checkpoint.state.n_given,
        "seconds": round(checkpoint.seconds, 1),
        "passes": round(checkpoint.epochs, 1),
        "gap": f"{checkpoint.history['gap'][-1]:.2e}" if len(checkpoint.history) else "unknown",
    }


def _brief(value: Any) -> str:
    """Kinds of columns are counted, not listed."""
    if not isinstance(value, dict):
        return str(value)
    kinds = Counter(value.values())
    return " and ".join(f"{count} × {kind}" for kind, count in kinds.items())


def _facts(described: "ModelInfo") -> dict[str, Any]:
    from polymargin._machines import find_machine

    parameters, certificate = described.parameters, described.certificate
    machine = find_machine(parameters["machine"])
    labels = [str(label) for label in described.classes[:_SHOWN]]
    if len(described.classes) > _SHOWN:
        labels.append("…")
    facts = {
        "machine": f"{machine.name}, {machine.title}, C = {parameters['C']:g}",
        "classes": f"{len(described.classes)}: {', '.join(labels)}",
        "features": f"{described.n_features:,}, {described.dtype}, {described.weights}",
    }
    is_rounded = described.weights_dtype != described.dtype
    if is_rounded:
        facts["weights"] = f"rounded to {described.weights_dtype}"
    if described.shards:
        facts["shards"] = (
            f"{counted(len(described.shards), 'file')} beside it, from {described.shards[0]} on"
        )
    if described.n_support is not None:
        facts["kernel"] = (
            f"{parameters['kernel']}, {counted(described.n_support, 'support vector')}"
        )
    if len(described.steps) > 1:
        facts["before it"] = ", ".join(name for _, name in described.steps[:-1])
    if described.n_examples is not None:
        facts["rows"] = f"{described.n_examples:,}" + (" seen" if described.is_stream else "")
    if described.calibrator is not None:
        facts["probabilities"] = ", ".join(
            value if key == "name" else f"{key} = {value:g}"
            for key, value in described.calibrator.items()
        )
    elif parameters.get("calibration") is not None:
        facts["probabilities"] = f"none: {parameters['calibration']} was not learnt to the end"
    else:
        facts["probabilities"] = "none"
    if certificate is None:
        facts["certificate"] = "none"
    else:
        facts["optimum"] = (
            f"between {certificate['dual_objective']:.6g} and "
            f"{certificate['primal_objective']:.6g}, gap {certificate['dual_gap']:.2e}"
            + (", before weights were rounded" if is_rounded else "")
        )
        facts["converged"] = "yes" if certificate["converged"] else "no"
    facts["dual variables"] = "stored" if described.has_duals else "not stored"
    facts["data"] = f"hash {described.data_hash[:16]}…" if described.data_hash else "no hash"
    facts["read as"] = ", ".join(
        f"{key}={_brief(value)}" for key, value in (described.reading or {}).items()
    )
    facts["written by"] = (
        f"polymargin {described.version}, format {'.'.join(map(str, described.format))}, "
        f"{described.n_bytes:,} bytes"
    )
    return facts
