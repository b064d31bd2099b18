"""The page of ``python -m benchmarks.hard``: cells that missed and cells that took too long."""

from argparse import Namespace
from typing import Any

import pytest

hard = pytest.importorskip("benchmarks.hard")


def cell(gap: float, seconds: float, **more: Any) -> dict[str, Any]:
    return {"gap": gap, "seconds": seconds, "passes": 10} | more


CELLS = {
    "glass/raw/linear/ww/1": cell(5e-4, 0.1),
    "glass/raw/linear/ww/100": cell(
        2e-3, 0.1, told="Lower C.", floor=cell(1.5e-3, 4.0) | {"passes": 10_000}
    ),
    "glass/raw/linear/ww/10000": cell(5e-4, 3.0),
    "usps/raw/linear/ww/1": cell(5e-4, 3.0),
    "vehicle/raw/linear/ww/1": cell(2e-3, 0.1),
}


def test_exceptions_are_listed_with_floor_and_warning() -> None:
    page = hard.report({"cells": CELLS})
    assert "2 are above the tolerance (in bold) and 1 take longer" in page
    missed = "- glass, raw, linear, ww, 100: gap 2.0e-03 in 0.1 s; 1.5e-03 after 10,000 passes, 4 s"
    assert f"{missed}. Lower C." in page
    assert "- glass, raw, linear, ww, 10000: gap 5.0e-04 in 3 s\n" in page
    assert "- usps" not in page


def test_origins_are_told_by_machine() -> None:
    runs = {
        run: {"command": run, "commit": "c0ffee", "clean": True, "when": "2026-01-02"}
        for run in ("first", "second")
    }
    made_in = {"ww/1": "first", "ww/100": "second", "cs/1": "second", "cs/100": "second"}
    cells = {f"glass/raw/rbf/{c}": cell(5e-4, 0.1, origin=run) for c, run in made_in.items()}
    first, second = (f"`{run}`, commit c0ffee, 2026-01-02" for run in runs)
    note = hard.note(
        {"origins": runs}, hard._by_origin("glass/raw/rbf", {"origins": runs, "cells": cells})
    )
    assert note == f"Origins: ww at C = 1: {first}; ww at C = 100, cs: {second}."


def test_which_stored_cells_a_run_makes_anew() -> None:
    def due(**options: bool) -> list[str]:
        chosen = Namespace(**({"again": False, "slow": False, "floors": False} | options))
        keys = [*CELLS, "dna/raw/linear/ww/1"]
        return [key for key in keys if hard._is_due(key, CELLS.get(key), chosen)]

    assert due() == ["dna/raw/linear/ww/1"]
    assert len(due(again=True)) == 6
    assert due(slow=True) == [
        "glass/raw/linear/ww/100",
        "glass/raw/linear/ww/10000",
        "vehicle/raw/linear/ww/1",
        "dna/raw/linear/ww/1",
    ]
    assert due(floors=True) == ["vehicle/raw/linear/ww/1"]
