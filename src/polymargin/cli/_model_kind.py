"""Which kind of model a file holds, told before it is read."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from polymargin.errors import ModelFileError

_LIBLINEAR = b"solver_type "


def model_kind(path: Path) -> str | None:
    """``safetensors``, ``liblinear`` or ``onnx``; None where it holds data, or is no file."""
    if not path.is_file():
        return None
    if path.suffix == ".onnx":
        return "onnx"
    with path.open("rb") as file:
        head = file.read(len(_LIBLINEAR))
    if head == _LIBLINEAR:
        return "liblinear"
    is_header = head[8:9] == b"{" and head[4:8] == bytes(4)  # its length comes first
    return "safetensors" if is_header else None


@contextmanager
def opening_model(path: Path) -> Iterator[None]:
    """Models of others are refused in here with what to do about them.

    A file is looked at again only after it was refused, for a pipe can be read but once.
    """
    try:
        yield
    except ModelFileError:
        advice = {
            "liblinear": "this is a LIBLINEAR model; polymargin convert makes a model file of it",
            "onnx": "ONNX is written, not read; take the model file that it was made of",
        }.get(model_kind(path) or "")
        if advice is None:
            raise
        raise ModelFileError(f"{path}: {advice}") from None
