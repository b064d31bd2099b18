"""What a grid search takes, shows and refuses."""

import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from polymargin import KernelSVM, LinearSVM
from polymargin.model_selection import nested_grid_search


def test_progress_is_shown_where_asked_for(
    blobs: tuple[Any, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    options: dict[str, Any] = {"log2_C": (-2, 2, 2), "log2_gamma": (-4, 0, 2), "cv": 3}
    nested_grid_search(KernelSVM(random_state=0), *blobs, verbose=1, **options)
    shown = capsys.readouterr().err
    assert "coarse grid" in shown
    assert "27/27" in shown
    assert "refinement 1" in shown
    nested_grid_search(KernelSVM(random_state=0), *blobs, **options)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("matrix_size", [2048, 0])
def test_one_warning_for_all_fits_that_do_not_converge(
    matrix_size: float, blobs: tuple[Any, Any]
) -> None:
    model = KernelSVM(max_iter=1, tol=1e-12, random_state=0)
    with pytest.warns(ConvergenceWarning) as caught:
        search = nested_grid_search(
            model, *blobs, log2_C=(2, 4, 1), log2_gamma=(-2, 0, 1), refinements=0, refit=False,
            matrix_size=matrix_size,
        )  # fmt: skip
    told = [w for w in caught if w.category is ConvergenceWarning]
    assert [str(w.message)[:38] for w in told] == ["At 9 of 9 points of the grid a fit sto"]
    assert told[0].filename == __file__
    assert not any(point.converged for point in search.points)


@pytest.mark.parametrize(
    "bad",
    [
        (1, 2),
        (2, 1, 1),
        (0, 1, 0),
        (0, 1, -1),
        (0, np.inf, 1),
        ("a", 1, 1),
        "abc",
        3.0,
        (0, 2000, 5),
    ],
)
def test_bad_ranges(bad: Any, blobs: tuple[Any, Any]) -> None:
    with pytest.raises(ValueError, match="log2_C has to"):
        nested_grid_search(LinearSVM(), *blobs, log2_C=bad)
    with pytest.raises(ValueError, match="log2_gamma has to"):
        nested_grid_search(KernelSVM(), *blobs, log2_gamma=bad)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"machines": []}, ValueError, "at least one machine"),
        ({"machines": ["nonsense"]}, ValueError, "unknown machine 'nonsense'"),
        ({"refinements": -1}, ValueError, "refinements"),
        ({"refinements": 0.5}, ValueError, "refinements"),
        ({"matrix_size": -1}, ValueError, "matrix_size"),
        ({"cv": 1}, ValueError, "n_splits=2 or more"),
        ({"cv": 50}, ValueError, "no class has the 50 rows"),
        ({"extend": 3}, ValueError, "extend has to be True or False"),
        ({"log2_gamma": (0, 1, 1)}, ValueError, "LinearSVM has no gamma"),
        ({"sample_weight": np.zeros(60)}, ValueError, "zero"),
        ({"sample_weight": np.repeat([1.0, 0.0], 30), "cv": [(np.arange(30), np.arange(30, 60))]},
         ValueError, "validation rows of a fold have weight zero"),
    ],
)  # fmt: skip
def test_bad_options(
    options: Any, error: type[Exception], message: str, blobs: tuple[Any, Any]
) -> None:
    X, _ = blobs
    with pytest.raises(error, match=message):
        nested_grid_search(LinearSVM(), X, np.arange(60) % 3, **options)


def test_other_estimators_are_refused(blobs: tuple[Any, Any]) -> None:
    with pytest.raises(TypeError, match="LinearSVM or a KernelSVM, got LogisticRegression"):
        nested_grid_search(LogisticRegression(), *blobs)
    with pytest.raises(ValueError, match="the kernel 'linear' has no gamma"):
        nested_grid_search(KernelSVM(kernel="linear"), *blobs, log2_gamma=(0, 1, 1))
    with pytest.raises(ValueError, match="'tol' parameter"):
        nested_grid_search(KernelSVM(tol=-1.0), *blobs)


INTERRUPTED = """
import time
import numpy as np
from polymargin import KernelSVM
from polymargin.model_selection import _fits
from polymargin.model_selection import nested_grid_search

begun, fit = [], _fits.fit_on_gram

def counting(*args):
    begun.append(None)
    fit(*args)

_fits.fit_on_gram = counting
rng = np.random.default_rng(0)
X, y = rng.normal(size=(400, 10)), rng.integers(3, size=400)
print("ready", flush=True)
try:
    nested_grid_search(KernelSVM(random_state=0, tol=1e-5), X, y, n_jobs={n_jobs}, verbose=1,
                       log2_C=(0, 6, 0.01), log2_gamma=(-6, 0, 0.1))
except KeyboardInterrupt:
    before = len(begun)
    time.sleep(0.5)
    print("interrupted", before > 0, len(begun) - before, flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGINT")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_interrupt_ends_the_search(
    n_jobs: int, run_and_interrupt: Callable[[str, float], tuple[str, str]]
) -> None:
    output, errors = run_and_interrupt(INTERRUPTED.format(n_jobs=n_jobs), 1.5)
    assert output == "interrupted True 0\n", errors
    assert "Traceback" not in errors


# Folds, ranges and machines as people give them


SMALL: dict[str, Any] = {"log2_C": (0, 0, 1), "log2_gamma": (-2, -2, 1), "refinements": 0}


def test_folds_as_lists_and_masks(blobs: tuple[Any, Any]) -> None:
    X, y = blobs
    train = np.arange(len(y)) % 3 > 0
    pairs = [(np.flatnonzero(train).tolist(), np.flatnonzero(~train).tolist())]
    scores = [
        nested_grid_search(KernelSVM(random_state=0), X, y, cv=cv, **SMALL).best_score
        for cv in (pairs, [(train, ~train)])
    ]
    assert scores[0] == scores[1]
    with pytest.raises(ValueError, match="at least one fold"):
        nested_grid_search(KernelSVM(), X, y, cv=[], **SMALL)


def test_no_folds_are_five(blobs: tuple[Any, Any]) -> None:
    five, none = (
        nested_grid_search(KernelSVM(random_state=0), *blobs, cv=cv, **SMALL) for cv in (5, None)
    )
    assert five.points == none.points


def test_indefinite_kernel_is_said_once(blobs: tuple[Any, Any]) -> None:
    model = KernelSVM(kernel="sigmoid", coef0=-1.0, random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        nested_grid_search(model, *blobs, log2_C=(0, 2, 1), log2_gamma=(-2, 0, 1), cv=3)
    assert sum("not positive semi-definite" in str(w.message) for w in caught) == 1


@pytest.mark.parametrize(
    ("estimator", "params", "message"),
    [
        (KernelSVM(solver="crammer-singer"), {"machines": ["cs", "ww"]}, "ww"),
        (LinearSVM(solver="blocks"), {}, "unknown solver 'blocks'"),
        (LinearSVM(block_solver="sort"), {"machines": ["cs", "ww"]}, "machine 'ww'"),
        (KernelSVM(), {"machines": 5}, "machines has to name"),
        (KernelSVM(), {"refit": "no"}, "refit has to be"),
    ],
)
def test_choices_are_checked_before_any_work(
    estimator: Any, params: dict[str, Any], message: str, blobs: tuple[Any, Any]
) -> None:
    with pytest.raises(ValueError, match=message):
        nested_grid_search(estimator, *blobs, **params)


def test_ranges_as_arrays(blobs: tuple[Any, Any]) -> None:
    search = nested_grid_search(
        KernelSVM(random_state=0), *blobs, log2_C=np.array([-2, 4, 2]), log2_gamma=None
    )
    assert search.log2_C == (-2.0, 4.0, 2.0)
