"""The data sets that the files are made of.

The package is imported where it is needed: what is done by hand has to do without.
"""

import os
from pathlib import Path
from typing import Any

__all__ = ["numbers", "texts"]

_REPOSITORY = Path(__file__).resolve().parents[2]


def numbers(name: str, n_features: int) -> tuple[Any, Any]:
    """Rows and labels of ``NAME.svm.xz``."""
    from polymargin.readers import read

    table = read(_find(f"{name}.svm.xz"), n_features=n_features, zero_based=False)
    return table.X, table.y


def texts(name: str) -> tuple[list[str], list[str]]:
    """Texts and labels of ``NAME.tsv.xz``."""
    from polymargin.readers import read

    table = read(_find(f"{name}.tsv.xz"), format="text", label_kind="string")
    assert table.y is not None
    return table.X, table.y.tolist()


def _find(name: str) -> Path:
    import polymargin

    bundled = Path(polymargin.__file__).parent / "data"
    folder = _REPOSITORY / os.environ.get("POLYMARGIN_DATA", "../shared/data")
    for path in (bundled / name, folder / name):
        if path.exists():
            return path
    raise FileNotFoundError(f"{name} is not in {folder}; set POLYMARGIN_DATA to its folder")
