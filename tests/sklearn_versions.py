"""Tests of the estimators with the oldest scikit-learn that is supported, and with the newest.

    python tests/sklearn_versions.py

Each version is installed into a folder under build/, which goes before what is installed already.
"""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TESTS = ("test_check_estimator", "test_estimator", "test_preprocessing", "test_files_pipeline")
TESTS += ("test_hashing",)
MACHINES = "ww,cs"  # what differs between machines does not depend on scikit-learn


def oldest() -> str:
    """The lower bound that pyproject.toml has."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (bound,) = (
        match[1]
        for requirement in project["dependencies"]
        if (match := re.fullmatch(r"scikit-learn>=([0-9.]+)", requirement))
    )
    return bound


def install(requirement: str, folder: Path) -> None:
    """Into the folder, without what it depends on, which is there."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--upgrade", "--no-deps"]
    subprocess.run([*pip, "--target", folder, requirement], check=True)


def run(folder: Path) -> int:
    """The tests, with scikit-learn from that folder; pytest's exit code."""
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")]),
        "POLYMARGIN_MACHINES": MACHINES,
    }
    show = "import sklearn; print('scikit-learn', sklearn.__version__, flush=True)"
    subprocess.run([sys.executable, "-c", show], env=environment, check=True)
    files = [f"tests/{name}.py" for name in TESTS]
    options = ["-q", "-p", "no:cacheprovider", "--disable-warnings"]
    return subprocess.run(
        [sys.executable, "-m", "pytest", *options, *files], cwd=ROOT, env=environment, check=False
    ).returncode


def main() -> int:
    codes = []
    for name, requirement in (
        ("oldest", f"scikit-learn=={oldest()}"),
        ("newest", "scikit-learn"),
    ):
        folder = ROOT / "build/sklearn" / name
        install(requirement, folder)
        codes.append(run(folder))
    return max(codes)


if __name__ == "__main__":
    sys.exit(main())
