"""The tests of the estimator of one process, run by several processes with theirs."""

import re
import sys
from pathlib import Path

from distributed_helpers import needs_mpi, start

pytestmark = needs_mpi

TESTS = Path(__file__).parent
# What is different by design, or about one process.
OTHERS = (
    "verbose",  # rank 0 alone speaks
    "interrupt_leaves_a_model",  # of a process that the test starts by itself
    "callback_stops_the_fit",  # on weights that have their certificate already
    "not_converged_warns_with_the_gap",  # and advises to have one process
)


def test_the_estimator_of_several_processes_passes_the_tests_of_that_of_one() -> None:
    pytest = [sys.executable, "-m", "pytest", "-p", "distributed_plugin", "-p", "no:cacheprovider"]
    chosen = ["test_estimator.py", "-q", "-k", " and ".join(f"not {name}" for name in OTHERS)]
    done = start(3, *pytest, "--color=no", *chosen, cwd=TESTS)
    assert done.returncode == 0, done.stdout[-5000:]
    passed = re.findall(r"(\d+) passed", done.stdout)
    assert len(passed) == 3
    assert min(map(int, passed)) > 100
