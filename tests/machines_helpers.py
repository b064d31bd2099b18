"""Machines of a test: network namespaces on one bridge, each with an address and a name of its own.

`mpiexec` on the first one starts processes on the others as it would by ssh: its agent is a script
that enters their namespaces. All of it is seen by nobody else, and removed at the end.
"""

import fcntl
import functools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from types import TracebackType

import pytest
from distributed_helpers import LAUNCHER, MISSING, environment

# Of docs/guide/distributed.md: who does not answer for some eleven seconds is lost.
KEEPALIVE = {
    "PRTE_MCA_oob_tcp_keepalive_time": "5",
    "PRTE_MCA_oob_tcp_keepalive_intvl": "2",
    "PRTE_MCA_oob_tcp_keepalive_probes": "3",
}
_LOCK = Path(tempfile.gettempdir()) / "polymargin-machines.lock"
_AGENT = """#!/bin/bash
host=$1; shift
exec ip netns exec {prefix}${{host##*.}} unshare --uts bash -c "hostname $host; $*"
"""


def ip(*words: str) -> str:
    """The command of this name; an error where it fails."""
    done = subprocess.run(["ip", *words], capture_output=True, text=True)
    if done.returncode:
        raise OSError(f"ip {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


@functools.cache
def why_no_machines() -> str:
    """Nothing where there can be some."""
    if MISSING:
        return MISSING
    if os.geteuid() != 0:
        return "network namespaces are for root"
    for command, package in (("ip", "iproute2"), ("unshare", "util-linux")):
        if shutil.which(command) is None:
            return f"there is no command {command}; it comes with {package}"
    try:
        with Machines(1, Path("/nonexistent")):
            return ""
    except OSError as error:
        return f"this system gives no network namespaces: {error}"


class Machines(AbstractContextManager["Machines"]):
    """`n` machines with the addresses `hosts`."""

    def __init__(self, n: int, folder: Path) -> None:
        self._prefix = f"polymargin-{os.getpid()}-"
        self._hub = f"{self._prefix}hub"
        self._numbers = range(1, n + 1)
        self._agent = folder / "agent.sh"
        # Names of their own, by which Open MPI calls its files in the folder that all share.
        network = f"10.{os.getpid() // 256 % 256}.{os.getpid() % 256}"
        self.hosts = [f"{network}.{number}" for number in self._numbers]

    def __enter__(self) -> "Machines":
        self._lock = _LOCK.open("w")
        fcntl.flock(self._lock, fcntl.LOCK_EX)  # tests of another process wait: times count here
        try:
            ip("netns", "add", self._hub)
            ip("-n", self._hub, "link", "add", "bridge", "type", "bridge")
            ip("-n", self._hub, "link", "set", "bridge", "up")
            for number, host in zip(self._numbers, self.hosts, strict=True):
                self._add(number, host)
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._remove()

    def _add(self, number: int, host: str) -> None:
        name, port = f"{self._prefix}{number}", f"port{number}"
        ip("netns", "add", name)
        end = ("type", "veth", "peer", "name", "eth0", "netns", name)
        ip("-n", self._hub, "link", "add", port, *end)
        ip("-n", self._hub, "link", "set", port, "master", "bridge", "up")
        ip("-n", name, "address", "add", f"{host}/24", "dev", "eth0")
        for device in ("lo", "eth0"):
            ip("-n", name, "link", "set", device, "up")

    def _remove(self) -> None:
        self._remove_namespaces()
        self._lock.close()

    def _remove_namespaces(self) -> None:
        for name in [*(f"{self._prefix}{number}" for number in self._numbers), self._hub]:
            with suppress(OSError):
                for pid in ip("netns", "pids", name).split():
                    with suppress(ProcessLookupError):
                        os.kill(int(pid), signal.SIGKILL)
                ip("netns", "del", name)

    def start(self, *command: str, cwd: Path) -> "subprocess.Popen[str]":
        """A Python command, one process on each machine."""
        self._agent.write_text(_AGENT.format(prefix=self._prefix))
        self._agent.chmod(0o755)
        launch = [str(LAUNCHER), "--host", ",".join(self.hosts), "-n", str(len(self.hosts))]
        words = [*launch, sys.executable, *command]
        on_first = [str(self._agent), self.hosts[0], "exec", *words]
        return subprocess.Popen(
            on_first,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=environment() | KEEPALIVE | {"PRTE_MCA_plm_ssh_agent": str(self._agent)},
            cwd=cwd,
        )

    def unplug(self, number: int) -> None:
        """Cut a machine, counted from 1, off from the others."""
        ip("-n", self._hub, "link", "set", f"port{number}", "down")

    def slow_down(self, number: int, *discipline: str) -> None:
        """Give a discipline of `tc` to the line to a machine; the test is skipped without it."""
        places = f"{os.environ['PATH']}:/usr/sbin:/sbin"  # which a PATH may lack
        tc = shutil.which("tc", path=places)
        if tc is None:
            pytest.skip("there is no command tc; it comes with iproute2")
        words = [tc, "-n", self._hub, "qdisc", "add", "dev", f"port{number}", "root"]
        done = subprocess.run([*words, *discipline], capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"this kernel has no {discipline[0]}: {done.stderr.strip()}")

    def processes(self, number: int, word: str) -> list[int]:
        """On a machine, of which the command line has this word."""
        found = []
        for pid in ip("netns", "pids", f"{self._prefix}{number}").split():
            with suppress(FileNotFoundError):
                if word in Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0"):
                    found.append(int(pid))
        return found
