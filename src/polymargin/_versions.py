"""Versions of everything that matters in a bug report."""

import platform
from importlib import metadata

_DEPENDENCIES = (
    "numpy",
    "scipy",
    "scikit-learn",
    "joblib",
    "rich",
    "typer",
    "zstandard",
    "matplotlib",
    "mpi4py",
    "onnx",
    "openmpi",
    "pandas",
    "polars",
    "pyarrow",
)


def version_of(package: str) -> str | None:
    """The installed version of `package`, None where it is absent."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def own_version() -> str:
    """The version of polymargin; "0+unknown" where it is used without being installed."""
    return version_of("polymargin") or "0+unknown"


def versions() -> dict[str, str]:
    """Versions of polymargin, Python and the dependencies, and the SIMD levels."""
    from polymargin import core

    found = {
        "polymargin": version_of("polymargin") or "not installed",
        "python": platform.python_version(),
        "platform": platform.platform(),
        "simd in use": core.simd_level(),
        "simd usable": ", ".join(core.usable_levels()),
    }
    return found | {name: version_of(name) or "not installed" for name in _DEPENDENCIES}


def show_versions() -> None:
    """Print the versions of polymargin, Python and the dependencies, and the SIMD levels.

    Examples
    --------
    >>> import polymargin
    >>> polymargin.show_versions()  # doctest: +ELLIPSIS
    polymargin...
    """
    lines = versions()
    width = max(map(len, lines))
    for name, value in lines.items():
        print(f"{name:<{width}}  {value}")
