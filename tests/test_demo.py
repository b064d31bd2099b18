"""The demo: entrants, what is said of them, the picture."""

import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from cli_helpers import done
from rich.console import Console
from sklearn.svm import LinearSVC

from polymargin import LinearSVM
from polymargin._machines import machine_names
from polymargin.datasets import Split, load_satimage
from polymargin.demo import CHOSEN, Entrant, EntrantOutcome, entrants, outcome_table, run
from polymargin.demo._entrants import LINEAR, PEERS
from polymargin.demo._same_problem import crammer_singer_objective

FEW = Split(*(part[:300] for part in load_satimage()))


def shown(outcome: EntrantOutcome) -> str:
    console = Console(width=80)
    with console.capture() as capture:
        console.print(outcome_table([outcome], 80))
    return capture.get()


@pytest.mark.slow
def test_demo(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    plot = tmp_path / "picture.png"
    result = done("demo", plot, "--tol", 1e-2)
    assert all(name in result.out for name in CHOSEN)
    assert result.out.count("no certificate") == 3
    assert "bench rows.csv" in result.out
    assert "Warning" not in result.err
    assert plot.read_bytes().startswith(b"\x89PNG")


def test_module_is_the_command() -> None:
    command = [sys.executable, "-m", "polymargin.demo", "--help"]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "demo.png" in found.stdout


def test_every_linear_machine_takes_part_with_its_constants() -> None:
    everyone = entrants(1e-2)
    assert [entrant.name for entrant in everyone] == list(CHOSEN)
    linear = [entrant.name.lower() for entrant in everyone if entrant.group == LINEAR]
    assert sorted(linear) == sorted(machine_names())
    for entrant in everyone:
        for name, exponent in CHOSEN[entrant.name].items():
            assert entrant.estimator.get_params()[name] == 2.0**exponent


def test_one_objective_in_both_libraries() -> None:
    ours = LinearSVM("cs", C=0.5, tol=1e-5, random_state=0).fit(FEW.X_train, FEW.y_train)
    theirs = LinearSVC(C=0.5, multi_class="crammer_singer", max_iter=100_000, random_state=0)
    theirs.fit(FEW.X_train, FEW.y_train)
    assert crammer_singer_objective(ours, FEW) == pytest.approx(ours.primal_objective_, rel=1e-12)
    excess = crammer_singer_objective(theirs, FEW) / ours.dual_objective_ - 1
    assert 0 <= excess < 1e-3


def test_what_does_not_converge_is_shown_and_not_spilled() -> None:
    unfinished = (
        Entrant("CS", "", LINEAR, LinearSVM("cs", C=16.0, tol=1e-9, max_iter=1)),
        Entrant("LinearSVC", "", PEERS, LinearSVC(C=16.0, loss="hinge", max_iter=1)),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ours, theirs = (run(entrant, FEW) for entrant in unfinished)
    assert not ours.converged
    assert ours.gap is not None
    assert f"{ours.gap:.1e}" in shown(ours)
    assert not theirs.converged
    assert "not converged" in shown(theirs)


def test_table_fits_a_terminal() -> None:
    outcome = run(Entrant("LinearSVC CS", "t" * 60, PEERS, LinearSVC(C=2.0**-12)), FEW)
    lines = shown(outcome).splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[-1].startswith("LinearSVC CS  tttttt")
    assert lines[-1].endswith("no certificate")


def test_no_label_lies_upon_another(seed: int) -> None:
    figures = pytest.importorskip("matplotlib.figure")
    from polymargin.demo._labels import place_labels

    rng = np.random.default_rng(seed)
    figure = figures.Figure(figsize=(7, 6), layout="constrained")
    axes = figure.add_subplot()
    points = np.exp(rng.normal(size=(15, 2)))
    axes.scatter(*points.T)
    axes.set_xscale("log")
    place_labels(figure, axes, [(x, y, f"entrant {i}") for i, (x, y) in enumerate(points)])
    figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in axes.texts if text.get_text()]
    assert len(boxes) == 15
    for i, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:i])
        assert box.count_contains(axes.transData.transform(points)) == 0
