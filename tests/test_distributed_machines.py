"""Processes on machines of their own: a lost one ends the job soon, a slow line only slows it."""

import json
import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from distributed_helpers import check_same_optimum
from machines_helpers import Machines, why_no_machines

SECONDS = 30  # until a job that has lost a machine is over
MODULE = "distributed_job"
UNREACHABLE = "has lost communication with a remote daemon"
# What is seen first: the signal, the daemon, or that another process has lost this one.
GONE = r"signal 9 \(Killed\)|daemon failed|peer process has unexpectedly disconnected"
pytestmark = pytest.mark.skipif(bool(why_no_machines()), reason=why_no_machines())


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[Machines]:
    with Machines(3, tmp_path) as found:
        yield found


def wait_for_fit(machines: Machines, folder: Path) -> None:
    """Until all processes are within a fit that does not end."""
    deadline = time.monotonic() + 180
    while len(list(folder.glob("ready-*"))) < len(machines.hosts):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    time.sleep(1.0)


def unplug(machines: Machines) -> None:
    machines.unplug(3)


def kill(word: str) -> Callable[[Machines], None]:
    def end(machines: Machines) -> None:
        victims = machines.processes(3, word)
        assert victims
        for victim in victims:
            os.kill(victim, signal.SIGKILL)

    return end


@pytest.mark.parametrize(
    ("lose", "message"),
    [(unplug, UNREACHABLE), (kill(MODULE), GONE), (kill("--tree-spawn"), f"{GONE}|{UNREACHABLE}")],
    ids=["unplugged", "process killed", "daemon killed"],
)
def test_a_lost_machine_ends_the_job(
    machines: Machines, tmp_path: Path, lose: Callable[[Machines], None], message: str
) -> None:
    out = tmp_path / "told.json"
    job = machines.start("-m", MODULE, str(out), "endless", cwd=tmp_path)
    wait_for_fit(machines, tmp_path)
    begun = time.monotonic()
    lose(machines)
    said, _ = job.communicate(timeout=2 * SECONDS)
    assert re.search(message, said), said
    while any(machines.processes(number, MODULE) for number in (1, 2, 3)):
        assert time.monotonic() - begun < SECONDS
        time.sleep(0.1)
    assert time.monotonic() - begun < SECONDS
    assert not out.exists()


@pytest.mark.parametrize(
    "discipline",
    [("netem", "delay", "20ms"), ("tbf", "rate", "512kbit", "burst", "5kb", "latency", "2s")],
    ids=lambda words: words[0],
)
def test_a_slow_line_only_slows(
    machines: Machines, tmp_path: Path, discipline: tuple[str, ...]
) -> None:
    for number in (2, 3):
        machines.slow_down(number, *discipline)
    out = tmp_path / "told.json"
    job = machines.start("-m", MODULE, str(out), "few", cwd=tmp_path)
    said, _ = job.communicate(timeout=300)
    assert job.returncode == 0, said
    told = [rank["value"] for rank in json.loads(out.read_text())["few"]]
    assert told[0] == told[1] == told[2]
    for figures in told[0].values():
        check_same_optimum(figures)
