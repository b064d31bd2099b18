"""Records of the benchmarks name the command and the commit that made them."""

import json
from argparse import ArgumentParser, Namespace
from pathlib import Path

import pytest

with pytest.MonkeyPatch.context() as patch:  # the package sets them for its own runs
    for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"):
        patch.setenv(name, "1")
    provenance = pytest.importorskip("benchmarks.provenance")


def parse(*words: str) -> Namespace:
    parser = ArgumentParser()
    provenance.add_options(parser)
    return parser.parse_args(words)


@pytest.fixture(autouse=True)
def folders(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Results in a temporary folder, of a clean tree."""
    monkeypatch.setattr(provenance, "ROOT", tmp_path)
    monkeypatch.setattr(provenance, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(provenance, "UNCOMMITTED", tmp_path / "uncommitted")
    monkeypatch.setattr(provenance, "commit", lambda: "abc1234")
    monkeypatch.setattr(provenance, "is_clean", lambda: True)
    monkeypatch.setattr(provenance, "this_command", lambda: "python -m benchmarks.some --all")


def open_results(options: Namespace) -> "provenance.Results":
    return provenance.open_results("some", options, provenance.RESULTS)


def test_a_record_has_command_commit_and_state_of_the_tree() -> None:
    results = open_results(parse())
    results.content["fits"] = {"iris": results.sign({"seconds": 1.0})}
    results.write()
    stored = json.loads(results.path.read_text())
    origin = stored["origins"][stored["fits"]["iris"]["origin"]]
    assert origin["command"] == "python -m benchmarks.some --all"
    assert origin["commit"] == "abc1234"
    assert origin["clean"] is True
    assert origin["cores"] >= 1


def test_origins_without_a_record_are_dropped() -> None:
    results = open_results(parse())
    results.content |= {
        "fits": [{"origin": "old"}],
        "origins": {"old": {"commit": "1"}, "gone": {"commit": "2"}},
    }
    results.write()
    assert list(json.loads(results.path.read_text())["origins"]) == ["old"]


def test_uncommitted_changes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provenance, "is_clean", lambda: False)
    with pytest.raises(SystemExit, match="uncommitted changes"):
        open_results(parse())
    assert open_results(parse("--dirty")).path.parent == provenance.UNCOMMITTED
    assert open_results(parse("--report")).path.parent == provenance.RESULTS


def test_a_report_takes_no_records() -> None:
    with pytest.raises(RuntimeError, match="only reported"):
        open_results(parse("--report")).sign({})


def test_note_of_one_origin_and_of_several() -> None:
    origins = {
        "a": {"command": "run all", "commit": "1", "clean": True, "when": "2026-01-02T03:04:05Z"},
        "b": {"command": None, "commit": "2", "clean": False, "when": ""},
    }
    rows = [("iris", {"origin": "a"}), ("glass", {"origin": "a"})]
    content = {"origins": origins}
    assert provenance.note(content, rows) == "Origin: `run all`, commit 1, 2026-01-02."
    rows += [("letter", {"origin": "b"}), ("usps", {})]
    assert provenance.note(content, rows) == (
        "Origins: iris, glass: `run all`, commit 1, 2026-01-02; letter: command not recorded, "
        "commit 2 with uncommitted changes; usps: command and commit not recorded."
    )


def test_every_table_of_a_page_has_a_note() -> None:
    pages = sorted((Path(provenance.__file__).parent / "results").glob("*.md"))
    assert len(pages) > 5
    for page in pages:
        lines = page.read_text().splitlines()
        n_tables = sum(line.startswith("| ---") for line in lines)
        n_notes = sum(line.startswith(("Origin: ", "Origins: ")) for line in lines)
        assert n_notes >= n_tables > 0, page.name
