"""Options of the solvers of several processes; what these do is in `distributed_solvers_job`."""

from functools import partial
from typing import Any

import numpy as np
import pytest
from distributed_helpers import check_same_optimum, needs_mpi, told_by

from polymargin import core
from polymargin.distributed._automatic import Shape, choose_deal

pytestmark = needs_mpi

SCENARIOS = (
    "stopping_by_violation",
    "shrinking",
    "epochs",
    "what_is_sent",
    "threads",
    "automatic",
    "overlap",
    "failure_on_the_way",
)
JOBS = {1: SCENARIOS, 2: (*SCENARIOS, "interrupts", "checkpoints"), 3: (*SCENARIOS, "interrupts")}
NAMES = ["rows", "classes", "leagues"]
values = partial(told_by, "distributed_solvers_job", JOBS)


def of_all(n_ranks: int, scenario: str) -> Any:
    """What the first process has told, which all have to tell."""
    first, *others = values(n_ranks, scenario)
    assert all(other == first for other in others)
    return first


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("n_ranks", [1, 2, 3])
def test_all_stop_by_the_largest_violation_of_any(name: str, n_ranks: int) -> None:
    told = of_all(n_ranks, "stopping_by_violation")[name]
    assert told["violation"] <= 0.1
    assert told["loose"]["converged"]
    assert told["tight"]["converged"]
    assert told["loose"]["gap"] > told["tight"]["gap"]
    assert told["tight"]["gap"] < 1e-3
    assert told["tight"]["primal"] == pytest.approx(told["tight"]["alone"], rel=1e-3)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("n_ranks", [1, 2, 3])
def test_variables_that_are_left_out_come_back_before_the_end(name: str, n_ranks: int) -> None:
    told = of_all(n_ranks, "shrinking")[name]
    for figures in told.values():
        check_same_optimum(figures)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("n_ranks", [2, 3])
def test_a_number_of_passes(name: str, n_ranks: int) -> None:
    (shrunk, [about_all]), (passes, [all_of_them]) = of_all(n_ranks, "epochs")[name]
    assert shrunk == passes == 4
    assert 3 < about_all < 4.001
    assert all_of_them == pytest.approx(4)


@pytest.mark.parametrize("gathered", ["all", "apart"])
@pytest.mark.parametrize("n_ranks", [2, 3])
def test_what_is_sent_is_counted(n_ranks: int, gathered: str) -> None:
    told = {name: of_all(n_ranks, "what_is_sent")[f"{name}, {gathered}"] for name in NAMES}
    for figures in told.values():
        for sent in figures["sent"].values():
            assert len(sent) == len(figures["passes"])
            assert np.all(np.diff(sent) >= 0)
        assert figures["sent"]["model"][-1] == 0  # no check gathers it
        assert figures["sent"]["meetings"][0] > 0
    rows, classes, leagues = (told[name]["sent"] for name in NAMES)
    assert rows["weights"][-1] > 0
    assert rows["mean"][-1] == rows["duals"][-1] == 0
    assert classes["mean"][-1] > 0
    assert classes["weights"][-1] == classes["duals"][-1] == 0
    assert leagues["weights"][-1] > leagues["duals"][-1] > 0
    assert leagues["mean"][-1] == 0


@pytest.mark.parametrize("n_ranks", [2, 3])
def test_leagues_send_less_than_their_weights(n_ranks: int) -> None:
    told = of_all(n_ranks, "what_is_sent")["leagues, apart"]
    passes, sent = np.array(told["passes"]), told["sent"]
    # Two leagues of each process travel in each round, about as often as there are leagues.
    dense = told["weights"] * (2 * n_ranks - 2) / n_ranks * passes
    assert np.all(np.array(sent["weights"]) < 0.25 * dense)
    certificates = np.diff([0, *sent["certificate"]])
    assert certificates.max() < 0.5 * told["weights"]


@pytest.mark.parametrize("n_ranks", [2, 3])
def test_weights_are_the_same_whichever_way_they_travel(n_ranks: int) -> None:
    told = of_all(n_ranks, "what_is_sent")["either way"]
    assert told["same"]
    sparse, dense = told["sent"]
    assert sparse < 0.25 * dense


def test_one_process_sends_nothing() -> None:
    told = of_all(1, "what_is_sent")
    assert told.pop("either way")["sent"] == [0, 0]
    for figures in told.values():
        assert not any(map(any, figures["sent"].values()))


@pytest.mark.parametrize("n_ranks", [2, 3])
def test_matches_are_played_at_the_same_time(n_ranks: int) -> None:
    *others, last = values(n_ranks, "threads")
    for told in (*others, last):
        assert told["certified"] == [True, True, True]
        assert told["same again"]
        assert told["same elsewhere"]
        assert told["others"]
        assert told["together"][:3] == [1, 2, 2]
        check_same_optimum(told["more than classes"])
    assert [told["together"][3] for told in others] == [1] * len(others)
    assert last["together"][3] == 2


def test_threads_of_one_process_are_those_of_descent() -> None:
    assert values(1, "threads")[0]["certified"] == [True, True, True]


@pytest.mark.parametrize("n_ranks", [1, 2, 3])
def test_the_mean_may_be_on_its_way_while_work_goes_on(n_ranks: int) -> None:
    told = of_all(n_ranks, "overlap")
    plain, over = told.pop("sent")
    for figures in told.values():
        check_same_optimum(figures)
        assert n_ranks == 1 or figures["sum"] < 1e-8 or figures is told["apart"]
    if n_ranks > 1:  # after every second part, and for the check
        assert 0.45 * plain < over < 0.6 * plain


@pytest.mark.parametrize("n_ranks", [2, 3])
def test_a_failure_while_a_sum_is_on_its_way_ends_all(n_ranks: int) -> None:
    *others, last = values(n_ranks, "failure_on_the_way")
    assert last["failed"]["type"] == "OSError"
    for told in others:
        assert told["failed"]["type"] == "RankError"
    for told in (*others, last):
        assert told["sum"] == [sum(range(n_ranks))] * 5
        assert told["after"] == n_ranks


@pytest.mark.parametrize("n_ranks", [2, 3])
def test_what_is_dealt_follows_from_the_shape(n_ranks: int) -> None:
    told = of_all(n_ranks, "automatic")
    rows, leagues, apart = [True, False, False], [True, False, True], [False, False, False]
    assert told["dealt"] == {
        "ww, texts": leagues,
        "ww, dense": rows,
        "llw, texts": rows,
        "llw, dense": rows,
        "ovr, texts": apart,
        "ovr, dense": apart,
        "cs, texts": rows,
        "cs, dense": rows,
    }
    assert told["hard"] <= 1e-3
    assert told["right"] == 1


TEXTS = {"n": 100_000, "d": 50_000, "k": 1000, "entries": 3_000_000, "itemsize": 4, "size": 4}


@pytest.mark.parametrize(
    ("machine", "changes", "solver"),
    [
        ("ww", {}, "leagues"),
        ("ww", {"k": 15}, "local-descent"),  # leagues of one class
        ("ww", {"d": 500, "entries": 50_000_000}, "local-descent"),
        ("ww", {"d": 20_000, "k": 60_000, "entries": 500_000_000}, "leagues"),  # memory
        ("llw", {"k": 100}, "local-descent"),
        ("llw", {"entries": 200_000, "k": 600}, "mean-weights"),
        ("llw", {"entries": 200_000, "k": 40}, "local-descent"),  # ten means are more than that
        ("llw", {"d": 20_000, "k": 60_000, "entries": 500_000_000}, "mean-weights"),
        ("llw", {"d": 200_000_000, "k": 3}, "local-descent"),  # of four processes
        ("ovr", {}, "mean-weights"),
        ("ovr", {"k": 3}, "local-descent"),
        ("cs", {}, "local-descent"),
    ],
)
def test_the_rule_of_auto(machine: str, changes: dict[str, int], solver: str) -> None:
    infos = {info.name: info for info in core.machines()}
    assert choose_deal(infos[machine], Shape(**TEXTS | changes)).name == solver


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("n_ranks", [2, 3])
def test_an_interrupt_of_one_process_stops_all(n_ranks: int, name: str) -> None:
    told = of_all(n_ranks, "interrupts")[name]
    assert told["type"] == "KeyboardInterrupt"
    assert 0 < told["gap"] < 1.1
    checks, counted = told["checks"]
    assert checks == counted > 0


def test_checkpoints_of_leagues() -> None:
    told = of_all(2, "checkpoints")
    assert told["goes on"]
    assert told["gathered"]
    before, after = told["gaps"]
    assert after < before
