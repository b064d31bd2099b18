"""What processes do with models of which each has a part, in the manner of `distributed_job`."""

import pickle
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli_helpers import names_in
from distributed_job import WORLD, main, problem, raised, scenario
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import polymargin
from polymargin import Checkpoint, Leagues, MeanWeights, core, distributed
from polymargin.distributed import Ranks
from polymargin.estimators import _blocks
from polymargin.files import save_liblinear
from polymargin.preprocessing import Scaler


@contextmanager
def shared_folder() -> Iterator[Path]:
    """One folder for all processes."""
    folder = tempfile.TemporaryDirectory() if WORLD.rank == 0 else None
    yield Path(WORLD.bcast(folder.name if folder else None))
    WORLD.Barrier()
    if folder:
        folder.cleanup()


def fitted(X: Any, y: Any, machine: str = "ww", **params: Any) -> tuple[Any, Any]:
    """The model that every process has, and the one that all have together."""
    params = {"C": 0.1, "random_state": 0} | params
    make = distributed.LinearSVM
    return make(machine, **params).fit(X, y), make(machine, gather=False, **params).fit(X, y)


def compared(X: Any, y: Any, machine: str = "ww", **params: Any) -> dict[str, bool]:
    """What is the same of a model that is gathered, of one in parts, and of one that was saved."""
    whole, parts = fitted(X, y, machine, **params)
    own = np.searchsorted(whole.classes_, parts.local_classes_)
    top, best = whole.predict_topk(X, 2, return_scores=True)
    same, scores = parts.predict_topk(X, 2, return_scores=True)
    with shared_folder() as folder:
        polymargin.save(parts, folder / "m.safetensors")
        loaded = polymargin.load(folder / "m.safetensors", verify=False)
        figures = polymargin.read_info(folder / "m.safetensors")
        WORLD.Barrier()
    dense = parts.densify().coef_
    weights = whole.densify().coef_
    dealt = sorted(
        label for labels in WORLD.allgather(parts.local_classes_.tolist()) for label in labels
    )
    return {
        "weights": np.array_equal(weights[own], dense),
        "intercepts": np.array_equal(whole.intercept_[own], parts.intercept_),
        "each class once": dealt == whole.classes_.tolist(),
        "balanced": len({len(part) // 2 for part in WORLD.allgather(own)}) <= 2,
        "certificate": whole.history_["gap"].tolist() == parts.history_["gap"].tolist(),
        "predict": np.array_equal(whole.predict(X), parts.predict(X)),
        "score": whole.score(X, y) == parts.score(X, y),
        "class_scores": np.array_equal(whole.class_scores(X), parts.class_scores(X)),
        "decisions": np.array_equal(whole.decision_function(X), parts.decision_function(X)),
        "predict_topk": np.array_equal(top, same) and np.array_equal(best, scores),
        "has no duals": WORLD.size == 1 or not hasattr(parts, "duals_"),
        "loaded": np.array_equal(sparse.csr_array(loaded.coef_).toarray(), weights),
        "loaded answers": np.array_equal(whole.predict(X), loaded.predict(X)),
        "loaded gap": loaded.dual_gap_ == whole.dual_gap_,
        "rows": figures.n_examples == len(y),
    }


@scenario
def machines() -> Any:
    X, y = problem()
    return {info.name: compared(X, y, info.name, tol=1e-2) for info in core.machines()}


@scenario
def variants() -> Any:
    X, y = problem()
    many, of_many = problem(160, 40, 6)
    rare = sparse.random_array((80, 30), density=0.1, rng=np.random.default_rng(0), format="csr")
    names = np.array(list("abcde"), dtype=object)[y]
    return {
        "leagues": compared(X, y, solver=Leagues()),
        "leagues of many": compared(many, of_many, solver=Leagues(), tol=1e-2),
        "classes": compared(many, of_many, "llw", solver=MeanWeights(), tol=1e-2),
        "names": compared(X, names, "cs"),
        "two classes": compared(X, y < 2, "cs"),
        "float32": compared(X.astype(np.float32), y, "cs"),
        "sparse": compared(rare, np.arange(80) % 9, "ww", weights="sparse"),
        "hard": compared(X + 10 * np.eye(5, 4)[y], y, C=np.inf, max_iter=100_000),
    }


@scenario
def small_blocks() -> Any:
    """Equal scores, some rows at a time, of which no array of all classes is made."""
    X, y = problem(160, 40, 6)
    X = np.vstack([X, np.zeros((30, 6))])  # all scores of such a row are intercepts
    whole, parts = fitted(X, np.append(y, np.arange(30)), fit_intercept=False, tol=1e-2)
    widths = []
    join = distributed.Parts._best_of

    def watched(self: Any, scores: Any, m: int) -> Any:
        widths.append(scores.shape)
        return join(self, scores, m)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_blocks, "_BLOCK_BYTES", 7 * 8 * 40)
        patch.setattr(distributed.Parts, "_best_of", watched)
        same = np.array_equal(whole.predict(X), parts.predict(X))
        top = np.array_equal(whole.predict_topk(X, 13), parts.predict_topk(X, 13))
    return {
        "same": same and top,
        "ties": parts.predict(X[-2:]).tolist(),
        "classes at a time": max(width for _, width in widths),
        "blocks": len(widths),
    }


@scenario
def what_is_gathered() -> Any:
    """How often all processes tell each other large things during a fit."""
    X, y = problem()
    calls = []
    gather = Ranks.gather

    def counted(self: Ranks, value: Any) -> Any:
        calls.append(value)
        return gather(self, value)

    def count(machine: str, **params: Any) -> int:
        calls.clear()
        distributed.LinearSVM(machine, tol=1e-2, random_state=0, **params).fit(X, y)
        return len(calls)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Ranks, "gather", counted)
        return {
            "rows": [count("cs", gather=g) for g in (True, False)],
            "classes": [count("llw", gather=g, solver=MeanWeights()) for g in (True, False)],
            "for a warm start": count("llw", gather=False, warm_start=True),
        }


@scenario
def what_is_kept() -> Any:
    X, y = problem()
    warm = distributed.LinearSVM(C=0.1, warm_start=True, gather=False, random_state=0)
    passes = [warm.fit(X, y).n_iter_, warm.fit(X, y).n_iter_]
    sure = distributed.LinearSVM(C=0.1, calibration="temperature", gather=False, random_state=0)
    again = pickle.loads(pickle.dumps(warm))
    alone = polymargin.LinearSVM(C=0.1, calibration="temperature", random_state=0).fit(X, y)
    with shared_folder() as folder:
        kept = Checkpoint(folder / "fit.ckpt", every=0.0) if WORLD.rank == 0 else None
        short = distributed.LinearSVM(gather=False, max_iter=5, tol=1e-5, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            short.set_params(checkpoint=kept).fit(X, y)
        WORLD.Barrier()
        resumed = polymargin.resume(folder / "fit.ckpt", X, y) if WORLD.rank == 0 else short
        WORLD.Barrier()
    own = clone(warm).fit(X, y).local_classes_.tolist()
    back = warm.set_params(gather=True).fit(X, y)
    return {
        "passes": passes,
        "duals": list(warm.duals_.shape),
        "probabilities": np.abs(sure.fit(X, y).predict_proba(X) - alone.predict_proba(X)).max(),
        "pickled": np.array_equal(again.predict(X), warm.predict(X)),
        "cloned": own,
        "resumed": WORLD.rank > 0 or resumed.dual_gap_ < short.dual_gap_,
        "whole again": [hasattr(back, "local_classes_"), len(back.coef_)],
        "stream": len(sure.set_params(calibration=None).partial_fit(X, y).coef_),
    }


@scenario
def refused() -> Any:
    X, y = problem()
    _, model = fitted(X, y)
    last = WORLD.rank == WORLD.size - 1
    bad = X.copy()
    bad[3, 1] = np.nan
    half = WORLD.Split(WORLD.rank % 2)
    apart = pickle.loads(pickle.dumps(model)).set_params(comm=half)
    with shared_folder() as folder:
        path = folder / "m.safetensors"
        told = {
            "other rows": raised(lambda: model.predict(-X if last else X)),
            "fewer rows": raised(lambda: model.predict(X[:5] if last else X)),
            "nan": raised(lambda: model.predict(bad if last else X)),
            "some processes": raised(lambda: apart.predict(X)),
            "duals": raised(lambda: model.duals_),
            "rounded": raised(lambda: polymargin.save(model, path, dtype="float16")),
            "export": raised(lambda: save_liblinear(model, path)),
            "inspect": raised(lambda: polymargin.inspect.density(model)),
            "names": raised(
                lambda: polymargin.save(model, path.with_name(f"{WORLD.rank}.safetensors"))
            ),
        }
        WORLD.Barrier()
        told["left"] = sorted(names_in(folder))
        WORLD.Barrier()
    half.Free()
    return told | {"after": model.predict(X).tolist() == fitted(X, y)[0].predict(X).tolist()}


@scenario
def crashes() -> Any:
    """A model is replaced as a whole, or not at all."""
    X, y = problem()
    _, model = fitted(X, y)
    _, other = fitted(X[:60], y[:60])
    steps = make_pipeline(Scaler(), model)
    steps.steps[0][1].fit(X)
    last = WORLD.rank == WORLD.size - 1
    with shared_folder() as folder:
        path = folder / "m.safetensors"
        polymargin.save(steps, path, data_hash="aa")
        before = sorted(names_in(folder))
        WORLD.Barrier()
        with pytest.MonkeyPatch.context() as patch:
            if last:
                patch.setattr("polymargin.storage._safetensors.replacing", _full)
            in_shard = raised(lambda: polymargin.save(other, path))
        with pytest.MonkeyPatch.context() as patch:
            if WORLD.rank == 0:
                patch.setattr("polymargin.files._model.write_document", _full)
            in_index = raised(lambda: polymargin.save(other, path))
        WORLD.Barrier()
        after = sorted(names_in(folder))
        old = polymargin.load(path)
        answers = old.predict(X).tolist() == steps.predict(X).tolist()
        WORLD.Barrier()
        polymargin.save(other, path)
        new = polymargin.load(path)
        WORLD.Barrier()
        polymargin.save(other, path)  # the same bytes once more
        files = sorted(names_in(folder))
        WORLD.Barrier()
    return {
        "in a shard": in_shard,
        "in the index": in_index,
        "nothing changed": before == after and answers,
        "files": len(files),
        "replaced": not set(before[:-1]) & set(files[:-1]),
        "new": new.predict(X).tolist() == other.predict(X).tolist(),
    }


def _full(*_: Any, **__: Any) -> Any:
    raise OSError("no space left")


if __name__ == "__main__":
    import sys

    main(*sys.argv[1:])
