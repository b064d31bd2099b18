"""Command lines of the documentation: run in order, their output compared with what is shown.

In what is shown ``...`` stands for anything. Words have to be equal, numbers as close as solvers
come that end on slightly different weights on another processor:

    84.05%      within a point
    6.77e-04    within a factor of ten: a gap ends somewhere below the tolerance
    0.284       within 0.05
    2045.37     within 2 %
    319         within 5 %; equal below 100
    passes 102  within a factor of two
    0.14 s      any number
"""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

# What installs something, and what other tests do with the page: the first words of the command.
NOT_RUN = ("pip ", "c++ ", "./train_rm30", "POLYMARGIN_SIMD=")

_WIDTH = 80
_NUMBER = r"\d[\d,]*(?:\.\d+)?(?:e[+-]\d+)?%?"
_SHELL = set("|<>&;$*`(){}[]\\")


@dataclass(frozen=True)
class Step:
    """A command after ``$``, and the lines below it."""

    command: str
    shown: str
    line: int  # of the page


@dataclass(frozen=True)
class Finished:
    """What a command has left."""

    status: int
    output: str
    errors: str


def steps_of(code: str, first_line: int) -> Iterator[Step]:
    """The commands of a block."""
    command: str | None = None
    line, shown = first_line, ""
    for number, text in enumerate(code.splitlines(), first_line):
        if text.startswith("$ "):
            if command is not None:
                yield Step(command, shown, line)
            command, shown, line = text[2:].strip(), "", number
        elif command is not None and command.endswith("\\"):
            command = command[:-1] + text.strip()
        else:
            assert command is not None, f"line {number}: a console block starts with '$ '"
            shown += text + "\n"
    if command is not None:
        yield Step(command, shown, line)


class Console:
    """The terminal that a page is read at."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._status = 0
        self._failed: str | None = None  # a command whose status the page has yet to show

    def run(self, code: str, page: str, first_line: int) -> None:
        """Run a block; AssertionError where a command fails unannounced or prints otherwise."""
        for step in steps_of(code, first_line):
            if step.command.startswith(NOT_RUN):
                continue
            place = f"{page}:{step.line}: {step.command}"
            if step.command == "echo $?":
                finished = Finished(0, f"{self._status}\n", "")
                self._failed = None
            else:
                self.end()
                finished = self._finish(step.command)
                self._status = finished.status
                if finished.status:
                    self._failed = f"{place}\nstatus {finished.status}\n{finished.errors}"
            assert is_shown(step.shown, finished), (
                f"{place}\nshown:\n{step.shown}\noutput:\n{finished.output}\n"
                f"errors:\n{finished.errors}"
            )

    def end(self) -> None:
        """No failure is left that the page does not announce with ``echo $?``."""
        assert self._failed is None, self._failed

    def _finish(self, command: str) -> Finished:
        if command.startswith("polymargin ") and not _SHELL & set(command):
            return _run_here(shlex.split(command)[1:])
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
        done = subprocess.run(
            command,
            shell=True,
            cwd=self._folder,
            env=os.environ | {"PATH": path, "COLUMNS": str(_WIDTH)},
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        return Finished(done.returncode, done.stdout, done.stderr)


def is_shown(shown: str, finished: Finished) -> bool:
    """Whether this is what the command has printed, as results or as messages."""
    both = f"{finished.output}\n{finished.errors}"
    return not shown.strip() or any(
        is_alike(shown, printed) for printed in (finished.output, finished.errors, both)
    )


def is_alike(shown: str, printed: str) -> bool:
    """The same words, and numbers as close as said above."""
    wanted, found = shown.split(), printed.split()
    places = {0}  # how many printed words those so far may stand for
    for before, word, after in zip(["", *wanted], wanted, [*wanted[1:], ""], strict=False):
        if word == "...":
            places = set(range(min(places), len(found) + 1))
        else:
            places = {
                i + 1 for i in places if found[i:] and _is_like(word, found[i], before, after)
            }
        if not places:
            return False
    return len(found) in places


def _is_like(word: str, found: str, before: str, after: str) -> bool:
    match = re.fullmatch(_pattern(word), found)
    if match is None:
        return False
    pairs = zip(re.findall(_NUMBER, word), match.groups(), strict=True)
    if after == "s":
        return True
    if before == "passes":
        return all(
            _value(number) / 2 <= _value(other) <= 2 * _value(number) for number, other in pairs
        )
    return all(_is_close(number, other) for number, other in pairs)


def _pattern(word: str) -> str:
    """Of a word in which ``...`` is anything and each number a group."""
    parts = re.split(rf"({_NUMBER}|\.\.\.)", word)
    for place in range(1, len(parts), 2):
        parts[place] = r"\S*?" if parts[place] == "..." else f"({_NUMBER})"
    for place in range(0, len(parts), 2):
        parts[place] = re.escape(parts[place])
    return "".join(parts)


def _value(number: str) -> float:
    return float(number.rstrip("%").replace(",", ""))


def _is_close(shown: str, found: str) -> bool:
    wanted, value = _value(shown), _value(found)
    if shown.endswith("%") or found.endswith("%"):
        return shown[-1] == found[-1] and abs(value - wanted) <= 1
    if "e" in shown:
        return wanted / 10 <= value <= wanted * 10
    if "." in shown:
        return abs(value - wanted) <= (0.05 if wanted < 1 else 0.02 * wanted)
    return value == wanted if wanted < 100 else abs(value - wanted) <= 0.05 * wanted


def _run_here(words: list[str]) -> Finished:
    """The command in this process, which saves its start."""
    from polymargin.cli._app import app
    from polymargin.cli._output import terminal

    output, errors = io.StringIO(), io.StringIO()
    width, terminal.out().width = terminal.out().width, _WIDTH
    try:
        with redirect_stdout(output), redirect_stderr(errors):
            app(words, prog_name="polymargin")
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    finally:
        terminal.out().width = width
    return Finished(status, output.getvalue(), errors.getvalue())
