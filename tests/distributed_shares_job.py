"""What processes do with rows of which each has its own, in the manner of `distributed_job`."""

import gzip
import sys
from pathlib import Path
from typing import Any

import numpy as np
from distributed_job import WORLD, main, problem, raised, scenario
from distributed_parts_job import shared_folder
from scipy import sparse

import polymargin
from polymargin import Leagues, core, distributed

OPTIONS: dict[str, Any] = {"C": 0.1, "tol": 1e-3, "max_iter": 100_000, "random_state": 0}
LAST = WORLD.rank == WORLD.size - 1


def write(file: Path, text: str) -> None:
    """By the first process, for all."""
    if WORLD.rank == 0:
        file.write_text(text)
    WORLD.Barrier()


def as_text(X: Any, y: Any) -> str:
    return "".join(
        " ".join([str(label), *(f"{j}:{x!r}" for j, x in enumerate(row, start=1))]) + "\n"
        for row, label in zip(X.tolist(), y.tolist(), strict=True)
    )


def figures(model: Any, alone: Any, X: Any) -> dict[str, Any]:
    """Of one fitted to shares and of one fitted to all rows."""
    return {
        "primal": model.primal_objective_,
        "dual": model.dual_objective_,
        "gap": model.dual_gap_,
        "converged": bool(model.converged_),
        "alone": alone.primal_objective_,
        "alone_dual": alone.dual_objective_,
        "agree": float(np.mean(model.predict(X) == alone.predict(X))),
        "classes": model.classes_.tolist(),
    }


@scenario
def machines() -> Any:
    X, y = problem()
    told = {}
    with shared_folder() as folder:
        write(folder / "a.svm", as_text(X, y))
        share = distributed.read_share(folder / "a.svm")
        for i, info in enumerate(core.machines()):
            model = distributed.LinearSVM(info.name, gather=i % 2 == 0, **OPTIONS)
            model.fit_share(share.X, share.y)
            alone = polymargin.LinearSVM(info.name, **OPTIONS).fit(X, y)
            told[info.name] = figures(model, alone, X) | {"duals": list(model.duals_.shape)}
    return {"n": len(share.y), "machines": told}


@scenario
def reading() -> Any:
    """What only the whole file can tell."""
    ones = "1 1:1 3:1\n" * 10
    texts = {
        "from zero in one share": ones + "2 0:1 4:1\n",
        "wide in one share": ones + "2 2:1 9:1\n",
        "numbers in one share": ones + "2.5 1:1\n",
        "few lines": "1 1:1\n2 3:1\n",
        "labels alone": "1\n2\n" * 9,
    }
    told: dict[str, Any] = {}
    with shared_folder() as folder:
        for name, text in texts.items():
            write(folder / "a.svm", text)
            share = distributed.read_share(folder / "a.svm")
            whole = polymargin.readers.read(folder / "a.svm")
            rows = WORLD.allgather(share.X)
            told[name] = {
                "same": np.array_equal(sparse.vstack(rows).toarray(), whole.X.toarray()),
                "labels": np.concatenate(WORLD.allgather(share.y)).tolist() == whole.y.tolist(),
                "kind": share.y.dtype == whole.y.dtype,
                "reading": share.reading == whole.reading,
            }
            WORLD.Barrier()
        write(folder / "a.svm", texts["wide in one share"])
        words = distributed.read_share(folder / "a.svm", label_kind="string", n_features=20)
        told["options"] = [words.reading["label_kind"], words.X.shape[1]]
    return told


@scenario
def shares_of_all_kinds() -> Any:
    """Rows that are there already, one share of which has no row."""
    X, y = problem()
    names = np.array(list("abcde"))[y]
    weight = np.where(np.arange(90) % 7 == 0, 0.0, 1 + np.arange(90) % 3)
    own = slice(0, 0) if LAST else slice(WORLD.rank, None, WORLD.size - 1)
    sorted_rows = np.array_split(np.argsort(y, kind="stable"), WORLD.size)[WORLD.rank]

    def both(X: Any, y: Any, mine: Any, weight: Any = None, **more: Any) -> dict[str, Any]:
        params = OPTIONS | more
        here = None if weight is None else weight[mine]
        model = distributed.LinearSVM(**params).fit_share(X[mine], y[mine], here)
        return figures(model, polymargin.LinearSVM(**params).fit(X, y, weight), X)

    without = weight * (y != 3)
    return {
        "dense": both(X, names, own),
        "sparse": both(sparse.csr_array(X), y, own, machine="llw"),
        "by class": both(X, names, sorted_rows, machine="cs"),
        "weights": both(X, y, own, weight, class_weight={3: 2.0}),
        "a class without weight": both(X, y, sorted_rows, without),
        "float32": both(X.astype(np.float32), y, own),
        "objects": both(X, names.astype(object), own, machine="ovr"),
    }


@scenario
def later() -> Any:
    X, y = problem()
    own = slice(WORLD.rank, None, WORLD.size)
    model = distributed.LinearSVM(warm_start=True, **OPTIONS)
    passes = [model.fit_share(X[own], y[own]).n_iter_ for _ in range(2)]
    with shared_folder() as folder:
        path = folder / f"{WORLD.rank}.safetensors"
        polymargin.save(model, path)
        info = polymargin.read_info(path)
        asked = raised(lambda: polymargin.save(model, path, duals=True))
    whole = model.fit(X, y)
    return {
        "passes": passes,
        "stored": [info.n_examples, info.has_duals],
        "asked": asked,
        "all rows again": list(whole.duals_.shape),
        "left": sorted(name for name in vars(model) if "share" in name or "rank" in name),
    }


@scenario
def refused() -> Any:
    X, y = problem()
    own = slice(WORLD.rank, None, WORLD.size)
    X, y = X[own], y[own]

    def fit(X: Any = X, y: Any = y, **params: Any) -> dict[str, str]:
        return raised(lambda: distributed.LinearSVM(**params).fit_share(X, y))

    told = {
        "calibration": fit(calibration="sigmoid"),
        "checkpoint": fit(checkpoint="a.ckpt"),
        "balanced": fit(class_weight="balanced"),
        "hard margin": fit(C=np.inf),
        "leagues": fit(solver=Leagues()),
        "mean weights": fit(machine="llw", solver="mean-weights"),
        "features": fit(X[:, :3] if LAST else X),
        "type": fit(X.astype(np.float32) if LAST else X),
        "parameter": fit(C=2.0 if LAST else 1.0),
        "labels": fit(y=y.astype(str) if LAST else y),
        "one class": fit(y=np.zeros_like(y)),
        "unknown class": fit(class_weight={9: 2.0}),
    }
    with shared_folder() as folder:
        write(folder / "a.svm", "1 1:1\n2 2:1\n" * 20 + "1 x:1\n")
        told["damaged"] = raised(lambda: distributed.read_share(folder / "a.svm"))
        write(folder / "b.svm", "1 1:1\n2 2:1\n" * 20)
        told["wide"] = raised(lambda: distributed.read_share(folder / "b.svm", n_features=1))
        write(folder / "c.svm", "# nothing\n" * 9)
        told["nothing"] = raised(lambda: distributed.read_share(folder / "c.svm"))
        if WORLD.rank == 0:
            (folder / "d.svm.gz").write_bytes(gzip.compress(b"1 1:1\n"))
        WORLD.Barrier()
        told["packed"] = raised(lambda: distributed.read_share(folder / "d.svm.gz"))
    return told | {"after": distributed.LinearSVM(C=0.1).fit_share(X, y).converged_}


if __name__ == "__main__":
    main(*sys.argv[1:])
