"""The weights of a model in several files, each with those of some classes.

The file that names them, the index, is a model file in all but the weights. It has the digest of
each shard, and with it that of every byte there: a shard that was altered, or is of another model,
is seen. Shards are called by their digests, too, so that those of two models lie beside each other
until the index of the new one is complete.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from polymargin.errors import ModelFileError
from polymargin.files._estimators import Weights, check_weights
from polymargin.storage import (
    Container,
    Fields,
    Tensors,
    checked_header,
    put_csr,
    read_container,
    seal_document,
    take_csr,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polymargin.distributed import Parts

SHARDS = "shards"  # in place of "dense" or "sparse"
_SUFFIX = ".safetensors"
_IN_NAME = 16  # digits of a digest


@contextmanager
def shards_beside(path: str | os.PathLike[str], model: Any, parts: "Parts") -> Iterator[Weights]:
    """What the index at `path` has to say of the weights; this process has written its shard.

    If the index, which is written in the block, fails on any process, the shards are removed. If
    not, those of an index that was there before are.
    """
    index, ranks = Path(path), parts.ranks
    if len(set(ranks.meet("where the model goes", index.name))) > 1:
        raise ValueError("the processes have to save a model under one name")
    replaced = _shards_of(index) if ranks.rank == 0 else set()
    coef = put_csr("coef", model.coef_)
    check_weights(coef | {"intercept": model.intercept_})
    document = {"number": ranks.rank, "of": ranks.size, "n_features": int(model.n_features_in_)}
    shard = seal_document("shard", document, {"classes": parts.own.astype(np.int64)} | coef)
    place = f"{ranks.rank + 1}-of-{ranks.size}.{shard.digest[:_IN_NAME]}"
    file = index.with_name(f"{_stem(index)}.{place}{_SUFFIX}")
    is_new = not file.exists()
    try:
        shard.write(file)
        entry = {"file": file.name, "digest": shard.digest}
        entries = ranks.meet("the shards of a model", entry)
        intercept = parts.join(model.intercept_[None])[0]
        yield {"weights": SHARDS, SHARDS: entries}, {"intercept": intercept}
        ranks.meet("the index of a model", None)
    except BaseException:
        if is_new:
            file.unlink(missing_ok=True)
        raise
    for name in replaced - {entry["file"] for entry in entries}:
        with suppress(OSError):
            index.with_name(name).unlink()


def _stem(index: Path) -> str:
    return index.name.removesuffix(_SUFFIX)


def _shards_of(index: Path) -> set[str]:
    """The shards that an index of this name has written beside it; none where there is none."""
    pattern = rf"{re.escape(_stem(index))}\.\d+-of-\d+\.[0-9a-f]{{{_IN_NAME}}}{re.escape(_SUFFIX)}"
    with suppress(OSError, ModelFileError):
        last = checked_header(read_container(index).document, "model").parts("steps")[-1:]
        return {name for name in map(str, shard_names(*last)) if re.fullmatch(pattern, name)}
    return set()


def shard_names(step: Fields) -> tuple[str, ...]:
    """The files that an index names, none if it is a whole model; they lie beside it."""
    if SHARDS not in step:
        return ()
    names = tuple(entry.text("file") for entry in step.parts(SHARDS))
    for name in names:
        if name in ("", "..") or Path(name).name != name or "\0" in name:
            raise ModelFileError(f"the shard {name!r:.60} is no file beside the index")
    return names


def with_shards(
    container: Container, path: str | os.PathLike[str], *, verify: bool
) -> tuple[dict[str, Any], "dict[str, NDArray[Any]]"]:
    """Document and tensors of an index with the weights of its shards, as of one file."""
    *before, step = checked_header(container.document, "model").parts("steps") or [Fields({})]
    if SHARDS not in step:
        return container.document, container.tensors
    tensors = Tensors(container.tensors, f"{len(before)}.", trusted=not verify)
    intercept = tensors.floats("intercept", (None,))
    d = step.count("n_features", 1)
    found = [
        _read_shard(Path(path).with_name(name), entry.text("digest"), d, verify)
        for name, entry in zip(shard_names(step), step.parts(SHARDS), strict=True)
    ]
    numbers = np.concatenate([np.zeros(0, np.int64), *(numbers for numbers, _ in found)])
    if not np.array_equal(np.sort(numbers), np.arange(len(intercept))):
        raise ModelFileError(
            f"the shards do not have the weights of each of the {len(intercept)} classes once"
        )
    if any(coef.dtype != intercept.dtype for _, coef in found):
        raise ModelFileError(f"the shards do not have weights of type {intercept.dtype}")
    coef = sparse.vstack([coef for _, coef in found], format="csr")
    if np.any(numbers[1:] < numbers[:-1]):
        coef = coef[np.argsort(numbers)]
    whole = {key: value for key, value in step.values.items() if key != SHARDS}
    steps = [*(part.values for part in before), whole | {"weights": "sparse"}]
    arrays = {tensors.prefix + name: array for name, array in put_csr("coef", coef).items()}
    return container.document | {"steps": steps}, container.tensors | arrays


def _read_shard(
    path: Path, digest: str, d: int, verify: bool
) -> "tuple[NDArray[np.int64], sparse.csr_array]":
    """The classes of a shard, and their weights."""
    with _naming_shard(path.name):
        shard = read_container(path)
        if shard.digest != digest:
            raise ModelFileError("this is not the one that the index was made with")
        if verify:
            shard.verify()
        checked_header(shard.document, "shard")
        tensors = Tensors(shard.tensors, trusted=not verify)
        numbers = tensors.integers("classes", (None,))
        return numbers, take_csr(tensors, "coef", (len(numbers), d))


@contextmanager
def _naming_shard(name: str) -> Iterator[None]:
    """Put the shard before the message of an error in it."""
    try:
        yield
    except FileNotFoundError:
        raise ModelFileError(
            f"the weights of some classes are in {name}, which is not there: a model in shards is "
            "complete with all of them beside the index"
        ) from None
    except ModelFileError as error:
        raise ModelFileError(f"the shard {name}: {error}") from None
