"""How a file is to be read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

from polymargin._threads import count_threads
from polymargin.readers._encodings import is_utf_8
from polymargin.readers._kinds import check_kind

__all__ = ["FORMATS", "Options"]

FORMATS = ("svmlight", "text", "csv", "tsv", "parquet", "arrow", "jsonl", "npz", "idx", "folder")

_LABEL_KINDS = ("integer", "number", "string")


@dataclass(frozen=True)
class Options:
    """The options of `read`; see there."""

    format: str | None = None
    label: str | int | None = None
    n_features: int | None = None
    zero_based: bool | str = "auto"
    has_labels: bool = True
    kinds: Mapping[str, str] | None = None
    label_kind: str | None = None
    labels_path: str | PathLike[str] | None = None
    delimiter: str | None = None
    header: bool | str = "auto"
    extra: str = "error"
    image_shape: Sequence[int] | None = None
    encoding: str = "utf-8"
    n_jobs: int | None = None
    n_threads: int = field(init=False, default=1)

    def __post_init__(self) -> None:
        if self.format is not None:
            _check_choice("format", self.format, FORMATS)
        if self.zero_based != "auto" and not isinstance(self.zero_based, bool):
            raise ValueError(f"zero_based={self.zero_based!r}: use True, False or 'auto'")
        if self.header != "auto" and not isinstance(self.header, bool):
            raise ValueError(f"header={self.header!r}: use True, False or 'auto'")
        _check_choice("extra", self.extra, ("error", "ignore"))
        if self.label_kind is not None:
            _check_choice("label_kind", self.label_kind, _LABEL_KINDS)
        for name, kind in (self.kinds or {}).items():
            check_kind(name, kind)
        if self.n_features is not None and not 0 <= self.n_features < 2**31:
            raise ValueError(f"n_features={self.n_features}: use a number from 0 to 2147483647")
        if self.image_shape is not None and not _is_image_shape(self.image_shape):
            raise ValueError(f"image_shape={self.image_shape!r}: use a height and a width")
        if self.delimiter is not None and (len(self.delimiter) != 1 or self.delimiter in '\r\n"'):
            raise ValueError(f"delimiter={self.delimiter!r}: use one character, no quote")
        is_utf_8(self.encoding)
        object.__setattr__(self, "n_threads", count_threads(self.n_jobs))

    def described(self, reading: dict[str, Any]) -> dict[str, Any]:
        """How a file was read, with the encoding where it was named."""
        return reading if is_utf_8(self.encoding) else {**reading, "encoding": self.encoding}

    @property
    def takes_own_labels(self) -> bool:
        """Whether every row must have a label in the file itself."""
        return self.has_labels and self.labels_path is None


def _is_image_shape(shape: Any) -> bool:
    return (
        isinstance(shape, list | tuple)
        and len(shape) == 2
        and all(type(length) is int and length > 0 for length in shape)
    )


def _check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{name}={value!r}: use one of {', '.join(map(repr, choices))}")
