"""Whether all processes are asked for the same fit."""

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from polymargin._versions import own_version
from polymargin.distributed._ranks import Ranks, known_to_all

if TYPE_CHECKING:
    from polymargin.core import Duals
    from polymargin.fit import Problem

# These may differ: they concern a process alone, or the first one decides.
_OWN = frozenset({"comm", "checkpoint", "n_jobs", "random_state", "verbose"})
_WIDTH = 1 << 20  # items at a time


def agree(ranks: Ranks, estimator: Any, problem: "Problem", warm: "Duals | None") -> None:
    """ValueError on all processes where version, parameters, data or start are not the same."""
    start = () if warm is None else warm.__getstate__()[1:]
    described = _describe(estimator, problem) | _describe_rows(problem.X)
    described |= {
        "the labels y": _digest(problem.labels),
        "the weights of rows": _digest(problem.upper),
        "the dual variables to start from": _digest(*start),
    }
    advice = "call fit with the same parameters and the same rows"
    _compare(ranks, "the start of a fit", described, advice)


def agree_on_shares(ranks: Ranks, estimator: Any, problem: "Problem", warm: "Duals | None") -> None:
    """The same for rows of which each process has its own, as far as they have to be alike."""
    described = _describe(estimator, problem)
    described |= {
        "the number of features": str(problem.rows.n_features),
        "the dual variables to start from": "none" if warm is None else "some",
    }
    advice = "call fit_share with the same parameters, and rows of the same features and type"
    _compare(ranks, "the start of a fit to shares", described, advice)


def agree_on_rows(ranks: Ranks, X: Any) -> None:
    """ValueError on all processes where these are not the same."""
    _compare(ranks, "the rows to predict", _describe_rows(X), "predict the same rows")


def _compare(ranks: Ranks, purpose: str, described: dict[str, str], advice: str) -> None:
    told = ranks.meet(purpose, described)
    for rank, other in enumerate(told):
        for name, value in told[0].items():
            if other.get(name) == value:
                continue
            raise known_to_all(
                ValueError(
                    f"the processes do not agree on {name}: rank 0 has {value:.200}, rank {rank} "
                    f"has {other.get(name, 'none'):.200}. All have to {advice}."
                )
            )


def _describe(estimator: Any, problem: "Problem") -> dict[str, str]:
    version = {"the version of polymargin": own_version()}
    parameters = {
        f"the parameter {name}": repr(value)
        for name, value in sorted(estimator.get_params(deep=False).items())
        if name not in _OWN
    }
    data = {
        "the classes": str(problem.classes.tolist()),
        "the type of X": f"{type(problem.X).__name__} of {problem.X.dtype}",
    }
    return version | parameters | data


def _describe_rows(X: Any) -> dict[str, str]:
    stored = (X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,)
    return {
        "the shape of X": str(X.shape),
        "the type of X": f"{type(X).__name__} of {X.dtype}",
        "the values of X": _digest(*stored),
    }


def _digest(*arrays: Any) -> str:
    digest = hashlib.blake2b(digest_size=8)
    for array in arrays:
        height = max(1, _WIDTH // max(1, array[:1].size))
        for first in range(0, len(array), height):
            digest.update(np.ascontiguousarray(array[first : first + height]).data)
    return f"digest {digest.hexdigest()}"
