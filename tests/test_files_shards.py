"""Models in shards: an index and its shards are one model, or it is said what is wrong.

How processes write them is in `test_distributed_parts`; here is what can become of the files.
"""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cli_helpers
import numpy as np
import pytest
from scipy import sparse

from polymargin import LinearSVM
from polymargin.errors import ModelFileError
from polymargin.files import describe, load, load_with_info, read_info, save
from polymargin.storage import read_container, seal_document

GOLDEN = Path(__file__).parent / "golden"
NAME = "v1-linear-shards.safetensors"


@pytest.fixture
def index(tmp_path: Path) -> Path:
    """A model in three shards, alone in its folder."""
    for file in GOLDEN.glob("v1-linear-shards*"):
        shutil.copy(file, tmp_path)
    return tmp_path / NAME


def shards(index: Path) -> list[Path]:
    return [index.with_name(name) for name in read_info(index).shards]


def with_entries(index: Path, change: Callable[[list[dict[str, str]]], Any]) -> None:
    """The same index, valid in itself, with other words about its shards."""
    container = read_container(index)
    change(container.document["steps"][-1]["shards"])
    tensors = {name: array.copy() for name, array in container.tensors.items()}
    seal_document("model", container.document, tensors).write(index)


def with_tensors(index: Path, shard: int, **changed: Any) -> None:
    """A shard with other tensors, valid in itself and named by the index."""
    path = shards(index)[shard]
    container = read_container(path)
    tensors = {name: array.copy() for name, array in container.tensors.items()}
    sealed = seal_document("shard", container.document, tensors | changed)
    sealed.write(path)
    with_entries(index, lambda entries: entries[shard].update(digest=sealed.digest))


@pytest.mark.parametrize("verify", [True, False])
def test_shards_are_one_sparse_model(index: Path, verify: bool) -> None:
    model = load(index, verify=verify)
    assert type(model) is LinearSVM
    assert sparse.issparse(model.coef_)
    assert model.coef_.shape == (3, 4)
    assert abs(model.coef_.sum(axis=0)).max() < 1e-9
    expected = json.loads(index.with_suffix(".json").read_text())
    assert model.predict(np.array(expected["X"]["rows"])).tolist() == expected["labels"]
    save(model, index.with_name("one.safetensors"))
    again = load(index.with_name("one.safetensors"))
    np.testing.assert_array_equal(again.coef_.toarray(), model.coef_.toarray())


def test_the_index_tells_of_the_model_without_shards(index: Path) -> None:
    names = read_info(index).shards
    assert [name.split(".")[1] for name in names] == ["1-of-3", "2-of-3", "3-of-3"]
    for shard in shards(index):
        shard.unlink()
    info = describe(index)
    assert (info.weights, info.dtype, info.n_features) == ("sparse", "float64", 4)
    assert info.shards == names
    assert info.certificate["converged"]
    assert "3 files beside it" in cli_helpers.done("info", index).out
    assert cli_helpers.done("info", index, "--json").json["shards"] == list(names)


def test_shards_may_have_classes_in_any_order(index: Path) -> None:
    whole = load(index).coef_.toarray()
    first, *others = (read_container(shard).tensors for shard in shards(index))
    with_tensors(index, 0, classes=others[-1]["classes"].copy())
    with_tensors(index, 2, classes=first["classes"].copy())
    np.testing.assert_array_equal(load(index).coef_.toarray(), whole[[2, 1, 0]])


def test_a_missing_shard_is_named(index: Path) -> None:
    lost = shards(index)[1]
    lost.unlink()
    for read in (load, load_with_info):
        with pytest.raises(ModelFileError, match=f"{NAME}: .* in {lost.name}, which is not there"):
            read(index)


def test_a_foreign_shard_is_refused(index: Path) -> None:
    first, second, _ = shards(index)
    shutil.copy(first, second)
    message = f"the shard {second.name}: this is not the one that the index was made with"
    for verify in (True, False):
        with pytest.raises(ModelFileError, match=message):
            load(index, verify=verify)


def test_an_altered_shard_is_refused(index: Path) -> None:
    shard = shards(index)[2]
    damaged = bytearray(shard.read_bytes())
    damaged[-40] ^= 1
    shard.write_bytes(damaged)
    with pytest.raises(ModelFileError, match=f"the shard {shard.name}: the arrays were altered"):
        load(index)
    shard.write_bytes(damaged[:-8])
    with pytest.raises(ModelFileError, match=f"the shard {shard.name}: the file is cut off"):
        load(index, verify=False)


@pytest.mark.parametrize("other", ["v1-linear-sparse.safetensors", "v1-checkpoint.safetensors"])
def test_another_kind_of_file_is_no_shard(index: Path, other: str) -> None:
    shutil.copy(GOLDEN / other, index.with_name("other.safetensors"))
    digest = read_container(index.with_name("other.safetensors")).digest
    change = {"file": "other.safetensors", "digest": digest}
    with_entries(index, lambda entries: entries[0].update(change))
    with pytest.raises(ModelFileError, match="not a shard"):
        load(index)


@pytest.mark.parametrize("name", ["../shard.safetensors", "/etc/passwd", "", ".", "..", "a\0b"])
def test_shards_lie_beside_the_index(index: Path, name: str) -> None:
    with_entries(index, lambda entries: entries[0].update(file=name))
    for read in (load, read_info):
        with pytest.raises(ModelFileError, match="is no file beside the index"):
            read(index)


@pytest.mark.parametrize(
    "change", [list.clear, list.pop, lambda entries: entries.append(entries[0])]
)
def test_each_class_is_in_one_shard(index: Path, change: Callable[[list[Any]], Any]) -> None:
    with_entries(index, change)
    with pytest.raises(ModelFileError, match="the weights of each of the 3 classes once"):
        load(index)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"classes": np.array([7])}, "the weights of each of the 3 classes once"),
        ({"classes": np.array([0.0])}, "the wrong type"),
        ({"coef.indices": np.array([0, 1, 2, 9], np.int32)}, "outside"),
        ({"coef.data": np.array([0, 1, 2, np.nan])}, "NaN"),
        ({"coef.data": np.zeros(4, np.float32)}, "type"),
    ],
)
def test_wrong_arrays_of_a_shard(index: Path, changed: dict[str, Any], message: str) -> None:
    with_tensors(index, 0, **changed)
    with pytest.raises(ModelFileError, match=message):
        load(index)


def test_a_shard_is_no_model(index: Path) -> None:
    shard = shards(index)[0]
    with pytest.raises(ModelFileError, match="this is a shard, not a model; .* the index beside"):
        load(shard)
    result = cli_helpers.run("predict", shard, cli_helpers.SATIMAGE)
    assert "the index beside it is the model" in cli_helpers.one_error(result, 3)


def test_commands_take_the_index(index: Path, tmp_path: Path) -> None:
    expected = json.loads(index.with_suffix(".json").read_text())
    rows = tmp_path / "rows.svm"
    lines = (
        " ".join(f"{j}:{x!r}" for j, x in enumerate(row, start=1)) for row in expected["X"]["rows"]
    )
    rows.write_text("".join(f"0 {line}\n" for line in lines))
    result = cli_helpers.done("predict", index, rows, "--format", "svmlight")
    assert result.out.split() == expected["labels"]
    shards(index)[0].unlink()
    assert "not there" in cli_helpers.one_error(cli_helpers.run("score", index, rows), 3)
