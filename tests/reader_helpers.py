"""What the tests of the readers share."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from polymargin.readers import read, scan

TableWriter = Callable[..., Path]


def table_writer(folder: Path) -> TableWriter:
    """Writes columns of cells, and labels, as a file."""

    def write(delimiter: str = ",", file: str = "table.csv", **columns: list[str]) -> Path:
        n = len(next(iter(columns.values())))
        columns["label"] = [str(i % 2) for i in range(n)]
        lines = [delimiter.join(columns)]
        lines += [
            delimiter.join(f'"{cell}"' if delimiter in cell else cell for cell in row)
            for row in zip(*columns.values(), strict=True)
        ]
        path = folder / file
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path

    return write


def kinds_of(path: Path, **options: Any) -> dict[str, str]:
    """Those of `read`, which have to be those of `scan`."""
    found: dict[str, str] = read(path, **options).reading["kinds"]
    assert scan(path, **options).reading["kinds"] == found
    return found


def place(caught: Any) -> tuple[int | None, int | None]:
    """Line and column of a refused cell."""
    return caught.value.line, caught.value.column
