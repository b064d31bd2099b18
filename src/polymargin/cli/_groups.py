"""Options that commands share, as dataclasses: a field an option."""

import functools
import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Let Typer see an option for each field of the parameters that are dataclasses."""
    groups: dict[str, Any] = {}
    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(command).parameters.values():
        if is_dataclass(parameter.annotation):
            groups[parameter.name] = parameter.annotation
            parameters += [
                parameter.replace(name=field.name, annotation=field.type, default=field.default)
                for field in fields(parameter.annotation)
            ]
        else:
            parameters.append(parameter)
    parameters = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in parameters]

    @functools.wraps(command)
    def run(**options: Any) -> None:
        for name, group in groups.items():
            values = {field.name: options.pop(field.name) for field in fields(group)}
            options[name] = group(**values)
        command(**options)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    return run
