"""``--encoding`` of the commands."""

from pathlib import Path

import pytest
from cli_helpers import done, one_error, run

from polymargin.readers import read

ROWS = "größe\tgetränk\tlabel\n" + "".join(
    f"{i % 7}\t{('thé', 'café')[i % 2]} {'noir' * (i % 3)}\t{('heiß', 'kühl')[i % 2]}\n"
    for i in range(60)
)
NAMED = ("--encoding", "windows-1252")


@pytest.fixture
def old(tmp_path: Path) -> Path:
    path = tmp_path / "old.tsv"
    path.write_bytes(ROWS.encode("windows-1252"))
    return path


@pytest.fixture
def new(tmp_path: Path) -> Path:
    path = tmp_path / "new.tsv"
    path.write_bytes(ROWS.encode("utf-16"))
    return path


@pytest.mark.parametrize("way", [(), ("--stream",)])
def test_each_file_has_its_own(tmp_path: Path, old: Path, new: Path, way: tuple[str, ...]) -> None:
    model = tmp_path / "m.safetensors"
    done("train", old, *NAMED, *way, "-o", model)
    expected = done("predict", model, new).out
    assert set(expected.split()) == {"heiß", "kühl"}
    assert done("predict", model, old, *NAMED).out == expected
    error = one_error(run("predict", model, old), 3)
    assert "old.tsv:1:3: byte 0xf6 is not UTF-8" in error
    assert "--encoding 'windows-1252': then this is 'größe\\tgetränk\\tlabel'" in error
    assert done("score", model, old, *NAMED, "--json").json["accuracy"] == 1.0
    if not way:
        done("inspect", model, old, *NAMED)


def test_other_rows_of_a_command_are_like_the_first(tmp_path: Path, old: Path) -> None:
    done("path", old, *NAMED, "--test", old, "--Cs", "1", "--json")
    done("select", old, *NAMED, "--log2-C", "0:0:1", "--refinements", "0", "--json")


def test_shuffled_rows_are_utf_8(tmp_path: Path, old: Path) -> None:
    target = tmp_path / "shuffled.tsv"
    done("convert", old, target, "--shuffle", *NAMED)
    assert sorted(target.read_text(encoding="utf-8").splitlines()) == sorted(ROWS.splitlines())
    folder = tmp_path / "texts"
    for name in ("a", "b"):
        (folder / name).mkdir(parents=True)
        (folder / name / "1").write_bytes("thé".encode("windows-1252"))
    done("convert", folder, target, "--shuffle", *NAMED)
    assert read(target).X == ["thé", "thé"]


def test_no_such_encoding(tmp_path: Path, old: Path) -> None:
    options = ("--encoding", "windows-12", "-o", tmp_path / "m.safetensors")
    assert "--encoding 'windows-12': there is no such encoding" in one_error(
        run("train", old, *options), 2
    )


def test_an_encoding_of_numbers(tmp_path: Path) -> None:
    (tmp_path / "a.npz").write_bytes(b"PK")
    result = run("train", tmp_path / "a.npz", *NAMED, "-o", tmp_path / "m.safetensors")
    assert "npz files are no text and have no encoding; leave out --encoding" in one_error(
        result, 3
    )
