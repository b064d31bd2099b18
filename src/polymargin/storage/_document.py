"""What all files of polymargin begin with: their kind, and the version of the format."""

import os
from typing import Any

from polymargin._versions import own_version
from polymargin.errors import ModelFileError
from polymargin.storage._arrays import Arrays
from polymargin.storage._fields import Fields
from polymargin.storage._safetensors import Sealed, seal

FORMAT = (1, 0)


def write_document(
    path: str | os.PathLike[str], kind: str, document: dict[str, Any], arrays: Arrays
) -> None:
    """Write a file of this kind and of the format of this version."""
    seal_document(kind, document, arrays).write(path)


def seal_document(kind: str, document: dict[str, Any], arrays: Arrays) -> Sealed:
    """Such a file before it is written."""
    first = {
        "kind": kind,
        "format": list(FORMAT),
        "version": own_version(),
    }
    return seal(first | document, arrays)


def checked_header(document: dict[str, Any], kind: str) -> Fields:
    """The header of a file of this kind, in a format that can be read."""
    header = Fields(document)
    version = header.items("format")
    if len(version) != 2 or not all(type(part) is int and part >= 0 for part in version):
        raise ModelFileError("the version of the format is not two numbers")
    if version[0] > FORMAT[0]:
        raise ModelFileError(
            f"the file has format {version[0]}.{version[1]}, and this version of polymargin reads "
            f"up to {FORMAT[0]}.x; install a newer polymargin (the file was written by "
            f"{header.text('version')!r:.40})"
        )
    if version[0] < 1:
        raise ModelFileError(f"there is no format {version[0]}.{version[1]}")
    found = header.text("kind")
    if found != kind:
        remedy = {
            "model": "polymargin predict reads it; in Python load does",
            "checkpoint": "polymargin train --resume goes on from it; in Python resume does",
            "shard": "it has the weights of some classes, and the index beside it is the model",
        }.get(found)
        if remedy is None:
            raise ModelFileError(f"the file is of the unknown kind {found!r:.40}")
        raise ModelFileError(f"this is a {found}, not a {kind}; {remedy}")
    return header
