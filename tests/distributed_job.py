"""What the processes of a test of `polymargin.distributed` do: scenarios by name, all in one job.

`mpiexec -n 3 python -m distributed_job OUT NAME...` writes to OUT, for each scenario, what each
process returned or raised.
"""

import json
import os
import signal
import sys
import tempfile
import threading
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from mpi4py import MPI
from scipy import sparse
from sklearn.base import clone

import polymargin
from polymargin import Leagues, LocalDescent, MeanWeights, core, distributed
from polymargin.distributed._ranks import Ranks

WORLD = MPI.COMM_WORLD
Scenario = Callable[[], Any]
SCENARIOS: dict[str, Scenario] = {}


def scenario(run: Scenario) -> Scenario:
    SCENARIOS[run.__name__] = run
    return run


def problem(n: int = 90, k: int = 5, d: int = 4) -> tuple[Any, Any]:
    random = np.random.default_rng(0)
    y = np.arange(n) % k
    X = random.uniform(-10, 10, (k, d))[y] + 3 * random.normal(size=(n, d))
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def both(X: Any, y: Any, machine: str = "ww", weight: Any = None, **params: Any) -> dict[str, Any]:
    """Figures of a fit by all processes and of one by each alone."""
    params = {"tol": 1e-4, "max_iter": 100_000, "random_state": 0} | params
    together = distributed.LinearSVM(machine, **params).fit(X, y, weight)
    params["solver"] = "auto"
    alone = polymargin.LinearSVM(machine, **params).fit(X, y, weight)
    return {
        "primal": together.primal_objective_,
        "dual": together.dual_objective_,
        "gap": together.dual_gap_,
        "converged": bool(together.converged_),
        "alone": alone.primal_objective_,
        "alone_dual": alone.dual_objective_,
        "sum": float(np.abs(together.coef_.sum(axis=0)).max()),
        "is_sparse": sparse.issparse(together.coef_),
        "coef": together.densify().coef_[0].tolist(),
        "dtype": together.coef_.dtype.name,
        "duals": list(together.duals_.shape),
        "checks": len(together.history_),
        "agree": float(np.mean(together.predict(X) == alone.predict(X))),
    }


@scenario
def machines() -> Any:
    X, y = problem()
    return {info.name: both(X, y, info.name, C=0.1) for info in core.machines()}


@scenario
def few() -> Any:
    return {"cs": both(*problem(40), "cs", C=0.1), "fewer rows": both(*problem(6, 3), "llw")}


@scenario
def variants() -> Any:
    X, y = problem()
    many, of_many = problem(160, 40, 6)
    rare = sparse.random_array((80, 30), density=0.1, rng=np.random.default_rng(0), format="csr")
    weight = np.where(np.arange(90) % 7 == 0, 0.0, 1 + np.arange(90) % 3)
    return {
        "float32": both(X.astype(np.float32), y, "cs", C=0.1, tol=1e-3),
        "sparse": both(rare, np.arange(80) % 4, "llw"),
        "no bias": both(X, y, "rm", C=0.1, fit_intercept=False),
        "weights": both(X, y, "ovr", weight, C=0.1, class_weight={0: 2.0, 1: 0.5}),
        "many classes": both(many, of_many, "cs"),
        "many zero-sum classes": both(many, of_many, "adm", C=0.1),
        "names": both(X, np.array(list("abcde"))[y], "mmr"),
        "few rows": both(X[:6], np.arange(6) % 3, "cs"),
        "rows of zeros": both(np.vstack([X, np.zeros((5, 4))]), np.append(y, y[:5]), "atm", C=0.1),
        "kkt": both(X, y, "ww", C=0.1, stopping="kkt", tol=1e-3),
        "plain": both(
            X, y, "cs", C=0.1, solver=LocalDescent(passes=1, shrinking=False, class_lists=False)
        ),
        "sparse weights": both(rare, np.arange(80) % 4, weights="sparse"),
    }


@scenario
def mean_weights() -> Any:
    X, y = problem()
    weight = np.where(np.arange(90) % 7 == 0, 0.0, 1 + np.arange(90) % 3)
    many, of_many = problem(160, 40, 6)
    rare = sparse.random_array((80, 30), density=0.1, rng=np.random.default_rng(0), format="csr")
    by_classes = {"solver": MeanWeights(), "C": 0.1}
    told = {
        "llw": both(X, y, "llw", **by_classes),
        "ovr": both(X, y, "ovr", **by_classes),
        "weights": both(X, y, "llw", weight, class_weight={0: 2.0}, **by_classes),
        "many classes": both(many, of_many, "llw", **by_classes),
        "many classes apart": both(many, of_many, "ovr", **by_classes),
        "sparse": both(rare, np.arange(80) % 9, "llw", **by_classes, fit_intercept=False),
        "float32": both(X.astype(np.float32), y, "llw", **by_classes | {"tol": 1e-3}),
        "kkt": both(X, y, "llw", **by_classes, stopping="kkt"),
    }
    warm = distributed.LinearSVM("llw", warm_start=True, random_state=0, **by_classes)
    fixed = distributed.LinearSVM("llw", solver=MeanWeights(shrinking=False, epochs=3)).fit(X, y)
    return told, {
        "passes": [warm.fit(X, y).n_iter_, warm.fit(X, y).n_iter_],
        "fixed": [fixed.n_iter_, len(fixed.history_)],
        "too many": raised(lambda: warm.fit(X[y < 2], y[y < 2])),
        "other machine": raised(
            lambda: distributed.LinearSVM("cs", solver="mean-weights").fit(X, y)
        ),
    }


@scenario
def leagues() -> Any:
    X, y = problem()
    weight = np.where(np.arange(90) % 7 == 0, 0.0, 1 + np.arange(90) % 3)
    many, of_many = problem(160, 40, 6)
    rare = sparse.random_array((80, 30), density=0.1, rng=np.random.default_rng(0), format="csr")
    in_leagues = {"solver": Leagues(), "C": 0.1}
    told = {
        "ww": both(X, y, **in_leagues),
        "in parts": both(X, y, C=0.1, solver=Leagues(part=0.25, shrinking=False)),
        "weights": both(X, y, "ww", weight, class_weight={0: 2.0}, **in_leagues),
        "many classes": both(many, of_many, **in_leagues),
        "sparse": both(rare, np.arange(80) % 9, **in_leagues, fit_intercept=False),
        "float32": both(X.astype(np.float32), y, **in_leagues | {"tol": 1e-3}),
    }
    warm = distributed.LinearSVM(warm_start=True, random_state=0, **in_leagues)
    fixed = distributed.LinearSVM(solver=Leagues(epochs=3)).fit(X, y)
    return told, {
        "passes": [warm.fit(X, y).n_iter_, warm.fit(X, y).n_iter_],
        "fixed": [fixed.n_iter_, len(fixed.history_)],
        "other machine": raised(lambda: distributed.LinearSVM("cs", solver="leagues").fit(X, y)),
    }


@scenario
def odd_leagues() -> Any:
    X, y = problem(45)
    in_leagues = {"solver": Leagues(), "C": 0.1, "tol": 1e-3}
    return {
        "five classes": both(X, y, **in_leagues),
        "two classes": both(X[y < 2], y[y < 2], **in_leagues),
    }


@scenario
def later_fits() -> Any:
    X, y = problem()
    model = distributed.LinearSVM(C=0.1, warm_start=True, random_state=0).fit(X, y)
    cold = model.n_iter_
    warm = model.fit(X, y).n_iter_
    apart = X[y < 2]
    hard = distributed.LinearSVM(C=np.inf, random_state=0, max_iter=100_000).fit(
        np.sign(apart[:20]) + 10 * y[y < 2][:20, None], y[y < 2][:20]
    )
    sure = distributed.LinearSVM(C=0.1, calibration="temperature").fit(X, y)
    generator = np.random.default_rng(WORLD.rank)
    drawn = distributed.LinearSVM(C=0.1, random_state=generator, tol=1e-2).fit(X, y)
    return {
        "cold": cold,
        "warm": warm,
        "hard": hard.dual_gap_,
        "hard_checks": [len(hard.history_), len(hard.sent_)],
        "temperature": float(sure.predict_proba(X[:1]).max()),
        "drawn": drawn.primal_objective_,
        "has_generator": drawn.random_state is generator,
        "left": sorted(name for name in vars(drawn) if "rank" in name),
    }


@scenario
def files() -> Any:
    X, y = problem()
    folder = WORLD.bcast(tempfile.mkdtemp() if WORLD.rank == 0 else None)
    path = Path(folder) / "fit.ckpt"
    kept = polymargin.Checkpoint(path, every=0.0)
    model = distributed.LinearSVM(C=0.1, checkpoint=kept, max_iter=5, tol=1e-5, random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        model.fit(X, y)
    written = WORLD.bcast(path.read_bytes() if WORLD.rank == 0 else None)
    own = Path(folder) / f"{WORLD.rank}.ckpt"
    own.write_bytes(written)
    resumed = polymargin.resume(own, X, y)
    saved = Path(folder) / f"{WORLD.rank}.safetensors"
    polymargin.save(model, saved)
    loaded = polymargin.load(saved)
    return {
        "warned": [str(warning.message) for warning in caught],
        "passes": model.n_iter_,
        "resumed": type(resumed).__module__,
        "gaps": [model.dual_gap_, resumed.dual_gap_],
        "goes_on": resumed.history_[: len(model.history_)].tolist() == model.history_.tolist(),
        "same": bool(np.array_equal(loaded.coef_, model.coef_)),
        "loaded": type(loaded).__module__,
    }


def raised(run: Scenario) -> dict[str, str]:
    try:
        run()
    except BaseException as error:
        return {"type": type(error).__name__, "message": str(error)}
    return {"type": "none", "message": ""}


@scenario
def disagreements() -> Any:
    X, y = problem()
    last = WORLD.rank == WORLD.size - 1
    other = X.copy()
    other[3, 2] += 1e-9
    fit = distributed.LinearSVM
    return {
        "C": raised(lambda: fit(C=2.0 if last else 1.0).fit(X, y)),
        "X": raised(lambda: fit().fit(other if last else X, y)),
        "y": raised(lambda: fit().fit(X, np.roll(y, 1) if last else y)),
        "rows": raised(lambda: fit().fit(X[:80] if last else X, y[:80] if last else y)),
        "weights": raised(lambda: fit().fit(X, y, np.ones(90) * (2 if last else 1))),
        "solver": raised(lambda: fit(solver="block-descent").fit(X, y)),
        "comm": raised(lambda: fit(comm=3).fit(X, y)),
    }


@scenario
def failures() -> Any:
    X, y = problem()
    last = WORLD.rank == WORLD.size - 1
    bad = X.copy()
    bad[0, 0] = np.nan
    model = distributed.LinearSVM(C=0.1, random_state=0).fit(X, y)
    before = model.coef_

    def in_between() -> None:
        with Ranks(WORLD) as ranks:
            ranks.meet("first", WORLD.rank)
            if last:
                raise OSError("no space left")
            ranks.meet("second", WORLD.rank)

    return {
        "nan": raised(lambda: model.fit(bad if last else X, y)),
        "unchanged": model.coef_ is before,
        "all": raised(lambda: model.fit(bad, y)),
        "parameter": raised(lambda: distributed.LinearSVM(C=-1.0 if last else 1.0).fit(X, y)),
        "in between": raised(in_between),
        "after": distributed.LinearSVM(C=0.1, random_state=0).fit(X, y).converged_,
    }


@scenario
def interrupts() -> Any:
    X, y = problem(2000, 5, 20)
    model = distributed.LinearSVM(C=1e3, tol=0.0, max_iter=10**9, random_state=0)
    if WORLD.rank == WORLD.size - 1:
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    return raised(lambda: model.fit(X, y)) | {"gap": model.dual_gap_, "passes": model.n_iter_}


@scenario
def killed() -> Any:
    if WORLD.rank == 1:
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGKILL)).start()
    distributed.LinearSVM(C=1e3, tol=0.0, max_iter=10**9).fit(*problem(2000, 5, 20))


@scenario
def endless() -> Any:
    Path(f"ready-{WORLD.rank}").touch()
    distributed.LinearSVM(C=1e3, tol=0.0, max_iter=10**9).fit(*problem(2000, 5, 20))


@scenario
def parts_of_the_world() -> Any:
    X, y = problem()
    half = WORLD.Split(WORLD.rank % 2)
    model = distributed.LinearSVM(C=0.1 * (1 + WORLD.rank % 2), comm=half, random_state=0)
    objective = clone(model).fit(X, y).primal_objective_
    half.Free()
    return objective


def main(out: str, *names: str) -> None:
    told = {}
    for name in names:
        try:
            result: Any = {"value": SCENARIOS[name]()}
        except Exception:
            result = {"error": traceback.format_exc()}
        told[name] = WORLD.gather(result)
    if WORLD.rank == 0:
        Path(out).write_text(json.dumps(told))


if __name__ == "__main__":
    main(*sys.argv[1:])
