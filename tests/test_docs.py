"""The documentation: its code and commands run, its example compiles, its pages build."""

from __future__ import annotations

import doctest
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib import metadata
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from docs_console import NOT_RUN, Console, is_alike, steps_of
from scipy.optimize import minimize

REPOSITORY = Path(__file__).resolve().parents[1]
DOCS = REPOSITORY / "docs"
DATA = REPOSITORY / "src/polymargin/data"
PAGES = sorted(path for path in DOCS.rglob("*.md") if "_build" not in path.parts)
PAGES.append(REPOSITORY / "README.md")
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE

FENCE = re.compile(
    r"(?:^% requires (?P<package>\S+) (?P<version>[\d.]+)\n\n)?"
    r"^(?P<indent> *)```(?P<language>\w+)\n(?P<code>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class CodeBlock:
    """A fenced block of a page."""

    language: str
    code: str
    line: int
    requirement: tuple[str, str] | None  # package and least version


def code_blocks(page: Path) -> list[CodeBlock]:
    text = page.read_text(encoding="utf-8")
    blocks = []
    for match in FENCE.finditer(text):
        indent = len(match["indent"])
        code = "".join(line[indent:] for line in match["code"].splitlines(keepends=True))
        blocks.append(
            CodeBlock(
                language=match["language"],
                code=code,
                line=text.count("\n", 0, match.start("code")) + 1,
                requirement=(match["package"], match["version"]) if match["package"] else None,
            )
        )
    return blocks


def _numbers(version: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", version)[:2]]


def is_met(requirement: tuple[str, str] | None) -> bool:
    if requirement is None:
        return True
    package, least = requirement
    try:
        return _numbers(metadata.version(package)) >= _numbers(least)
    except metadata.PackageNotFoundError:
        return False


def run(block: CodeBlock, page: Path, names: dict[str, Any]) -> None:
    """Execute a block of Python, as a doctest where it has prompts, in the names of its page."""
    where = str(page.relative_to(REPOSITORY))
    if not block.code.startswith(">>>"):
        exec(compile("\n" * (block.line - 1) + block.code, where, "exec"), names)
        return
    test = doctest.DocTestParser().get_doctest(block.code, names, where, where, block.line - 1)
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    report: list[str] = []
    runner.run(test, out=report.append, clear_globs=False)
    names.update(test.globs)
    assert runner.failures == 0, "".join(report)


def as_parameter(page: Path) -> Any:
    """Commands start slowly, so that pages with many of them are slow."""
    n_commands = page.read_text(encoding="utf-8").count("\n$ polymargin")
    marks = [pytest.mark.slow] if n_commands > 3 else []
    return pytest.param(page, id=str(page.relative_to(REPOSITORY)), marks=marks)


@pytest.mark.parametrize("page", [as_parameter(page) for page in PAGES])
def test_code_of_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python and command lines in order, in a folder with the bundled data."""
    blocks = [block for block in code_blocks(page) if block.language in ("python", "console")]
    if any(block.language == "console" for block in blocks):
        for file in DATA.glob("*.svm.xz"):
            shutil.copy(file, tmp_path)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "__main__"}
    console = Console(tmp_path)
    for block in blocks:
        if not is_met(block.requirement):
            continue
        if block.language == "python":
            run(block, page, names)
        else:
            console.run(block.code, str(page.relative_to(REPOSITORY)), block.line)
    console.end()


def run_console(code: str, folder: Path) -> None:
    console = Console(folder)
    console.run(code, "page.md", 1)
    console.end()


@pytest.mark.parametrize(
    ("code", "complaint"),
    [
        ("$ polymargin info nothing.safetensors\n", "status 3"),
        ("$ polymargin info nothing.safetensors\n$ echo $?\n2\n", "shown"),
        ("$ polymargin --version\nanother program\n", "shown"),
        ("$ echo one | cat\ntwo\n", "shown"),
        ("$ false\n$ true\n", "status 1"),
        ("no prompt\n", "starts with"),
    ],
)
def test_wrong_command_lines_are_noticed(code: str, complaint: str, tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=complaint):
        run_console(code, tmp_path)


def test_announced_failures_are_fine(tmp_path: Path) -> None:
    run_console("$ polymargin info nothing.safetensors\n$ echo $?\n3\n", tmp_path)
    run_console("$ echo a line; false\na ...\n$ echo $?\n1\n", tmp_path)


@pytest.mark.parametrize(
    ("shown", "printed", "alike"),
    [
        ("gap 6.77e-04", "gap  9.1e-04\n", True),
        ("gap 6.77e-04", "gap 7.1e-03", False),
        ("gap 6.77e-04", "gap 0.5", False),
        ("... accuracy 84.05% ± 0.82%", "label\n accuracy 83.6% ± 0.81%", True),
        ("... accuracy 84.05%", "accuracy 83.00%", False),
        ("... accuracy 84.05%", "accuracy 84.05", False),
        ("between 2045.37 and 2046.76,", "between 2044.9 and 2046.8,", True),
        ("between 2045.37 and 2046.76,", "between 1995.1 and 2046.8,", False),
        ("f1 0.375", "f1 0.336", True),
        ("f1 0.375", "f1 0.313", False),
        ("-3.09", "3.09", False),
        ("errors 319 of 2,000", "errors 322 of 2,000", True),
        ("errors 319 of 2,000", "errors 339 of 2,000", False),
        ("4,435 rows, 6 classes", "4,435 rows, 7 classes", False),
        ("passes 102 in 0.14 s ...", "passes 99 in 71.5 s\nfile", True),
        ("passes 102 in 0.14 s ...", "passes 300 in 0.14 s\nfile", False),
        ("class ...", "classes 3", False),
        ("a\n...\nb", "a b", True),
        ("260 ...\n3 4 ...", "260 10\n3 4 5", True),
        ("a b", "a b c", False),
    ],
)
def test_output_is_compared(shown: str, printed: str, alike: bool) -> None:
    assert is_alike(shown, printed) == alike


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_every_figure_of_a_page_counts(page: Path) -> None:
    """What a page shows is not what is printed once one of its figures is another."""
    for block in code_blocks(page):
        if block.language != "console":
            continue
        for step in steps_of(block.code, block.line):
            if step.command.startswith(NOT_RUN):
                continue
            assert is_alike(step.shown, step.shown)
            for figure in re.finditer(r"\d[\d,.]*(?:e[+-]\d+)?(?!\S* s\b)", step.shown):
                number = figure[0].rstrip(",.").replace(",", "")
                other = f"{float(number) * 100 + 100:.6g}"
                wrong = step.shown[: figure.start()] + other + step.shown[figure.end() :]
                assert not is_alike(wrong, step.shown), f"{page}:{step.line}: {figure[0]}"


def test_every_machine_and_block_solver_is_in_the_tables() -> None:
    from polymargin import core
    from polymargin.block_solvers import BLOCK_SOLVERS

    machines = (DOCS / "guide/machines.md").read_text(encoding="utf-8")
    solving = (DOCS / "guide/solving.md").read_text(encoding="utf-8")
    rows = [line for line in solving.splitlines() if line.startswith("| `")]
    for info in core.machines():
        for name in (info.name, *info.aliases):
            assert f"`{name}`" in machines
    for name in BLOCK_SOLVERS:
        (row,) = [line for line in rows if line.startswith(f"| `{name}` |")]
        listed = row.split("|")[3]
        defined = {info.name for info in core.machines() if name in info.block_solvers}
        if "all" in listed:
            assert len(defined) == len(core.machines())
        else:
            assert set(re.findall(r"`(\w+)`", listed)) == defined


def test_commands_and_exit_codes_are_in_the_tables() -> None:
    from polymargin.cli._app import app
    from polymargin.cli._codes import Exit

    page = (DOCS / "guide/command-line.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| \[`(\w+)`\]\(#\w+\) \|", page, re.MULTILINE)
    assert listed == [command.name for command in app.registered_commands]
    assert re.findall(r"^## (\w+)$", page, re.MULTILINE) == listed
    codes = re.findall(r"^\| (\d+) \|", page, re.MULTILINE)
    assert [int(code) for code in codes] == sorted(Exit)


@pytest.mark.slow
def test_pages_build_without_warnings(tmp_path: Path) -> None:
    for package in (
        "sphinx",
        "myst_parser",
        "numpydoc",
        "furo",
        "sphinx_copybutton",
        "latex2mathml",
    ):
        pytest.importorskip(package)
    command = [sys.executable, "-m", "sphinx", "-W", "-q", "-b", "html"]
    places = ["-d", str(tmp_path / "tree"), str(DOCS), str(tmp_path / "html")]
    built = subprocess.run(
        command + places, capture_output=True, text=True, timeout=900, check=False
    )
    assert built.returncode == 0, built.stderr


# The worked example of "Add a machine".

GAMMA, PENALTY = 0.3, 0.5


@dataclass(frozen=True)
class Printed:
    """What the program of the page prints."""

    gap: float
    objective: float
    W: Any  # (k, d)
    X: Any  # (n, d)
    y: Any  # (n,)

    @classmethod
    def parse(cls, output: str) -> Printed:
        fields: dict[str, list[list[float]]] = {}
        for line in output.splitlines():
            word, *values = line.split()
            fields.setdefault(word, []).append([float(value) for value in values])
        examples = np.array(fields["example"])
        return cls(
            gap=fields["gap"][0][0],
            objective=fields["objective"][0][0],
            W=np.array(fields["weights"]).T,
            X=examples[:, 1:],
            y=examples[:, 0].astype(int),
        )


def overlay(page: Path, folder: Path) -> Path:
    """Copy the core to `folder`, add the page's header, edit as its diff says; the program."""
    header, program = (block.code for block in code_blocks(page) if block.language == "cpp")
    (diff,) = (block.code for block in code_blocks(page) if block.language == "diff")
    shutil.copytree(REPOSITORY / "cpp/include", folder / "cpp/include")
    shutil.copytree(REPOSITORY / "cpp/src", folder / "cpp/src")
    (folder / "cpp/include/polymargin/machines/rm30.hpp").write_text(header, encoding="utf-8")
    _apply(diff, folder)
    source = folder / "train_rm30.cpp"
    source.write_text(program, encoding="utf-8")
    return source


def _apply(diff: str, folder: Path) -> None:
    """Insert each line "+" after the line " " that precedes it."""
    lines = diff.splitlines()
    target = folder / lines[1].removeprefix("+++ b/")
    text = target.read_text(encoding="utf-8")
    for before, added in pairwise(lines[2:]):
        if added.startswith("+"):
            assert text.count(before[1:] + "\n") == 1, before
            text = text.replace(before[1:] + "\n", before[1:] + "\n" + added[1:] + "\n")
    target.write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> Printed:
    """The output of the page's program, compiled with the page's command."""
    compiler = next(filter(shutil.which, (os.environ.get("CXX", "c++"), "c++", "g++")), None)
    if compiler is None:
        pytest.skip("no C++ compiler: neither $CXX nor c++ nor g++ is on the path")
    page, folder = DOCS / "extend/machine.md", tmp_path_factory.mktemp("machine")
    overlay(page, folder)
    (console,) = (block.code for block in code_blocks(page) if block.language == "console")
    command = console.splitlines()[0].removeprefix("$ c++ ").split()
    compiled = subprocess.run(
        [compiler, *command],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    if "unrecognized" in compiled.stderr and "c++20" in compiled.stderr:
        pytest.skip(f"{compiler} knows no C++20")
    assert compiled.returncode == 0, compiled.stderr
    run = subprocess.run(
        [folder / "train_rm30"], capture_output=True, text=True, timeout=60, check=True
    )
    return Printed.parse(run.stdout)


@pytest.mark.slow
def test_new_machine_is_certified(printed: Printed) -> None:
    assert 0 <= printed.gap < 1e-6
    page = (DOCS / "extend/machine.md").read_text(encoding="utf-8")
    shown = re.search(r"^objective (\S+)$", page, re.MULTILINE)
    assert shown is not None
    assert printed.objective == pytest.approx(float(shown[1]), rel=1e-6)
    np.testing.assert_allclose(printed.W.sum(axis=0), 0.0, atol=1e-9)


@pytest.mark.slow
def test_new_machine_has_the_loss_of_the_page(printed: Printed) -> None:
    """The primal objective, from the printed weights and the formula."""
    f = printed.X @ printed.W.T
    n, k = f.shape
    own = np.arange(k) == printed.y[:, None]
    others = np.where(own, 0.0, np.maximum(0.0, 1.0 + f)).sum(axis=1)
    hinge = np.maximum(0.0, k - 1 - f[np.arange(n), printed.y])
    loss = (1 - GAMMA) * others + GAMMA * hinge
    primal = 0.5 * (printed.W**2).sum() + PENALTY * loss.sum()
    assert primal == pytest.approx(printed.objective, rel=1e-9)


@pytest.mark.slow
def test_new_machine_reaches_the_optimum(printed: Printed) -> None:
    """The dual objective, maximised by L-BFGS-B."""
    k = printed.W.shape[0]
    n = len(printed.y)
    own = np.arange(k) == printed.y[:, None]
    sign = np.where(own, 1.0, -1.0)
    margin = np.where(own, k - 1.0, 1.0)
    upper = PENALTY * np.where(own, GAMMA, 1 - GAMMA)

    def negative_dual(beta: Any) -> tuple[float, Any]:
        beta = beta.reshape(n, k)
        W = (sign * beta).T @ printed.X
        W -= W.mean(axis=0)
        gradient = margin - sign * (printed.X @ W.T)
        return 0.5 * (W**2).sum() - (margin * beta).sum(), -gradient.ravel()

    solved = minimize(
        negative_dual,
        np.zeros(n * k),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, bound) for bound in upper.ravel()],
        options={"maxiter": 10_000, "maxfun": 100_000, "ftol": 1e-15, "gtol": 1e-9},
    )
    assert printed.objective == pytest.approx(-solved.fun, rel=1e-6)
    assert printed.objective >= -solved.fun * (1 - 1e-9)  # any dual value is a lower bound
