"""Files whose numbers or dates lie far outside of what a model was trained on."""

from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from cli_helpers import done
from conftest import REPOSITORY

from polymargin import load, save
from polymargin.readers import read

N = 60


def write(path: Path, start: str = "2024-05-01 10:00", shift: float = 0.0, n: int = N) -> Path:
    """A measurement a minute; those above the mean have another label."""
    lines = ["when,heat,fixed,label"]
    for i in range(n):
        moment = datetime.fromisoformat(start) + timedelta(minutes=i)
        heat = (i * 7) % 20
        lines.append(f"{moment:%Y-%m-%d %H:%M},{heat + shift},5,{'hot' if heat > 9 else 'cold'}")
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "m.safetensors"
    done("train", write(tmp_path / "train.csv"), "-o", path, "--quiet")
    return path


def test_dates_far_away_are_told(model: Path, tmp_path: Path) -> None:
    far = write(tmp_path / "far.csv", "2025-02-03 10:00")
    told = "the dates of column 'when' are of another time than those the model was trained on"
    for command in ("score", "predict"):
        message = done(command, model, far).err
        assert told in message
        assert "it saw 2024-05-01 10:00 to 2024-05-01 10:59" in message
        assert "2025-02-03 10:00 to 2025-02-03 10:59" in message
        assert "--column when=drop" in message
        assert "'heat'" not in message
    without = tmp_path / "other.safetensors"
    train = ("train", tmp_path / "train.csv", "-o", without, "--column", "when=drop", "--quiet")
    done(*train)
    assert done("score", without, far).err == ""


@pytest.mark.parametrize("start", ["2024-05-01 10:31", "2024-05-01 11:00", "2024-05-01 09:29"])
def test_dates_of_another_time_are_told(model: Path, tmp_path: Path, start: str) -> None:
    message = done("score", model, write(tmp_path / "later.csv", start)).err
    told = "the dates of column 'when' are of another time than those the model was trained on: it"
    assert (
        f"{told} saw 2024-05-01 10:00 to 2024-05-01 10:59, and here they are {start} to" in message
    )
    assert "and count as the nearest day that it saw; where the date itself says noth" in message
    assert message.count("warning:") == 1


def test_dates_of_the_year_after_a_year_are_told(tmp_path: Path) -> None:
    def write_days(year: int) -> Path:
        lines = [f"{i % 28 + 1}.{i % 12 + 1}.{year},{i % 7},{'ab'[i % 7 > 3]}" for i in range(84)]
        path = tmp_path / f"{year}.csv"
        path.write_text("\n".join(["when,size,label", *lines]) + "\n")
        return path

    model = tmp_path / "m.safetensors"
    done("train", write_days(2024), "-o", model, "-q")
    told = "saw 2024-01-01 to 2024-12-28, and here they are 2025-01-01 to 2025-12-28"
    assert told in done("predict", model, write_days(2025)).err


def test_numbers_far_away_are_told(model: Path, tmp_path: Path) -> None:
    far = write(tmp_path / "far.csv", shift=1000.0)
    message = done("score", model, far).err
    assert "the numbers of column 'heat'" in message
    assert "it saw 0 to 19, and here they are 1,000 to 1,019" in message
    assert message.count("warning:") == 1
    farther = write(tmp_path / "farther.csv", shift=1714560000.0)
    assert "here they are 1,714,560,000 to 1,714,560,019" in done("score", model, farther).err


@pytest.mark.parametrize(
    ("start", "shift"),
    [("2024-05-01 10:29", 0.0), ("2024-05-01 09:31", 0.0), ("2024-05-01 10:00", 19.0)],
)
def test_rows_that_are_not_far_are_not_told(
    model: Path, tmp_path: Path, start: str, shift: float
) -> None:
    """Half of the rows and more lie within a width of the numbers, and in the time, of training."""
    assert done("score", model, write(tmp_path / "near.csv", start, shift)).err == ""


def test_a_few_far_rows_are_not_told(model: Path, tmp_path: Path) -> None:
    path = write(tmp_path / "mixed.csv")
    rows = path.read_text().splitlines()
    far = write(tmp_path / "far.csv", "2030-01-01 00:00", n=N // 2).read_text().splitlines()[1:]
    path.write_text("\n".join([*rows, *far]) + "\n")
    assert done("score", model, path).err == ""
    path.write_text("\n".join([*rows, *far, *far, far[0]]) + "\n")
    assert "column 'when'" in done("score", model, path).err


def test_a_column_of_one_value_and_empty_cells_are_not_told(model: Path, tmp_path: Path) -> None:
    path = write(tmp_path / "other.csv")
    path.write_text(path.read_text().replace(",5,", ",7,"))
    assert done("score", model, path).err == ""


def test_ranges_are_stored(model: Path, tmp_path: Path) -> None:
    encoder = load(model)[0]
    places = dict(zip(encoder.names_, zip(encoder.lows_, encoder.highs_, strict=True), strict=True))
    assert places["heat"] == (0.0, 19.0)
    assert places["fixed"] == (5.0, 5.0)
    first, last = places["when"]
    assert last - first == pytest.approx((N - 1) / 1440)
    again = tmp_path / "again.safetensors"
    save(load(model), again)
    np.testing.assert_array_equal(load(again)[0].highs_, encoder.highs_)


def test_a_file_that_tells_no_ranges_is_read(tmp_path: Path) -> None:
    encoder = load(REPOSITORY / "tests/golden/v1-pipeline-kinds.safetensors")[0]
    assert not encoder.lows_.any()
    assert not encoder.highs_.any()


def test_a_stored_file_tells_its_ranges() -> None:
    encoder = load(REPOSITORY / "tests/golden/v1-pipeline-ranges.safetensors")[0]
    measured = [kind.startswith(("number", "date")) for kind in encoder.kinds_]
    assert ((encoder.highs_ > encoder.lows_) == measured).all()
    np.testing.assert_allclose(encoder.lows_[measured], encoder.offsets_[measured])


def test_the_first_rows_of_a_pipe_are_no_range(tmp_path: Path) -> None:
    out = tmp_path / "m.safetensors"
    text = write(tmp_path / "train.csv").read_bytes()
    options = ("--stream", "--classes", "cold,hot", "--batch", "10", "--format", "csv", "-o", out)
    done("train", "-", *options, "--quiet", stdin=text)
    encoder = load(out)[0]
    assert (encoder.highs_ == encoder.lows_).all()
    assert read(tmp_path / "train.csv").X.names == encoder.names_
