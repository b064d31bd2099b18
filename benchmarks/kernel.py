"""The race of the kernel machines: ``python -m benchmarks.kernel [PART ...]``.

Parts: ``race`` (KernelSVM to a relative gap of 1e-3 beside scikit-learn's SVC and, where it is
installed, that of scikit-learn-intelex, CPU seconds on one thread, median of interleaved rounds),
``values`` (WW and LLW beside SVC at C = 1, 100 and 1e4), ``mnist`` (all 60,000 rows on two threads:
wall seconds, memory, test error), ``prediction``, ``growth`` (seconds over n and k), ``gaps`` (1e-6
for WW, CS and LLW, 1e-4 for the others, in double). Results are stored entry by entry in
``results/kernel.json``; ``results/kernel.md`` and ``kernel.png`` are made from it.
"""

from __future__ import annotations

import argparse
import lzma
import resource
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from rich.console import Console
from scipy import sparse
from sklearn.datasets import load_svmlight_file
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import minmax_scale
from sklearn.svm import SVC

from benchmarks import kernel_report
from benchmarks.datasets import SPECS, data_folder, load
from benchmarks.provenance import Results, add_options, open_results
from benchmarks.timing import timed
from polymargin import KernelSVM, core

TOL = 1e-3
LIMIT = 20.0  # CPU seconds of an entrant on a set, after which it takes no more turns
MACHINES = ("ww", "cs", "llw")
PARTS = ("race", "values", "mnist", "prediction", "growth", "gaps")
console = Console()


@dataclass(frozen=True)
class Setting:
    """A data set, the number of its first rows in use, C and gamma of the radial kernel."""

    data: str
    rows: int | None
    C: float
    gamma: float


SETTINGS = {
    "satimage": Setting("satimage", None, 16.0, 1.0),
    "usps": Setting("usps", None, 10.0, 2.0**-7),
    "mnist 5k": Setting("mnist", 5000, 10.0, 0.02),
    "mnist 10k": Setting("mnist", 10000, 5.0, 0.02),
    "letter 5k": Setting("letter", 5000, 16.0, 4.0),
    "optdigits": Setting("optdigits", None, 10.0, 0.05),
    "segment": Setting("segment", None, 10.0, 0.5),
    "shuttle": Setting("shuttle", None, 16.0, 16.0),
}
MNIST = Setting("mnist", None, 5.0, 0.02)
GAPS = {
    "glass": Setting("glass", None, 10.0, 0.5),
    "iris": Setting("iris", None, 10.0, 0.5),
    "vehicle": Setting("vehicle", None, 10.0, 0.25),
    "segment": SETTINGS["segment"],
    "satimage": SETTINGS["satimage"],
    "optdigits": SETTINGS["optdigits"],
    "usps": SETTINGS["usps"],
    "letter 5k": SETTINGS["letter 5k"],
}

VALUES = (1.0, 100.0, 1e4)  # of C
TUNED = ("satimage", "segment", "usps", "glass")  # by which constants of the solver were chosen
OTHERS = ("optdigits", "shuttle", "vehicle", "letter 5k", "mnist 5k")
VALUE_SETS = {key: (SETTINGS | GAPS)[key] for key in TUNED + OTHERS}


@dataclass(frozen=True)
class Part:
    """Rows in single precision, and the test part."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


def read(setting: Setting, rows: int | None = None) -> Part:
    """The data of a setting, dense; a third of a set in one file is its test part."""
    if setting.data not in SPECS:
        X, y = read_whole(setting)
        parts = train_test_split(X.astype(np.float32), y, test_size=1 / 3, random_state=0)
        return Part(parts[0], parts[2], parts[1], parts[3])
    data, count = load(setting.data), rows or setting.rows
    X, X_test = (
        (M.toarray() if sparse.issparse(M) else M).astype(np.float32) for M in (data.X, data.X_test)
    )
    return Part(X[:count], data.y[:count], X_test, data.y_test)


def read_whole(setting: Setting) -> tuple[np.ndarray, np.ndarray]:
    """Rows in double and labels, also of sets that come in one file, scaled to [-1, 1]."""
    if setting.data in SPECS:
        data = load(setting.data)
        return data.X[: setting.rows], data.y[: setting.rows]
    with lzma.open(data_folder() / f"{setting.data}.svm.xz", "rb") as file:
        X, y = load_svmlight_file(file)
    return minmax_scale(X.toarray(), (-1, 1)), y.astype(np.int64)


def ours(machine: str, setting: Setting, n_jobs: int = 1, cache_size: float = 1024) -> KernelSVM:
    return KernelSVM(
        machine,
        setting.C,
        gamma=setting.gamma,
        tol=TOL,
        cache_size=cache_size,
        n_jobs=n_jobs,
        random_state=0,
    )


def entrants(setting: Setting) -> dict[str, Callable[[], Any]]:
    """What takes part in the race, by name."""
    field: dict[str, Callable[[], Any]] = {
        f"polymargin/{machine}": lambda machine=machine: ours(machine, setting)
        for machine in MACHINES
    }
    field["SVC"] = lambda: SVC(C=setting.C, gamma=setting.gamma, cache_size=1024)
    intel = _intel()
    if intel is not None:
        field["intelex"] = lambda: intel(C=setting.C, gamma=setting.gamma, cache_size=1024)
    return field


def _intel() -> Any:
    """SVC of scikit-learn-intelex on one thread, if it is installed."""
    try:
        from daal4py import daalinit
        from sklearnex import svm
    except ImportError:
        return None
    daalinit(1)
    return svm.SVC


class Bench:
    """One run of the command."""

    def __init__(self, options: argparse.Namespace, results: Results) -> None:
        self.options = options
        self.results = results

    def keep(self, part: str, key: str, record: dict[str, Any]) -> None:
        self.results.content.setdefault(part, {})[key] = self.results.sign(record)
        self.results.write()

    def race(self) -> None:
        for name in self.options.datasets or SETTINGS:
            part, field = read(SETTINGS[name]), entrants(SETTINGS[name])
            self.keep("race", name, self._interleaved(name, part, field))

    def values(self) -> None:
        for name in self.options.datasets or VALUE_SETS:
            part = read(VALUE_SETS[name])
            for C in VALUES:
                field = entrants(replace(VALUE_SETS[name], C=C))
                ours = [f"polymargin/{machine}" for machine in self.options.machines]
                some = {key: field[key] for key in ("SVC", *ours)}
                record = self._interleaved(f"{name} {C:g}", part, some)
                self.keep("values", f"{name}/{C:g}", record)

    def _interleaved(
        self, name: str, part: Part, field: dict[str, Callable[[], Any]]
    ) -> dict[str, Any]:
        """Fits of all in turns; none of an entrant that has used up its seconds."""
        runs: dict[str, list[dict[str, float]]] = {key: [] for key in field}
        for turn in range(self.options.repeats):
            for key, make in field.items():
                if sum(run["cpu"] for run in runs[key]) > LIMIT:
                    continue
                model = make()
                X = part.X.astype(np.float64) if key == "SVC" else part.X
                clock = timed(partial(model.fit, X, part.y))
                runs[key].append({"cpu": clock.cpu, "gap": getattr(model, "dual_gap_", None)})
                if turn == 0:
                    accuracy = model.score(part.X_test.astype(X.dtype), part.y_test)
                    runs[key][0]["accuracy"] = float(accuracy)
        for key, own in runs.items():
            console.print(f"{name:15} {key:16} {np.median([run['cpu'] for run in own]):8.3f} s")
        return {"n": len(part.y), "runs": runs}

    def mnist(self) -> None:
        """Wall seconds of the whole set on two threads with 1 and 4 GiB of cache; peak memory."""
        part = read(MNIST)
        before = _peak_bytes()
        for cache_size in (1024, 4096):  # ascending: the peak of the process only rises
            model = ours("ww", MNIST, n_jobs=2, cache_size=cache_size)
            clock = timed(partial(model.fit, part.X, part.y))
            peak = _peak_bytes() - before
            record = {
                "wall": clock.wall,
                "cpu": clock.cpu,
                "gap": model.dual_gap_,
                "support": len(model.support_),
                "rounds": len(model.history_) - 1,
                "error": 1 - float(model.score(part.X_test, part.y_test)),
                "peak_bytes": peak,
                "bound_bytes": (cache_size << 20) + 3 * part.X.nbytes + 4 * len(part.y) * 10,
            }
            console.print(record)
            self.keep("mnist", f"ww/{cache_size}", record)

    def prediction(self) -> None:
        """CPU seconds of the scores of mnist's test part from 10,000 training rows."""
        part = read(MNIST, 10_000)
        models = {"polymargin": ours("ww", MNIST), "SVC": entrants(MNIST)["SVC"]()}
        if _intel() is not None:
            models["intelex"] = entrants(MNIST)["intelex"]()
        for key, model in models.items():
            X, X_test = (M.astype(np.float64) if key == "SVC" else M for M in (part.X, part.X_test))
            model.fit(X, part.y)
            clocks = [
                timed(partial(model.predict, X_test)).cpu for _ in range(self.options.repeats)
            ]
            console.print(f"prediction {key}: {np.median(clocks):.3f} s")
            self.keep("prediction", key, {"cpu": clocks, "support": len(model.support_)})

    def growth(self) -> None:
        """Seconds over the number of rows (mnist) and of classes (letter)."""
        for n in (1000, 2000, 5000, 10_000, 20_000, 40_000, 60_000):
            part = read(MNIST, n)
            model = ours("ww", MNIST, cache_size=4096)
            clock = timed(partial(model.fit, part.X, part.y))
            self.keep("growth", f"n={n}", {"cpu": clock.cpu})
            console.print(f"n = {n}: {clock.cpu:.2f} s")
        letter = SETTINGS["letter 5k"]
        part = read(letter, 15_000)
        for k in (3, 6, 13, 26):
            rows = np.flatnonzero(part.y < k)[:1500]
            for machine in MACHINES:
                clock = timed(partial(ours(machine, letter).fit, part.X[rows], part.y[rows]))
                self.keep("growth", f"k={k}/{machine}", {"cpu": clock.cpu})
            console.print(f"k = {k}")

    def gaps(self) -> None:
        """How small the gap gets in double precision, for every machine."""
        for name, setting in GAPS.items():
            X, y = read_whole(setting)
            for info in core.machines():
                tol = 1e-6 if info.name in MACHINES else 1e-4
                model = ours(info.name, setting).set_params(tol=tol)
                clock = timed(partial(model.fit, X, y))
                record = {"gap": model.dual_gap_, "tol": tol, "cpu": clock.cpu}
                self.keep("gaps", f"{name}/{info.name}", record | {"passes": model.n_iter_})
                console.print(f"{name}/{info.name}: {model.dual_gap_:.1e}, {clock.cpu:.1f} s")


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kernel", description=__doc__)
    parser.add_argument("parts", nargs="*", default=list(PARTS), metavar="PART")
    parser.add_argument("--datasets", nargs="+", choices=SETTINGS | GAPS, metavar="NAME")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument(
        "--machines", nargs="+", choices=MACHINES, default=["ww", "llw"], help="of values"
    )
    add_options(parser)
    options = parser.parse_args()
    unknown = set(options.parts) - set(PARTS)
    if unknown:
        parser.error(f"unknown part: {', '.join(sorted(unknown))}; known are {', '.join(PARTS)}")
    results = open_results("kernel", options)
    bench = Bench(options, results)
    for part in () if options.report else options.parts:
        getattr(bench, part)()
    kernel_report.write(results)


if __name__ == "__main__":
    main()
