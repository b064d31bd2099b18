"""What the tests of the command line share."""

import io
import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from conftest import BUNDLED

from polymargin.cli import main

SATIMAGE, SATIMAGE_TEST = (BUNDLED / f"satimage.{part}.svm.xz" for part in ("train", "test"))
LETTER, LETTER_TEST = (BUNDLED / f"letter.{part}.svm.xz" for part in ("train", "test"))
COMMANDS = ("train", "predict", "score", "select", "path", "inspect", "bench", "convert", "info")
COMMANDS += ("demo",)
_DEADLINE = 300  # seconds after which a child is killed: it hangs


@dataclass(frozen=True)
class Result:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output, which has to be one JSON object and nothing else."""
        value = json.loads(self.out)
        assert isinstance(value, dict)
        return value


class _Stream(io.TextIOWrapper):
    """Text in memory that can be told how to treat characters, as standard output can."""

    def __init__(self) -> None:
        self._bytes = io.BytesIO()
        super().__init__(self._bytes, encoding="utf-8", write_through=True)

    @property
    def text(self) -> str:
        self.flush()
        return self._bytes.getvalue().decode()


def run(*arguments: Any, stdin: bytes = b"") -> Result:
    """A command in this process; an exception that it does not explain is raised."""
    out, err = _Stream(), _Stream()
    given = io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8")
    code: Any = None
    with redirect_stdout(out), redirect_stderr(err), patch.object(sys, "stdin", given):
        try:
            main([str(argument) for argument in arguments])
        except SystemExit as end:
            code = end.code
    return Result(int(code or 0), out.text, err.text)


def done(*arguments: Any, stdin: bytes = b"") -> Result:
    """The same, and it has to succeed."""
    result = run(*arguments, stdin=stdin)
    assert result.code == 0, result
    return result


def one_error(result: Result, code: int) -> str:
    """The message, which is one line and no traceback."""
    assert result.code == code, result
    lines = [line for line in result.err.splitlines() if line.startswith("error: ")]
    assert len(lines) == 1, result.err
    assert "Traceback" not in result.err
    assert result.out == ""
    return lines[0]


def start(*arguments: Any, **options: Any) -> "subprocess.Popen[str]":
    """A command in a process of its own, with the signals of a terminal, which is killed late."""
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True} | options
    child: subprocess.Popen[str] = subprocess.Popen(
        [sys.executable, "-m", "polymargin", *map(str, arguments)],
        preexec_fn=_reset_signals,
        **options,
    )
    deadline = threading.Timer(_DEADLINE, child.kill)
    deadline.daemon = True
    deadline.start()
    return child


def _reset_signals() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def finish(child: "subprocess.Popen[str]") -> Result:
    """Wait for its end."""
    out, err = child.communicate()
    return Result(child.returncode, out or "", err or "")


def wait_for(is_there: Callable[[], bool], child: "subprocess.Popen[str]") -> None:
    """Wait until something is there, at most as long as the child lives."""
    while not is_there():
        assert child.poll() is None, child.communicate()
        time.sleep(0.01)


def names_in(folder: Path) -> set[str]:
    """All files, hidden ones too."""
    return {path.name for path in folder.iterdir()}


def write_svmlight(path: Path, rows: Iterable[Iterable[float]], labels: Iterable[Any]) -> Path:
    """A small file, all entries written."""
    with path.open("w", encoding="utf-8") as file:
        for row, label in zip(rows, labels, strict=True):
            entries = " ".join(f"{j}:{value!r}" for j, value in enumerate(map(float, row), start=1))
            file.write(f"{label} {entries}\n")
    return path
