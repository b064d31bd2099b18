"""All-in-one multi-class support vector machines, fast, exact and certified.

What is here is imported when it is asked for. Types are in the stub beside this file.
"""

from importlib import import_module

_HOMES = {
    "S2DO": "solvers",
    "Bisection": "block_solvers",
    "BlockDescent": "solvers",
    "Blocks": "solvers",
    "Checkpoint": "storage",
    "CrammerSinger": "solvers",
    "DataError": "errors",
    "FixedPoint": "block_solvers",
    "FrankWolfe": "block_solvers",
    "Greedy": "block_solvers",
    "GreedyPairs": "block_solvers",
    "KernelSVM": "estimators",
    "Leagues": "solvers",
    "LinearSVM": "estimators",
    "LocalDescent": "solvers",
    "MeanWeights": "solvers",
    "ModelFileError": "errors",
    "Newton": "block_solvers",
    "Pivot": "block_solvers",
    "RegularizationPath": "estimators",
    "SecondOrder": "solvers",
    "Sort": "block_solvers",
    "Walrus": "block_solvers",
    "load": "files",
    "path": "estimators",
    "read_info": "files",
    "resume": "files",
    "save": "files",
    "show_versions": "_versions",
}
_MODULES = (
    "block_solvers",
    "calibration",
    "core",
    "datasets",
    "distributed",
    "errors",
    "estimators",
    "files",
    "fit",
    "inspect",
    "kernel",
    "metrics",
    "model_selection",
    "preprocessing",
    "readers",
    "second_order",
    "solvers",
    "storage",
    "streams",
)

__all__ = list(_HOMES)


def __getattr__(name: str) -> object:
    if name == "__version__":
        value = import_module("polymargin._versions").own_version()
    elif name in _HOMES:
        value = getattr(import_module(f"polymargin.{_HOMES[name]}"), name)
    elif name in _MODULES:
        return import_module(f"polymargin.{name}")
    else:
        raise AttributeError(f"module 'polymargin' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES, *_MODULES, "__version__"})
