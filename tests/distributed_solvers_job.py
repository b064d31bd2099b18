"""What processes do with the options of their solvers, in the manner of `distributed_job`."""

import os
import signal
import sys
import threading
import time
import warnings
from typing import Any

import numpy as np
import pytest
from distributed_job import WORLD, both, main, problem, raised, scenario
from distributed_parts_job import shared_folder
from scipy import sparse

import polymargin
from polymargin import Leagues, LocalDescent, MeanWeights, distributed
from polymargin.distributed import Ranks, _match

SOLVERS: dict[str, tuple[str, Any]] = {
    "rows": ("ww", LocalDescent),
    "classes": ("llw", MeanWeights),
    "leagues": ("ww", Leagues),
}


def texts(n: int = 400, k: int = 40, d: int = 2000) -> tuple[Any, Any]:
    """Rows that share few features."""
    random = np.random.default_rng(1)
    y = np.arange(n) % k
    own = random.integers(0, d, (k, 30))
    columns = np.hstack([own[y][:, :12], random.integers(0, d, (n, 8))])
    rows = np.repeat(np.arange(n), columns.shape[1])
    values = random.uniform(0.5, 1.5, columns.size)
    X = sparse.csr_array((values, (rows, columns.ravel())), shape=(n, d))
    return X, y


def fitted(name: str, X: Any, y: Any, params: Any = None, **options: Any) -> Any:
    machine, solver = SOLVERS[name]
    model = distributed.LinearSVM(
        machine, **{"C": 0.1, "random_state": 0, "solver": solver(**options)} | (params or {})
    )
    return model.fit(X, y)


@scenario
def stopping_by_violation() -> Any:
    X, y = problem()
    told = {}
    for name, (machine, solver) in SOLVERS.items():
        loose, tight = (
            both(X, y, machine, solver=solver(), C=0.1, stopping="kkt", tol=tol, max_iter=10_000)
            for tol in (0.1, 1e-4)
        )
        violation = fitted(name, X, y, {"stopping": "kkt", "tol": 0.1}).history_["violation"][-1]
        told[name] = {"loose": loose, "tight": tight, "violation": float(violation)}
    return told


@scenario
def shrinking() -> Any:
    """Variables at rest are left out, and what was left out is in order in the end."""
    X, y = texts()
    told = {}
    for name, (machine, solver) in SOLVERS.items():
        params = {"C": 1.0, "tol": 1e-4}
        told[name] = {
            "with": both(X, y, machine, solver=solver(), **params),
            "without": both(X, y, machine, solver=solver(shrinking=False), **params),
        }
    return told


@scenario
def epochs() -> Any:
    X, y = problem()
    return {
        name: [
            [model.n_iter_, model.history_["epoch"].tolist()]
            for shrinks in (True, False)
            for model in [fitted(name, X, y, shrinking=shrinks, epochs=4)]
        ]
        for name in SOLVERS
    }


@scenario
def what_is_sent() -> Any:
    X, y = texts(d=20_000)
    told = {}
    for name in SOLVERS:
        for gather in (True, False):
            model = fitted(name, X, y, {"C": 1.0, "gather": gather})
            told[f"{name}, {'all' if gather else 'apart'}"] = {
                "sent": {kind: model.sent_[kind].tolist() for kind in model.sent_.dtype.names},
                "passes": model.history_["epoch"].tolist(),
                "weights": 8 * 40 * 20_001,
            }
    ways = [fitted("leagues", X, y, {"C": 1.0}, sparse=sparse) for sparse in (True, False)]
    told["either way"] = {
        "same": np.array_equal(*(model.coef_ for model in ways)),
        "sent": [int(model.sent_["weights"][-1]) for model in ways],
    }
    return told


@scenario
def threads() -> Any:
    """Matches at the same time; what comes out is a matter of how many could be, not of timing."""
    X, y = texts(k=41)
    together: list[int] = []
    now, most, lock = [0], [0], threading.Lock()
    play = _match._descend_often

    def watched(*args: Any) -> Any:
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        try:
            time.sleep(0.002)  # longer than it takes to start the other thread
            return play(*args)
        finally:
            with lock:
                now[0] -= 1

    def fit(n_jobs: int) -> Any:
        most[0] = 0
        model = fitted("leagues", X, y, {"C": 1.0, "n_jobs": n_jobs})
        together.append(most[0])
        return model

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_match, "_descend_often", watched)
        one, two, again = fit(1), fit(2), fit(2)
        mixed = fit(2 if WORLD.rank == WORLD.size - 1 else 1)
    return {
        "certified": [model.dual_gap_ <= 1e-3 for model in (one, two, mixed)],
        "same again": np.array_equal(two.coef_, again.coef_),
        "same elsewhere": np.array_equal(two.coef_, mixed.coef_),
        "others": not np.array_equal(one.coef_, two.coef_),
        "together": together,
        "more than classes": both(*problem(), solver=Leagues(), C=0.1, n_jobs=5),
    }


@scenario
def automatic() -> Any:
    """What is sent tells what was dealt."""
    X, y = texts(d=20_000)
    dense, of_dense = problem()
    told = {}
    for machine in ("ww", "llw", "ovr", "cs"):
        for name, rows, labels in (("texts", X, y), ("dense", dense, of_dense)):
            model = distributed.LinearSVM(machine, C=0.1, tol=1e-2, random_state=0)
            model.fit(rows, labels)
            kinds = ("weights", "mean", "duals")
            told[f"{machine}, {name}"] = [bool(model.sent_[kind][-1]) for kind in kinds]
    hard = distributed.LinearSVM("ww", C=np.inf, random_state=0, max_iter=10_000).fit(X, y)
    return {"dealt": told, "hard": hard.dual_gap_, "right": hard.score(X, y)}


@scenario
def overlap() -> Any:
    """The mean on its way while work goes on."""
    X, y = problem()
    many, of_many = texts()
    solver = MeanWeights(overlap=True, part=0.05)
    plain, over = (
        fitted("classes", many, of_many, overlap=overlaps, epochs=4) for overlaps in (False, True)
    )
    return {
        "few": both(X, y, "llw", solver=solver, C=0.1),
        "many": both(many, of_many, "llw", solver=solver, C=1.0),
        "apart": both(X, y, "ovr", solver=solver, C=0.1),
        "warm": both(X, y, "llw", solver=MeanWeights(overlap=True, part=1.0), C=0.1),
        "sent": [int(model.sent_["mean"][-1]) for model in (plain, over)],
    }


@scenario
def interrupts() -> Any:
    X, y = problem(2000, 12, 20)
    told = {}
    options: dict[str, dict[str, Any]] = {"rows": {}, "classes": {"overlap": True}, "leagues": {}}
    for name, (machine, solver) in SOLVERS.items():
        model = distributed.LinearSVM(
            machine,
            C=1e3,
            tol=0.0,
            max_iter=10**9,
            solver=solver(**options[name]),
            n_jobs=2,
            random_state=0,
        )
        if WORLD.rank == WORLD.size - 1:
            threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        told[name] = raised(lambda: model.fit(X, y)) | {  # noqa: B023
            "gap": model.dual_gap_,
            "checks": [len(model.history_), len(model.sent_)],
        }
    return told


@scenario
def checkpoints() -> Any:
    """Another number of processes, here one, goes on from what leagues have reached."""
    X, y = problem()
    with shared_folder() as folder:
        kept = polymargin.Checkpoint(folder / "fit.ckpt", every=0.0)
        params = {"max_iter": 3, "tol": 1e-6, "checkpoint": kept}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            short = fitted("leagues", X, y, params)
            WORLD.Barrier()
            resumed = polymargin.resume(folder / "fit.ckpt", X, y)
            WORLD.Barrier()
    return {
        "goes on": resumed.history_[: len(short.history_)].tolist() == short.history_.tolist(),
        "gaps": [short.dual_gap_, resumed.dual_gap_],
        "gathered": bool(short.sent_["model"][-1] > 0),
    }


@scenario
def failure_on_the_way() -> Any:
    """A process fails while a sum is on its way, which ends all the same."""

    def run() -> None:
        with Ranks(WORLD) as ranks:
            ranks.meet("a start", None)
            ranks.begin_sum(np.ones(1000), "mean")
            if WORLD.rank == WORLD.size - 1:
                raise OSError("no space left")
            ranks.meet("an end", None)

    with Ranks(WORLD) as ranks:
        ranks.meet("a start", None)
        total = ranks.begin_sum(np.full(5, float(WORLD.rank)), "mean")
        ranks.move_on()
        ranks.meet("an end", None)
        result = total.result().tolist()
    return {"sum": result, "failed": raised(run), "after": WORLD.allreduce(1)}


if __name__ == "__main__":
    main(*sys.argv[1:])
